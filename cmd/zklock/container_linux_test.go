package main_test

import (
	"os/exec"
	"syscall"
	"testing"
)

// newContainer is newConsole for a script that is the first process of a container, with
// a terminal (docker run -it).
func newContainer(at *site, script string) *console {
	shell := exec.Command("sh", "-c", "mount -t proc proc /proc || exit; "+script)
	return newConsoleOf(at, shell, &syscall.SysProcAttr{
		Setsid: true, Setctty: true, Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS,
	})
}

// The group of a container's first process has the number 1, and to signal -1 is to signal
// everybody.
func TestAKeyInAContainerReachesNobodyButTheJob(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	c := newContainer(at, `
		trap "echo trapped" INT
		setsid -f sleep 1000
		zklock run $P -- sh -c 'echo "in"; read x; echo "got:$x"; read x'
		echo "code:$?"
		pgrep sleep >/dev/null && echo "the other lives"`)
	c.expect("in\r\n")
	c.enter("a line")
	c.expect("got:a line") // so that it has the terminal
	c.key(ctrlC)
	c.expect("trapped") // by the script, which is of the job
	c.expect("code:130")
	c.expect("the other lives")
}
