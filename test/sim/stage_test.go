package sim

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const (
	path    = "/lock"
	timeout = 2 * time.Second // of every session
	tick    = 500 * time.Millisecond
	soon    = 50 * time.Millisecond // P5
	anAge   = 30 * time.Second      // within which everything has to come right
)

// stage is where a named scenario plays: an ensemble in virtual time, judged by a
// checker.
type stage struct {
	*testing.T
	*zktest.Ensemble
	log     *timeline
	checker *checker

	mu   sync.Mutex
	txns []zktest.Txn
}

// play plays a scenario, in which nothing that the checker knows may be broken.
// When it is over no lock node, session or goroutine is left.
// The numbers in the names are those of docs/faults.md.
func play(t *testing.T, servers int, scene func(s *stage), opts ...zktest.Option) {
	var log *timeline
	defer watch(t.Name(), &log)()
	virtual.Test(t, func(t *testing.T) {
		log = newTimeline()
		s := &stage{T: t, log: log}
		s.Ensemble = zktest.NewEnsemble(t, servers, append([]zktest.Option{zktest.WithTickTime(tick)}, opts...)...)
		s.checker = newChecker(s.log, new(Stats))
		s.Observe(s.checker.observe)
		s.Observe(func(txn zktest.Txn) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.txns = append(s.txns, txn)
		})
		t.Cleanup(func() {
			if f := s.checker.verdict(); f != nil {
				t.Errorf("%s: %s", f.Promise, f.Text)
			}
			if t.Failed() {
				t.Logf("timeline:\n%s", s.log)
			}
		})
		scene(s)
	})
}

// player is a process with a session and a Locker.
type player struct {
	*zklock.Session
	*zklock.Locker
	stage *stage
	place *zktest.Client
	clock clock.Clock
	name  string
	inc   *incarnation
}

// enter brings in a process. It leaves at the end of the scene, with nothing left
// in the queue.
func (s *stage) enter(name string, opts ...zklock.SessionOption) *player {
	s.Helper()
	return s.enterAt(name, s.PipeAddrs(), opts...)
}

// enterAt is enter for a process that knows these servers only.
func (s *stage) enterAt(name string, servers []string, opts ...zklock.SessionOption) *player {
	s.Helper()
	return s.enterFor(name, servers, timeout, opts...)
}

// enterFor is enterAt with a session timeout of its own.
func (s *stage) enterFor(name string, servers []string, timeout time.Duration, opts ...zklock.SessionOption) *player {
	s.Helper()
	p := &player{stage: s, place: s.Client(name), name: name}
	session, err := zklock.Connect(clock.With(context.Background(), &p.clock), servers, timeout,
		append([]zklock.SessionOption{zklock.WithDialer(p.place.Dial)}, opts...)...)
	require.NoError(s, err)
	p.Session, p.inc = session, &incarnation{session: session}
	p.Locker, err = zklock.New(session, path)
	require.NoError(s, err)
	s.Cleanup(func() { p.Session.Close() })
	return p
}

// enterForgotten is enter with a switch by which the server forgets the session, at
// the next connect, without a word.
func (s *stage) enterForgotten(name string) (*player, *atomic.Bool) {
	s.Helper()
	s.checker.mislead(name)
	forget := new(atomic.Bool)
	return s.enter(name, zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := s.Client(name).Dial(network, address, timeout)
		return &forgetful{Conn: conn, forget: forget}, err
	})), forget
}

// take takes the lock as a handle and has the checker judge it.
func (p *player) take(ctx context.Context) (*zklock.Hold, error) {
	h, err := p.Acquire(ctx)
	if err == nil {
		p.stage.checker.granted(p.claim(h))
	}
	return h, err
}

func (p *player) claim(h *zklock.Hold) *claim {
	return &claim{who: p.name, path: path, node: h.Node(), token: h.Token(), told: h.Lost(), hold: h, inc: p.inc, over: make(chan struct{})}
}

// mustTake is take where nothing may go wrong in the end.
func (p *player) mustTake() *zklock.Hold {
	p.stage.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), anAge)
	defer cancel()
	h, err := p.take(ctx)
	require.NoError(p.stage, err)
	return h
}

// give gives back what take took.
func (p *player) give(h *zklock.Hold) error {
	p.stage.checker.mu.Lock()
	var mine *claim
	for c := range p.stage.checker.claims {
		if c.hold == h {
			mine = c
		}
	}
	p.stage.checker.mu.Unlock()
	if mine != nil {
		p.stage.checker.returned(mine)
	}
	ctx, cancel := context.WithTimeout(context.Background(), anAge)
	defer cancel()
	return h.Release(ctx)
}

// waits starts to take the lock, and returns when the node for it has been
// created. The result comes by the channel.
func (p *player) waits(ctx context.Context) <-chan *zklock.Hold { return p.waitsBy(ctx, p.take) }

func (p *player) waitsBy(ctx context.Context, take func(context.Context) (*zklock.Hold, error)) <-chan *zklock.Hold {
	result := make(chan *zklock.Hold, 1)
	created := p.stage.checker.await(OnCreate, p.ID())
	go func() {
		h, _ := take(ctx)
		result <- h
	}()
	<-created
	synctest.Wait()
	return result
}

// granted returns the hold that comes by the channel.
func (s *stage) granted(result <-chan *zklock.Hold) *zklock.Hold {
	s.Helper()
	select {
	case h := <-result:
		return h
	case <-time.After(anAge):
		require.Fail(s, "the lock was not granted")
		return nil
	}
}

// server returns the server that the player is connected to, and the others.
func (p *player) server() (mine *zktest.Server, others []*zktest.Server) {
	for _, s := range p.stage.Sessions() {
		if s.ID == p.ID() {
			mine = s.Server
		}
	}
	for _, s := range p.stage.Servers() {
		if s != mine {
			others = append(others, s)
		}
	}
	require.NotNil(p.stage, mine)
	return mine, others
}

// moveToFollower makes the player leave the leader, if it is connected to that.
func (p *player) moveToFollower() {
	for mine, _ := p.server(); mine == p.stage.Leader(); mine, _ = p.server() {
		p.place.Block(zktest.ToServer, mine)
		p.place.Cut()
		time.Sleep(timeout / 2)
		p.place.Unblock()
	}
}

// cutOff keeps the player from everybody.
func (p *player) cutOff() {
	cutOff(p.place)
}

// sleep has the player's machine sleep for d, and wake up now.
func (p *player) sleep(d time.Duration) {
	p.stage.AgeSession(p.ID(), d)
	p.clock.Step(d)
}

// expire ends the player's session before its time.
func (p *player) expire() {
	p.stage.checker.doom(p.ID())
	require.True(p.stage, p.stage.ExpireSession(p.ID()))
}

// created counts the lock nodes that have been created so far.
func (s *stage) created() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, txn := range s.txns {
		for _, c := range txn.Changes {
			if c.Kind == zktest.NodeCreated && strings.HasPrefix(c.Path, path+"/") {
				n++
			}
		}
	}
	return n
}

// gone returns a channel that closes when the node is deleted.
func (s *stage) gone(node string) <-chan struct{} {
	deleted := make(chan struct{})
	s.Observe(func(txn zktest.Txn) {
		for _, c := range txn.Changes {
			if c.Kind == zktest.NodeDeleted && c.Path == node && isOpen(deleted) {
				close(deleted)
			}
		}
	})
	return deleted
}

// empty requires that no lock node is left, at once or by the given time.
func (s *stage) empty(within time.Duration) {
	s.Helper()
	for start := time.Now(); len(s.checker.nodes()) > 0 && time.Since(start) < within; {
		time.Sleep(10 * time.Millisecond)
	}
	require.Empty(s, s.checker.nodes())
}

// heldBy requires that the hold rests on a node of the player's session now.
func (s *stage) heldBy(p *player, h *zklock.Hold) {
	s.Helper()
	s.checker.mu.Lock()
	defer s.checker.mu.Unlock()
	n := s.checker.tree[h.Node()]
	require.NotNil(s, n)
	require.Equal(s, p.ID(), n.owner)
}
