package lock_test

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the directory of the library.
const root = "../.."

func TestTheTestsBesideTheLibraryPassOnARealServer(t *testing.T) {
	if !*every {
		t.Skip("builds and runs them once more: -every does")
	}
	var left []string
	for _, option := range defaults {
		left = slices.AppendSeq(left, maps.Keys(exempt[option]))
	}
	args := []string{"test", "-count=1", "-run=^Test", "-skip=^(" + strings.Join(left, "|") + ")$"}
	args = append(args, ".", "-args", "-zklock.server="+sharedServer(t).Addr())
	if len(defaults) > 0 {
		args = append(args, "-zklock.options="+strings.Join(defaults, ","))
	}
	tests := exec.CommandContext(t.Context(), "go", args...)
	tests.Dir = root
	out, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
