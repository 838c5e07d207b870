package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/cmd/zklock/internal/cli"
)

func TestTheManualIsUpToDate(t *testing.T) {
	const committed = "../../man"
	fresh := filepath.Join(t.TempDir(), "man")
	require.NoError(t, write(fresh, cli.New()))
	require.Equal(t, pages(t, fresh), pages(t, committed), "run go generate in cmd/zklock")
}

func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := make(map[string]string)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		found[e.Name()] = string(text)
	}
	return found
}
