package membership

import (
	"errors"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
)

func wrap(op, path string, err error) error {
	if _, known := err.(*zklock.Error); known || err == nil {
		return err
	}
	return &zklock.Error{Op: op, Path: path, Err: err}
}

// made returns what is wrong with a member that Join has not made, as the error of op.
func (m *Member) made(op string) error {
	if m != nil && m.session != nil {
		return nil
	}
	return wrap(op, "", errors.New("the Member is nil or a zero value: make it with Join"))
}

// mustBeMade is made for a method that returns no error.
func (m *Member) mustBeMade(op string) {
	if err := m.made(op); err != nil {
		panic(err)
	}
}

// explained is wrap for a call whose ctx may have ended since no server serves the session.
func explained(s *zklock.Session, op, path string, err error) error {
	return wrap(op, path, client.Of(s).Explain(err))
}

func isClosed(s *zklock.Session) bool { return latch.IsClosed(s.Closed()) }
