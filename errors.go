package zklock

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrLocked says that somebody else holds the lock, or is ahead in its queue.
	// A call that ends by its deadline while it waits in the queue returns an
	// error that is both ErrLocked and context.DeadlineExceeded.
	ErrLocked = errors.New("zklock: lock is held by another")

	// ErrLost says that a hold ended without its owner's release: the ZooKeeper
	// session ended, or could not be proved alive in time, or somebody deleted the
	// lock node.
	ErrLost = errors.New("zklock: lock was lost")

	// ErrNotHeld says that the caller does not hold the lock.
	ErrNotHeld = errors.New("zklock: lock is not held by the caller")

	// ErrReleased is how a hold ends when its owner releases it or closes its
	// session.
	ErrReleased = errors.New("zklock: lock was released")

	// ErrUpgrade says that the caller holds the lock for reading and asked for
	// writing, which could never succeed: it would wait for itself.
	ErrUpgrade = errors.New("zklock: a read lock cannot be upgraded to a write lock")

	// ErrClosed says that the session was closed by its Close method.
	ErrClosed = errors.New("zklock: session is closed")
)

// Error says which operation failed on which path, and why. Its cause matches one
// of this package's sentinels, the context's error, or an error of the zk package;
// what is wrong with an argument only the text says.
type Error struct {
	Op   string // "connect", "lock", "unlock", ...
	Path string // the lock's path; the servers for "connect", the session for "close"
	Err  error
}

func (e *Error) Error() string {
	what := e.Op
	if e.Path != "" {
		what += " " + e.Path
	}
	return fmt.Sprintf("zklock: %s: %s", what, strings.ReplaceAll(e.Err.Error(), "zklock: ", ""))
}

func (e *Error) Unwrap() error { return e.Err }

// wrap attaches op and path to err, once.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*Error); ok {
		return err
	}
	return &Error{Op: op, Path: path, Err: err}
}

// answers tells whether err is a server's answer of that kind. The end of a ctx may
// have the same as its cause: an errgroup's ctx has what another goroutine was told.
func answers(err, kind error) bool {
	return errors.Is(err, kind) && !looksEnded(err)
}

// looksEnded tells whether err may be taken for the end of a ctx.
func looksEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ended returns why ctx is over, with its cause where that says more.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case cause == errClosing: // the session's own, under which work is done for a caller
		return ErrClosed
	case err == nil: // of a type whose Done and Err disagree: no success
		return context.Canceled
	case cause == nil || errors.Is(err, cause):
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// errClosing ends a session's ctx: ErrClosed may be the cause of a caller's, too.
var errClosing = errors.New("zklock: session is being closed")

// timedOut adds to the error of a call that had to stand in the queue that the
// lock is taken, if ctx's deadline ended it.
func timedOut(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return err
}

// because is fmt.Errorf("%s: %w") that does not call the cause's Error before somebody
// reads the text: a user's error is not asked for it under a mutex of ours.
type because struct {
	what  string
	cause error
}

func (b because) Error() string { return fmt.Sprintf("%s: %v", b.what, b.cause) }
func (b because) Unwrap() error { return b.cause }
