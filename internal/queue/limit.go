package queue

import (
	"math"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
)

// limit ends a hold that lasts for longer than its queue allows: its owner is asked for it first, and
// loses it a session timeout later. The session's mu guards it.
type limit struct {
	began clock.Instant
	timer *time.Timer
}

const errHeldTooLong = client.Final("it was held for longer than WithMaxHold allows")

// startLimit has the hold's limit count from now on, if its queue has one. The session's mu is held.
func (h *Hold) startLimit() {
	most := h.contender.queue.options.MaxHold
	if most == 0 || h.Err() != nil {
		return
	}
	h.stopLimit()
	h.limit = &limit{h.Client().Clock.Now(), h.contender.queue.session.after(most, h.reachLimit)}
}

// The session's mu is held.
func (h *Hold) stopLimit() {
	if h.limit != nil {
		h.limit.timer.Stop()
		h.limit = nil
	}
}

// reachLimit is run by the timer. The session's mu is held.
func (h *Hold) reachLimit() {
	if h.limit == nil {
		return
	}
	s := h.contender.queue.session
	left := h.toLimit(s.client.Clock.Now())
	if left <= 0 {
		h.contender.lose(errHeldTooLong)
		return
	}
	if ask := left - s.client.Timeout(); ask > 0 { // the timer is ahead of the clock
		left = ask
	} else if !h.revoked.IsClosed() {
		s.client.Log.Warn("zklock: lock held for too long, its owner is asked for it",
			"path", h.Path(), "node", h.Node(), "session", client.Hex(h.contender.incarnation.id))
		h.revoked.Close()
	}
	h.limit.timer.Reset(left)
}

// toLimit returns how long it is until the hold is lost by its limit. The session's mu is held.
func (h *Hold) toLimit(now clock.Instant) time.Duration {
	if h.limit == nil {
		return math.MaxInt64
	}
	grace := h.Client().Timeout()
	most := min(h.contender.queue.options.MaxHold, math.MaxInt64-grace) // their sum is no number otherwise
	return most + grace - now.Least(h.limit.began)
}

// Left returns for how long the hold lasts at least, whatever is or is not heard of the session, if
// nobody deletes its node; 0 if it has ended.
func (h *Hold) Left() time.Duration {
	s := h.contender.queue.session
	now := s.client.Clock.Now()
	left := s.lease.Sure(now) // ahead of Valid: before it runs for others, the hold is lost
	if !h.Valid() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.IsHeld() { // lost since, and with it the limit
		return 0
	}
	return max(min(left, h.toLimit(now)), 0)
}
