package apachezk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

func requireInstallation(t *testing.T) apachezk.Installation {
	t.Helper()
	installation, err := apachezk.Find()
	if err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	return installation
}

// A release is imitated by links to the jars of the installation at hand.
func TestServersRunFromZooKeeperHome(t *testing.T) {
	installation := requireInstallation(t)
	home := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(home, "lib"), 0o755))
	for _, jar := range installation.Classpath {
		name := filepath.Base(jar)
		if name == "zookeeper.jar" {
			name = "zookeeper-3.jar"
		}
		real, err := filepath.EvalSymlinks(jar)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(real, filepath.Join(home, "lib", name)))
	}
	t.Setenv("ZOOKEEPER_HOME", home)

	found, err := apachezk.Find()
	require.NoError(t, err)
	require.Contains(t, found.Classpath[len(found.Classpath)-1], home)
	mode, err := apachezk.Run(t).Server(0).Mode(t.Context())
	require.NoError(t, err)
	require.Equal(t, "standalone", mode)
}
