package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/zktest"
)

// asProgram is the environment variable that makes the test binary the program.
const asProgram = "ROLLCALL_RUN"

// patience is how long a test waits for what has to happen; only a failing one
// waits that long.
const patience = time.Minute

// mortal has the session of a process that is to be killed, or stopped, end soon.
var mortal = []string{"-timeout", "4s"}

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is the program, running.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // closed at its end
}

func start(t *testing.T, servers string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"-servers", servers, "-timeout", "20s"}, args...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{t: t, cmd: cmd, lines: make(chan string, 100)}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		p.signal(os.Kill)
		for range p.lines {
		}
	})
	return p
}

func (p *process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// await waits until the process prints line.
func (p *process) await(line string) {
	p.t.Helper()
	limit := time.After(patience)
	var printed []string
	for {
		select {
		case got, open := <-p.lines:
			if got == line {
				return
			}
			require.True(p.t, open, "it ended without printing %q", line)
			printed = append(printed, got)
		case <-limit:
			require.FailNow(p.t, "waited in vain for "+line, "it printed %q", printed)
		}
	}
}

func TestStartingAndKillingServersShowsOnTheClientsList(t *testing.T) {
	ensemble := apachezk.Run(t)
	zookeeper := ensemble.Server(0).Addr()
	client := start(t, zookeeper, "client")
	client.await("0 servers: ")

	servers := make(map[string]*process)
	for _, step := range []struct {
		name, list string
		flags      []string
	}{
		{"alpha", "1 servers: alpha", nil},
		{"beta", "2 servers: alpha beta", mortal},
		{"gamma", "3 servers: alpha beta gamma", nil},
	} {
		servers[step.name] = start(t, zookeeper, append(step.flags, "server", step.name)...)
		servers[step.name].await(step.name + " serves")
		client.await(step.list)
	}

	killed := time.Now()
	servers["beta"].signal(os.Kill)
	client.await("2 servers: alpha gamma")
	require.Greater(t, time.Since(killed), time.Second, "only its session's end takes a killed server off the list")

	servers["alpha"].signal(os.Interrupt) // it leaves
	client.await("1 servers: gamma")

	late := start(t, zookeeper, "client")
	late.await("1 servers: gamma")

	require.NoError(t, ensemble.Server(0).Restart(t.Context()))
	start(t, zookeeper, "server", "delta").await("delta serves")
	client.await("2 servers: gamma delta")
	late.await("2 servers: gamma delta")
}

func TestAServerWhoseSessionWasKilledComesBack(t *testing.T) {
	ensemble := apachezk.Run(t)
	zookeeper := ensemble.Server(0).Addr()
	server := start(t, zookeeper, append(mortal, "server", "alpha")...)
	server.await("alpha serves")
	client := start(t, zookeeper, "client")
	client.await("1 servers: alpha")

	server.signal(syscall.SIGSTOP) // as a long pause does
	client.await("0 servers: ")
	server.signal(syscall.SIGCONT)
	client.await("1 servers: alpha")
}

func TestAServerEndsThoughNoZooKeeperAnswers(t *testing.T) {
	zookeeper := zktest.NewServer(t)
	server := start(t, zookeeper.Addr(), append(mortal, "server", "alpha")...)
	server.await("alpha serves")
	zookeeper.Freeze()
	server.signal(os.Interrupt)
	select {
	case _, open := <-server.lines:
		require.False(t, open)
	case <-time.After(patience):
		require.FailNow(t, "it does not end")
	}
}

func TestTheProgramSaysHowItIsUsed(t *testing.T) {
	zookeeper := zktest.NewServer(t)
	for _, args := range []string{"", "server", "client x", "listen"} {
		args := append([]string{"-servers", zookeeper.Addr()}, strings.Fields(args)...)
		require.ErrorContains(t, run(t.Context(), args, io.Discard), "usage: rollcall")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out := untilLine{cancel: cancel}
	require.NoError(t, run(ctx, []string{"-servers", zookeeper.Addr(), "client"}, &out))
	require.Equal(t, "0 servers: \n", out.String())
}

// untilLine takes what the program prints, and ends it after the first line.
type untilLine struct {
	bytes.Buffer
	cancel func()
}

func (u *untilLine) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("\n")) {
		defer u.cancel()
	}
	return u.Buffer.Write(p)
}
