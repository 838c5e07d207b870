package job

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/zklock/zklock/internal/virtual"
)

// roleVariable makes this executable a front, or the keeper that it starts, or one that
// looks at a process of another namespace, that founds a process group twice, or that is aborted.
const roleVariable = "ZKLOCK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "front of a keeper", "front of a newborn", "front of a sender":
		os.Setenv(roleVariable, strings.TrimPrefix(role, "front of a "))
		f := &Front{
			Args:   func(descriptor int) []string { return []string{os.Args[0], strconv.Itoa(descriptor)} },
			Ending: syscall.SIGTERM, Log: slog.New(slog.DiscardHandler),
		}
		code, err := f.Run()
		fmt.Println(code, err)
	case "keeper":
		fmt.Println(dieUntold())
	case "newborn": // it gets a signal that is meant for all, and does not know yet to heed none
		fmt.Println(unix.Kill(unix.Getpid(), unix.SIGTERM))
	case "sender":
		fmt.Println(beSignalled())
	case "stranger":
		pid, _ := strconv.Atoi(os.Args[1])
		stopped, _ := isStopped(pid)
		fmt.Println(stopped, isAlone(pid))
	case "aborted":
		sig, _ := strconv.Atoi(os.Args[1])
		fmt.Println(abort(syscall.Signal(sig)))
	case "founder":
		fmt.Println(foundAgain())
	default:
		for _, sig := range Ending { // nohup, or a shell's &, has whoever we start ignore it too
			if signal.Ignored(sig) {
				signal.Notify(make(chan os.Signal, 1), sig)
			}
		}
		os.Exit(m.Run())
	}
}

// beSignalled is a keeper that has its front signalled before it has told anything.
func beSignalled() (string, error) {
	descriptor, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return "", err
	}
	master, err := OpenMaster(descriptor)
	if err != nil {
		return "", err
	}
	err = unix.Kill(unix.Getppid(), unix.SIGUSR1)
	return name((<-master.Signals).(syscall.Signal)), err
}

// dieUntold is a keeper that is killed when it has started a command, and has not
// told its process group yet.
func dieUntold() error {
	descriptor, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	master, err := OpenMaster(descriptor)
	if err != nil {
		return err
	}
	sleep, err := Find("sleep")
	if err != nil {
		return err
	}
	master.tell(commandState{Running: true, KillAfter: time.Hour})
	if _, err = started(Command{Path: sleep, Args: []string{"sleep", "1000"}}); err != nil {
		return err
	}
	return unix.Kill(unix.Getpid(), unix.SIGKILL)
}

// abort sends a signal to this process, and returns when that has not killed it for some time.
func abort(sig syscall.Signal) error {
	dieAtOnce()
	err := unix.Kill(unix.Getpid(), sig)
	time.Sleep(5 * time.Second)
	return err
}

// Go's runtime writes a trace first.
func TestASignalThatAbortsKillsAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGABRT, syscall.SIGSTKFLT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			aborted := exec.CommandContext(t.Context(), os.Args[0], strconv.Itoa(int(sig)))
			aborted.Env = append(os.Environ(), roleVariable+"=aborted")
			said, err := aborted.CombinedOutput()
			require.ErrorContains(t, err, "signal: killed")
			require.Empty(t, said)
		})
	}
}

func TestACommandWhoseKeeperDiedBeforeItCouldTellIsEnded(t *testing.T) {
	require.Equal(t, "0 the process that held the lock was killed by SIGKILL\n", frontOf(t, "keeper"))
}

// A service manager sends its signal to each process, the newest too.
func TestASignalThatEndsAKeeperAtItsBeginningIsNoLoss(t *testing.T) {
	require.Equal(t, "0 interrupted by SIGTERM\n", frontOf(t, "newborn"))
}

// The command's first act may be to signal zklock, which has not heard of it yet.
func TestASignalIsPassedOnBeforeTheFrontHasHeardOfTheCommand(t *testing.T) {
	require.Equal(t, "SIGUSR1 <nil>\n0 <nil>\n", frontOf(t, "sender"))
}

// One signal may tell of both.
func TestACommandThatEndsWithItsKeeperIsNotWaitedFor(t *testing.T) {
	command, err := started(Command{Path: "/bin/true", Args: []string{"true"}})
	require.NoError(t, err)
	require.NoError(t, unix.Waitid(unix.P_PID, command, nil, unix.WEXITED|unix.WNOWAIT, nil))
	endBy(t, syscall.SIGKILL, commandState{Running: true, Group: int32(command)})
}

// endBy has a front end by sig what its keeper has told of.
func endBy(t *testing.T, sig syscall.Signal, told commandState) {
	t.Helper()
	f := &Front{Ending: sig, Log: slog.New(slog.DiscardHandler)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		(&watch{Front: f}).end(told)
	}()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		require.Fail(t, "nobody looks whether it has ended")
	}
}

// The number of a group that is gone may be given to somebody else's.
func TestAFrontThatIsLeftAloneEndsWhatIsLeftAndNoGroupThatIsGone(t *testing.T) {
	told := tellingOf(t, "set -m; sleep 1000 >/dev/null 2>&1 &", hour) // in a group of its own
	gone := commandState{Running: true, KillAfter: time.Hour}
	require.Equal(t, gone, told(), "it has not been started")
	require.NotZero(t, told().Group)
	require.Equal(t, gone, told())
	endBy(t, syscall.SIGTERM, gone)
	require.Equal(t, commandState{Over: true}, told())
}

// It has to keep to it when the keeper is killed.
func TestAFrontHearsOfAnotherTimeToEnd(t *testing.T) {
	var killAfter atomic.Int64
	told := tellingOf(t, "exec sleep 1000", func() time.Duration { return time.Duration(killAfter.Load()) })
	told()
	begun := told()
	require.NotZero(t, begun.Group)
	killAfter.Store(int64(time.Minute))
	require.Equal(t, commandState{Running: true, KillAfter: time.Minute, Group: begun.Group}, told())
}

func TestAFrontHearsThatTheCommandIsToEnd(t *testing.T) {
	lost := make(chan struct{})
	told := tellingOf(t, "trap '' TERM; while :; do sleep 0.1; done", hour, func(c *Command) { c.Lost, c.Ending = lost, syscall.SIGTERM })
	told()
	n := told()
	require.False(t, n.Ending)
	close(lost)
	n.Ending = true
	require.Equal(t, n, told())
}

// Its keeper may be killed meanwhile.
func TestACommandThatIsBeingEndedIsGivenNoMoreTime(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		front, keeper := net.Pipe()
		said := receive(front)
		tell := func(n commandState) {
			require.NoError(t, binary.Write(keeper, binary.NativeEndian, n))
			synctest.Wait()
		}
		n := commandState{Running: true, KillAfter: time.Hour, Group: 7}
		tell(n)
		time.Sleep(time.Minute)
		require.Equal(t, time.Hour, said.left().KillAfter)
		n.Ending = true
		tell(n)
		time.Sleep(time.Minute)
		n.Group = 0
		tell(n)
		time.Sleep(time.Minute)
		keeper.Close()
		<-said.over
		require.Equal(t, 58*time.Minute, said.left().KillAfter)
		time.Sleep(time.Hour)
		require.Zero(t, said.left().KillAfter)
	})
}

// tellingOf runs a command of bash until the test ends, and returns what the front is told.
func tellingOf(t *testing.T, command string, killAfter func() time.Duration, with ...func(*Command)) (told func() commandState) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(pair[0], true)) // for the deadline
	front, keeper := os.NewFile(uintptr(pair[0]), "front"), os.NewFile(uintptr(pair[1]), "keeper")
	require.NoError(t, front.SetDeadline(time.Now().Add(5*time.Second)))
	master := &Master{Signals: make(chan os.Signal), conn: keeper}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer keeper.Close()
		c := Command{
			Path: "/bin/bash", Args: []string{"bash", "-c", command},
			Env: os.Environ(), Valid: func() bool { return true }, KillAfter: killAfter,
		}
		for _, set := range with {
			set(&c)
		}
		_, err := Run(c, master, slog.New(slog.DiscardHandler))
		assert.NoError(t, err)
	}()
	t.Cleanup(func() {
		(&group{void: true}).kill()
		<-ended
		front.Close()
	})
	return func() (n commandState) {
		assert.NoError(t, binary.Read(front, binary.NativeEndian, &n))
		return n
	}
}

// frontOf returns what a front says, and its keeper of that role.
func frontOf(t *testing.T, keeper string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	front := exec.CommandContext(ctx, os.Args[0])
	front.Env = append(os.Environ(), roleVariable+"=front of a "+keeper)
	front.WaitDelay = 10 * time.Second // a command has our end of the pipe too
	said, err := front.Output()
	require.NoError(t, err, "what it says is %q", said) // also if a command outlives it
	return string(said)
}

// foundAgain leaves its process group empty, and at a line of input founds one that has
// the same number. It ends with its input.
func foundAgain() error {
	var line string
	parents, err := unix.Getpgid(unix.Getppid())
	if err == nil {
		err = unix.Setpgid(0, parents)
	}
	if err != nil {
		return err
	}
	fmt.Println("gone")
	_, _ = fmt.Scanln(&line)
	if err := unix.Setpgid(0, 0); err != nil {
		return err
	}
	fmt.Println("back")
	_, _ = fmt.Scanln(&line)
	return nil
}

func TestAnotherGroupWithTheNumberOfTheCommandsIsNotSignalled(t *testing.T) {
	founder := exec.CommandContext(t.Context(), os.Args[0])
	founder.Env = append(os.Environ(), roleVariable+"=founder")
	founder.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := founder.StdinPipe()
	require.NoError(t, err)
	output, err := founder.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, founder.Start())
	said := func() (line string) {
		_, _ = fmt.Fscanln(output, &line)
		return line
	}
	require.Equal(t, "gone", said())
	command := &group{id: founder.Process.Pid, ended: true, others: []int{founder.Process.Pid}}
	command.gone(false)
	_, err = fmt.Fprintln(input, "again")
	require.NoError(t, err)
	require.Equal(t, "back", said())
	command.send(syscall.SIGTERM, anywhere)
	command.kill()
	require.NoError(t, input.Close())
	require.Equal(t, "<nil>", said())
	require.NoError(t, founder.Wait())
}

// stoppedProcess returns one that is the only one of its group.
func stoppedProcess(t *testing.T) *os.Process {
	t.Helper()
	sleep := exec.CommandContext(t.Context(), "sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, sleep.Start())
	t.Cleanup(func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	})
	require.NoError(t, sleep.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(sleep.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	return sleep.Process
}

func TestAProcessOfAnotherNamespaceIsNotTakenForOneOfOurs(t *testing.T) {
	sleep := stoppedProcess(t)
	stopped, _ := isStopped(sleep.Pid)
	require.True(t, stopped)
	require.True(t, isAlone(sleep.Pid))

	stranger := exec.CommandContext(t.Context(), os.Args[0], strconv.Itoa(sleep.Pid))
	stranger.Env = append(os.Environ(), roleVariable+"=stranger")
	stranger.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	said, err := stranger.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to make a namespace")
	}
	require.NoError(t, err)
	require.Equal(t, "false false\n", string(said))
}

// withoutDescriptors calls f while this process can open no file.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var files unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &files))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Max: files.Max}))
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &files)
	f()
}

func TestAProcessThatCannotBeLookedAtIsNotTakenForGone(t *testing.T) {
	require.NoError(t, adoptOrphans())
	daemon := exec.CommandContext(t.Context(), "sleep", "1000")
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	b := <-start(func() (int, error) { return 0, cmp.Or(listChildren(), daemon.Start()) }, nil)
	require.NoError(t, b.err)
	defer daemon.Wait()
	defer daemon.Process.Kill()
	command := &group{ended: true, void: true}
	require.True(t, command.gone(false))                                    // it is in a session of its own
	withoutDescriptors(t, func() { require.False(t, command.gone(false)) }) // it may have a child that is not
}

// Of a keeper whose command is started again and again.
func TestNothingIsLeftOfAStartWhenItsCommandIsOver(t *testing.T) {
	require.NoError(t, adoptOrphans())
	listed := func() int {
		lists.Lock()
		defer lists.Unlock()
		return len(lists.files)
	}
	before, processors := listed(), runtime.GOMAXPROCS(0)
	for range 3 {
		c := Command{Path: "/bin/true", Args: []string{"true"}, Valid: func() bool { return true }}
		over := make(chan struct{})
		b := <-start(func() (int, error) { return execute(c, nil) }, over)
		require.NoError(t, b.err)
		_, err := unix.Wait4(b.id, nil, 0, nil)
		require.NoError(t, err)
		close(over)
		require.Eventually(t, func() bool { return listed() == before }, 10*time.Second, time.Millisecond)
	}
	require.Equal(t, processors, runtime.GOMAXPROCS(0))
}

func TestAFrontThatCannotBeLookedAtIsAsItWas(t *testing.T) {
	front := stoppedProcess(t)
	master := &Master{pid: front.Pid}
	require.True(t, master.stopped())
	withoutDescriptors(t, func() { require.True(t, master.stopped()) })
	require.NoError(t, front.Kill())
	require.NoError(t, unix.Waitid(unix.P_PID, front.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	require.False(t, master.stopped())
}
