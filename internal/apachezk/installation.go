//go:build unix

package apachezk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNotInstalled is in the chain of every error by which Find says that
// this machine cannot run Apache ZooKeeper.
var ErrNotInstalled = errors.New("not installed")

// debianJars is where Debian's libzookeeper-java puts ZooKeeper.
const debianJars = "/usr/share/java"

// Installation is what it takes to run a server: a Java virtual machine and
// the jars of ZooKeeper with its dependencies.
type Installation struct {
	Java      string   // path of the java command
	Classpath []string // paths of jar files
}

// Find looks for java in JAVA_HOME and then in PATH, and for ZooKeeper in
// ZOOKEEPER_HOME (an unpacked release) or, if that is not set, among Debian's
// packages. Its error says what is missing and how to install it.
func Find() (Installation, error) {
	java, err := findJava()
	if err != nil {
		return Installation{}, err
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		jars, err := releaseJars(home)
		return Installation{Java: java, Classpath: jars}, err
	}
	jars, err := packagedJars(debianJars)
	return Installation{Java: java, Classpath: jars}, err
}

func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return findCommand(filepath.Join(home, "bin", "java"))
	}
	return findCommand("java")
}

func findCommand(java string) (string, error) {
	path, err := exec.LookPath(java)
	if err != nil {
		return "", fmt.Errorf("apachezk: java: %w: %w: run `apt-get install default-jre-headless` or set JAVA_HOME",
			ErrNotInstalled, err)
	}
	return path, nil
}

// releaseJars lists the jars of an unpacked release: the server's own are in
// lib since ZooKeeper 3.5.5 and were beside it before.
func releaseJars(home string) ([]string, error) {
	if own, _ := filepath.Glob(filepath.Join(home, "lib", "zookeeper-[0-9]*.jar")); len(own) == 0 {
		if own, _ = filepath.Glob(filepath.Join(home, "zookeeper-[0-9]*.jar")); len(own) == 0 {
			return nil, fmt.Errorf("apachezk: ZooKeeper: %w: ZOOKEEPER_HOME is %q, which holds no zookeeper-<version>.jar",
				ErrNotInstalled, home)
		}
	}
	var jars []string
	for _, dir := range []string{"lib", ""} {
		more, err := filepath.Glob(filepath.Join(home, dir, "*.jar"))
		if err != nil {
			return nil, fmt.Errorf("apachezk: ZOOKEEPER_HOME: %w", err)
		}
		jars = append(jars, more...)
	}
	return jars, nil
}

// packagedJars relies on the manifest of Debian's zookeeper.jar, which names
// every jar that it needs except an implementation of slf4j.
func packagedJars(dir string) ([]string, error) {
	jars := []string{filepath.Join(dir, "zookeeper.jar"), filepath.Join(dir, "slf4j-simple.jar")}
	for _, jar := range jars {
		_, err := os.Stat(jar)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("apachezk: ZooKeeper: %w: no %s: run `apt-get install zookeeper`"+
				" or set ZOOKEEPER_HOME to an unpacked release", ErrNotInstalled, jar)
		}
		if err != nil {
			return nil, fmt.Errorf("apachezk: ZooKeeper: %w", err)
		}
	}
	return jars, nil
}

// command is the command line of a server.
func (i Installation) command(logging string, flags []string, zooCfg string) []string {
	classpath := strings.Join(append([]string{logging}, i.Classpath...), string(os.PathListSeparator))
	argv := append([]string{i.Java, "-cp", classpath}, flags...)
	return append(argv, "org.apache.zookeeper.server.quorum.QuorumPeerMain", zooCfg)
}
