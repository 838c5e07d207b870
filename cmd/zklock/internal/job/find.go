//go:build unix

package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
)

// The exit codes of a shell for a command that cannot be run.
const (
	notExecutable = 126
	notFound      = 127
)

// ExecError says that a command cannot be run.
type ExecError struct {
	Name string
	Err  error
}

func (e *ExecError) Error() string {
	var errno syscall.Errno
	if errors.As(e.Err, &errno) && errno == syscall.ENOEXEC {
		return fmt.Sprintf("cannot run %q: %v: a script needs a first line that names its interpreter, such as #!/bin/sh", e.Name, e.Err)
	}
	return fmt.Sprintf("cannot run %q: %v", e.Name, e.Err)
}

func (e *ExecError) Unwrap() error { return e.Err }

// ExitCode is what a shell would exit with: 127 if the command does not exist, 126
// if it exists and cannot be executed.
func (e *ExecError) ExitCode() int {
	if errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, fs.ErrNotExist) {
		return notFound
	}
	return notExecutable
}

// Find returns the file that name stands for, by the rules of PATH. Its error is an
// [*ExecError].
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	// What LookPath wraps its reason in repeats the name.
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	return "", &ExecError{Name: name, Err: err}
}
