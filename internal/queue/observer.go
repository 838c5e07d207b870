package queue

import (
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
)

// observer is the session as its client tells it: see client.Observer.
type observer Session

func (o *observer) session() *Session { return (*Session)(o) }

func (o *observer) Left() (timeout, left time.Duration) { return o.session().left() }

// Asks shortens the lease, as far as a server may shorten the session whose answer is never
// heard.
func (o *observer) Asks(at clock.Instant) {
	s := o.session()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id == 0 {
		return // a request for a new session is of no matter to the old
	}
	s.lease.Asks(at)
	s.look(s.client.Clock.Now()) // the next looks are closer
}

func (o *observer) Connected(l *wire.Link, timeout time.Duration) { o.session().connected(l, timeout) }

func (o *observer) Disconnected(l *wire.Link) { o.session().disconnected(l) }

func (o *observer) Listed(l *wire.Link, dir string, names []string) { o.session().sweep(l, dir, names) }

func (o *observer) Deleted(path string) {
	o.contender(path, func(c *contender) {
		o.session().look(o.client.Clock.Now()) // the node may have gone while this process did not run
		c.lose(errNodeDeleted)
	})
}

// Changed watches anew a node that somebody may yet ask for the lock back.
func (o *observer) Changed(path string) {
	o.contender(path, func(c *contender) {
		if c.hold != nil || c.turn != nil {
			o.session().client.Watch(client.WatchKey{Path: path})
		}
	})
}

func (o *observer) Read(path string, said client.Content) {
	o.contender(path, func(c *contender) { c.onContent(said) })
	o.session().tellForeign(path, said.Stat)
}

// contender calls f, under the mutex, if path is a contender's node.
func (o *observer) contender(path string, f func(*contender)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.session().contenderAt(path); c != nil {
		f(c)
	}
}
