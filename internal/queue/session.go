package queue

import (
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Session is what a session has in queues: its contenders, and the lease under which some of
// them hold. It observes its client.
type Session struct {
	client *client.Client
	ids    *identities

	// mu is the mutex that grants. It guards the fields below, and what says so of a contender,
	// a hold and a handoff. The client's and the log's are taken under it.
	mu          sync.Mutex
	closed      bool
	link        *wire.Link   // nil while disconnected
	id          int64        // of the ZooKeeper session; 0 when it has expired
	incarnation *incarnation // nil when it has ended and no new one has begun
	live        map[string]*contender
	index       index
	spent       map[string]int64   // see spend
	told        map[[2]string]bool // see once

	deletions []*deletion // that wait to be carried out together
	taken     *batch      // the last that were taken from these
	deleting  bool        // deleteWaiting runs
	taking    bool        // deleteSoon is about to run

	// The lease and what stands under it; see protect.
	protected map[string]*contender
	beginner  chan struct{} // has a value while a contender begins the lease
	shortest  time.Duration // timeout negotiated in the ZooKeeper session's life
	unheard   lease.Unheard // connect requests for the ZooKeeper session
	relays    lease.Relays  // over link
	proving   bool          // keepProving runs
	expiry    *time.Timer   // runs lookByTimer
}

// NewSession returns a session with nothing in any queue, which observes c.
func NewSession(c *client.Client) *Session {
	s := &Session{
		client:    c,
		ids:       newIdentities(),
		live:      make(map[string]*contender),
		index:     index{at: make(map[indexKey]*contender), lines: make(map[string]*line)},
		spent:     make(map[string]int64),
		told:      make(map[[2]string]bool),
		protected: make(map[string]*contender),
		beginner:  make(chan struct{}, 1),
	}
	c.Observe((*observer)(s))
	return s
}

// Close ends all holds as released, and everybody's wait with client.ErrClosed. It returns what
// tells the traces of those holds, in the order of the calls.
func (s *Session) Close() (tell []func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.live {
		if c.close() && c.hold.history != nil && c.hold.history.Released() {
			tell = append(tell, c.hold.history.Tell)
		}
	}
	clear(s.live)
	s.stopLooking()
	return tell
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
