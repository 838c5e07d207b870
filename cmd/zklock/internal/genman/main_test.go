package main

import (
	"os"
	"path/filepath"
	"strings"
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

func TestAPageSaysHowItsCommandEndsAndWhatItReads(t *testing.T) {
	for name, page := range pages(t, "../../man") {
		require.Contains(t, page, "\n.SH EXIT STATUS\n", name)
		if name == "zklock-demo.1" || name == "zklock-server.1" {
			continue
		}
		for _, said := range []string{"\n.SH ENVIRONMENT\n", "ZKLOCK_SERVERS", "ZKLOCK_AUTH", "\n.SH FILES\n", "chmod 600"} {
			require.Contains(t, page, said, name)
		}
	}
	run := pages(t, "../../man")["zklock-run.1"]
	for _, said := range []string{"ZKLOCK_PATH", "ZKLOCK_NODE", "ZKLOCK_TOKEN", "ZKLOCK_SESSION", "\n\\fB126\\fP\n"} {
		require.Contains(t, run, said)
	}
	require.NotContains(t, pages(t, "../../man")["zklock-server.1"], "128+N", "a signal is how it is meant to end")
	require.Equal(t, 1, strings.Count(run, "the command cannot be executed"), "the exit codes stand in one place")
}
