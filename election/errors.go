package election

import (
	"errors"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

var (
	// ErrNoLeader says that nobody leads.
	ErrNoLeader = errors.New("election: nobody leads")

	// ErrRevoked is how a term of [Election.Run] ends when somebody asks for the leadership: zklock
	// revoke, [zklock.Revoke], Curator's Revoker.
	ErrRevoked = errors.New("election: somebody has asked for the leadership")
)

// wrap makes err, which may be a lock's, that of the operation on the path, with what is known of its cause.
func wrap(s *zklock.Session, op, path string, err error) error {
	if err == nil {
		return nil
	}
	if of, locks := err.(*zklock.Error); locks {
		err = of.Err
	}
	if s != nil {
		err = client.Of(s).Explain(err)
	}
	return &zklock.Error{Op: op, Path: path, Err: err}
}

func (e *Election) wrap(op string, err error) error { return wrap(e.session, op, e.path, err) }

// made returns what is wrong with an election that New has not made, as the error of op.
func (e *Election) made(op string) error {
	if e != nil && e.lock != nil {
		return nil
	}
	return wrap(nil, op, "", errors.New("the Election is nil or a zero value: make it with New"))
}

// refused reports whether a server has refused what a leader has to do. A hold may be lost by a refusal, which
// is a loss like others.
func refused(err error) bool { return client.Refused(err) && !errors.Is(err, zklock.ErrLost) }
