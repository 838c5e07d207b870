package apachezk_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

// orphanageEnv makes the test binary start a server and wait to be killed.
const orphanageEnv = "APACHEZK_TEST_ORPHANAGE"

func TestNoServerOutlivesAKilledTestBinary(t *testing.T) {
	requireInstallation(t)
	for _, how := range []string{"running", "paused"} {
		t.Run(how, func(t *testing.T) {
			binary := exec.Command(os.Args[0])
			binary.Env = append(os.Environ(), orphanageEnv+"="+how)
			binary.Stderr = os.Stderr
			stdout, err := binary.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, binary.Start())
			t.Cleanup(func() {
				binary.Process.Kill()
				binary.Wait()
			})
			line, err := bufio.NewReader(stdout).ReadString('\n')
			require.NoError(t, err)
			group, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
			t.Cleanup(func() { os.RemoveAll(dir) })
			require.Len(t, livingMembers(t, group), 2, "the server and the shell that watches over it")

			require.NoError(t, binary.Process.Kill())

			require.Eventually(t, func() bool { return len(livingMembers(t, group)) == 0 },
				patience, 10*time.Millisecond)
		})
	}
}

func startServerAndHang(how string) {
	e, err := apachezk.Start(context.Background(), apachezk.Config{})
	if err == nil && how == "paused" {
		err = e.Server(0).Pause()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(groupOf(e), temporary(e))
	select {}
}

func TestAStoppedEnsembleLeavesNoProcessAndNoDirectory(t *testing.T) {
	e := apachezk.Run(t)
	require.NoError(t, e.Server(0).Pause())
	group := groupOf(e)
	require.Len(t, livingMembers(t, group), 2)

	require.DirExists(t, temporary(e))

	e.Stop()

	require.Empty(t, livingMembers(t, group))
	require.NoDirExists(t, temporary(e))
}

// temporary returns the directory of an ensemble's data.
func temporary(e *apachezk.Ensemble) string {
	return filepath.Dir(filepath.Dir(e.Server(0).LogPath()))
}

// groupOf returns the process group of an ensemble's only server and of what watches
// over it.
func groupOf(e *apachezk.Ensemble) string {
	list, err := exec.Command("ps", "-A", "-ww", "-o", "pgid=,args=").Output()
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, temporary(e)) {
			return strings.Fields(line)[0]
		}
	}
	panic("no process has " + temporary(e) + " among its arguments")
}

// livingMembers returns the states of the members of a process group, except
// those that have ended and wait to be reaped.
func livingMembers(t *testing.T, group string) []string {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "pgid=,stat=").Output()
	require.NoError(t, err)
	var living []string
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if fields[0] == group && !strings.HasPrefix(fields[1], "Z") {
			living = append(living, fields[1])
		}
	}
	return living
}
