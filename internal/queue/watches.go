package queue

import (
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// watched is by what a waiter learns of its turn.
type watched struct {
	next   *client.Watch // on the nearest contender ahead
	own    *client.Watch // on its own node: without it, next alone cannot grant the lock
	before *client.Watch // on the one before the nearest; nil for most
}

// farAway is the round trip from which on it pays to send requests ahead of their need. Nearer
// than that, the server's work for them costs the others more than the waiter gains.
const farAway = time.Millisecond

// watchAhead watches what bears on c's turn.
func (c *contender) watchAhead(at place) watched {
	s, node := c.queue.session, func(n recipe.Node) string { return recipe.Join(c.queue.dir, n.Name) }
	watch := func(path string) *client.Watch { return s.client.Watch(client.WatchKey{Path: path}) }
	switch {
	case at.Ahead == 1 && !c.reads && c.mayRead(at.Nearest.Name):
		c.reads = true // what has changed since its create ends these watches at once, each time
		both := s.client.WatchSince(c.token, node(at.Nearest), c.node)
		return watched{next: both[0], own: both[1]}
	case at.Ahead == 1:
		return watched{next: watch(node(at.Nearest)), own: watch(c.node)}
	case s.lease.RoundTrip() >= farAway:
		// When the last but one goes, the list is renewed while the nearest still holds the
		// lock, so that its release needs none.
		return watched{next: watch(node(at.Nearest)), own: watch(c.node), before: watch(node(at.Before))}
	}
	next := watch(node(at.Nearest))
	s.mu.Lock()
	defer s.mu.Unlock()
	c.watchSelfLater(&s.listersWatches)
	return watched{next: next}
}

// haveRead notes that c's watches have read its own node and that of the other session's contender.
func (c *contender) haveRead(name string, next *client.Watch) {
	if maker, ok := makerOf(name); ok && next.Stat != nil && !c.mayRead(name) {
		c.queue.readable.Store(&maker)
	}
}

// mayRead reports whether nodes by the same maker, and ours, were read here before. One session's nodes in a
// queue mostly have the same ACL, and who waits for long reads this one too.
func (c *contender) mayRead(name string) bool {
	maker, _ := makerOf(name)
	read := c.queue.readable.Load()
	return read != nil && *read == maker
}

// isAnothers reports whether the node, which next watches, is another session's.
func (c *contender) isAnothers(name string, next *client.Watch) bool {
	if next.Stat == nil {
		_, ours := c.queue.session.ids.of(name)
		return recipe.Ours(name) && !ours
	}
	return next.Stat.EphemeralOwner != c.incarnation.id
}
