package cli

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func connect(t *testing.T, server *zktest.Server, options ...zklock.SessionOption) *zklock.Session {
	t.Helper()
	options = append(options, zklock.WithDialer(server.Dial))
	session, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, options...)
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	return session
}

func TestATimeIsWrittenWithAUnitOrInSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "5": 5 * time.Second, ".25": 250 * time.Millisecond, "1m30s": 90 * time.Second, "20ms": 20 * time.Millisecond,
		"3153600000": longest, "876000h": longest,
	} {
		var d duration
		require.NoError(t, d.Set(text))
		require.Equal(t, want, d.Duration, text)
		require.True(t, d.set)
	}
	for rule, texts := range map[string][]string{
		"is not a time":     {"", "soon", "5 s", "NaN", "3000000x"},
		"at most 100 years": {"3153600001", "876001h", "3000000h", "9999999h1ns", "inf", "1e300", "1e400"}, // Go's times end after 292 years
		"is negative":       {"-1", "-1ms", "-3000000h", "-1e400"},
	} {
		for _, text := range texts {
			require.ErrorContains(t, new(duration).Set(text), rule, text)
		}
	}
}

func TestAFlagThatSaysNoMoreThanItsDefaultExcludesNoOther(t *testing.T) {
	for flags, right := range map[string]bool{
		"--shared=false --exclusive": true, "--shared --exclusive=false": true, "--shared=false --limit 2": true,
		"--limit 2 --exclusive=false": true, "-n=false -w 1": true, "-q=false -v": true, "-n -w 0": false, "-s=true -x": false, "--exclusive=false": false, "-x=0 -s=0": false,
	} {
		run, _, err := New().Find([]string{"run"})
		require.NoError(t, err)
		require.NoError(t, run.ParseFlags(append(strings.Fields(flags), "/p", "--", "true")))
		err = run.ValidateArgs(run.Flags().Args())
		require.Equal(t, right, err == nil, "%s: %v", flags, err)
	}
}

// As a variable gives it that is not set: --tls-server-name would not encrypt, and --servers would be
// those of the environment.
func TestAnEmptyValueIsNotTakenForTheLackOfAFlag(t *testing.T) {
	for _, cmd := range New().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			require.Error(t, f.Value.Set(""), "zklock %s --%s=", cmd.Name(), f.Name)
		})
	}
}

func TestLinesAreCutToTheScreen(t *testing.T) {
	lines := []string{"one", "zwölf", "three", "four"}
	require.Equal(t, lines, fit(lines, 80, 4))
	require.Equal(t, []string{"one", "zwö", "thr", "fou"}, fit(lines, 3, 10))
	require.Equal(t, []string{"one", "... and 3 more"}, fit(lines, 80, 2))
	require.Equal(t, []string{"... and 4 more"}, fit(lines, 80, 1))
	require.Empty(t, fit(lines, 80, 0))
	require.Equal(t, []string{"", "", "", ""}, fit(lines, 0, 4))
}

func TestATerminalThatSaysNoSizeIsTakenForAUsualOne(t *testing.T) {
	keys, tty, err := pty.Open()
	require.NoError(t, err)
	defer keys.Close()
	defer tty.Close()
	for _, size := range []pty.Winsize{{}, {Rows: 24}, {Cols: 80}} {
		require.NoError(t, pty.Setsize(tty, &size))
		var out strings.Builder
		s := screen{status: &status{out: &out}, terminal: tty}
		require.NoError(t, s.show(view{path: "/p", state: stateFree}, nil))
		require.Contains(t, out.String(), "/p is free.", "%d rows of %d columns", size.Rows, size.Cols)
	}
}

func TestAnAsyncWriterTakesEverythingWhenNobodyReads(t *testing.T) {
	reader, writer := io.Pipe()
	o := newAsyncWriter(writer)
	for range 3 * asyncLines {
		n, err := o.Write([]byte("line\n"))
		require.NoError(t, err)
		require.Equal(t, 5, n)
	}
	o.close() // gives up
	require.NoError(t, reader.Close())
	<-o.done
}

func TestAnAsyncWriterWritesInOrderAndToTheEnd(t *testing.T) {
	var to strings.Builder
	o := newAsyncWriter(&to)
	for _, line := range []string{"a", "b", "c"} {
		_, err := io.WriteString(o, line)
		require.NoError(t, err)
	}
	o.close()
	require.Equal(t, "abc", to.String())
}

func TestAnAsyncWriterThatIsClosedDropsWhatComesLate(t *testing.T) {
	var to strings.Builder
	o := newAsyncWriter(&to)
	o.close()
	n, err := io.WriteString(o, "of a goroutine that has not ended yet")
	require.NoError(t, err)
	require.Equal(t, 37, n)
	require.Empty(t, to.String())
}
