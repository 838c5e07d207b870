package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock/zktest"
)

// asService has this executable be the service.
const asService = "SERVICE_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asService) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestSIGTERMEndsTheProcessInOrder(t *testing.T) {
	server, err := zktest.Start()
	require.NoError(t, err)
	defer server.Close()
	p := exec.CommandContext(t.Context(), os.Args[0], "-servers", server.Addr(), "-listen", "127.0.0.1:0")
	p.Env = append(os.Environ(), asService+"=1")
	said, err := p.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "one step") {
	}
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
	}
	require.NoError(t, p.Wait())
	require.Empty(t, server.Sessions(), "its session is closed, or the next one would wait for its end")
}
