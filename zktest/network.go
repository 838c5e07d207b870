package zktest

import "time"

// link carries the messages from one server to another. While it is blocked they wait, as in TCP, and arrive when the
// block is lifted if anyone is still interested.
type link struct {
	lane
	cut bool
}

func newLink(e *Ensemble, to *Server) *link {
	l := &link{}
	l.lane = lane{e: e, blocked: func() bool { return l.cut || to.frozen }}
	return l
}

func (l *link) send(fn func()) { l.push(l.e.draw(l.e.serverLatency), fn) }

func (l *link) block(cut bool) {
	l.cut = cut
	l.wake()
}

type span struct{ min, max time.Duration }

// draw picks a duration of the span with the seeded generator.
func (e *Ensemble) draw(s span) time.Duration {
	if s.max <= s.min {
		return s.min
	}
	return s.min + time.Duration(e.rng.Int64N(int64(s.max-s.min)+1))
}

func (e *Ensemble) link(from, to *Server) *link { return from.links[to.index] }

// connected reports whether messages pass between a and b in both directions.
func (e *Ensemble) connected(a, b *Server) bool {
	return !e.link(a, b).cut && !e.link(b, a).cut && !a.down && !b.down
}

// Partition cuts the servers named off from the others of the ensemble, both ways. Clients reach either side.
func (e *Ensemble) Partition(side ...*Server) {
	e.do(func() {
		in := make(map[*Server]bool)
		for _, s := range side {
			in[s] = true
		}
		for _, from := range e.servers {
			for _, to := range e.servers {
				if in[from] != in[to] {
					e.link(from, to).block(true)
				}
			}
		}
	})
}

// Block swallows what one server sends to another, in this direction only.
func (e *Ensemble) Block(from, to *Server) {
	e.do(func() { e.link(from, to).block(true) })
}

// Heal frees every way between servers. Faults of clients and of servers themselves stay.
func (e *Ensemble) Heal() {
	e.do(func() {
		for _, from := range e.servers {
			for _, to := range e.servers {
				e.link(from, to).block(false)
			}
		}
	})
}

// networkChanged lets everything that waited for the network look again.
func (e *Ensemble) networkChanged() {
	close(e.changed)
	e.changed = make(chan struct{})
	for _, c := range inOrder(e.open) {
		c.in.wake()
		c.out.wake()
	}
}
