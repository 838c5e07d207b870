//go:build unix

package job

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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
