package zklock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/clock"
)

var errLeaseOver = errors.New("zklock: the session could not be proved alive in time")

// proof is a committed write under way, a create or a Multi of checks, with what
// the lease needs to know of the moment it began.
type proof struct {
	begun   clock.Instant
	link    *link
	touched clock.Instant
}

func (s *Session) beginProof() proof {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := proof{link: s.link}
	if p.link != nil {
		p.begun, p.touched = p.link.beginProof(s.shortest)
	}
	return p
}

// proven extends the lease by a proof that was committed. One that was begun on
// another connection says nothing of the touches of this one.
func (s *Session) proven(p proof) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.link == nil || s.link != p.link || s.epoch == nil {
		return
	}
	now := s.clock.Now()
	quick := p.link.timeProof(now.Most(p.begun), s.shortest, p.link.relay.follows(p, now, s.shortest))
	if len(s.staked) > 0 && !s.epoch.runsAt(now) {
		s.lapse(s.epoch, now)
		return
	}
	sure := p.link.relay.proved(p, now, s.shortest)
	s.epoch.extend(s.safeUntil(p, sure, now), now)
	if len(s.staked) == 0 && s.epoch.left(now) < part(s.shortest, relayPart) && !s.epoch.doubts(p.begun, now, quick, s.shortest) {
		s.epoch.extend(s.safeUntil(p, p.touched, now), now)
	}
	s.epoch.proved = now
	// Who asks for a container again may lose this connection too: that is one
	// suspension.
	if s.epoch.suspended && s.containers != containersDoubted {
		s.epoch.suspended = false
		s.tellHolders((*history).resumed)
	}
}

// safeUntil returns until when the session is safe by a proof, and by the touch that
// is ahead of it. s.mu is held.
func (s *Session) safeUntil(p proof, touch, now clock.Instant) clock.Instant {
	end := leaseEnd(p.begun, touch, s.shortest)
	if s.unheard(now) {
		end = clock.Earlier(end, unheardEnd(p.begun, s.shortest))
	}
	return end
}

// stake puts c, a hold or a contender at the head of the queue, under the lease:
// it is proved from now on, and ends when the lease does. s.mu is held.
func (s *Session) stake(c *contender, now clock.Instant) {
	s.staked[c.id] = c
	if s.expiry == nil {
		s.lookLater(c.epoch, now)
	}
	if !s.proving {
		s.proving = s.spawnLocked(s.keepProving)
	}
}

// unstake takes c out of the lease. s.mu is held.
func (s *Session) unstake(c *contender) { delete(s.staked, c.id) }

// look ends the epoch if its lease is over at now, and otherwise looks again later.
// s.mu is held.
func (s *Session) look(now clock.Instant) {
	s.stopLooking() // the timer was set again if its run had to wait
	switch {
	case len(s.staked) == 0 || s.epoch == nil:
	case s.epoch.runsAt(now):
		s.lookLater(s.epoch, now)
	default:
		s.lapse(s.epoch, now)
	}
}

// lookLater looks at ep's lease when it ends, by what is left of it now, and soon in
// any case: timers stand still while the machine sleeps. s.mu is held.
func (s *Session) lookLater(ep *epoch, now clock.Instant) {
	interval := part(s.shortest, lookPart)
	if s.unheard(now) { // the session may be as short, and what it has beyond the lease
		interval = part(interval, leastGrant)
	}
	s.expiry = time.AfterFunc(min(ep.left(now), interval), s.expire)
}

// expire is look for the timer.
func (s *Session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(s.clock.Now())
}

// stopLooking stops the timer that runs expire. s.mu is held.
func (s *Session) stopLooking() {
	if s.expiry != nil {
		s.expiry.Stop()
		s.expiry = nil
	}
}

// lapse ends the epoch ep if its lease is over, and begins another: the session
// may live, but whatever was held is no longer sure. s.mu is held.
func (s *Session) lapse(ep *epoch, now clock.Instant) {
	if s.epoch != ep || ep.runsAt(now) {
		return
	}
	s.endEpoch(errLeaseOver)
	s.epoch = &epoch{id: ep.id}
	s.broadcast()
}

// keepProving proves the staked nodes each interval, and at once on a new
// connection. It ends when there is nothing to prove.
func (s *Session) keepProving() {
	var last *link // that a proof was tried on
	for {
		s.mu.Lock()
		if len(s.staked) == 0 || s.epoch == nil {
			s.proving = false
			s.mu.Unlock()
			return
		}
		l, changed := s.link, s.changed
		pause := s.nextProof(l)
		glance := part(s.shortest, lookPart) // the machine may sleep meanwhile
		s.mu.Unlock()

		switch {
		case l == nil:
			select {
			case <-changed:
			case <-s.ctx.Done():
			}
		case l != last || pause <= 0:
			last = l
			if !s.proveStaked() {
				s.sleep(s.ctx, firstPause)
			}
		default:
			timer := time.NewTimer(min(pause, glance))
			select {
			case <-timer.C:
			case <-changed:
			case <-s.ctx.Done():
			}
			timer.Stop()
		}
	}
}

// nextProof returns how long it is until the next proof. While the lease is short,
// as it is after a quiet time, that is begun as soon as it can make a touch sure.
// s.mu is held.
func (s *Session) nextProof(l *link) time.Duration {
	now, ep := s.clock.Now(), s.epoch
	pause := s.interval(now) - now.Most(ep.proved)
	if l != nil && ep.left(now)-pause < part(s.shortest, relayPart) {
		pause = min(pause, l.relay.ripe.Least(now))
	}
	return pause
}

// proveStaked proves all that is staked, in as many requests as it takes; false
// if one of them came to nothing.
func (s *Session) proveStaked() bool {
	s.mu.Lock()
	staked := slices.Collect(maps.Values(s.staked))
	s.mu.Unlock()
	for _, batch := range batches(staked, func(c *contender) int { return len(c.node) }) {
		if s.prove(s.ctx, batch) != nil {
			return false
		}
	}
	return true
}

// prove sends a write that changes nothing: checks of the contenders' nodes,
// which the leader answers and a majority commits. A node that is missing, or that
// an ACL hides, ends its contender; the session is proved all the same. A server
// that leaves it unanswered hangs: its connection is cut, so that another one can
// be found while the lease lasts, which the client itself would try much later. A
// proof ends with the connection that it was begun on: the client may still send it
// over the next one, where it proves nothing.
func (s *Session) prove(ctx context.Context, contenders []*contender) error {
	p := s.beginProof()
	if p.link == nil {
		return zk.ErrConnectionClosed
	}
	responses, err := send(s, func() ([]zk.MultiResponse, error) {
		patience := time.AfterFunc(s.proofLimit(p.link), p.link.cutOff)
		defer patience.Stop()
		return s.conn.Multi(checks(contenders)...)
	}).waitOn(ctx, p.link)
	told := len(responses) > 0 && (errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNoAuth))
	switch {
	case told:
		s.refused(contenders, responses)
	case err != nil:
		return err
	}
	s.proven(p)
	return nil
}

// cutOff ends the connection to a server that does not answer.
func (l *link) cutOff() {
	if l.end(net.ErrClosed) {
		l.session.log.Warn("zklock: the server does not answer, cutting the connection", "server", l.RemoteAddr())
	}
	l.Close()
}

// checks are the operations that check the contenders' nodes.
func checks(contenders []*contender) []any {
	ops := make([]any, len(contenders))
	for i, c := range contenders {
		ops[i] = c.check()
	}
	return ops
}

func (c *contender) check() *zk.CheckVersionRequest {
	return &zk.CheckVersionRequest{Path: c.node, Version: -1}
}

// proofLimit returns how long a proof over l may take until its server is given up, so
// that another can be found in what the lease has left. A server that answers, if
// slowly, keeps the session better than the way to another one.
func (s *Session) proofLimit(l *link) time.Duration {
	timeout, left := s.left()
	limit := part(timeout, relayPart)
	if left == 0 {
		return limit
	}
	return min(limit, max(left/2, min(2*l.lastProofTook(), left)))
}

// refused ends the contenders whose nodes a proof did not find, or may not see.
func (s *Session) refused(contenders []*contender, responses []zk.MultiResponse) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range responses {
		switch c := contenders[i]; {
		case errors.Is(r.Error, zk.ErrNoNode):
			c.vanish(errNodeDeleted)
		case errors.Is(r.Error, zk.ErrNoAuth):
			c.vanish(fmt.Errorf("the ACL of %s does not let this session read it, so that it cannot be proved: %w", c.node, r.Error))
		}
	}
}

// lasts tells whether ep's lease runs until the next proof. s.mu is held.
func (s *Session) lasts(ep *epoch, now clock.Instant) bool {
	return ep.runsAt(now.Add(s.interval(now)))
}

// secure puts c under the lease, with a proof of its own if the lease has run
// out, as it does in a session that holds nothing, or would before the next proof.
func (c *contender) secure(ctx context.Context) error {
	s := c.queue.session
	for try := 0; ; try++ {
		s.mu.Lock()
		now := s.clock.Now()
		cause, runs, wait, interval := c.cause, s.lasts(c.epoch, now), c.epoch.doubted.Least(now), s.interval(now)
		if cause == nil && runs {
			s.stake(c, now)
		}
		s.mu.Unlock()
		if cause != nil || runs {
			return cause
		}
		waitsFor(ctx, "a write that proves the session alive")
		if err := s.sleep(ctx, wait); err != nil {
			return err
		}
		if err := c.beginLease(ctx); err != nil {
			if ctx.Err() != nil || !transient(err) {
				return err
			}
			failedTry(ctx, err)
		}
		// A proof is of no use to who looks at the lease when that is over again.
		if err := s.sleep(ctx, min(pauseBefore(try), interval)); err != nil {
			return err
		}
	}
}

// beginLease proves c, for the sake of the lease of all: one contender at a time
// does, and who waited for another has what that has come to.
func (c *contender) beginLease(ctx context.Context) error {
	s := c.queue.session
	select {
	case s.beginner <- struct{}{}:
		defer func() { <-s.beginner }()
	case <-ctx.Done():
		return ended(ctx)
	}
	s.mu.Lock()
	now := s.clock.Now()
	begun := c.cause != nil || s.lasts(c.epoch, now) || now.Least(c.epoch.doubted) < 0
	s.mu.Unlock()
	if begun {
		return nil
	}
	return c.prove(ctx)
}

// confirm proves c's hold once more.
func (c *contender) confirm(ctx context.Context) error {
	return c.queue.session.persist(ctx, func() error { return c.prove(ctx) })
}

// prove proves c alone, as soon as its session has a connection.
func (c *contender) prove(ctx context.Context) error {
	s := c.queue.session
	if _, _, err := s.await(ctx, c.epoch.id); err != nil {
		return err
	}
	return s.prove(ctx, []*contender{c})
}
