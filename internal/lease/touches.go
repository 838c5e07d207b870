package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// connection is what one connection has shown: which touch is sure to have reached the leader, and
// how fast answers come (see Slow).
//
// A proof alone makes no touch sure. A leader that was paused finds the proof in its buffers before it
// asks for the touches of that time. Another one does, that was begun when the leader, which the first
// has found running, has had time to catch up: if there was a pause between the two, the first one's
// touches were relayed before.
type connection struct {
	sure clock.Instant // when a request was sent whose touch has reached the leader
	next clock.Instant // the same, once a proof is committed that was begun when ripe
	ripe clock.Instant

	counts clock.Instant // when the newest request was sent whose touch is ahead of any proof to come
	recent []exchange    // later ones, by the time of their answers

	fastest   time.Duration // answer to any request so far; 0 before the first
	lastProof time.Duration // what the answer to the last one took, or what the first is to take
	slow      clock.Instant // until when a leader has to catch up that was paused when a write was slow
}

type exchange struct{ sent, answered clock.Instant }

// Connected begins with the connect request, which touches the leader itself. The first proof is to
// take that long.
func (l *Lease) Connected(asked clock.Instant, proof time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.connection = connection{sure: asked, next: asked, counts: asked, lastProof: proof}
}

// Answered takes an answer over the present connection, to a write or another request.
func (l *Lease) Answered(sent, now clock.Instant, write bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched(sent, now)
	if took := max(now.Least(sent), 1); l.fastest == 0 || took < l.fastest {
		l.fastest = took
	}
	if write {
		l.wrote(sent, now)
	}
}

// touched notes a request. Those that follow each other closely are not all kept: an older touch
// only makes the lease shorter.
func (l *Lease) touched(sent, answered clock.Instant) {
	l.settle(relayedBy(answered, l.timeout).Add(-part(l.timeout, latePart)))
	if n := len(l.recent); n > 0 && sent.Least(l.recent[n-1].sent) < part(l.timeout, latePart/2) {
		return
	}
	l.recent = append(l.recent, exchange{sent, answered})
}

// makeSure takes a proof, and returns the touch that is sure.
func (l *Lease) makeSure(p Proof, answered clock.Instant) clock.Instant {
	if p.Begun.Least(l.ripe) >= 0 {
		l.sure, l.next = l.next, p.Touched
		l.ripe = answered.Add(part(l.timeout, doubtPart))
	}
	return l.sure
}

// newest returns when the newest request that was answered by that time was sent.
func (l *Lease) newest(by clock.Instant) clock.Instant {
	sent, _ := l.answeredBy(by)
	return sent
}

// settle forgets the requests that were answered by that time, but for the newest.
func (l *Lease) settle(by clock.Instant) {
	sent, n := l.answeredBy(by)
	l.counts, l.recent = sent, l.recent[n:]
}

// answeredBy returns when the newest request that was answered by that time was sent, and how many
// of the recent ones were.
func (l *Lease) answeredBy(by clock.Instant) (sent clock.Instant, n int) {
	sent = l.counts
	for _, r := range l.recent {
		if r.answered.Least(by) > 0 {
			break
		}
		if r.sent.Least(sent) > 0 {
			sent = r.sent
		}
		n++
	}
	return sent, n
}

// Lasts reports whether the lease goes on as long as servers answer the proofs: it leaves time for
// the next one, and that and those behind it make it longer in time, unless servers are too slow.
func (l *Lease) Lasts(now clock.Instant) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spares(now) && (l.isSlow() || l.carry(now))
}

// spares reports whether the lease runs until the next proof, and leaves time for that; as far as it
// rests on a touch, which the proofs need longer to make up for, also if they are no closer than usual.
func (l *Lease) spares(now clock.Instant) bool {
	byTouch := l.worth(l.rests, now) - part(l.timeout, 2*doubtPart)
	return l.inTime(min(l.Left(now)-l.interval(now), byTouch))
}

// worth returns for how long a touch counts from now on that was sent then.
func (l *Lease) worth(sent, now clock.Instant) time.Duration {
	return -now.Most(l.touchEnd(sent))
}

// carry reports whether proofs that servers answer in time make the lease longer before the touch on
// which it rests is too old. Each touch has to be sure while the one ahead of it still counts, as
// long ahead of that end as a server may take that is waited for (see Patience): after a gap in
// which no request was answered, that of the machine's sleep too, it may be too late.
func (l *Lease) carry(now clock.Instant) bool {
	left, proof := l.worth(l.rests, now), max(part(l.timeout, sparePart), l.lastProof)
	inTime := func(sent clock.Instant, sure time.Duration) bool {
		more := l.worth(sent, now)
		if more <= left {
			return true
		}
		ok := left-sure > max(part(l.timeout, 2*sparePart), l.lastProof)
		left = more
		return ok
	}
	ripe, step := max(l.ripe.Least(now), 0), part(l.timeout, doubtPart)+proof // to the next proof, and to each that follows
	if !inTime(l.next, ripe) || !inTime(l.counts, ripe+step) {
		return false
	}
	for _, r := range l.recent {
		found := max(r.answered.Add(part(l.timeout, relayPart)).Least(now)-ripe, 0) // answered for long enough
		if found > 0 {
			found += step // the proof before is begun a little too early
		}
		if !inTime(r.sent, ripe+found+step) {
			return false
		}
	}
	return true
}
