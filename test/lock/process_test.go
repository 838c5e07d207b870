package lock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// childJob is the environment variable that makes the test binary a child.
const childJob = "ZKLOCK_TEST_CHILD"

// job is what a child process does: it increments the number in a file, once in each section,
// and reports "wrote <number>".
type job struct {
	Addr, Path, File string
	Timeout          time.Duration
	Sections         int
	Options          optionNames
	// StayIn is the section, counted from 1, in which the child reports that it is staying and
	// waits to be killed.
	StayIn int
}

func runChild(description string) int {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the parent is gone
	}()
	var j job
	if err := json.Unmarshal([]byte(description), &j); err != nil {
		fmt.Println(err)
		return 2
	}
	if err := j.run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func (j job) run() error {
	s, err := zklock.Connect(context.Background(), []string{j.Addr}, j.Timeout)
	if err != nil {
		return err
	}
	defer s.Close()
	opts, err := j.Options.options()
	if err != nil {
		return err
	}
	l, err := zklock.New(s, j.Path, opts...)
	if err != nil {
		return err
	}
	for section := 1; section <= j.Sections; section++ {
		if err := j.section(l, section == j.StayIn); err != nil {
			return err
		}
	}
	return nil
}

func (j job) section(l *zklock.Locker, stay bool) error {
	l.Lock()
	defer l.Unlock()
	if stay {
		fmt.Println("staying")
		select {}
	}
	text, err := os.ReadFile(j.File)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond) // the work that another's write would undo
	if err := os.WriteFile(j.File, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
		return err
	}
	fmt.Println("wrote", n+1)
	return nil
}

// child is a running child process.
type child struct {
	cmd    *exec.Cmd
	report chan string // each line that it prints; closed when it has ended
}

func startChild(t *testing.T, j job) *child {
	t.Helper()
	description, err := json.Marshal(j)
	require.NoError(t, err)
	return startChildOf(t, childJob+"="+string(description), j.Sections+1)
}

// startChildOf starts a child with that environment variable, which prints so many lines before
// anybody reads.
func startChildOf(t *testing.T, variable string, lines int) *child {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable)
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe() // closed when this process ends
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, report: make(chan string, lines)}
	go func() {
		defer close(c.report)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.report <- lines.Text()
		}
		_ = cmd.Wait() // what it was killed or failed by shows in its reports
	}()
	t.Cleanup(func() {
		c.kill()
		for range c.report {
		}
	})
	return c
}

func (c *child) kill() { _ = c.cmd.Process.Kill() } // an error says that it has ended

// awaitStaying waits until the child holds the lock to be killed, and returns the numbers that
// it wrote before.
func (c *child) awaitStaying(t *testing.T) (wrote []int) {
	t.Helper()
	for {
		line := receive(t, c.report, "a child to stay in its section")
		if line == "staying" {
			return wrote
		}
		wrote = append(wrote, written(t, line))
	}
}

// written returns the number that a report says was written.
func written(t *testing.T, line string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(line, "wrote "))
	require.NoError(t, err, "a child says: %q", line)
	return n
}

func TestProcessesExcludeEachOtherThroughTheKillsOfHoldersAndWaiters(t *testing.T) {
	t.Parallel()
	const (
		steady, sections = 4, 20
		tick             = 200 * time.Millisecond // the server's
	)
	at := newSite(t)
	j := job{
		Addr: at.addr, Path: at.path, File: filepath.Join(t.TempDir(), "number"),
		Timeout: longSession, Sections: sections, Options: defaults,
	}
	require.NoError(t, os.WriteFile(j.File, []byte("0"), 0o600))
	victim := j
	victim.Timeout = 2 * time.Second

	victim.StayIn = 1
	holder := startChild(t, victim)
	require.Empty(t, holder.awaitStaying(t))

	victim.StayIn = 5
	second, waiter := startChild(t, victim), startChild(t, victim)
	var children []*child
	for range steady {
		children = append(children, startChild(t, j))
	}
	at.awaitQueue(1 + 2 + steady)
	for _, c := range append(children, second, waiter) {
		require.Empty(t, c.report, "nobody may enter while the first child holds the lock")
	}

	waiter.kill()
	holder.kill()
	killed := time.Now()
	wrote := second.awaitStaying(t)
	require.Less(t, time.Since(killed), victim.Timeout+tick+prompt, "the lock moves on when the sessions have ended")
	second.kill()
	for _, c := range children {
		for line := range c.report {
			wrote = append(wrote, written(t, line))
		}
	}
	slices.Sort(wrote)
	var want []int
	for n := range steady*sections + victim.StayIn - 1 {
		want = append(want, n+1)
	}
	require.Equal(t, want, wrote, "each increment counts once")
	at.awaitQueue(0)
}
