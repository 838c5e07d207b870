package lock_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// bubble is where a test runs in virtual time: after synctest.Wait everything has happened that
// needs no time.
type bubble struct {
	t      *testing.T
	server *zktest.Server
	path   string
}

func inBubble(t *testing.T, f func(t *testing.T, b *bubble), opts ...zktest.Option) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) { f(t, &bubble{t, zktest.NewServer(t, opts...), "/lock"}) })
}

// session connects from a place of that name.
func (b *bubble) session(place string, opts ...zklock.SessionOption) *zklock.Session {
	b.t.Helper()
	s, err := zklock.Connect(b.t.Context(), []string{b.server.PipeAddr()}, longSession,
		append(opts, zklock.WithDialer(b.server.Client(place).Dial))...)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { s.Close() })
	return s
}

func (b *bubble) locker(s *zklock.Session, opts ...zklock.Option) *zklock.Locker {
	b.t.Helper()
	l, err := zklock.New(s, b.path, opts...)
	require.NoError(b.t, err)
	return l
}

// queue returns how many lock nodes there are.
func (b *bubble) queue() int { return len(b.server.Children(b.path)) }

// grant is a hold, or an error, of one who asked for the lock.
type grant struct {
	who string
	*zklock.Hold
	err error
}

// ask has one more goroutine acquire the lock, and returns when it waits for it or has it.
func (b *bubble) ask(ctx context.Context, who string, l *zklock.Locker, granted chan<- grant) {
	go func() {
		h, err := l.Acquire(ctx)
		granted <- grant{who, h, err}
	}()
	synctest.Wait()
}

// next returns what was granted, which must be one hold.
func (b *bubble) next(granted <-chan grant) grant {
	b.t.Helper()
	synctest.Wait()
	require.Len(b.t, granted, 1, "one at a time")
	g := <-granted
	require.NoError(b.t, g.err)
	require.NoError(b.t, g.Hold.Err())
	return g
}

func TestACohortSharesATurnUpToItsBound(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		granted := make(chan grant, 20)
		for _, who := range []string{"a", "b", "c", "d"} {
			if who == "b" { // the cohort comes second
				l := b.locker(b.session("cohort"), zklock.WithHandoff(3))
				for range 8 {
					b.ask(t.Context(), "-", l, granted)
				}
				require.Equal(t, 2, b.queue(), "one node for all of them")
			}
			b.ask(t.Context(), who, b.locker(b.session(who)), granted)
		}
		order := ""
		for range 12 {
			g := b.next(granted)
			order += g.who
			require.NoError(t, g.Release(t.Context()))
		}
		require.Equal(t, "a---bcd-----", order, "the last five are alone, and have no bound")
		require.Zero(t, b.queue())
	})
}

// Of those that queue in its own session a cohort knows before the queue tells.
func TestACohortEndsItsTurnForAnotherOfItsSession(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		far := zktest.NewServer(t, zktest.WithLatency(5*time.Millisecond, 5*time.Millisecond))
		b := &bubble{t, far, "/lock"}
		s := b.session("here")
		l := b.locker(s, zklock.WithHandoff(2))
		granted := make(chan grant, 6)
		for range 5 {
			b.ask(t.Context(), "-", l, granted)
		}
		first := <-granted
		require.NoError(t, first.Release(t.Context()))
		time.Sleep(time.Second) // it knows that it is alone
		b.ask(t.Context(), "other", b.locker(s), granted)
		order := ""
		for range 5 {
			g := <-granted
			order += g.who
			go g.Release(t.Context())
		}
		require.Equal(t, "-other---", order)
	})
}

// The new list takes a round trip, in which many may have been served.
func TestACohortEndsItsTurnWhenTheQueueChanges(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const latency, bound = 5 * time.Millisecond, 2
		b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(latency, latency)), "/lock"}
		l, other := b.locker(b.session("cohort"), zklock.WithHandoff(bound)), b.locker(b.session("other"))
		var served []time.Time // guarded by l
		over, owners := make(chan struct{}), sync.WaitGroup{}
		for range 2 * bound {
			owners.Go(func() {
				for !latch.IsClosed(over) {
					l.Lock()
					served = append(served, time.Now())
					if len(served) <= bound { // it finds out that it is alone
						time.Sleep(20 * latency)
					}
					time.Sleep(latency / 50)
					l.Unlock()
				}
			})
		}
		time.Sleep(time.Second)
		var came time.Time
		b.server.Observe(func(txn zktest.Txn) {
			for _, c := range txn.Changes {
				if c.Kind == zktest.NodeCreated && came.IsZero() {
					came = time.Now()
				}
			}
		})
		h, err := other.Acquire(t.Context())
		require.NoError(t, err)
		since := slices.DeleteFunc(slices.Clone(served), func(at time.Time) bool { return !at.After(came.Add(latency)) })
		close(over)
		require.NoError(t, h.Release(t.Context()))
		owners.Wait()
		require.LessOrEqual(t, len(since), bound, "the process has been told of one who waits")
	})
}

func TestAnOwnerThatAskedForItsTokenOrCheckKeepsItsNode(t *testing.T) {
	for name, ask := range map[string]func(*zklock.Hold){
		"Token": func(h *zklock.Hold) { h.Token() },
		"Check": func(h *zklock.Hold) { h.Check() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("cohort"), zklock.WithHandoff(10), zklock.WithRetention(time.Minute))
				granted := make(chan grant, 3)
				for range 3 {
					b.ask(t.Context(), "-", l, granted)
				}
				first := b.next(granted)
				require.NoError(t, first.Release(t.Context()))
				second := b.next(granted)
				require.Equal(t, first.Node(), second.Node())
				ask(second.Hold)
				require.NoError(t, second.Release(t.Context()))
				third := b.next(granted)
				require.NotEqual(t, second.Node(), third.Node())
				require.Greater(t, third.Token(), second.Token())
				require.NoError(t, third.Release(t.Context()))
				require.Zero(t, b.queue(), "nor is it retained")
			})
		})
	}
}

func TestAnOldHandleDoesNotFreeTheNewOwner(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("cohort"), zklock.WithHandoff(10))
		granted := make(chan grant, 2)
		b.ask(t.Context(), "-", l, granted)
		b.ask(t.Context(), "-", l, granted)
		old := b.next(granted)
		ctx := old.Context()
		require.NoError(t, old.Release(t.Context()))
		owner := b.next(granted)
		require.Equal(t, old.Node(), owner.Node())
		for range 3 {
			require.NoError(t, old.Release(t.Context()), "again")
		}
		require.ErrorIs(t, old.Hold.Err(), zklock.ErrReleased)
		require.ErrorIs(t, context.Cause(ctx), zklock.ErrReleased)
		require.False(t, old.Valid())
		require.False(t, isClosed(old.Lost()))
		require.True(t, owner.Valid())
		require.False(t, b.locker(b.session("other")).TryLock())
		require.NoError(t, owner.Release(t.Context()))
	})
}

// A handle that was released must not vouch for its user's writes because another owner has the
// same node.
func TestAReleasedHandlesCheckNeverPasses(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("cohort")
		l := b.locker(s, zklock.WithHandoff(10))
		granted := make(chan grant, 2)
		b.ask(t.Context(), "-", l, granted)
		b.ask(t.Context(), "-", l, granted)
		old := b.next(granted)
		require.NoError(t, old.Release(t.Context()))
		owner := b.next(granted)
		_, err := s.Conn().Multi(old.Check(), &zk.CreateRequest{Path: "/stale", Acl: zk.WorldACL(zk.PermAll)})
		require.Error(t, err, "a stale user's write happened while another owner holds the lock")
		require.NoError(t, owner.Release(t.Context()))
	})
}

func TestTheLossOfACohortsNodeIsItsOwnersLossAlone(t *testing.T) {
	for name, lose := range map[string]func(b *bubble, s *zklock.Session, node string){
		"the session ends": func(b *bubble, s *zklock.Session, _ string) { require.True(b.t, b.server.ExpireSession(s.ID())) },
		"the node is deleted": func(b *bubble, s *zklock.Session, node string) {
			require.NoError(b.t, s.Conn().Delete(node, -1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("cohort")
				l := b.locker(s, zklock.WithHandoff(10), zklock.WithRetention(time.Minute))
				granted := make(chan grant, 4)
				for range 4 {
					b.ask(t.Context(), "-", l, granted)
				}
				g := b.next(granted)
				require.NoError(t, g.Release(t.Context()))
				lost := b.next(granted)
				lose(b, s, lost.Node())
				<-lost.Lost()
				require.ErrorIs(t, lost.Release(t.Context()), zklock.ErrLost)
				time.Sleep(time.Second) // until the session is connected again
				next := b.next(granted)
				require.NotEqual(t, lost.Node(), next.Node())
				require.NoError(t, next.Release(t.Context()))
				last := b.next(granted)
				require.Equal(t, next.Node(), last.Node())
				require.NoError(t, last.Release(t.Context()))
			})
		})
	}
}

// A hold that is lost before its cohort hears of it is not the cohort's, and so nobody would
// have called the next member.
func TestACohortGoesOnWhenAHoldIsLostBeforeItIsReturned(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		operator := b.session("operator")
		var deleted sync.Once
		l := b.locker(b.session("cohort"), zklock.WithHandoff(4), zklock.WithTrace(&zklock.Trace{
			Acquired: func(i zklock.TraceInfo) {
				deleted.Do(func() {
					assert.NoError(t, operator.Conn().Delete(i.Node, -1))
					time.Sleep(time.Second) // until the session knows
				})
			},
		}))
		granted := make(chan grant, 2)
		b.ask(t.Context(), "first", l, granted)
		b.ask(t.Context(), "second", l, granted)
		time.Sleep(2 * time.Second)
		for _, who := range []string{"second", "first"} { // who has asked again
			next := b.next(granted)
			require.Equal(t, who, next.who)
			require.NoError(t, next.Release(t.Context()))
		}
		require.Zero(t, b.queue())
	})
}

// Two others hold the lock in turns, members ask more often than they are served, and one long hold makes them all wait.
func TestMembersWithADeadlineAreServedAgainAfterALongHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		const deadline, usual = 2 * time.Second, 500 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		holds := make(chan time.Duration, 1)
		for range 2 {
			other := b.locker(b.session("other"))
			running.Go(func() {
				for ctx.Err() == nil {
					_ = other.Do(ctx, func(context.Context) error {
						held := usual
						select {
						case held = <-holds:
						default:
						}
						time.Sleep(held)
						return nil
					})
				}
			})
		}
		l := b.locker(b.session("ours"), zklock.WithHandoff(8))
		var served atomic.Int64
		ask := func(during time.Duration) int64 {
			before := served.Load()
			for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(deadline / 13) {
				running.Go(func() {
					ctx, cancel := context.WithTimeout(ctx, deadline)
					defer cancel()
					if h, err := l.Acquire(ctx); err == nil {
						served.Add(1)
						_ = h.Release(ctx)
					}
				})
			}
			return served.Load() - before
		}
		ask(time.Minute)
		holds <- 2 * deadline
		ask(3 * deadline)
		require.Greater(t, ask(time.Minute), int64(300), "of 390")
	})
}
