package job

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleVariable makes this executable a front, or the keeper that it starts, or one that
// looks at a process of another namespace.
const roleVariable = "ZKLOCK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "front":
		os.Setenv(roleVariable, "keeper")
		f := &Front{
			Args:   func(descriptor int) []string { return []string{os.Args[0], strconv.Itoa(descriptor)} },
			Ending: syscall.SIGTERM, Log: slog.New(slog.DiscardHandler),
		}
		_, err := f.Run()
		fmt.Println(err)
	case "keeper":
		fmt.Println(dieUntold())
	case "stranger":
		pid, _ := strconv.Atoi(os.Args[1])
		fmt.Println(isStopped(pid), isAlone(pid))
	default:
		os.Exit(m.Run())
	}
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
	master.tell(news{Running: true, KillAfter: time.Hour})
	if _, err = start(Command{Path: sleep, Args: []string{"sleep", "1000"}, Valid: func() bool { return true }}, nil); err != nil {
		return err
	}
	return unix.Kill(unix.Getpid(), unix.SIGKILL)
}

func TestACommandWhoseKeeperDiedBeforeItCouldTellIsEnded(t *testing.T) {
	front := exec.CommandContext(t.Context(), os.Args[0])
	front.Env = append(os.Environ(), roleVariable+"=front")
	front.WaitDelay = 10 * time.Second // the command has our end of the pipe too
	said, err := front.Output()
	require.NoError(t, err)
	require.Equal(t, "the process that held the lock was killed by SIGKILL\n", string(said))
}

func TestAProcessOfAnotherNamespaceIsNotTakenForOneOfOurs(t *testing.T) {
	sleep := exec.CommandContext(t.Context(), "sleep", "1000")
	sleep.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, sleep.Start())
	defer sleep.Wait()
	defer sleep.Process.Kill()
	require.NoError(t, sleep.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	_, err := syscall.Wait4(sleep.Process.Pid, &status, syscall.WUNTRACED, nil)
	require.NoError(t, err)
	require.True(t, isStopped(sleep.Process.Pid))
	require.True(t, isAlone(sleep.Process.Pid))

	stranger := exec.CommandContext(t.Context(), os.Args[0], strconv.Itoa(sleep.Process.Pid))
	stranger.Env = append(os.Environ(), roleVariable+"=stranger")
	stranger.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	said, err := stranger.Output()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("needs the right to make a namespace")
	}
	require.NoError(t, err)
	require.Equal(t, "false false\n", string(said))
}
