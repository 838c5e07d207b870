package driver

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zklock/zklock/bench/internal/rig"
	"github.com/zklock/zklock/internal/apachezk"
)

// WorkerFlag is the flag by which this program is told to be a worker, and
// ProfileFlag the one that names the directory of its profiles.
const (
	WorkerFlag  = "worker"
	ProfileFlag = "profile"
)

// Go starts this program as the worker of a Go library. If profiles is not
// empty, the worker leaves its profiles in a directory of its own there.
func Go(ctx context.Context, name, profiles string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := []string{self, "-" + WorkerFlag, name}
	if profiles != "" {
		dir := filepath.Join(profiles, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		argv = append(argv, "-"+ProfileFlag, dir)
	}
	return start(ctx, name, argv...)
}

//go:embed kazoo/worker.py
var kazooSource []byte

// python is Debian's own, for which Debian's kazoo is installed.
const python = "/usr/bin/python3"

// Kazoo starts kazoo's worker, whose source it writes to dir.
func Kazoo(ctx context.Context, dir string) (*Process, error) {
	if exec.CommandContext(ctx, python, "-c", "import kazoo").Run() != nil {
		return nil, fmt.Errorf("kazoo for %s: %w", python, rig.ErrMissing)
	}
	source := filepath.Join(dir, "worker.py")
	if err := os.WriteFile(source, kazooSource, 0o644); err != nil {
		return nil, err
	}
	return start(ctx, "kazoo", python, source)
}

//go:embed curator/*.java
var curatorSource embed.FS

// debianJars is where Debian's packages put Curator and what it needs.
const debianJars = "/usr/share/java"

// Curator compiles Curator's worker in dir, against Debian's jars, and starts
// it.
func Curator(ctx context.Context, dir string) (*Process, error) {
	zookeeper, err := apachezk.Find()
	if err != nil {
		return nil, err
	}
	classpath := append([]string{dir}, zookeeper.Classpath...)
	for _, jar := range []string{"curator-recipes", "curator-framework", "curator-client", "guava", "slf4j-api"} {
		path := filepath.Join(debianJars, jar+".jar")
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("%s: %w", path, rig.ErrMissing)
		}
		classpath = append(classpath, path)
	}
	joined := strings.Join(classpath, string(os.PathListSeparator))
	if err := compile(ctx, zookeeper.Java, joined, dir); err != nil {
		return nil, err
	}
	p, err := start(ctx, "Curator", zookeeper.Java, "-cp", joined,
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-Xmx2g", "Worker")
	if err != nil {
		return nil, err
	}
	p.Version = jarVersion("curator-recipes") + ", " + p.Version
	return p, nil
}

func compile(ctx context.Context, java, classpath, dir string) error {
	javac := filepath.Join(filepath.Dir(java), "javac")
	if _, err := exec.LookPath(javac); err != nil {
		return fmt.Errorf("javac: %w", rig.ErrMissing)
	}
	source, err := fs.Sub(curatorSource, "curator")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, source); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.java"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, javac, append([]string{"-d", dir, "-cp", classpath}, files...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("javac: %w:\n%s", err, out)
	}
	return nil
}

// jarVersion is in the other name that Debian gives to a jar.
func jarVersion(name string) string {
	prefix := filepath.Join(debianJars, name+"-")
	names, err := filepath.Glob(prefix + "[0-9]*.jar")
	if err != nil || len(names) != 1 {
		return "unknown"
	}
	return strings.TrimSuffix(strings.TrimPrefix(names[0], prefix), ".jar")
}
