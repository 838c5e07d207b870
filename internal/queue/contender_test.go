package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// Between the look at what there is and the create a goroutine may be paused.
func TestAPlaceThatIsTakenWhenItsIncarnationIsOverGrantsNothingAndIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(s *Session, inc *incarnation)
		want error
	}{
		"the lease has ended": {func(s *Session, inc *incarnation) {
			s.mu.Lock()
			defer s.mu.Unlock()
			now := s.client.Clock.Now()
			s.endLease()
			s.expire(inc, now)
		}, client.ErrSessionOver},
		"the session is closed":       {func(s *Session, _ *incarnation) { s.Close() }, client.ErrClosed},
		"nobody gets a lock any more": {func(s *Session, _ *incarnation) { s.Drain() }, client.ErrClosed},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			q := lockAt(s, "/lock")
			require.NoError(t, hold(t, s).Release(t.Context(), nil)) // there is the path
			ctx := within(t, sessionTimeout)
			inc, err := s.await(ctx)
			require.NoError(t, err)
			tc.end(s, inc)
			c, view, err := q.create(ctx, inc, q.lockNode())
			require.NoError(t, err)
			h, err := c.wait(ctx, view)
			require.ErrorIs(t, err, tc.want)
			require.Nil(t, h)
			c.leaveUnused()
			s.end()
			require.Empty(t, server.Children("/lock"))
		})
	}
}

// thoughtful is a context whose Err does something before it answers.
type thoughtful struct {
	context.Context
	think func()
}

func (c thoughtful) Err() error {
	c.think()
	return c.Context.Err()
}

// ways are those in which a session gets a lock by a grant, and where its nodes stand.
var ways = map[string]struct {
	dir  string
	take func(ctx context.Context, s *Session) (*Hold, error)
}{
	"a wait": {"/lock", func(ctx context.Context, s *Session) (*Hold, error) { return lockAt(s, "/lock").Acquire(ctx, nil) }},
	"a try":  {"/lock", func(ctx context.Context, s *Session) (*Hold, error) { return lockAt(s, "/lock").Try(ctx, nil) }},
	"permits": {"/sem/leases", func(ctx context.Context, s *Session) (*Hold, error) {
		return NewSemaphore(s, "/sem", 2, defaults()).Acquire(ctx, 2, nil)
	}},
}

// atTheGrant calls f once in the ctx of a call, when the grant of its node in dir is the next
// thing.
func atTheGrant(s *Session, dir string, f func()) func() {
	done := false
	return func() {
		s.mu.Lock()
		granted := false
		for _, c := range s.protected.all() {
			granted = granted || c.queue.dir == dir && c.state == waiting
		}
		s.mu.Unlock()
		if granted && !done {
			done = true
			f()
		}
	}
}

// The machine may sleep just before the lock is granted.
func TestALockIsGrantedUnderALeaseThatRuns(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			reconnecting(t, straight, func(t *testing.T, _ *zktest.Server, s *Session, c *clock.Clock) {
				slept := false
				h, err := way.take(thoughtful{t.Context(), atTheGrant(s, way.dir, func() {
					slept = true
					c.Step(reconnectTimeout)
				})}, s)
				require.True(t, slept)
				require.NoError(t, err)
				require.True(t, h.Valid(), "a call that returns success holds the lock at that moment")
			})
		})
	}
}

func TestACallWhoseContextEndsJustBeforeTheGrantHasNoLock(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
				ctx, cancel := context.WithCancel(t.Context())
				h, err := way.take(thoughtful{ctx, atTheGrant(s, way.dir, cancel)}, s)
				require.ErrorIs(t, err, context.Canceled)
				require.Nil(t, h)
				synctest.Wait()
				require.Empty(t, server.Children(way.dir))
			})
		})
	}
}

// countingHolds returns an exclusive queue, and how many holds it has made.
func countingHolds(s *Session) (q *Queue, made *int) {
	o, made := defaults(), new(int)
	o.NewHistory = func(string, int64) History {
		*made++
		return nil
	}
	return New(s, "/lock", recipe.Exclusive, o), made
}

// The user has never seen that hold: what is told of a hold must not be told of this one later.
func TestALockThatIsHandedToACallThatEndsIsReleased(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		q, made := countingHolds(s)
		q.options.MaxHold = time.Hour
		first := take(t, q)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := q.Acquire(ctx, nil)
			ended <- err
		}()
		synctest.Wait()
		require.NoError(t, first.Release(t.Context(), cancel)) // just before the next one has it
		require.ErrorIs(t, <-ended, context.Canceled)
		synctest.Wait()
		require.Equal(t, 2, *made)
		require.Empty(t, server.Children("/lock"))
		time.Sleep(2 * time.Hour)
		synctest.Wait() // for whoever writes the log
		require.NotContains(t, log.String(), "held for too long")
	})
}

// leastHeld takes a lock whose node stays for so long.
func leastHeld(t *testing.T, s *Session, least time.Duration) *Hold {
	t.Helper()
	o := defaults()
	o.MinHold, o.LossGrace = least, 24*time.Hour // which begins with a loss alone
	return take(t, New(s, "/lock", recipe.Exclusive, o))
}

func TestWhatStaysIsForgottenWithItsSession(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		h := leastHeld(t, s, time.Hour)
		require.NoError(t, h.Release(t.Context(), nil))
		server.ExpireSession(s.id)
		time.Sleep(reconnectTimeout)
		synctest.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		require.NotZero(t, s.id)
		require.Empty(t, s.live)
		require.False(t, h.contender.rest.Stop(), "its timer would keep it in memory")
	})
}

// Nobody acts on such a node, which no lease covers.
func TestANodeStaysForItsMinimumThoughTheLeaseOfOthersEnds(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, c *clock.Clock) {
		const least = 10 * reconnectTimeout
		h := leastHeld(t, s, least)
		other := take(t, lockAt(s, "/other"))
		require.NoError(t, h.Release(t.Context(), nil))
		c.Step(reconnectTimeout) // the machine slept
		require.False(t, other.Valid())
		time.Sleep(least - 1)
		synctest.Wait()
		require.Empty(t, server.Children("/other"))
		require.Len(t, server.Children("/lock"), 1)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
	})
}

// What stays is nobody's whose turn another one of the session could wait for.
func TestWhoStandsBehindANodeThatStaysHasTheLockWhenAnOperatorDeletesIt(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := leastHeld(t, s, time.Hour)
		came := ask(t.Context(), lockAt(s, "/lock").Acquire)
		require.NoError(t, h.Release(t.Context(), nil))
		synctest.Wait()
		require.Empty(t, came)
		require.NoError(t, connect(t, server).client.Conn.Delete(h.Node(), -1))
		granted(t, came)
	})
}

// The owner may act on what the others guard.
func TestTheOtherPermitsStayForTheirGraceThoughOneWasDeleted(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		o := defaults()
		o.LossGrace = time.Minute
		h, err := NewSemaphore(s, "/sem", 3, o).Acquire(t.Context(), 3, nil)
		require.NoError(t, err)
		require.NoError(t, connect(t, server).client.Conn.Delete(h.contender.nodes[1], -1))
		<-h.Lost()
		time.Sleep(o.LossGrace - time.Nanosecond)
		synctest.Wait()
		require.Len(t, server.Children("/sem/leases"), 2)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Empty(t, server.Children("/sem/leases"))
	})
}

func TestANodeThatNobodyHasComeToUseDoesNotStay(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		leastHeld(t, s, time.Hour).ReleaseUnused(nil)
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
	})
}

// Curator's Revoker asks those who wait too.
func TestAHoldThatWasAskedForBeforeItBeganSaysSo(t *testing.T) {
	for name, tc := range map[string]struct {
		together bool // they are of one session
		said     string
		asked    bool
	}{
		"behind its own session": {true, recipe.RevokeMark, true},
		"behind another one":     {false, recipe.RevokeMark, true},
		"something else is said": {false, "said", false},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			first := hold(t, s)
			if !tc.together {
				s = connect(t, server)
			}
			granted, _ := asking(t, s, "/lock")
			for _, name := range server.Children("/lock") {
				if node := "/lock/" + name; node != first.Node() {
					for _, said := range []string{"something else", tc.said} {
						time.Sleep(time.Second)
						write(t, s.client.Conn, node, []byte(said))
					}
				}
			}
			time.Sleep(time.Second)
			go first.Release(t.Context(), nil)
			h := <-granted
			require.Equal(t, tc.asked, latch.IsClosed(h.Revoked()))
		})
	}
}

// Who asks for that one wants nothing of the hold.
func TestAHoldWhoseNodeIsAnothersNowIsLostAndNotAskedFor(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		h := hold(t, s)
		s.mu.Lock()
		h.contender.onContent(client.Content{Data: []byte(recipe.RevokeMark), Stat: &zk.Stat{EphemeralOwner: s.id + 1}})
		s.mu.Unlock()
		require.True(t, h.IsLost())
		require.False(t, latch.IsClosed(h.Revoked()))
	})
}

// watchesItself reports whether a session asks for that node of its own from now on, until stop
// is called.
func watchesItself(server *zktest.Server, node string) (asked func() bool, stop func()) {
	f := server.HoldRequest(zktest.OpGetData, zktest.OnPath(node))
	return func() bool {
		synctest.Wait()
		return latch.IsClosed(f.Struck())
	}, f.Release
}

func TestANodeThatIsBeingDeletedIsNotWatchedOverTheNextConnection(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		h := hold(t, s)
		time.Sleep(time.Second)
		hung := server.HoldRequest(zktest.OpDelete, zktest.OnPath(h.Node()))
		go h.Release(t.Context(), nil)
		<-hung.Struck()
		asked, stop := watchesItself(server, h.Node())
		defer stop()
		again := server.HoldRequest(zktest.OpDelete, zktest.OnPath(h.Node()))
		server.CutSession(s.client.ID())
		hung.Release()
		time.Sleep(2 * selfWatchDelay)
		again.Release()
		time.Sleep(sessionTimeout)
		require.Empty(t, server.Children("/lock"))
		require.False(t, asked())
		require.Zero(t, server.Requests()[zktest.OpSetWatches])
	})
}
