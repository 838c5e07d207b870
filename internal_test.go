package zklock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// piped returns a session with a server of its own, for a bubble.
func piped(t *testing.T) *Session {
	t.Helper()
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, WithDialer(server.Dial))
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// The one who asked before had seen a hold that is over.
func TestWhatAMultiLockerIsAskedLastCountsForItsLoss(t *testing.T) {
	s := piped(t)
	l, err := New(s, "/a", WithoutOwner())
	require.NoError(t, err)
	m, err := NewMulti(l)
	require.NoError(t, err)
	m.Lock()
	m.Lost()
	m.mu.Lock()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		m.Lost()
	}()
	time.Sleep(20 * time.Millisecond) // in which it would look at the hold, if it did so ahead of the mutex
	l.Unlock()
	l.Lock()
	m.mu.Unlock()
	lost := m.Lost()
	<-asked
	require.NoError(t, s.Conn().Delete(l.Held().Node(), -1))
	select {
	case <-lost:
	case <-time.After(10 * time.Second):
		require.Fail(t, "it stands for a hold that is over")
	}
}

// One of the locks is held all along, the other comes and goes.
func TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := piped(t)
		var parts []*Locker
		for _, path := range []string{"/a", "/b"} {
			l, err := New(s, path)
			require.NoError(t, err)
			parts = append(parts, l)
		}
		parts[0].Lock()
		defer parts[0].Unlock()
		left := reflect.ValueOf(parts[0].Held().hold).Elem().FieldByName("atEnd")
		for name, end := range map[string]func(m *MultiLocker){
			"Unlock":        (*MultiLocker).Unlock,
			"UnlockContext": func(m *MultiLocker) { require.NoError(t, m.UnlockContext(t.Context())) },
			"a loss": func(m *MultiLocker) {
				require.NoError(t, s.Conn().Delete(parts[1].Held().Node(), -1))
				<-m.Lost()
				m.Unlock()
			},
		} {
			m, err := NewMulti(parts...) // as for each job of an owner
			require.NoError(t, err)
			m.Lock()
			m.Lost()
			more := m.Lost()
			end(m)
			require.True(t, left.IsNil(), name)
			require.Equal(t, name == "a loss", latch.IsClosed(more), name)
		}

		m, err := NewMulti(parts...)
		require.NoError(t, err)
		for range 2 {
			m.Lock()
			m.Lost()
		}
		m.Unlock()
		require.False(t, left.IsNil(), "it is still held")
		elsewhere := make(chan struct{})
		go func() { // the end of an unlock, behind which this goroutine has come
			defer close(elsewhere)
			m.forget(nil)
		}()
		<-elsewhere
		require.False(t, left.IsNil(), "by this one")
		parts[1].Unlock()
		parts[1].Lock()
		m.Lost()
		require.True(t, left.Elem().FieldByName("next").IsNil(), "of one round at most")
		m.Unlock()

		m.Lock()
		lost := m.Lost()
		time.Sleep(time.Second) // until the nodes are watched
		require.NoError(t, s.Conn().Delete(parts[0].Held().Node(), -1))
		synctest.Wait()
		require.True(t, latch.IsClosed(lost), "the newest one stands")
		m.Unlock()
	})
}

// Who waits for an owner that has lost the lock goes on when that gives its share in the gate
// back, and is not to see its hold alive.
func TestAShareInTheGateIsGivenBackWhenTheHoldHasEnded(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.Addr()}, 20*time.Second)
	require.NoError(t, err)
	defer s.Close()
	l, err := New(s, "/lock")
	require.NoError(t, err)
	rw, err := NewRW(s, "/rw")
	require.NoError(t, err)
	ended := 0
	watch := func(h *Hold, shares *shares) {
		h.hold.WhenEnded(func(error) {
			ended++
			assert.False(t, shares.TryAcquire(allShares))
		})
	}
	ways := []func(){
		func() { l.Lock(); watch(l.Held(), l.shares); l.Unlock() },
		func() { l.Lock(); watch(l.Held(), l.shares); assert.NoError(t, l.UnlockContext(t.Context())) },
		func() {
			assert.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { watch(HoldFrom(ctx), l.shares); return nil }))
		},
		func() {
			defer func() { assert.Equal(t, "fn", recover()) }()
			_ = l.Do(t.Context(), func(ctx context.Context) error { watch(HoldFrom(ctx), l.shares); panic("fn") })
		},
		func() { rw.Lock(); watch(rw.Held(), rw.write.shares); rw.Unlock() },
		func() { rw.RLock(); watch(rw.RHeld(), rw.write.shares); rw.RUnlock() },
		func() {
			rw.RLock()
			watch(rw.RHeld(), rw.write.shares)
			assert.NoError(t, rw.RUnlockContext(t.Context()))
		},
	}
	for _, way := range ways {
		way()
		require.True(t, l.shares.TryAcquire(allShares))
		l.shares.Release(allShares)
		require.True(t, rw.write.shares.TryAcquire(allShares))
		rw.write.shares.Release(allShares)
	}
	require.Equal(t, len(ways), ended)
}

// A server has a goroutine for each request.
func TestOfADoThatHasEndedNothingIsKept(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		l, err := New(piped(t), "/lock")
		require.NoError(t, err)
		require.NoError(t, l.Do(t.Context(), func(context.Context) error {
			require.Len(t, l.doing.holds, 1)
			return nil
		}))
		require.Empty(t, l.doing.holds)
	})
}

func TestWhoHasWaitedForAnOwnerThatLostTheLockKeepsNothingOfItsContext(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := piped(t)
		l, err := New(s, "/lock")
		require.NoError(t, err)
		l.Lock()
		time.Sleep(time.Second) // until the node is watched
		require.NoError(t, s.Conn().Delete(l.Held().Node(), -1))
		kept := make(chan bool)
		go func() {
			l.Lock()
			defer l.Unlock()
			kept <- !reflect.ValueOf(l.Held().hold).Elem().FieldByName("atEnd").IsNil()
		}()
		synctest.Wait()
		l.Unlock()
		require.False(t, <-kept)
	})
}

// Between the two looks of a second Unlock at the lock, the first one gives it back and
// somebody else takes it.
func TestASecondUnlockWithoutOwnerGivesNobodyElsesHoldBack(t *testing.T) {
	server := zktest.NewServer(t)
	s, err := Connect(t.Context(), []string{server.Addr()}, 20*time.Second)
	require.NoError(t, err)
	defer s.Close()
	l, err := New(s, "/lock", WithoutOwner())
	require.NoError(t, err)
	l.Lock()
	seen := l.hold.Load()
	l.Unlock()
	l.Lock()
	h, _ := l.yieldIf(seen)
	require.Nil(t, h)
	require.True(t, l.Held().Valid())
	l.Unlock()
	h, _ = l.yieldIf(seen)
	require.Nil(t, h)
	l.owner.Store(anyone) // the first one is not at its end
	h, outermost := l.yieldIf(nil)
	require.Nil(t, h)
	require.False(t, outermost)
	require.Equal(t, anyone, l.owner.Load(), "it may be the next one's by now")
}

// Each goroutine that has read once would be remembered for ever.
func TestNothingIsKeptOfReadersThatHaveUnlocked(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		s := piped(t)
		rw, err := NewRW(s, "/rw")
		require.NoError(t, err)
		for range 3 {
			go func() {
				rw.RLock()
				rw.RUnlock() //lint:ignore SA2001 it has read
			}()
		}
		synctest.Wait()
		require.Empty(t, rw.readers.owners)
	})
}

// No timer may have run since a machine woke up. And without an owner, somebody else may unlock a lock before
// the MultiLocker has looked at its hold.
func TestAMultiLockerStartsOverIfItHasALockNoMoreWhenItHasTakenAll(t *testing.T) {
	for name, meanwhile := range map[string]func(last *Locker, first *clock.Clock){
		"the machine of the first sleeps":    func(_ *Locker, first *clock.Clock) { first.Step(time.Minute) },
		"somebody else unlocks the last one": func(last *Locker, _ *clock.Clock) { last.Unlock() },
	} {
		virtual.Test(t, func(t *testing.T) {
			server := zktest.NewServer(t)
			var clocks [2]clock.Clock
			var parts []*Locker
			for i, path := range []string{"/a", "/b"} {
				s, err := Connect(clock.With(t.Context(), &clocks[i]), []string{server.PipeAddr()}, 10*time.Second, WithDialer(server.Dial))
				require.NoError(t, err)
				defer s.Close()
				l, err := New(s, path, WithoutOwner())
				require.NoError(t, err)
				parts = append(parts, l)
			}
			taken := 0
			m, err := NewMulti(parts...)
			require.NoError(t, err)
			holds, err := m.all(t.Context(), taking{
				take: func(ctx context.Context, l *Locker) (*Hold, error) {
					assert.NoError(t, l.LockContext(ctx))
					if taken++; taken == 2 {
						meanwhile(l, &clocks[0])
					}
					return l.Held(), nil
				},
				give: func(l *Locker, _ *Hold) { l.Unlock() },
			})
			require.NoError(t, err)
			require.Equal(t, 4, taken, name)
			require.True(t, valid(holds))
		})
	}
}

func TestAnErrorThatHasNoCauseHasAText(t *testing.T) {
	require.Equal(t, "zklock: lock /a: <nil>", (&Error{Op: "lock", Path: "/a"}).Error())
}

func TestTheTimeGivenToATryIsToldApartFromItsCtxs(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	up, anothers := errors.New("the time is up"), errors.New("the time is up")
	stopped, stop := context.WithCancelCause(t.Context())
	stop(anothers)
	given, cancel := context.WithTimeoutCause(t.Context(), 0, up)
	defer cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		isUp bool
	}{
		"the time given":                           {t.Context(), client.Ended(given), true},
		"the time given, and ctx ends meanwhile":   {canceled, client.Ended(given), true},
		"ctx is cancelled by a deadline elsewhere": {canceled, context.DeadlineExceeded, false},
		"ctx's own deadline":                       {expired, context.DeadlineExceeded, false},
		"ctx is cancelled":                         {canceled, context.Canceled, false},
		"the time of another try is why ctx ends":  {stopped, client.Ended(stopped), false},
		"the lock is taken":                        {t.Context(), ErrLocked, true},
		"the lock is taken, and ctx is cancelled":  {canceled, ErrLocked, false},
	} {
		if got := timeIsUp(c.ctx, c.err, up); got != c.isUp {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func BenchmarkReentry(b *testing.B) {
	server := zktest.NewServer(b)
	s, err := Connect(context.Background(), []string{server.Addr()}, 10*time.Second)
	require.NoError(b, err)
	defer s.Close()
	l, err := New(s, "/reentry")
	require.NoError(b, err)
	l.Lock()
	defer l.Unlock()
	b.ReportAllocs()
	for b.Loop() {
		l.Lock()
		l.Unlock() //lint:ignore SA2001 the pair is what is measured
	}
}

// Whoever may create a node, or runs a server, would write lines of a log, or fill it.
func TestAnErrorIsOneLineOfPlainTextHoweverLongWhatItQuotes(t *testing.T) {
	said := errors.New("a\nzklock: all is well\x1b[2J" + strings.Repeat("x", 600_000) + " and the cause")
	err := wrap("lock", "/lo\rck", fmt.Errorf("%w: %w", said, ErrLocked))
	require.Regexp(t, `^zklock: lock /lo\\x0dck: a\\x0azklock: all is well\\x1b\[2Jx+\.\.\.x+ and the cause: lock is held by another$`, err.Error())
	require.Less(t, len(err.Error()), longestText+10)
	require.ErrorIs(t, err, said)
	require.ErrorIs(t, err, ErrLocked)
	several := together([]error{wrap("release", "/a", ErrLost), nil, wrap("release", "/b", ErrNotHeld)})
	require.EqualError(t, several, "zklock: release /a: lock was lost; zklock: release /b: lock is not held by the caller")
	require.ErrorIs(t, several, ErrNotHeld)
	require.NoError(t, together([]error{nil, nil}))
}
