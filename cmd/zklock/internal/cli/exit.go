package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/spf13/cobra"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
)

// The exit codes, which are those of sysexits.h where it has one that fits.
// Those of a command that was run are its own.
const (
	exitFailure     = 1  // it could not do what it was asked
	exitUsage       = 64 // EX_USAGE: the arguments, or what they name, are wrong
	exitPartial     = 66 // EX_NOINPUT: a part of the answer may not be read
	exitUnreachable = 69 // EX_UNAVAILABLE: no server could be reached in time
	exitConflict    = 75 // EX_TEMPFAIL: somebody else has the lock
	exitLost        = 76 // EX_PROTOCOL: the lock was lost while the command ran
	exitRefused     = 77 // EX_NOPERM: the credentials, or the permissions of the path
)

// coder is an error that knows the exit code to end with.
type coder interface {
	error
	ExitCode() int
}

// coded is an error with an exit code.
type coded struct {
	error
	code int
}

func (c *coded) Unwrap() error { return c.error }
func (c *coded) ExitCode() int { return c.code }

// withCode gives err an exit code, unless it is nil.
func withCode(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// silent is how a command ends with an exit code and nothing to say.
type silent struct{ code int }

func (s *silent) Error() string { return fmt.Sprintf("exit code %d", s.code) }
func (s *silent) ExitCode() int { return s.code }

// exitWith returns the error that ends with code and says nothing.
func exitWith(code int) error {
	if code == 0 {
		return nil
	}
	return &silent{code}
}

// usage says that an argument is wrong: the value, and the rule it breaks.
func usage(format string, args ...any) error {
	return withCode(exitUsage, fmt.Errorf(format, args...))
}

// classify gives an error of the library its exit code.
func classify(err error) error {
	var known coder
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, zklock.ErrLocked):
		return withCode(exitConflict, err)
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		return withCode(exitRefused, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, zklock.ErrLost):
		return withCode(exitUnreachable, err)
	case named(err):
		return withCode(exitUsage, err)
	}
	return withCode(exitFailure, err)
}

// lacking adds to err, if it is that the permissions of a path do not allow a request, which one it
// is that it takes.
func lacking(permission, path string, err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("%w: it takes the permission %s on %s, which we do not have", err, permission, plain.Name(path, longestName))
	}
	return err
}

// named reports whether what was named is to blame: a path that can be no lock, or is one of
// another kind, or a list of permissions that the servers refuse.
func named(err error) bool {
	var another client.Final
	return errors.As(err, &another) || errors.Is(err, zk.ErrNoChildrenForEphemerals) ||
		errors.Is(err, zk.ErrInvalidPath) || errors.Is(err, zk.ErrInvalidACL)
}

// codeOf returns the exit code of an error. Those without one come from cobra,
// which has found fault with the command line.
func codeOf(err error) int {
	var known coder
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known):
		return known.ExitCode()
	}
	return exitUsage
}

// fromLibrary reports whether the error is about what was asked of the servers, and
// not about how the command was written.
func fromLibrary(err error) bool {
	var e *zklock.Error
	return errors.As(err, &e)
}

// unnamed is what an error says, without our name in front, which report writes.
func unnamed(err error) string { return strings.TrimPrefix(err.Error(), "zklock: ") }

// report tells people, or a program that reads JSON, why a command has failed.
func report(to io.Writer, cmd *cobra.Command, err error) {
	text := unnamed(err)
	if f := cmd.Flag(logFormatFlag); f != nil && f.Value.String() == "json" {
		newLogger(to, "json", 0).Error(text, "exit_code", codeOf(err))
		return
	}
	if fromLibrary(err) {
		text = plain.Message(text, longestError)
	}
	fmt.Fprintf(to, "zklock: %s\n", text)
	if codeOf(err) == exitUsage && !fromLibrary(err) {
		fmt.Fprintf(to, "Try '%s --help'.\n", cmd.CommandPath())
	}
}
