package main_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// shellWithJob runs a shell whose job is in a group of its own, by a keeper that has no
// descriptor left to open a file with. The shell ends at a line of input.
func (at *site) shellWithJob(flags ...string) (p *process, job int) {
	at.t.Helper()
	p = at.run(append(flags, "--", "bash", "-c", "set -m; sleep 1000 <&0 >/dev/null 2>&1 & echo $!; read x; exit 3")...)
	job = p.pid()
	at.t.Cleanup(func() { _ = syscall.Kill(job, syscall.SIGKILL) })
	require.NoError(at.t, unix.Prlimit(keeper(p), unix.RLIMIT_NOFILE, new(unix.Rlimit), nil)) // what is open stays so
	return p, job
}

func TestAKeeperWithoutADescriptorKeepsTheLockForAJob(t *testing.T) {
	p, job := newSite(t).shellWithJob("-v")
	p.say("")
	eventually(t, "the shell to end", func() bool {
		said := p.stderr.String()
		return strings.Contains(said, "and what it has started has not") || strings.Contains(said, "given back")
	})
	require.NotContains(t, p.stderr.String(), "given back")
	require.Contains(t, p.stderr.String(), fmt.Sprintf("processes=[%d]", job), "the shell's group is gone")
	require.NoError(t, syscall.Kill(job, syscall.SIGKILL))
	require.Equal(t, 3, p.exit())
}

func TestAKeeperWithoutADescriptorKillsAJobAfterALoss(t *testing.T) {
	at := newSite(t)
	p, job := at.shellWithJob("--on-lost=kill", "--session-timeout=2s") // it can dial no server
	at.killSession()
	require.Equal(t, 76, p.exit())
	requireGone(t, job)
}
