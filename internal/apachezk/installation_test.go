package apachezk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func requireInstallation(t *testing.T) Installation {
	t.Helper()
	installation, err := Find()
	if err != nil {
		t.Skipf("needs a real ZooKeeper: %v", err)
	}
	return installation
}

func TestFindSaysHowToInstallJava(t *testing.T) {
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", t.TempDir())
	_, err := Find()
	require.ErrorIs(t, err, ErrNotInstalled)
	require.ErrorContains(t, err, "java")
	require.ErrorContains(t, err, "JAVA_HOME")
}

func TestFindSaysHowToInstallZooKeeper(t *testing.T) {
	_, err := packagedJars(t.TempDir())
	require.ErrorIs(t, err, ErrNotInstalled)
	require.ErrorContains(t, err, "apt-get install zookeeper")
	require.ErrorContains(t, err, "ZOOKEEPER_HOME")
}

func TestFindNamesAnUnusableZooKeeperHome(t *testing.T) {
	home := t.TempDir()
	_, err := releaseJars(home)
	require.ErrorIs(t, err, ErrNotInstalled)
	require.ErrorContains(t, err, home)
}

func TestFindListsTheJarsOfARelease(t *testing.T) {
	for name, jars := range map[string][]string{
		"all in lib":              {"lib/logback-core-1.2.10.jar", "lib/zookeeper-3.8.4.jar", "lib/zookeeper-jute-3.8.4.jar"},
		"its own beside the rest": {"lib/log4j-1.2.17.jar", "zookeeper-3.4.14.jar"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			var want []string
			for _, jar := range append(jars, "conf/zoo.cfg", "lib/README") {
				path := filepath.Join(home, jar)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				if filepath.Ext(path) == ".jar" {
					want = append(want, path)
				}
			}
			found, err := releaseJars(home)
			require.NoError(t, err)
			require.ElementsMatch(t, want, found)
		})
	}
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

	found, err := Find()
	require.NoError(t, err)
	require.Contains(t, found.Classpath[len(found.Classpath)-1], home)
	mode, err := Run(t).Server(0).Mode(t.Context())
	require.NoError(t, err)
	require.Equal(t, "standalone", mode)
}
