package lock_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// defaults are the options of the locks of all tests: none of them weakens a promise. A test
// that gives such an option itself has its own way.
var defaults optionNames

func init() {
	flag.Func("zklock.options", "options of all locks in the tests: handoff, retention, or both with a comma", func(names string) error {
		defaults = strings.Split(names, ",")
		_, err := defaults.options()
		return err
	})
}

type optionNames []string

func (names optionNames) options() (opts []zklock.Option, err error) {
	for _, name := range names {
		switch name {
		case "handoff":
			opts = append(opts, zklock.WithHandoff(4))
		case "retention":
			opts = append(opts, zklock.WithRetention(100*time.Millisecond))
		default:
			return nil, fmt.Errorf("no option %q", name)
		}
	}
	return opts, nil
}

// withDefaults returns opts behind the default ones.
func withDefaults(t testing.TB, opts []zklock.Option) []zklock.Option {
	t.Helper()
	all, err := defaults.options()
	require.NoError(t, err)
	return append(all, opts...)
}

// exempt are the tests of what an option changes, each with the option.
var exempt = map[string]map[string]string{
	"handoff": {
		"TestCancelledWaitersLeaveNothingBehind": oneNode,
		"TestASessionLeavesNothingBehind":        oneNode,
	},
	"retention": {
		"TestAMultiLockersReleaseGoesOnPastErrors": nodeKept,
		"TestRevokeSaysWhatItCannotAskFor":         nodeKept,
		"TestTheTraceTellsOfALocksLife":            "who takes the lock by a node that was kept is not enqueued",
	},
}

const (
	oneNode  = "the goroutines that wait for one Locker have one node between them"
	nodeKept = "a release need not delete the node"
)

// skipIfExempt skips a test whose subject an option of all tests changes.
func skipIfExempt(t testing.TB) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	for option, tests := range exempt {
		if reason, found := tests[name]; found && slices.Contains(defaults, option) {
			t.Skipf("-zklock.options=%s: %s", option, reason)
		}
	}
}

func TestEachTestThatIsExemptFromAnOptionExists(t *testing.T) {
	var tests strings.Builder
	for _, dir := range []string{".", root} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		require.NoError(t, err)
		for _, name := range files {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			tests.Write(text)
		}
	}
	for _, names := range exempt {
		for name := range names {
			if !strings.Contains(tests.String(), fmt.Sprintf("\nfunc %s(", name)) {
				t.Errorf("there is no %s", name)
			}
		}
	}
}
