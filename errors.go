package zklock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
	"github.com/zklock/zklock/internal/queue"
)

var (
	// ErrLocked says that somebody else holds the lock, or is ahead in its queue. A call that
	// ends by its deadline while it waits in the queue returns an error that is both ErrLocked
	// and context.DeadlineExceeded.
	ErrLocked = queue.ErrLocked

	// ErrLost says that a hold ended without its owner's release, by one of the causes that
	// docs/lost.md lists. The errors that are ErrLost, by errors.Is, wrap the cause and say it: a
	// session that was closed is ErrClosed, and one that has expired zk.ErrSessionExpired, unless the
	// end of its lease or of the node was known first. Of the node the text says then that it was
	// deleted, or went with its session.
	ErrLost = queue.ErrLost

	// ErrNotHeld says that the caller does not hold the lock.
	ErrNotHeld = errors.New("zklock: lock is not held by the caller")

	// ErrReleased is how a hold ends when its owner releases it.
	ErrReleased = queue.ErrReleased

	// ErrUpgrade says that the caller holds the lock for reading and asked for writing, which
	// could never succeed: it would wait for itself.
	ErrUpgrade = errors.New("zklock: a read lock cannot be upgraded to a write lock")

	// ErrDeadlock says that the call would have waited for itself: for a hold that its own
	// context carries, from a Do or [Hold.Context], or, if that was lost, for its owner to give
	// it back (see [WithLossGrace]). Work that goes on after a Do and locks again, under
	// [context.WithoutCancel] say, needs a context that does not carry its hold.
	ErrDeadlock = errors.New("zklock: it would wait for itself: its context carries a hold of this lock")

	// ErrClosed says that the session was closed, by [Session.Close], or is being shut down, by
	// [Session.Shutdown].
	ErrClosed = client.ErrClosed
)

// Error says which operation failed on which path, and why. Its cause matches one of this
// package's sentinels, the context's error, or an error of the zk package. Only the text says what
// is wrong with an argument, or with what else is in use at its path; what [Session.Close] could not
// do; and what a server has refused by a code that package zk has no name for, such as a quota.
//
// The text is one line: what others have named or said in it (nodes, servers, users' own errors) is
// escaped where it is not printable, and cut in the middle if the whole is longer than 2,000 characters.
type Error struct {
	Op   string // "connect", "lock", "unlock", "try", ...; of the read side of an RWLocker "read-lock" and so on
	Path string // the lock's path; the servers for "connect", the session for "close" and "ping"; "" of a value that is none
	Err  error
}

func (e *Error) Error() string {
	what := e.Op
	if e.Path != "" {
		what += " " + e.Path
	}
	return plain.Message(prefix+what+": "+unprefixed(e.Err), longestText)
}

// prefix begins the texts of this package's errors.
const prefix = "zklock: "

// unprefixed returns the text of err, in which this package's own errors do without their prefix: the
// outermost has it. The texts of others, which may begin so too, stay as they are.
func unprefixed(err error) string {
	text := fmt.Sprint(err)
	for _, own := range ownTexts(err) {
		text = strings.ReplaceAll(text, own, strings.TrimPrefix(own, prefix))
	}
	return text
}

// ownTexts are the texts of those errors in err's tree that are this package's.
func ownTexts(err error) (texts []string) {
	switch err {
	case ErrLocked, ErrLost, ErrNotHeld, ErrReleased, ErrUpgrade, ErrDeadlock, ErrClosed:
		return []string{err.Error()}
	}
	switch e := err.(type) {
	case *Error:
		return []string{e.Error()}
	case interface{ Unwrap() error }:
		return ownTexts(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			texts = append(texts, ownTexts(part)...)
		}
	}
	return texts
}

// longestText is how many characters an error's text has at most.
const longestText = 2000

// together is errors.Join that says all in one line.
func together(errs []error) error {
	if err := errors.Join(errs...); err != nil {
		return joined{err}
	}
	return nil
}

type joined struct{ error }

func (j joined) Error() string { return strings.ReplaceAll(j.error.Error(), "\n", "; ") }
func (j joined) Unwrap() error { return j.error }

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

// What is wrong with a nil pointer, or with a zero value, on which a method is called. Values that
// can be used are made by their constructors alone; a hold that is none is, say, that of a goroutine
// that has not locked.
var (
	errUnmadeLock      = unmade("lock", "New or NewRW")
	errUnmadeSemaphore = unmade("Semaphore", "NewSemaphore")
	errUnmadeKeyed     = unmade("Keyed", "NewKeyed")
	errUnmadeMulti     = unmade("MultiLocker", "NewMulti")
	errUnmadeSession   = unmade("session", "Connect")
	errNoHold          = fmt.Errorf("the Hold is nil or a zero value: %w", ErrNotHeld)
	errNoMultiHold     = fmt.Errorf("the MultiHold is nil or a zero value: %w", ErrNotHeld)
)

func unmade(what, constructor string) error {
	return fmt.Errorf("the %s is nil or a zero value: make it with %s", what, constructor)
}

// madeIf returns nil if that is so, and otherwise why as the error of op.
func madeIf(is bool, op string, why error) error {
	if is {
		return nil
	}
	return wrap(op, "", why)
}

func (s *side) made(op string) error { return madeIf(s != nil && s.queue != nil, op, errUnmadeLock) }

func (s *Semaphore) made(op string) error {
	return madeIf(s != nil && s.queue != nil, op, errUnmadeSemaphore)
}

func (k *Keyed) made(op string) error {
	return madeIf(k != nil && k.session != nil, op, errUnmadeKeyed)
}

func (m *MultiLocker) made(op string) error {
	return madeIf(m != nil && len(m.lockers) > 0, op, errUnmadeMulti)
}

func (h *Hold) made(op string) error { return madeIf(h != nil && h.hold != nil, op, errNoHold) }

func (h *MultiHold) made(op string) error {
	return madeIf(h != nil && len(h.holds) > 0, op, errNoMultiHold)
}

// made returns what is wrong with a session that Connect has not made.
func (s *Session) made() error {
	if s != nil && s.client != nil {
		return nil
	}
	return errUnmadeSession
}

// must returns the session to a call that returns no error.
func (s *Session) must(op string) *Session {
	must(wrap(op, "", s.made()))
	return s
}

func (h *Hold) must(op string) *queue.Hold {
	must(h.made(op))
	return h.hold
}

// must panics with what a call cannot return.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
