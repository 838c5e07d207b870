package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Session is what a session has in queues: its contenders, and the lease under which some of
// them hold. It observes its client.
type Session struct {
	client    *client.Client
	ids       *identities
	admission context.Context // ends, under mu, when nobody gets a lock any more
	refuse    context.CancelFunc
	drained   latch.Latch // closed when, after that, nothing is held any more

	// mu is the mutex that grants. It guards the fields below, and what says so of a contender,
	// a hold and a handoff. The client's and the log's are taken under it.
	mu          sync.Mutex
	closed      bool
	link        *wire.Link   // nil while disconnected
	id          int64        // of the ZooKeeper session; 0 when it has expired
	incarnation *incarnation // nil when it has ended and no new one has begun
	live        map[string]*contender
	staying     int // contenders that hold, or linger
	index       index
	spent       map[string]int64   // see spend
	told        map[[2]string]bool // see warnOnce

	deletions []*deletion // that wait to be carried out together
	deleting  bool        // deleteWaiting runs
	taking    bool        // deleteSoon is about to run

	// The lease and what stands under it; see protect.
	protected protected
	beginner  chan struct{} // has a value while a contender begins the lease
	lease     *lease.Lease
	toldSlow  *wire.Link  // see tellSlow
	proving   bool        // keepProving runs
	expiry    *time.Timer // looks at the lease

	selfWatches    selfWatches
	listersWatches selfWatches // of who lists the queue when woken
	watchAgain     *time.Timer // runs watchAgainByTimer; nil before the first connection
}

// NewSession returns a session with nothing in any queue, which observes c.
func NewSession(c *client.Client) *Session {
	s := &Session{
		client:         c,
		lease:          c.Lease,
		ids:            newIdentities(),
		live:           make(map[string]*contender),
		index:          index{at: make(map[indexKey]*contender), lines: make(map[string]int), sights: make(map[string]sight)},
		spent:          make(map[string]int64),
		told:           make(map[[2]string]bool),
		beginner:       make(chan struct{}, 1),
		selfWatches:    selfWatches{delay: selfWatchDelay},
		listersWatches: selfWatches{delay: listersWatchDelay},
	}
	s.admission, s.refuse = context.WithCancel(c.Context())
	c.Observe(s)
	return s
}

// Drain ends every wait with client.ErrClosed, and from now on nobody gets a lock. Holds go on, and
// a writer may still go on to reading. The channel that it returns is closed when nothing is held,
// and no node stays for a minimum or a grace.
func (s *Session) Drain() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse()
	for _, c := range s.live {
		if c.isNew() && c.state <= waiting {
			known := c.state == waiting
			c.lose(client.ErrClosed)
			if known { // and if a handoff keeps the place, no call would delete the node
				c.leaveUnusedLocked()
			}
		}
	}
	for _, c := range s.live { // behind which nobody waits any more
		if c.handoff != nil && c.handoff.keeps(c) {
			c.leaveLocked()
		}
	}
	s.checkDrained()
	return s.drained.Done()
}

// isNew reports whether c's caller has nothing of its lock yet. One that goes on from writing to
// reading has.
func (c *contender) isNew() bool { return c.queues || c.queue.ofSemaphore() }

// awaitConnection waits until c's session has a connection; who is new, until nobody gets a lock any more.
func (c *contender) awaitConnection(ctx context.Context) error {
	s := c.queue.session
	var refused <-chan struct{}
	if c.isNew() {
		refused = s.admission.Done()
	}
	_, err := s.client.AwaitUnless(ctx, c.incarnation.id, refused)
	return err
}

// checkDrained closes drained if all that was held has been given back. s.mu is held.
func (s *Session) checkDrained() {
	if s.staying == 0 && s.admission.Err() != nil {
		s.drained.Close()
	}
}

// Close ends all holds as lost, and everybody's wait, with client.ErrClosed. It returns the paths of
// what was held until then.
func (s *Session) Close() (held []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.live {
		if c.state == holding && c.hold.IsHeld() && !c.queue.isTurns() { // whose owner waits for permits
			held = append(held, c.queue.path)
		}
	}
	s.refuse()
	s.closed = true
	s.loseAll(client.ErrClosed)
	clear(s.live)
	s.stopLooking()
	for _, t := range []*time.Timer{s.selfWatches.timer, s.listersWatches.timer, s.watchAgain} {
		if t != nil {
			t.Stop()
		}
	}
	s.drained.Close()
	slices.Sort(held)
	return held
}

// after calls f when d is over, under the mutex, unless the session is closed by then.
func (s *Session) after(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.closed {
			f()
		}
	})
}

// loseAll ends whatever is held or waiting. Of many, the last is to be told in time too. Those of
// earlier incarnations have ended. s.mu is held.
func (s *Session) loseAll(cause error) {
	var rest []func()
	for _, c := range s.live {
		rest = append(rest, c.markLost(cause))
	}
	for _, f := range rest {
		f()
	}
}

// ours reports whether a node's name is one of this session's, and returns the contender that
// it belongs to; nil if that lives no more. s.mu is held.
func (s *Session) ours(name string) (c *contender, isOurs bool) {
	id, isOurs := s.ids.of(name)
	return s.live[id], isOurs
}

// contenderAt returns the live contender whose node path is. s.mu is held.
func (s *Session) contenderAt(path string) *contender {
	if c, _ := s.ours(recipe.Base(path)); c != nil && slices.Contains(c.nodes, path) {
		return c
	}
	return nil
}
