package main_test

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheServerInMemoryServesTheOtherCommands(t *testing.T) {
	t.Parallel()
	server := startProcess(t, exec.Command(zklockBinary, "server", "--listen", "127.0.0.1:0"))
	line := server.line()
	addr, ok := strings.CutPrefix(line, "a ZooKeeper in memory at ")
	require.True(t, ok, line)

	taken := startProcess(t, exec.Command(zklockBinary, "server", "--listen", addr))
	require.Equal(t, 1, taken.exit())
	require.Contains(t, taken.stderr.String(), addr)

	run := startProcess(t, exec.Command(zklockBinary, "run", "--servers", addr, "/p", "--", "sh", "-c", "echo in; cat"))
	require.Equal(t, "in", run.line())
	status := startProcess(t, exec.Command(zklockBinary, "status", "--servers", addr, "/p"))
	require.Contains(t, status.rest()[1], "holds")
	run.stdin.Close()
	require.Equal(t, 0, run.exit())
	server.signal(interrupt)
	require.Equal(t, 0, server.exit())
}

func TestTheServerInMemoryOutlivesAShortageOfDescriptors(t *testing.T) {
	t.Parallel()
	server := startProcess(t, exec.Command("sh", "-c", "ulimit -n 24 && exec "+zklockBinary+" server --listen 127.0.0.1:0"))
	addr := strings.TrimPrefix(server.line(), "a ZooKeeper in memory at ")
	for range 40 {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
	}
	server.awaitMessage("too many open files")
	server.signal(interrupt)
	require.Equal(t, 0, server.exit())
}

func TestTheDemonstrationNeedsNothing(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(zklockBinary, "demo")
	cmd.Env = []string{"TMPDIR=" + os.TempDir()}
	p := startProcess(t, cmd)
	said := strings.Join(p.rest(), "\n")
	require.Equal(t, 0, p.exit(), "%s%s", said, p.stderr)
	require.Contains(t, said, "kept by a ZooKeeper in memory")
	require.Contains(t, said, "is killed there (kill -9)")
	require.Contains(t, said, "none of 439 with it")
}

func TestTheDemonstrationUsesTheServersItIsGiven(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	p := at.zklock("demo", "--servers", at.addr)
	said := strings.Join(p.rest(), "\n")
	require.Equal(t, 0, p.exit(), "%s%s", said, p.stderr)
	require.Contains(t, said, "kept by ZooKeeper at "+at.addr)
}

func TestADemonstrationWithoutItsServersSaysSo(t *testing.T) {
	t.Parallel()
	p := startProcess(t, exec.Command(zklockBinary, "demo", "--servers", "127.0.0.1:1"))
	require.Equal(t, 69, p.exit())
	require.Contains(t, p.stderr.String(), "zklock: connect 127.0.0.1:1: ")
	require.Len(t, p.rest(), 1, "nothing is shown that would not be ended")
}

func TestAnInterruptedDemonstrationLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(zklockBinary, "demo")
	cmd.Env = []string{"TMPDIR=" + dir}
	p := startProcess(t, cmd)
	p.line()
	p.signal(interrupt)
	require.Equal(t, 130, p.exit())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestShellsCompleteTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p := startProcess(t, exec.Command(zklockBinary, "completion", shell))
		require.NotEmpty(t, p.rest())
		require.Equal(t, 0, p.exit())
	}
	for line, want := range map[string][]string{
		"run --on-lost ":    {"term", "kill", "ignore"},
		"run --on-revoke ":  {"ignore", "term"},
		"status --format ":  {"table", "json"},
		"run --log-format ": {"text", "json"},
		"st":                {"status\tShow who holds a lock and who waits for it"},
	} {
		p := startProcess(t, exec.Command(zklockBinary, append([]string{"__complete"}, strings.Split(line, " ")...)...))
		require.Subset(t, p.rest(), want, line)
	}
}

func TestItTellsItsVersionAndHelps(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--version"}, {"--help"}, {"run", "--help"}, {"help", "break"}} {
		p := startProcess(t, exec.Command(zklockBinary, args...))
		require.NotEmpty(t, p.rest())
		require.Equal(t, 0, p.exit())
		require.Empty(t, p.stderr.String())
	}
}
