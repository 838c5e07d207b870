package lock_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// most is how long a hold may last in these tests, before its owner is asked for it.
const most = time.Minute

// granted is the session timeout that the servers here grant, after which it is lost.
const granted = 10 * time.Second

// requireLimited checks that h, whose time began at that moment, is asked for and lost when it should be.
func requireLimited(t *testing.T, h *zklock.Hold, began time.Time) {
	t.Helper()
	for _, at := range []struct {
		after         time.Duration
		revoked, lost bool
	}{
		{most - time.Millisecond, false, false},
		{most + time.Millisecond, true, false},
		{most + granted - time.Millisecond, true, false},
		{most + granted + time.Millisecond, true, true},
	} {
		time.Sleep(time.Until(began.Add(at.after)))
		synctest.Wait()
		require.Equal(t, at.revoked, isClosed(h.Revoked()), "asked for after %v", at.after)
		require.Equal(t, at.lost, isClosed(h.Lost()), "lost after %v", at.after)
	}
	require.ErrorIs(t, h.Err(), zklock.ErrLost)
	require.ErrorContains(t, h.Err(), "WithMaxHold")
}

// deletions notes, of each lock node that is deleted, whether told was closed by then.
func deletions(server *zktest.Server, told <-chan struct{}) <-chan bool {
	deleted := make(chan bool, 100)
	server.Observe(func(txn zktest.Txn) {
		for _, change := range txn.Changes {
			if change.Kind == zktest.NodeDeleted {
				deleted <- isClosed(told)
			}
		}
	})
	return deleted
}

func TestAHoldThatIsForgottenIsLostBeforeItsNodeGoes(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, other := b.locker(b.session("mine"), zklock.WithMaxHold(most)), b.locker(b.session("theirs"))
		l.Lock()
		began, h := time.Now(), l.Held()
		deleted := deletions(b.server, h.Lost())
		next := begin(func() *zklock.Hold { return must(other.Acquire(context.Background())) })
		time.Sleep(most / 2)
		l.Lock() // the same hold
		requireLimited(t, h, began)
		require.NoError(t, (<-next).Err(), "another has the lock")
		require.True(t, <-deleted, "Lost closes first, then the node goes")
		require.Panics(t, l.Lock)
		l.Unlock()
		l.Unlock()
	})
}

func TestEachKindOfLockHasALimit(t *testing.T) {
	for kind, take := range map[string]func(*zklock.Session) (*zklock.Hold, error){
		"Acquire": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.New(s, "/a", zklock.WithMaxHold(most))).Acquire(context.Background())
		},
		"TryAcquire": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.New(s, "/a", zklock.WithMaxHold(most))).TryAcquire(context.Background())
		},
		"a writer": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.NewRW(s, "/a", zklock.WithMaxHold(most))).Acquire(context.Background())
		},
		"a reader": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.NewRW(s, "/a", zklock.WithMaxHold(most))).RAcquire(context.Background())
		},
		"permits": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.NewSemaphore(s, "/a", 3, zklock.WithMaxHold(most))).Acquire(context.Background(), 2)
		},
		"a key": func(s *zklock.Session) (*zklock.Hold, error) {
			return must(zklock.NewKeyed(s, "/a", zklock.WithMaxHold(most))).Acquire(context.Background(), "key")
		},
		"one of several": func(s *zklock.Session) (*zklock.Hold, error) {
			m := must(zklock.NewMulti(must(zklock.New(s, "/a", zklock.WithMaxHold(most))), must(zklock.New(s, "/b"))))
			h, err := m.Acquire(context.Background())
			return h.Holds()[0], err
		},
		"kept in the process": func(s *zklock.Session) (*zklock.Hold, error) { // each owner has its own time
			l := must(zklock.New(s, "/a", zklock.WithMaxHold(most), zklock.WithRetention(time.Hour)))
			first := must(l.Acquire(context.Background()))
			time.Sleep(most / 2)
			if err := first.Release(context.Background()); err != nil {
				return nil, err
			}
			return l.Acquire(context.Background())
		},
	} {
		t.Run(kind, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("mine")
				h, err := take(s)
				require.NoError(t, err)
				requireLimited(t, h, time.Now())
				time.Sleep(time.Second)
				there, _, err := s.Conn().Exists(h.Node())
				require.NoError(t, err)
				require.False(t, there)
			})
		})
	}
}

func TestADowngradedReaderBeginsItsTimeAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := must(zklock.NewRW(b.session("mine"), b.path, zklock.WithMaxHold(most)))
		l.Lock()
		time.Sleep(most / 2)
		l.RLock()
		l.Unlock()
		requireLimited(t, l.RHeld(), time.Now())
		l.RUnlock()
	})
}

func TestTheContextOfADoEndsAtTheLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("mine"), zklock.WithMaxHold(most))
		began := time.Now()
		require.ErrorIs(t, l.Do(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}), zklock.ErrLost)
		require.WithinDuration(t, began.Add(most+granted), time.Now(), time.Millisecond)
	})
}

// Else a MultiLocker that has to wait for longer than that would start over again and again.
func TestTheTimeOfAMultiLockerBeginsWhenItHasAll(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		m := must(zklock.NewMulti(must(zklock.New(s, "/a", zklock.WithMaxHold(most))), must(zklock.New(s, "/b"))))
		theirs := must(must(zklock.New(b.session("theirs"), "/b")).Acquire(t.Context()))
		got := begin(func() *zklock.MultiHold { return must(m.Acquire(context.Background())) })
		time.Sleep(time.Second)
		first := b.server.Children("/a")
		time.Sleep(3 * most)
		require.Equal(t, first, b.server.Children("/a"), "it waits with its first lock")
		require.NoError(t, theirs.Release(t.Context()))
		h := <-got
		requireLimited(t, h.Holds()[0], time.Now())
		require.True(t, isClosed(h.Lost()))
	})
}

func TestALimitEndsWithItsHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l := b.locker(s, zklock.WithMaxHold(most))
		h := must(l.Acquire(t.Context()))
		require.NoError(t, h.Release(t.Context()))
		lost := must(l.Acquire(t.Context()))
		b.lose(lost)
		time.Sleep(3 * most)
		require.False(t, isClosed(h.Revoked()))
		require.ErrorIs(t, h.Err(), zklock.ErrReleased)
		require.NotContains(t, lost.Err().Error(), "WithMaxHold")
		closed := must(l.Acquire(t.Context()))
		require.NoError(t, s.Close())
		require.ErrorIs(t, closed.Err(), zklock.ErrClosed) // a timer that is left would show at the bubble's end
	})
}

func TestALimitIsRefusedThatCannotBeKept(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		require.ErrorContains(t, errOf(zklock.New(s, "/a", zklock.WithMaxHold(-1))), "WithMaxHold(-1ns): it must not be negative")
		require.ErrorContains(t, errOf(zklock.New(s, "/a", zklock.WithMaxHold(time.Second), zklock.WithMinHold(time.Second))), "must be more than WithMinHold, which is 1s")
		for path, none := range map[string]time.Duration{"/a": 0, "/b": math.MaxInt64} {
			h := must(must(zklock.New(s, path, zklock.WithMaxHold(none))).Acquire(t.Context()))
			require.True(t, h.ValidFor(0))
			time.Sleep(time.Hour)
			require.NoError(t, h.Err())
		}
	})
}

func TestWhatIsValidForAWhileLastsWhateverServersDo(t *testing.T) {
	for name, fails := range map[string]func(b *bubble){
		"none is reached": func(b *bubble) { b.server.Client("mine").Block(zktest.ToServer) },
		"the next takes the connection and says nothing": func(b *bubble) {
			for range 20 {
				b.server.HoldRequest(zktest.OpConnect)
			}
			b.server.CutSession(b.server.Sessions()[0].ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				h := must(b.locker(b.session("mine")).Acquire(t.Context()))
				time.Sleep(granted) // the lease is as long as it gets
				until, held := h.Until()
				require.True(t, held)
				left := time.Until(until)
				require.Greater(t, left, granted/5)
				require.True(t, h.ValidFor(0))
				require.True(t, h.ValidFor(left))
				require.False(t, h.ValidFor(left+1))
				fails(b)
				time.Sleep(left - time.Nanosecond)
				require.True(t, h.Valid())
				require.NoError(t, h.Err())
				<-h.Lost()
				require.False(t, h.ValidFor(0))
				_, held = h.Until()
				require.False(t, held)
			})
		})
	}
}

// Else the limit of one that was forgotten would end those of who waits for its Unlock.
func TestTheTimeOfWhoWaitsForAnOwnerThatLostTheLockBeginsWhenThatUnlocks(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("mine"), zklock.WithMaxHold(most))
		l.Lock()
		b.lose(l.Held())
		got := begin(func() *zklock.Hold {
			_ = l.LockContext(context.Background())
			return l.Held()
		})
		time.Sleep(time.Second)
		first := b.server.Children(b.path)
		time.Sleep(3 * most)
		require.Equal(t, first, b.server.Children(b.path), "it keeps its place")
		l.Unlock()
		requireLimited(t, <-got, time.Now())
	})
}

func TestALimitIsHeededByWhatIsValidForAWhile(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		m := must(zklock.NewMulti(must(zklock.New(s, "/a", zklock.WithMaxHold(most))), must(zklock.New(s, "/b"))))
		h := must(m.Acquire(t.Context()))
		limit := time.Now().Add(most + granted)
		time.Sleep(most + granted - time.Second)
		until, held := h.Until()
		require.True(t, held)
		require.Equal(t, limit, until)
		require.True(t, h.ValidFor(time.Second))
		require.False(t, h.ValidFor(time.Second+1))
		require.True(t, h.Holds()[1].ValidFor(time.Second+1))
		time.Sleep(time.Second)
		require.False(t, h.ValidFor(0))
	})
}
