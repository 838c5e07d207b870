package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/wire"
)

// proof is a committed write under way, a create or a Multi of checks.
type proof struct {
	lease.Proof
	link *wire.Link
}

func (s *Session) beginProof() proof {
	s.mu.Lock()
	defer s.mu.Unlock()
	return proof{link: s.link, Proof: s.lease.Proof(s.client.Clock.Now())}
}

// proven extends the lease by a proof that was committed. One that was begun on another
// connection says nothing of the touches of this one. One that has not checked what is protected says
// nothing of that: a node may have gone unheard while there was no connection.
func (s *Session) proven(p proof, checked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.link == nil || s.link != p.link || s.incarnation == nil {
		return
	}
	now := s.client.Clock.Now()
	if !s.lease.RunsAt(now) {
		s.leaseOver(now) // the session lives, and this counts for what comes
	}
	s.incarnation.confirmed = now
	if !checked && s.protected.length > 0 {
		return
	}
	s.lease.Prove(p.Proof, s.protected.length > 0, now)
	if s.incarnation.suspended {
		s.incarnation.suspended = false
		s.tellHolders(History.Resumed)
	}
}

// protect puts c, a hold or a contender at the head of the queue, under the lease: it is proved
// from now on, and ends when the lease does. s.mu is held.
func (s *Session) protect(c *contender, now clock.Instant) {
	s.protected.add(c)
	if s.expiry == nil {
		s.lookLater(now)
	}
	if !s.proving {
		s.proving = s.client.Spawn(s.keepProving)
	}
}

// look ends the incarnation if its lease is over at now, and otherwise looks again later. s.mu
// is held.
func (s *Session) look(now clock.Instant) {
	s.stopLooking() // the timer was set again if its run had to wait
	switch {
	case s.protected.length == 0:
	case s.lease.RunsAt(now):
		s.lookLater(now)
	default:
		s.leaseOver(now)
	}
}

// lookLater looks at the lease again in time. s.mu is held.
func (s *Session) lookLater(now clock.Instant) {
	s.expiry = s.after(s.lease.NextLook(now), func() { s.look(s.client.Clock.Now()) })
}

// s.mu is held.
func (s *Session) stopLooking() {
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// leaseOver takes that the lease is over. If nobody relies on it, since all that is protected is only
// kept for an owner to come, that goes, and whoever waits in the session's other queues stays there.
// s.mu is held.
func (s *Session) leaseOver(now clock.Instant) {
	all := s.protected.all()
	for _, c := range all {
		if c.handoff == nil || !c.handoff.keeps(c) {
			s.expire(s.incarnation, now)
			return
		}
	}
	for _, c := range all {
		c.leaveLocked()
	}
}

// expire ends the incarnation inc if its lease is over, and begins another: the session may
// live, but whatever was held is no longer sure. s.mu is held.
func (s *Session) expire(inc *incarnation, now clock.Instant) {
	if s.incarnation != inc || s.lease.RunsAt(now) {
		return
	}
	cause := s.client.TooLate(errLeaseOver, inc.confirmed)
	s.client.Log.Warn("zklock: lease over", "session", client.Hex(inc.id), "cause", cause)
	s.client.LeaseOver(inc.id, time.Now().Add(-now.Most(inc.confirmed)), cause)
	s.endIncarnation(cause)
	s.incarnation = &incarnation{id: inc.id}
}

// keepProving proves the session each interval, and at once on a new connection. It ends when there is
// nothing to prove as that is due, so that one serves many short holds, and without a connection: its
// end is a change, and so is the end of a client.
func (s *Session) keepProving() {
	var last *wire.Link // that a proof was tried on
	for {
		s.mu.Lock()
		changed := s.client.Changed()
		l, now := s.link, s.client.Clock.Now()
		pause := s.lease.NextProof(now)
		if s.protected.length == 0 && (l == nil || pause <= 0 || s.closed) {
			s.proving = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()

		switch {
		case l == nil:
			<-changed
		case l != last || pause <= 0:
			last = l
			if s.proveProtected() == nil {
				continue
			}
			pause = backoff.First
			fallthrough
		default:
			select {
			case <-time.After(pause):
			case <-changed:
			}
		}
	}
}

// proveProtected proves the session for the sake of what is protected.
func (s *Session) proveProtected() error {
	_, left := s.Left()
	return s.prove(s.client.Context(), nil, s.lease.Patience(left))
}

// prove proves the session by a write that changes nothing: checks of c's node, unless c is nil, and of
// the protected nodes whose turn it is, as many as one request takes. The leader answers them and a
// majority commits. A node that is missing, or that an ACL hides, ends its contender. A server that
// leaves a proof unanswered for as long as limit hangs: its connection is cut, so that another one can
// be found while the lease lasts, which the client itself would try much later. A proof ends with its
// connection.
func (s *Session) prove(ctx context.Context, c *contender, limit time.Duration) error {
	s.mu.Lock()
	contenders := s.protected.due(c)
	s.mu.Unlock()
	if len(contenders) == 0 {
		return nil
	}
	contenders = client.Batches(s.client, contenders, func(c *contender) int { return len(c.node) })[0]
	p := s.beginProof()
	if p.link == nil {
		return zk.ErrConnectionClosed
	}
	patience := time.AfterFunc(limit, func() { s.cut(p) })
	var results []wire.Result
	var err error
	proving := wire.NewTransaction(checks(contenders)...).Then(func(proving *wire.Request) {
		patience.Stop()
		results, err = proving.Results()
	})
	p.link.Send(proving)
	if err := client.Wait(ctx, proving); err != nil {
		return err
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, zk.ErrNoAuth) {
		return err
	}
	s.proven(p, !s.checked(contenders, results)) // behind one that is missing others were not checked
	return nil
}

// cut ends the connection over which a proof was not answered in time: by its server, or
// because this process did not run.
func (s *Session) cut(p proof) {
	if s.client.Pulse.Stopped(p.Begun) > 0 {
		p.link.Close()
	} else {
		p.link.CutOff()
	}
}

func checks(contenders []*contender) []wire.Op {
	ops := make([]wire.Op, len(contenders))
	for i, c := range contenders {
		ops[i] = client.Check(c.node)
	}
	return ops
}

// checked takes what checks of the contenders' nodes have found, up to the first that is missing: there
// a server stops. It ends those whose nodes it did not find, or may not see, and reports whether there
// were any.
func (s *Session) checked(contenders []*contender, results []wire.Result) (some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range results {
		switch c := contenders[i]; {
		case r.Err == nil:
			s.protected.checked(c)
		case errors.Is(r.Err, zk.ErrNoNode):
			some = true
			c.lose(errNodeDeleted)
		case errors.Is(r.Err, zk.ErrNoAuth):
			some = true
			c.lose(fmt.Errorf("the ACL of %s does not let this session read it, so that it cannot be proved: %w", c.node, r.Err))
		}
	}
	return some
}

// secure puts c under the lease, with a proof of its own if the lease has run out, as it does
// in a session that holds nothing, or would before the next proof.
func (c *contender) secure(ctx context.Context) error {
	s := c.queue.session
	var pause time.Duration // ahead of the next proof: what the last one is worth is to be seen at once
	for try := 0; ; try++ {
		s.mu.Lock()
		now := s.client.Clock.Now()
		cause, runs := c.cause, s.lasts(c.incarnation, now)
		if cause == nil && runs {
			s.protect(c, now)
		}
		s.tellSlow()
		s.mu.Unlock()
		if cause != nil || runs {
			return cause
		}
		client.WaitsFor(ctx, "a write that proves the session alive")
		if doubted := s.lease.Doubted(now); doubted > 0 { // a proof that comes much later would be in doubt again
			pause = doubted
		}
		if err := s.client.Sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(backoff.Before(try), s.lease.Interval(now))
		if err := c.beginLease(ctx); err != nil {
			if !client.Transient(err) {
				return err
			}
			client.FailedTry(ctx, err)
		}
	}
}

// tellSlow tells the log, once for each connection, if its answers take so long that no lock is to be had,
// or none that lasts. s.mu is held.
func (s *Session) tellSlow() {
	if took, slow := s.lease.Slow(); slow && s.link != nil && s.toldSlow != s.link {
		s.toldSlow = s.link
		s.client.Log.Warn("zklock: answers take too long for the session timeout", "server", s.link.Name(), "lasted", took, "timeout", s.lease.Timeout())
	}
}

// beginLease proves c, for the sake of the lease of all: one contender at a time does, and who
// waited for another has what that has come to.
func (c *contender) beginLease(ctx context.Context) error {
	s := c.queue.session
	select {
	case s.beginner <- struct{}{}:
		defer func() { <-s.beginner }()
	case <-ctx.Done():
		return client.Ended(ctx)
	}
	s.mu.Lock()
	now := s.client.Clock.Now()
	begun := c.cause != nil || s.lasts(c.incarnation, now) || s.lease.Doubted(now) > 0
	s.mu.Unlock()
	if begun {
		return nil
	}
	return c.prove(ctx)
}

// prove proves c, as soon as its session has a connection. It has time, whatever the lease has
// left: what is protected is kept by proofs of its own, and one that is under way may make the lease
// longer before this one is answered.
func (c *contender) prove(ctx context.Context) error {
	s := c.queue.session
	if err := c.awaitConnection(ctx); err != nil {
		return err
	}
	return s.prove(ctx, c, s.lease.Patience(0))
}

// lasts reports whether the lease runs for inc, for long enough, and goes on. s.mu is held.
func (s *Session) lasts(inc *incarnation, now clock.Instant) bool {
	return s.incarnation == inc && s.lease.Lasts(now)
}
