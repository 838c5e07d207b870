package queue

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// Nobody else is to have the lock while the last owner's check may succeed. The token alone
// keeps nobody waiting.
func TestALockWhoseCheckWasAskedForGoesOnWhenItsNodeIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		ask    func(*Hold)
		handed bool
	}{
		"nothing was asked for":    {func(*Hold) {}, true},
		"the token":                {func(h *Hold) { h.Token() }, true},
		"the check":                {func(h *Hold) { h.Check() }, false},
		"the check, and the token": {func(h *Hold) { h.Check(); h.Token() }, false},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			granted := inLine(t, s, "/lock", 2)
			first := <-granted
			tc.ask(first)
			held := []*zktest.Fault{
				server.HoldRequest(zktest.OpDelete, zktest.OnPath(first.Node())), server.HoldRequest(zktest.OpMulti, zktest.OnPath(first.Node())),
			}
			go first.Release(t.Context(), nil)
			synctest.Wait()
			require.Equal(t, tc.handed, len(granted) == 1)
			for _, f := range held {
				f.Release()
			}
			<-granted
		})
	}
}

// What has become of the node is known already: a ctx that has ended changes nothing of that.
func TestAReleaseThatIsOverSaysEachTimeWhatHasBecomeOfTheNode(t *testing.T) {
	for name, tc := range map[string]struct {
		perms int32
		want  error
	}{
		"it is gone":           {zk.PermAll, nil},
		"it cannot be deleted": {zk.PermAll &^ zk.PermDelete, zk.ErrNoAuth},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
			_, err := s.client.Conn.Create("/lock", nil, zk.FlagPersistent, zk.WorldACL(tc.perms))
			require.NoError(t, err)
			h := hold(t, s)
			require.ErrorIs(t, h.Release(t.Context(), nil), tc.want)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for range 30 { // a select picks at random
				require.ErrorIs(t, h.Release(ended, nil), tc.want)
			}
		})
	}
}

// go-zookeeper sends nothing else before.
func TestUnlockDoesNotWaitForALogin(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		require.NoError(t, s.client.Conn.AddAuth("digest", []byte("owner:secret")))
		h := hold(t, s)
		login := server.HoldReply(zktest.OpAuth)
		server.Cut()
		<-login.Struck()
		synctest.Wait()
		require.True(t, s.client.Current() != nil)
		began := time.Now()
		h.SendRelease(t.Context(), nil)
		require.Zero(t, time.Since(began))
		require.Len(t, server.Children("/lock"), 1)
		login.Release()
		synctest.Wait()
		require.Empty(t, server.Children("/lock"))
	})
}

func TestWhatIsCalledAtTheEndOfAHoldIsCalledOnceUnlessItWasStopped(t *testing.T) {
	for stopped := range 3 {
		inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
			h := hold(t, s)
			var called [3]int
			var stops [3]func()
			for i := range called {
				stops[i] = h.WhenEnded(func(err error) {
					require.ErrorIs(t, err, ErrReleased)
					called[i]++
				})
			}
			want := [3]int{1, 1, 1}
			want[stopped] = 0
			stops[stopped]()
			stops[stopped]() // as often as one likes
			require.NoError(t, h.Release(t.Context(), nil))
			for _, stop := range stops {
				stop()
			}
			require.Equal(t, want, called)
		})
	}
}

// A user may keep a hold for long after its end.
func TestAHoldThatHasEndedKeepsInMemoryNeitherWhatItHasCalledNorWhoCameNext(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		granted := inLine(t, s, "/lock", 2)
		h := <-granted
		h.Check() // it is not handed on: the next one looks at the queue again
		what := func() weak.Pointer[[1 << 10]byte] {
			called := new([1 << 10]byte)
			h.WhenEnded(func(error) { called[0]++ })
			return weak.Make(called)
		}()
		require.NoError(t, h.Release(t.Context(), nil))
		who := func() weak.Pointer[contender] {
			next := <-granted
			require.NoError(t, next.Release(t.Context(), nil))
			return weak.Make(next.contender)
		}()
		synctest.Wait()
		require.NoError(t, hold(t, s).Release(t.Context(), nil)) // so that the session's last delete is another one
		time.Sleep(time.Second)
		runtime.GC()
		require.True(t, what.Value() == nil, "what it has called")
		require.True(t, who.Value() == nil, "who came next")
		runtime.KeepAlive(h)
	})
}

// The timer of before may have fired, and wait for the mutex.
func TestAHoldWhoseTimeBeginsAnewIsAskedForByItsNewTimeAlone(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		o := defaults()
		o.MaxHold = time.Hour
		h := take(t, New(s, "/lock", recipe.Exclusive, o))
		time.Sleep(o.MaxHold / 2)
		h.StartMinimum()
		s.mu.Lock()
		h.reachLimit()
		s.mu.Unlock()
		require.False(t, latch.IsClosed(h.Revoked()))
		h.AwaitOthers()
		require.NotPanics(t, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			h.reachLimit()
		})
		h.StartMinimum()
		time.Sleep(o.MaxHold - time.Nanosecond)
		require.False(t, latch.IsClosed(h.Revoked()))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.True(t, latch.IsClosed(h.Revoked()))
	})
}

// told is a history that counts what it is told; busy, somebody else sees to it that Tell is
// called.
type told struct {
	untold
	busy               bool
	released, lost, on int
}

func (h *told) Released() bool {
	h.released++
	return !h.busy
}

func (h *told) Lost(error) bool {
	h.lost++
	return !h.busy
}

func (h *told) Tell() { h.on++ }

func TestTheEndOfAHoldIsToldOnce(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for name, tc := range map[string]struct {
			end  func(t *testing.T, h *Hold)
			want told
		}{
			"released": {func(t *testing.T, h *Hold) { require.NoError(t, h.Release(t.Context(), nil)) }, told{released: 1}},
			"lost": {func(t *testing.T, h *Hold) {
				s := h.contender.queue.session
				require.NoError(t, s.client.Conn.Delete(h.Node(), -1))
				<-h.Lost()
			}, told{lost: 1}},
		} {
			runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
				history := &told{busy: busy}
				o := defaults()
				o.NewHistory = func(string, int64) History { return history }
				h := take(t, New(s, "/lock", recipe.Exclusive, o))
				tc.end(t, h)
				_ = h.Release(t.Context(), nil)
				h.SendRelease(t.Context(), nil)
				synctest.Wait()
				if tc.want.busy = busy; !busy {
					tc.want.on = 1
				}
				require.Equal(t, tc.want, *history)
			})
		}
	}
}

// Of a lock in another session it is not known whether it is of the same ensemble.
func TestAHoldBlocksThoseOfItsOwnSessionThatQueueWhereItIs(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other := connect(t, server)
		h := hold(t, s)
		require.True(t, h.Blocks(lockAt(s, "/lock")))
		require.False(t, h.Blocks(lockAt(s, "/other")))
		require.False(t, h.Blocks(lockAt(other, "/lock")))
		require.NoError(t, h.Release(t.Context(), nil))
		require.False(t, h.Blocks(lockAt(s, "/lock")), "it has ended")

		permits, err := NewSemaphore(s, "/sem", 3, defaults()).Acquire(t.Context(), 2, nil)
		require.NoError(t, err)
		require.Equal(t, 2, permits.PermitsOf(NewSemaphore(s, "/sem", 3, defaults())))
		require.Zero(t, permits.PermitsOf(NewSemaphore(s, "/sem2", 3, defaults())))
		require.Zero(t, permits.PermitsOf(NewSemaphore(other, "/sem", 3, defaults())))
	})
}

// Its watch, or the next proof, would find that a moment later.
func TestAHoldWhoseNodeIsGoneIsLostWhenItIsConfirmed(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		operator := connect(t, server)
		h := hold(t, s)
		require.NoError(t, h.Confirm(t.Context()))
		require.NoError(t, h.Err())
		require.NoError(t, operator.client.Conn.Delete(h.Node(), -1))
		require.NoError(t, h.Confirm(t.Context()))
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}

// The turn of the proofs would find it too, if later.
func TestTheNodesOfAHoldAreWatchedUnlessItIsShort(t *testing.T) {
	for name, acquire := range map[string]func(ctx context.Context, s *Session) (*Hold, error){
		"a lock": func(ctx context.Context, s *Session) (*Hold, error) { return lockAt(s, "/lock").Acquire(ctx, nil) },
		"permits": func(ctx context.Context, s *Session) (*Hold, error) {
			return NewSemaphore(s, "/lock", 2, defaults()).Acquire(ctx, 2, nil)
		},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			time.Sleep(2 * selfWatchDelay) // with a new connection all are watched
			h, err := acquire(t.Context(), s)
			require.NoError(t, err)
			synctest.Wait()
			for _, node := range h.contender.nodes {
				require.Zero(t, server.Watches()[node])
			}
			time.Sleep(selfWatchDelay)
			synctest.Wait()
			for _, node := range h.contender.nodes {
				require.Equal(t, 1, server.Watches()[node])
			}
			require.NoError(t, h.Release(t.Context(), nil))
		})
	}
}
