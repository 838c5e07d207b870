//go:build unix

package job

import (
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestACommandThatHasLostItsRightIsNotStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	lost := make(chan struct{})
	close(lost)
	mkdir, err := Find("mkdir")
	require.NoError(t, err)
	_, err = Run(Command{
		Path: mkdir, Args: []string{"mkdir", dir}, Env: os.Environ(),
		Lost: lost, Valid: func() bool { return false }, KillAfter: hour,
	}, new(Master), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrLost)
	_, err = os.Stat(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// It would wait with all others stopped for a thread that is in execve.
func TestNoGarbageIsCollectedUntilExecveHasCome(t *testing.T) {
	for name, limit := range map[string]func(){
		"a percentage": func() { debug.SetGCPercent(1) },
		"a limit":      func() { debug.SetMemoryLimit(1) },
	} {
		t.Run(name, func(t *testing.T) {
			percent, memory := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
			defer debug.SetMemoryLimit(memory)
			defer debug.SetGCPercent(percent)
			limit()
			goOn := spareThread()
			before := collections()
			for range 64 {
				garbage = make([]byte, 1<<20)
			}
			after := collections()
			goOn()
			require.Equal(t, before, after)
			for collections() == after { // it is as it was
				garbage = make([]byte, 1<<20)
			}
		})
	}
}

var garbage []byte // on the heap

func collections() uint32 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.NumGC
}

func hour() time.Duration { return time.Hour }

// started returns the group of a command that goes on.
func started(c Command) (group int, err error) {
	c.Valid = func() bool { return true }
	b := <-start(func() (int, error) { return execute(c, nil) }, nil)
	return b.id, b.err
}

// watched has a supervisor look around many times that has not heard yet what has come of its
// command's start, tells it, and returns how its watch ends.
func watched(t *testing.T, s *supervisor, told begun) error {
	t.Helper()
	start, changes, ended := make(chan begun), make(chan os.Signal), make(chan error, 1)
	s.begun, s.master, s.log = start, new(Master), slog.New(slog.DiscardHandler)
	go func() { ended <- s.watch(changes) }()
	late := time.After(5 * time.Second)
	for n := 0; ; n++ {
		begin := start
		if n < 20 {
			begin = nil
		}
		select {
		case changes <- syscall.SIGCHLD:
		case begin <- told:
			start = nil
		case err := <-ended:
			return err
		case <-late:
			require.Fail(t, "it is not over")
		}
	}
}

func TestACommandThatCannotBeExecutedIsNotTakenForOneThatHasEnded(t *testing.T) {
	s := &supervisor{command: Command{KillAfter: hour}, group: &group{void: true}}
	require.ErrorIs(t, watched(t, s, begun{err: syscall.ENOENT}), syscall.ENOENT)
}

func TestWhatComesBeforeThereIsACommandWaitsForIt(t *testing.T) {
	lost, signals := make(chan struct{}), make(chan os.Signal, 1)
	close(lost)
	signals <- syscall.SIGHUP
	sleep, err := Find("sleep")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		s    supervisor
		ends syscall.Signal
	}{
		"a loss":   {supervisor{command: Command{Lost: lost, Ending: syscall.SIGTERM, KillAfter: hour}}, syscall.SIGKILL},
		"a signal": {supervisor{command: Command{KillAfter: hour}, signals: signals}, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := started(Command{Path: sleep, Args: []string{"sleep", "1000"}})
			require.NoError(t, err)
			defer unix.Kill(id, unix.SIGKILL)
			c.s.group = &group{void: true, others: []int{id}} // nobody sees it yet
			require.NoError(t, watched(t, &c.s, begun{id: id}))
			require.Equal(t, c.ends, c.s.group.status.Signal())
		})
	}
}

func TestACommandIsFoundByTheRulesOfExecvp(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, mode := range map[string]fs.FileMode{"tool": 0o755, "good/tool": 0o755, "good/plain": 0o644, "other/plain": 0o755, "file": 0o644} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, nil, mode))
	}
	require.NoError(t, os.MkdirAll("good/dir", 0o755))
	for path, names := range map[string]map[string]any{
		"good:other": {
			"tool": "good/tool", "plain": "other/plain", "good/tool": "good/tool", "./tool": "./tool",
			"dir": syscall.EISDIR, "good/dir": syscall.EISDIR, "good/plain": syscall.EACCES,
			"none": exec.ErrNotFound, "": exec.ErrNotFound, "good/none": fs.ErrNotExist,
		},
		"none:file:good": {"tool": "good/tool", "plain": syscall.EACCES, "none": exec.ErrNotFound},
		".:good":         {"tool": "./tool"},
		":good":          {"tool": "./tool"},
		"good:":          {"tool": "good/tool", "file": syscall.EACCES},
		"":               {"tool": "./tool"},
	} {
		t.Setenv("PATH", path)
		for name, want := range names {
			file, err := Find(name)
			if target, fails := want.(error); fails {
				require.ErrorIs(t, err, target, "%q in %q", name, path)
				continue
			}
			require.NoError(t, err, "%q in %q", name, path)
			require.Equal(t, want, file, "%q in %q", name, path)
		}
	}
	require.NoError(t, os.Unsetenv("PATH"))
	file, err := Find("sh")
	require.NoError(t, err)
	require.Equal(t, "/bin/sh", file)
}
