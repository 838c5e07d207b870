package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

var (
	// ErrClosed says that the session was closed.
	ErrClosed = errors.New("zklock: session is closed")

	// ErrSessionOver says that the ZooKeeper session asked for is no more, and its nodes with
	// it. It is zk.ErrSessionExpired to errors.Is.
	ErrSessionOver error = sessionOver{}

	// ErrStale says that what was read cannot be trusted with a decision: the connection
	// changed while it was under way.
	ErrStale = errors.New("the connection changed")

	errReplaced = errors.New("another connection has taken its place")

	// errClosing ends a client's ctx: ErrClosed may be the cause of a caller's, too.
	errClosing = errors.New("session is being closed")
)

type sessionOver struct{}

func (sessionOver) Error() string        { return "the ZooKeeper session has expired" }
func (sessionOver) Is(target error) bool { return target == zk.ErrSessionExpired }

// Final is an error that another try does not change.
type Final string

func (f Final) Error() string { return string(f) }

// Answers reports whether err is a server's answer of that kind. The end of a ctx may have the
// same as its cause: an errgroup's ctx has what another goroutine was told.
func Answers(err, kind error) bool {
	return errors.Is(err, kind) && !LooksEnded(err)
}

// LooksEnded reports whether err may be taken for the end of a ctx.
func LooksEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Hex writes the id of a ZooKeeper session as ZooKeeper does.
func Hex(session int64) string { return fmt.Sprintf("%#x", uint64(session)) }

// NeedsContext panics if ctx is nil, which is misuse.
func NeedsContext(ctx context.Context) {
	if ctx == nil {
		panic("zklock: the context is nil")
	}
}

// HasEnded reports whether ctx, which is not nil, has.
func HasEnded(ctx context.Context) bool {
	NeedsContext(ctx)
	return ctx.Err() != nil
}

// Ended returns why ctx is over, with its cause where that says more.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch {
	case cause == errClosing: // the client's own, under which work is done for a caller
		return ErrClosed
	case cause == nil || errors.Is(err, cause):
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// Explain adds to the error of a call what is known of its cause. If its ctx has ended while no
// server serves the session, that is why none does. If a server has refused it by a code that
// go-zookeeper has no name for, that is what the code means.
func (c *Client) Explain(err error) error {
	if !LooksEnded(err) {
		return withMeaning(err)
	}
	return c.unservedError(err, true)
}

// Unserved adds to err why no server serves the session, if none does: as text, which errors.Is
// does not see.
func (c *Client) Unserved(err error) error { return c.unservedError(err, false) }

func (c *Client) unservedError(err error, wraps bool) error {
	c.mu.Lock()
	failure, stale := c.failure, c.stale
	c.mu.Unlock()
	switch {
	case failure != nil:
		return unserved{err, failure, wraps}
	case stale != nil:
		return fmt.Errorf("%w (%w)", err, *stale)
	}
	return err
}

// unserved is an error and why no server served the session then.
type unserved struct {
	err, cause error
	wraps      bool // the cause too
}

// Error says the cause, unless err does: the ctx of a call may have ended for want of a server too.
func (u unserved) Error() string {
	if errors.As(u.err, new(unserved)) {
		return u.err.Error()
	}
	return fmt.Sprintf("%v (no connection, last cause: %v)", u.err, u.cause)
}

// Unwrap leaves out a cause that may be taken for the end of a ctx, as of a dial that has used
// up its time.
func (u unserved) Unwrap() []error {
	if !u.wraps || LooksEnded(u.cause) {
		return []error{u.err}
	}
	return []error{u.err, u.cause}
}
