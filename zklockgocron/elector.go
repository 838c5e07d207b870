package zklockgocron

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/election"
)

// ErrNotLeader says that this process does not lead.
var ErrNotLeader = errors.New("zklockgocron: this process does not lead")

// Elector is a [gocron.Elector]: it has one instance run all jobs, as long as that leads, and then
// another. Its methods may be called from any goroutine.
type Elector struct {
	election *election.Election
	term     atomic.Pointer[election.Term] // the last one
}

// NewElector returns an elector on path. opts are those of [election.New]. It is no candidate before
// [Elector.Run] is called.
func NewElector(s *zklock.Session, path string, opts ...election.Option) (*Elector, error) {
	e, err := election.New(s, path, opts...)
	if err != nil {
		return nil, err
	}
	return &Elector{election: e}, nil
}

// Run is a candidate until ctx ends, or until no further try can mend what is wrong; then it returns an
// error that says so, as [election.Election.Run] does. After a loss it campaigns again. So have it run
// beside the scheduler, shut that down first, and then end ctx: a job that is still running then would
// go on beside the next leader's.
//
// When a leader dies nobody runs jobs until the servers have ended its session. What was due at the
// moment in which the leadership moves is run by both or by neither if their clocks differ.
func (e *Elector) Run(ctx context.Context) error {
	return e.election.Run(ctx, func(ctx context.Context, term *election.Term) error {
		e.term.Store(term)
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

// IsLeader returns nil if this process leads, and [ErrNotLeader] otherwise. It asks no server,
// and looks at the clock, as [zklock.Hold.Valid] does: it is an error before another can lead. A long
// job may call it before each step.
func (e *Elector) IsLeader(context.Context) error {
	if term := e.term.Load(); term == nil || !term.Valid() {
		return ErrNotLeader
	}
	return nil
}
