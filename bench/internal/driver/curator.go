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
