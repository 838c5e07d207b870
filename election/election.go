package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// Election is a place to campaign at. Its methods may be called from any goroutine; each call of
// Run and Campaign is a candidate of its own.
type Election struct {
	session *zklock.Session
	path    string
	lock    *zklock.Locker
	options *options
}

// New returns an election on path, which it does not create yet. Its errors name the bad argument, as
// those of [zklock.New] do.
func New(s *zklock.Session, path string, opts ...Option) (*Election, error) {
	o := &options{retry: func(error) bool { return false }}
	err := client.Apply(o, opts)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, wrap(nil, "new", path, err)
	}
	lock, err := zklock.New(s, path, append(o.lock, zklock.WithData(candidacy()))...)
	if err != nil {
		return nil, err
	}
	e := &Election{s, lock.Path(), lock, o}
	return e, e.wrap("new", e.fits(o.value))
}

// fits returns an error if a node with that value is too long for the servers.
func (e *Election) fits(value []byte) error {
	return client.CheckCreate(e.path, leadership(time.Now(), value), e.options.acl)
}

// Run campaigns, calls lead when this process leads, and campaigns again when a term has ended while
// lead was running. lead's context is a child of ctx that carries the hold ([zklock.HoldFrom]) and ends
// before another can lead. Its cause is what [Term.Err] says: [zklock.ErrLost] after a loss,
// [zklock.ErrReleased] after [Term.Resign], [ErrRevoked] when somebody has asked for the leadership, or
// why a server refuses to let observers see the leader. Run gives the leadership up only when lead has
// returned, however long that takes.
//
// What lead returns counts if it still leads then, whatever happens as the leadership is given up. With
// nil its work is done, and Run returns nil. An error ends Run too, which returns it: an error that is
// kept silent, and a candidate that leads, fails, and leads again at once, are what users of other
// elections found out about too late. See [WithRetry]. Once the term has ended, what lead returns is
// taken for a consequence of that: Run goes on, after the time of [WithPause].
//
// Run ends too when ctx does, with its error, and with what no further try can mend: the session was
// closed ([zklock.ErrClosed]), or a server refuses what a candidate or a leader has to do. If that is to
// delete its node, nobody leads until the session ends. [zklock.Session.Shutdown] waits for a lead that
// is running, and does not end it: have ctx end before. If lead panics or calls runtime.Goexit, the
// leadership is given up. Another campaign in the same election under lead's context returns
// [zklock.ErrDeadlock]; under any other, it waits for the end of this one's term.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, term *Term) error) error {
	if err := e.made("run"); err != nil {
		return err
	}
	if lead == nil {
		return e.wrap("run", errors.New("the function is nil"))
	}
	for {
		again, pause, err := e.serve(ctx, lead)
		if !again {
			return err
		}
		_ = client.Of(e.session).Sleep(ctx, pause) // what ends it ends the next campaign
	}
}

// leastPause is how long Run waits before it tries again after an error.
const leastPause = time.Second

// serve is one term, and the campaign for it. It returns whether there is to be another, and when.
func (e *Election) serve(ctx context.Context, lead func(context.Context, *Term) error) (again bool, pause time.Duration, err error) {
	var term *Term
	var returned, over error
	err = e.lock.Do(ctx, func(ctx context.Context) error {
		term = newTerm(ctx, e, zklock.HoldFrom(ctx))
		term.spawn(term.announce)
		term.spawn(term.heed)
		returned = lead(term.ctx, term)
		term.hold.Valid() // no timer may have run yet that tells of a loss
		over = term.Err()
		return nil
	})
	switch {
	case term == nil:
		return false, 0, e.wrap("run", err)
	case refused(err): // its node stays, and another campaign would wait behind it
		return false, 0, e.wrap("run", besides(err, returned))
	case over == nil && returned == nil:
		return false, 0, nil
	case over == nil && !e.options.retry(returned):
		return false, 0, returned
	case over == nil:
		return true, max(e.options.pause, leastPause), nil
	case client.HasEnded(ctx):
		return false, 0, e.wrap("run", besides(client.Ended(ctx), returned))
	case term.refusal.Load() != nil:
		return false, 0, e.wrap("run", besides(*term.refusal.Load(), returned))
	}
	return true, e.options.pause, nil
}

// besides returns err, and what the function has returned unless that says the same.
func besides(err, returned error) error {
	if returned == nil || client.LooksEnded(returned) || errors.Is(err, returned) {
		return err
	}
	return fmt.Errorf("%w; the function returned: %w", err, returned)
}

// Campaign waits until this process leads, and until observers can see that. It is for who cannot use
// [Election.Run], and has to stop when [Term.Lost] closes, to look at [Term.Valid] before each step,
// and to end the term by [Term.Resign]. When ctx ends first it returns its error, and leaves no
// candidate behind. Its other errors are those of [zklock.Locker.Acquire].
func (e *Election) Campaign(ctx context.Context) (*Term, error) {
	if err := e.made("campaign"); err != nil {
		return nil, err
	}
	for {
		hold, err := e.lock.Acquire(ctx)
		if err != nil {
			return nil, e.wrap("campaign", err)
		}
		term := newTerm(hold.Context(), e, hold)
		term.byHand = true
		err = term.write(ctx, nil)
		if err == nil {
			term.spawn(term.heed)
			return term, nil
		}
		_ = term.Resign(ctx)
		if !errors.Is(err, zklock.ErrLost) {
			return nil, e.wrap("campaign", err)
		}
	}
}
