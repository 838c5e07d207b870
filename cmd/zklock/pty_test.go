package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// console is an interactive shell on a terminal, as a person has it.
type console struct {
	t    *testing.T
	pty  *os.File
	said *record
	read int // how much of said was looked at
}

const prompt = "READY> "

// newConsole starts a shell that has zklock in its path, the site's servers, and the
// site's path in $P and this executable in $T.
func newConsole(at *site) *console {
	at.t.Helper()
	shell := exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	c := newConsoleOf(at, shell, &syscall.SysProcAttr{Setsid: true, Setctty: true})
	c.expect(prompt)
	return c
}

// newConsoleOf is newConsole for another shell, which has yet to say something.
func newConsoleOf(at *site, shell *exec.Cmd, attr *syscall.SysProcAttr) *console {
	t := at.t
	t.Helper()
	shell.Env = append(os.Environ(), "TERM=xterm", "HISTFILE=", "PS1="+prompt, "P="+at.path, "T="+os.Args[0],
		"ZKLOCK_SERVERS="+at.addr, "PATH="+filepath.Dir(zklockBinary)+":"+os.Getenv("PATH"))
	f, err := pty.StartWithAttrs(shell, &pty.Winsize{Rows: 24, Cols: 100}, attr)
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("it takes root to make a container: %v", err)
	}
	require.NoError(t, err)
	// So that Close ends a Read: pty has made the descriptor a blocking one.
	require.NoError(t, unix.SetNonblock(int(f.Fd()), true))
	c := &console{t: t, pty: f, said: new(record)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			n, err := f.Read(buffer)
			_, _ = c.said.Write(buffer[:n])
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		f.Close() // hangs up, and the shell on its jobs
		<-ended
		kill := time.AfterFunc(*patience, func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		_ = shell.Wait()
		if t.Failed() {
			t.Logf("the terminal shows:\n%s", c.said)
		}
	})
	return c
}

// key types something.
func (c *console) key(text string) {
	c.t.Helper()
	_, err := c.pty.WriteString(text)
	require.NoError(c.t, err)
}

// keyUntil types something, each second again, until the terminal shows the text.
func (c *console) keyUntil(key, text string) {
	c.t.Helper()
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); {
		c.key(key)
		for again := time.Now().Add(time.Second); time.Now().Before(again); time.Sleep(5 * time.Millisecond) {
			if strings.Contains(c.said.String()[c.read:], text) {
				c.expect(text)
				return
			}
		}
	}
	c.expect(text)
}

// stopAndGoOn stops the job in the foreground, a zklock run, and continues it, so
// many times. It returns when the terminal is with those again who had it.
func (c *console) stopAndGoOn(times int) {
	c.t.Helper()
	with := c.foreground()
	for range times {
		c.stopAndContinue()
		eventually(c.t, "the terminal to change hands", func() bool { return c.foreground() == with })
	}
}

func (c *console) stopAndContinue() {
	c.t.Helper()
	c.keyUntil(ctrlZ, "Stopped")
	c.expect(prompt)
	c.enter("fg")
	c.expect("zklock run")
}

// enter types a line.
func (c *console) enter(line string) {
	c.t.Helper()
	c.key(line + "\r")
}

// expect waits until the terminal shows the text, behind what was expected before.
func (c *console) expect(text string) {
	c.t.Helper()
	deadline := time.Now().Add(*patience)
	for {
		said := c.said.String()[c.read:]
		if i := strings.Index(said, text); i >= 0 {
			c.read += i + len(text)
			return
		}
		require.True(c.t, time.Now().Before(deadline), "waiting for %q", text)
		time.Sleep(5 * time.Millisecond)
	}
}

// foreground returns the process group that has the terminal.
func (c *console) foreground() int {
	c.t.Helper()
	var group int
	c.control(func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

// Keys of a terminal.
const (
	ctrlC = "\x03"
	ctrlZ = "\x1a"
	ctrlD = "\x04"

	ctrlBackslash = "\x1c"
)

// resize changes the size of the terminal.
func (c *console) resize(rows, columns uint16) {
	c.t.Helper()
	c.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

// control calls f with the terminal's descriptor, which stays a nonblocking one.
func (c *console) control(f func(fd int) error) {
	c.t.Helper()
	conn, err := c.pty.SyscallConn()
	require.NoError(c.t, err)
	var failed error
	require.NoError(c.t, conn.Control(func(fd uintptr) { failed = f(int(fd)) }))
	require.NoError(c.t, failed)
}
