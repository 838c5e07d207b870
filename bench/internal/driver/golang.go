package driver

import (
	"context"
	"os"
	"path/filepath"
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
