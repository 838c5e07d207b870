package lease

import (
	"time"

	"github.com/zklock/zklock/internal/clock"
)

// client is what the client knows: a Lease.
type client struct {
	held       use
	asked      bool  // a server that has not answered
	read       uint8 // steps to its next
	end        int16 // of the lease, in nanoseconds from now
	rests      moment
	proved     moment
	slow       moment
	sure, next moment
	ripe       moment
	counts     moment
	recent     [10]span
}

// over is an end of a lease long ago.
const over = -2 * step

type use uint8

const (
	idle use = iota
	beginning
	holding
	alone // no answer will reach it any more
)

// span is an exchange.
type span struct{ sent, answered moment }

var unused = span{longAgo, longAgo}

// now is the moment 0 of every world.
var now = new(clock.Clock).Now()

func at(m moment) clock.Instant { return now.Add(time.Duration(m) * step) }

func since(i clock.Instant) moment { return moment(max(i.Least(now)/step, time.Duration(longAgo))) }

// lease returns what the client knows as a Lease.
func (c *client) lease() *Lease {
	l := &Lease{timeout: timeout, proved: at(c.proved), rests: at(c.rests), connection: connection{
		sure: at(c.sure), next: at(c.next), ripe: at(c.ripe), counts: at(c.counts), slow: at(c.slow),
	}}
	l.recent = make([]exchange, 0, len(c.recent))
	for _, r := range c.recent {
		if r != unused {
			l.recent = append(l.recent, exchange{at(r.sent), at(r.answered)})
		}
	}
	if c.asked {
		l.unheard = []clock.Instant{now}
	}
	end := now.Add(time.Duration(c.end))
	l.end.Store(&end)
	return l
}

// keep has the client know what l says.
func (c *client) keep(l *Lease) {
	c.asked = len(l.unheard) > 0
	c.end, c.proved, c.rests = int16(max(l.Left(now), over)), since(l.proved), since(l.rests)
	c.sure, c.next, c.ripe, c.counts, c.slow = since(l.sure), since(l.next), since(l.ripe), since(l.counts), since(l.slow)
	if len(l.recent) > len(c.recent) {
		panic("more touches than the model has room for")
	}
	for i := range c.recent {
		c.recent[i] = unused
		if i < len(l.recent) {
			c.recent[i] = span{since(l.recent[i].sent), since(l.recent[i].answered)}
		}
	}
}

// reconnects begins with another connection, behind a connect request without an answer.
func (c *client) reconnects(asks func(*client, *Lease)) {
	l := c.lease()
	asks(c, l)
	l.Connected(now, 0)
	c.keep(l)
}

// asks takes that a connect request goes out which may never be answered.
func (c *client) asks(l *Lease) { l.Asks(now) }

// reads sends a read when it is time.
func (sc *scope) reads(all []move, m move) []move {
	w := &m.to
	if w.read == 0 && w.held != alone && w.requests[theRead].at == nowhere {
		w.read = sc.reading
		w.requests[theRead] = request{at: toFollower}
		m = sc.say(m, "a read goes out")
	}
	return append(all, m)
}

// uses has the client begin to want a lock or give it back, or do neither.
func (sc *scope) uses(all []move, m move) []move {
	all = append(all, m)
	switch w := &m.to; {
	case w.held == idle:
		w.held = beginning
		all = append(all, sc.say(m, "the client wants a lock"))
	case w.held == holding && w.budget.releases > 0 && w.requests[theProof].at == nowhere:
		w.budget.releases--
		w.held = idle
		all = append(all, sc.say(m, "the client gives the lock back"))
	}
	return all
}

// changes has the client give back a lock as soon as a proof is answered, and want another.
func (sc *scope) changes(all []move, m move) []move {
	all = append(all, m)
	if w := &m.to; w.resumed > 0 && w.held == holding && w.budget.releases > 0 && w.requests[theProof].at == nowhere {
		w.budget.releases--
		w.held = beginning
		all = append(all, sc.say(m, "the client gives the lock back, and wants another"))
	}
	return all
}

// proves sends a proof when it is time.
func (sc *scope) proves(all []move, m move) []move { return append(all, sc.proof(m)) }

// provesAgain sends another proof as soon as one is answered, if it is time already.
func (sc *scope) provesAgain(all []move, m move) []move {
	w := &m.to
	if w.requests[theProof].at != nowhere || w.cut == theClient {
		return append(all, m)
	}
	if m = sc.proof(m); w.requests[theProof].at == nowhere {
		return append(all, m)
	}
	w.follows(theProof)
	if w.paused == 0 {
		w.works()
	}
	return sc.answers(theProof)(all, m)
}

func (sc *scope) proof(m move) move {
	w := &m.to
	if w.held == idle || w.held == alone || w.requests[theProof].at != nowhere {
		return m
	}
	l := w.lease()
	wait := l.Doubted(now)
	if w.held == holding {
		wait = l.NextProof(now)
	}
	if wait > 0 {
		return m
	}
	inTime := sc.relayed(now)
	early := inTime.Add(-part(timeout, latePart))
	w.requests[theProof] = request{at: toFollower, touched: since(l.newest(inTime)), early: since(l.newest(early))}
	return sc.say(m, "a proof goes out")
}

// answers brings the answer to a request to the client.
func (sc *scope) answers(which int) phase {
	return func(all []move, m move) []move {
		w := &m.to
		r := w.requests[which]
		if r.at != toClient || w.cut == theClient {
			return append(all, m)
		}
		all = sc.late(all, m, "an answer is late")
		w.requests[which] = request{}
		l := w.lease()
		l.touched(at(r.sent), now)
		w.keep(l)
		if which == theProof {
			sc.takes(w, r)
			m = sc.say(m, "a proof is answered, the lease has %s left", of(w.end))
		}
		return append(all, m)
	}
}

// answered is a proof that was, and what is known of its connection.
type answered struct {
	Proof
	quick, held bool
	lease       *Lease
}

// takes extends the lease by a proof.
func (sc *scope) takes(w *world, r request) {
	l := w.lease()
	a := &answered{Proof: Proof{at(r.sent), at(r.touched), at(r.early)}, held: w.held == holding, lease: l}
	begun := a.Begun
	if w.resumed > 0 && !w.met { // the exception
		begun = begun.Add(-step)
	}
	a.quick = l.quickProof(begun, now)
	w.met = w.resumed > 0
	if sc.proved != nil {
		sc.proved(a)
	}
	l.prove(a.Proof, a.quick, a.held, now)
	if sc.began != nil {
		sc.began(a)
	}
	if sc.lasts(l) {
		w.held = holding
	}
	w.keep(l)
}

// passes is a step of time.
func (w *world) passes() {
	earlier := func(m *moment) { *m = max(*m-1, longAgo) }
	w.left = max(w.left-1, 0)
	w.ping -= min(w.ping, 1)
	w.read -= min(w.read, 1)
	w.end = max(w.end-step, over)
	earlier(&w.slow)
	earlier(&w.rests)
	earlier(&w.proved)
	earlier(&w.sure)
	earlier(&w.next)
	earlier(&w.ripe)
	earlier(&w.counts)
	for i := range w.recent {
		earlier(&w.recent[i].sent)
		earlier(&w.recent[i].answered)
	}
	for i := range w.requests {
		if r := &w.requests[i]; r.at != nowhere {
			earlier(&r.sent)
			earlier(&r.touched)
			earlier(&r.early)
		}
	}
}

// canonical makes worlds equal that behave alike. The zero world is one in which nothing can go
// wrong any more.
func (sc *scope) canonical(w *world) {
	proof := &w.requests[theProof]
	runs := sc.runs(w)
	deaf := w.held == alone || proof.at != toClient && (w.cut == theFollower || w.ended) || w.cut == theClient
	if !runs && (w.held == holding || w.held == idle && w.cut != nothing || deaf) {
		*w = world{}
		return
	}
	if deaf {
		w.client, w.requests, w.budget = client{held: alone, end: w.end}, [2]request{}, budget{pauses: w.budget.pauses}
		if w.cut == theFollower {
			// The leader hears nothing, and a pause of its own only lets the session live on.
			w.touched, w.ping, w.paused, w.stream, w.waiting, w.budget = false, 0, 0, [4]item{}, 0, budget{}
		}
		return
	}
	begun := moment(0) // no later than that of any proof to come
	if proof.at != nowhere {
		begun = proof.sent
	}
	w.ripe = max(w.ripe, min(begun, -countdown/4))
	w.proved = max(w.proved, -countdown/8) // an interval ago
	w.slow = max(w.slow, begun)
	if w.held == holding && w.budget.releases == 0 {
		w.ripe, w.slow, w.rests = max(w.ripe, begun), begun, longAgo
	}
}
