package lock_test

import (
	"context"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// differing is an ensemble whose first server is about to differ from its leader for good.
type differing struct {
	*bubble
	e     *zktest.Ensemble
	stale *zktest.Server
	log   lockedBuffer // of sessions that begin there
}

func inDifferingBubble(t *testing.T, f func(t *testing.T, m *differing)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		e := zktest.NewEnsemble(t, 3, zktest.WithContainerInterval(0)) // what is kept goes with its parent
		f(t, &differing{bubble: &bubble{t, e.Leader(), "/locks/a"}, e: e, stale: e.Server(0)})
	})
}

// begin connects to the stale server, and knows the others of the list.
func (m *differing) begin(servers ...string) *zklock.Session {
	m.t.Helper()
	others := m.e.Servers()[1:]
	for _, s := range others {
		s.Refuse(true)
	}
	s, err := zklock.Connect(m.t.Context(), servers, longSession, zklock.WithDialer(m.e.Client("differing").Dial), informed(&m.log))
	require.NoError(m.t, err)
	m.t.Cleanup(func() { s.Close() })
	for _, s := range others {
		s.Refuse(false)
	}
	return s
}

// at returns the server that s is connected to.
func (m *differing) at(s *zklock.Session) *zktest.Server {
	m.t.Helper()
	for _, session := range m.e.Sessions() {
		if session.ID == s.ID() {
			return session.Server
		}
	}
	return nil
}

// requireLeft checks that s has left the stale server, has said so, and does not come back while
// others are there.
func (m *differing) requireLeft(s *zklock.Session, says string) {
	m.t.Helper()
	require.NotSame(m.t, m.stale, m.at(s))
	synctest.Wait()
	warning := regexp.MustCompile(`level=WARN msg="zklock: a server's data is not its leader's, going to another one" server=` + m.stale.PipeAddr() + ` path=\S+ cause="[^"]*` + says)
	require.Len(m.t, warning.FindAllString(m.log.String(), -1), 1, m.log.String())
	for range 6 {
		m.at(s).Cut()
		time.Sleep(time.Second)
		require.NotSame(m.t, m.stale, m.at(s))
	}
	for _, other := range m.e.Servers()[1:] {
		other.Refuse(true)
		other.Cut()
	}
	time.Sleep(5 * time.Second)
	require.Same(m.t, m.stale, m.at(s), "it is better than none")
}

// taker takes something in a session.
type taker func(ctx context.Context, s *zklock.Session) (*zklock.Hold, error)

// takers are the kinds of locks: of each one who holds it, and one who waits for that.
func (m *differing) takers() map[string][2]taker {
	lock := func(ctx context.Context, s *zklock.Session) (*zklock.Hold, error) { return m.locker(s).Acquire(ctx) }
	rw := func(s *zklock.Session) *zklock.RWLocker {
		l, err := zklock.NewRW(s, m.path)
		require.NoError(m.t, err)
		return l
	}
	write := func(ctx context.Context, s *zklock.Session) (*zklock.Hold, error) { return rw(s).Acquire(ctx) }
	read := func(ctx context.Context, s *zklock.Session) (*zklock.Hold, error) { return rw(s).RAcquire(ctx) }
	permit := func(ctx context.Context, s *zklock.Session) (*zklock.Hold, error) {
		return m.semaphore(s).Acquire(ctx, 1)
	}
	return map[string][2]taker{
		"a lock": {lock, lock}, "a writer behind a writer": {write, write}, "a writer behind a reader": {read, write},
		"a reader": {write, read}, "permits": {permit, permit},
	}
}

func (m *differing) semaphore(s *zklock.Session) *zklock.Semaphore {
	l, err := zklock.NewSemaphore(s, m.path, 1)
	require.NoError(m.t, err)
	return l
}

// requireServed has the stale server keep h's node for good, and checks that who waits for h in s gets the
// lock all the same, over another server.
func (m *differing) requireServed(s *zklock.Session, got <-chan error, h *zklock.Hold) {
	m.t.Helper()
	time.Sleep(time.Second)
	require.True(m.t, m.stale.KeepNode(h.Node()))
	require.NoError(m.t, h.Release(m.t.Context()))
	select {
	case err := <-got:
		require.NoError(m.t, err)
	case <-time.After(2 * recheck):
		require.FailNow(m.t, "it waits for a node that the leader has not")
	}
	m.requireLeft(s, "shows "+h.Node()+", which the leader has not")
}

func TestAWaiterBehindANodeThatOnlyItsServerShowsGoesToAnotherServer(t *testing.T) {
	for _, kind := range []string{"a lock", "a writer behind a writer", "a writer behind a reader", "a reader", "permits"} {
		t.Run(kind, func(t *testing.T) {
			inDifferingBubble(t, func(t *testing.T, m *differing) {
				takers := m.takers()[kind]
				h, err := takers[0](t.Context(), m.session("holder"))
				require.NoError(t, err)
				s := m.begin(m.e.PipeAddrs()...)
				got := begin(func() error { return errOf(takers[1](t.Context(), s)) })
				m.requireServed(s, got, h)
			})
		})
	}
}

// Who waits for the queue to be empty has no watch that is rechecked.
func TestTheEndOfTheCounterIsNotWaitedForAtANodeThatOnlyAServerShows(t *testing.T) {
	for who, number := range map[string]int32{"by who stays in the queue": math.MaxInt32, "by who has left it": math.MinInt32} {
		t.Run(who, func(t *testing.T) {
			inDifferingBubble(t, func(t *testing.T, m *differing) {
				h, err := m.locker(m.session("holder")).Acquire(t.Context())
				require.NoError(t, err)
				s := m.begin(m.e.PipeAddrs()...)
				m.e.SetSequence(m.path, number)
				got := begin(func() error { return errOf(m.locker(s).Acquire(context.Background())) })
				m.requireServed(s, got, h)
			})
		})
	}
}

// Who is refused at such a node waits for no recheck either.
func TestANodeThatOnlyAServerShowsAndNobodyMayReadRefusesNoCall(t *testing.T) {
	for name, stem := range map[string]string{"a lock's": "_c_x-lock-", "another library's": "n_"} {
		t.Run(name, func(t *testing.T) {
			inDifferingBubble(t, func(t *testing.T, m *differing) {
				operator := m.session("operator")
				require.NoError(t, m.locker(operator).LockContext(t.Context())) // makes the path
				node, err := operator.Conn().Create(m.path+"/"+stem, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
				_, err = operator.Conn().SetACL(node, zk.DigestACL(zk.PermAll, "nobody", "here"), -1)
				require.NoError(t, err)
				time.Sleep(time.Second)
				require.True(t, m.stale.KeepNode(node))
				require.NoError(t, operator.Close())
				s := m.begin(m.e.PipeAddrs()...)
				h, err := m.locker(s).Acquire(t.Context())
				require.NoError(t, err)
				require.NoError(t, h.Err())
				m.requireLeft(s, "shows "+node)
			})
		})
	}
}

// A try waits for no recheck: what has refused it for long is asked for. The path of another lock does not refuse it.
func TestATryIsNotRefusedForGoodByANodeThatOnlyItsServerShows(t *testing.T) {
	inDifferingBubble(t, func(t *testing.T, m *differing) {
		holder := m.session("holder")
		below, err := zklock.New(holder, m.path+"/order-0000000000")
		require.NoError(t, err)
		require.True(t, below.TryLock())
		h, err := m.locker(holder).Acquire(t.Context())
		require.NoError(t, err)
		require.True(t, m.stale.KeepNode(h.Node()))
		time.Sleep(recheck)
		s := m.begin(m.e.PipeAddrs()...)
		l := m.locker(s)
		before := m.server.Requests()
		require.False(t, l.TryLock())
		require.Equal(t, 1, m.server.Requests()[zktest.OpMulti]-before[zktest.OpMulti], "the leader has it")
		for range 10 {
			require.False(t, l.TryLock())
		}
		require.Equal(t, 1, m.server.Requests()[zktest.OpMulti]-before[zktest.OpMulti], "it was asked just before")
		require.NoError(t, h.Release(t.Context()))
		time.Sleep(recheck)
		require.True(t, l.TryLock())
		require.NoError(t, l.UnlockContext(t.Context()))
		m.requireLeft(s, "shows "+h.Node())
	})
}

func TestATryForPermitsIsNotRefusedForGoodByOneThatOnlyItsServerShows(t *testing.T) {
	inDifferingBubble(t, func(t *testing.T, m *differing) {
		h, err := m.semaphore(m.session("holder")).Acquire(t.Context(), 1)
		require.NoError(t, err)
		require.True(t, m.stale.KeepNode(h.Node()))
		require.NoError(t, h.Release(t.Context()))
		s := m.begin(m.e.PipeAddrs()...)
		_, err = m.semaphore(s).TryAcquire(t.Context(), 1)
		require.NoError(t, err)
		m.requireLeft(s, "shows "+h.Node())
	})
}

func TestACallAtAServerThatLacksTheLocksPathGoesToAnotherServer(t *testing.T) {
	for _, kind := range []string{"a lock", "a reader", "permits"} {
		for _, lacks := range []string{"/locks", "/locks/a"} {
			t.Run(kind+" without "+lacks, func(t *testing.T) {
				inDifferingBubble(t, func(t *testing.T, m *differing) {
					take := m.takers()[kind][1]
					h, err := take(t.Context(), m.session("holder"))
					require.NoError(t, err)
					require.NoError(t, h.Release(t.Context()))
					s := m.begin(m.e.PipeAddrs()...)
					require.True(t, m.stale.LackNode(lacks))
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					h, err = take(ctx, s)
					require.NoError(t, err)
					require.NoError(t, h.Release(t.Context()))
					time.Sleep(5 * time.Second)
					for _, node := range m.server.Nodes() {
						require.Zero(t, node.Stat.EphemeralOwner, "%s is left", node.Path)
					}
					m.requireLeft(s, "lacks /locks/a")
				})
			})
		}
	}
}

func TestTheErrorSaysThatTheOnlyServerDiffersFromItsLeader(t *testing.T) {
	inDifferingBubble(t, func(t *testing.T, m *differing) {
		h, err := m.locker(m.session("holder")).Acquire(t.Context())
		require.NoError(t, err)
		s := m.begin(m.stale.PipeAddr())
		require.True(t, m.stale.KeepNode(h.Node()))
		require.NoError(t, h.Release(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err = m.locker(s).Acquire(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the server "+m.stale.PipeAddr()+" shows "+h.Node()+", which the leader has not")
		require.LessOrEqual(t, strings.Count(m.log.String(), "going to another one"), 5, "once a minute at most")

		require.True(t, m.stale.LackNode(m.path))
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		before := m.server.Requests()[zktest.OpCreate]
		_, err = m.locker(s).Acquire(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the server "+m.stale.PipeAddr()+" lacks "+m.path+", which the leader has")
		require.LessOrEqual(t, m.server.Requests()[zktest.OpCreate]-before, 2, "each leaves a node that it is not told of")
	})
}

// A list that shows a node, and a read that does not, would follow each other for good.
func TestAServerThatContradictsItselfIsAskedAgainAfterPauses(t *testing.T) {
	inDifferingBubble(t, func(t *testing.T, m *differing) {
		h, err := m.locker(m.session("holder")).Acquire(t.Context())
		require.NoError(t, err)
		defer h.Release(t.Context())
		ahead, err := m.session("ahead").Conn().Create(m.path+"/x-lock-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		s := m.session("mine")
		for range 1000 {
			m.e.RefuseRequest(zktest.OpGetData, -101, zktest.OnPath(ahead), zktest.OnClient(m.e.Client("mine")))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = m.locker(s).Acquire(ctx)
		require.ErrorIs(t, err, zklock.ErrLocked)
		require.LessOrEqual(t, m.server.Requests()[zktest.OpGetData], 100)
	})
}
