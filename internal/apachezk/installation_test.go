//go:build unix

package apachezk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
