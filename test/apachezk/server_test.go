package apachezk_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func TestAServerKeepsItsAddressAndDataOverAKill(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	before, _ := connect(t, server)
	_, err := before.Create("/kept", []byte("data"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	server.Kill()
	_, err = net.Dial("tcp", server.Addr())
	require.Error(t, err, "a killed server does not listen")
	require.NoError(t, server.Start(t.Context()))

	after, _ := connect(t, server)
	data, _, err := after.Get("/kept")
	require.NoError(t, err)
	require.Equal(t, "data", string(data))
}

func TestAPausedServerIsSilentUntilItContinues(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	require.NoError(t, server.Pause())
	require.NoError(t, server.Pause(), "it may be paused already")
	conn, err := net.Dial("tcp", server.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("ruok"))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	_, err = conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, server.Continue())
	answer, err := server.FourLetter("ruok")
	require.NoError(t, err)
	require.Equal(t, "imok", answer)
}

func TestAKilledServerCannotBePaused(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	server.Kill()
	require.Error(t, server.Pause())
	require.Error(t, server.Continue())
}

func TestARunningServerIsNotStartedTwice(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	require.ErrorContains(t, server.Start(t.Context()), "runs already")
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	requireInstallation(t)
	_, err := apachezk.Start(t.Context(), apachezk.Config{Settings: map[string]string{"tickTime": "soon"}})
	require.ErrorContains(t, err, "soon")
}

func TestAnImpossibleConfigIsRefused(t *testing.T) {
	requireInstallation(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, cfg := range map[string]apachezk.Config{
		"a negative number of servers": {Servers: -1},
		"a directory that is a file":   {Dir: file},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := apachezk.Start(t.Context(), cfg)
			require.ErrorContains(t, err, "apachezk: prepare servers")
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	requireInstallation(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := apachezk.Start(ctx, apachezk.Config{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAServerWhosePortIsTakenSaysSo(t *testing.T) {
	server := apachezk.Run(t).Server(0)
	server.Kill()
	squatter, err := net.Listen("tcp", server.Addr())
	require.NoError(t, err)
	defer squatter.Close()
	require.ErrorContains(t, server.Start(t.Context()), "port taken by somebody else")
}

func TestSettingsTakePrecedenceAndContainersAreReapedAsConfigured(t *testing.T) {
	server := apachezk.Run(t, func(c *apachezk.Config) {
		c.Settings = map[string]string{"maxSessionTimeout": "1234"}
		c.ContainerCheck = 50 * time.Millisecond
	}).Server(0)
	conf, err := server.FourLetter("conf")
	require.NoError(t, err)
	require.Contains(t, conf, "maxSessionTimeout=1234")

	conn, _ := connect(t, server)
	_, err = conn.CreateContainer("/container", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = conn.Create("/container/child", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.NoError(t, conn.Delete("/container/child", -1))
	require.Eventually(t, func() bool {
		exists, _, err := conn.Exists("/container")
		return err == nil && !exists
	}, patience, 10*time.Millisecond)
}

func TestADirectoryOfTheCallerIsKept(t *testing.T) {
	requireInstallation(t)
	dir := t.TempDir()
	e, err := apachezk.Start(t.Context(), apachezk.Config{Dir: dir})
	require.NoError(t, err)
	log := e.Server(0).LogPath()
	e.Stop()
	e.Stop()
	require.True(t, strings.HasPrefix(log, dir))
	require.FileExists(t, log)
}
