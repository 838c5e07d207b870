package driver

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/zklock/zklock/bench/internal/rig"
)

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
