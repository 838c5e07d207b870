//go:build unix

package job

import (
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestACommandThatHasLostItsRightIsNotStarted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	lost := make(chan struct{})
	close(lost)
	mkdir, err := Find("mkdir")
	require.NoError(t, err)
	_, err = Run(Command{
		Path: mkdir, Args: []string{"mkdir", dir}, Env: os.Environ(),
		Lost: lost, Valid: func() bool { return false },
	}, new(Master), slog.New(slog.DiscardHandler))
	require.ErrorIs(t, err, ErrLost)
	_, err = os.Stat(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
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
