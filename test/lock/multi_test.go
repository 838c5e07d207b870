package lock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// lockers returns n locks below the site's path, in one session.
func (at *site) lockers(s *zklock.Session, n int, opts ...zklock.Option) []*zklock.Locker {
	at.t.Helper()
	lockers := make([]*zklock.Locker, n)
	for i := range lockers {
		l, err := zklock.New(s, at.part(i), withDefaults(at.t, opts)...)
		require.NoError(at.t, err)
		lockers[i] = l
	}
	return lockers
}

func (at *site) part(i int) string { return fmt.Sprintf("%s/%d", at.path, i) }

// awaitFree waits until nobody holds or waits for the n locks below the path.
func (at *site) awaitFree(n int) {
	at.t.Helper()
	for i := range n {
		at.awaitPart(i, 0)
	}
}

// awaitPart waits until n hold or wait for one of the locks below the path.
func (at *site) awaitPart(i, n int) {
	at.t.Helper()
	eventually(at.t, "the queue of a lock", func() bool { return len(at.childrenOf(at.part(i))) == n })
}

func TestAMultiLockerHoldsAllItsLocksOrNone(t *testing.T) {
	at := newSite(t)
	lockers, others := at.lockers(at.session(), 3), at.lockers(at.session(), 3)
	m := must(zklock.NewMulti(lockers[2], lockers[0], lockers[1]))
	var mu sync.Locker = m
	mu.Lock()
	require.Equal(t, 1, m.HoldCount())
	require.False(t, isClosed(m.Lost()))
	for i, l := range lockers {
		require.NoError(t, l.Held().Err())
		require.False(t, others[i].TryLock())
	}
	require.True(t, m.TryLock(), "it is reentrant as its locks are")
	require.Equal(t, 2, m.HoldCount())
	elsewhere(func() {
		require.Zero(t, m.HoldCount())
		require.True(t, isClosed(m.Lost()))
		require.False(t, m.TryLock())
		require.ErrorIs(t, panicOf(t, m.Unlock), zklock.ErrNotHeld)
		require.ErrorIs(t, m.UnlockContext(t.Context()), zklock.ErrNotHeld)
	})
	mu.Unlock()
	require.NoError(t, lockers[0].Held().Err(), "until the outermost Unlock")
	require.NoError(t, m.UnlockContext(t.Context()))
	require.Zero(t, m.HoldCount())
	require.True(t, isClosed(m.Lost()))
	at.awaitFree(3)

	for i, taken := range others {
		taken.Lock()
		require.False(t, m.TryLock())
		ok, err := m.TryLockFor(t.Context(), aWhile)
		require.NoError(t, err)
		require.False(t, ok)
		at.awaitPart(i, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := begin(func() error { return m.LockContext(ctx) })
		at.awaitPart(i, 2)
		cancel()
		err = receive(t, ended, "the cancelled call")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, at.part(i))
		for j, l := range lockers {
			require.Nil(t, l.Held(), "lock %d is held by another, lock %d by nobody", i, j)
		}
		taken.Unlock()
		at.awaitFree(3)
	}
	require.ErrorIs(t, m.LockContext(done()), context.Canceled)
}

// In virtual time: each lock is freed when the wait for it has taken a part of the limit;
// limits for each of them would add up.
func TestAMultiLockersLocksComeFromOneLimit(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const limit = time.Second
		server := zktest.NewServer(t)
		connect := func() []*zklock.Locker {
			s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, longSession, zklock.WithDialer(server.Dial))
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			return (&site{t: t, path: "/parts"}).lockers(s, 4)
		}
		lockers, others := connect(), connect()
		m := must(zklock.NewMulti(lockers...))
		freed := make(chan struct{})
		go func() {
			defer close(freed)
			for _, l := range others {
				l.Lock()
			}
			freed <- struct{}{}
			for _, l := range others {
				time.Sleep(limit * 2 / 5)
				l.Unlock()
			}
		}()
		<-freed
		began := time.Now()
		ok, err := m.TryLockFor(t.Context(), limit)
		require.NoError(t, err)
		require.False(t, ok, "two fifths for each of four are more than the limit")
		require.InDelta(t, limit, time.Since(began), float64(limit/100))
		require.Zero(t, m.HoldCount())
		<-freed
		ok, err = m.TryLockFor(t.Context(), limit)
		require.NoError(t, err)
		require.True(t, ok, "none is left locked")
		m.Unlock()
	})
}

// Two that name the same locks in opposite order take them in the same one.
func TestMultiLockersNeverWaitForEachOther(t *testing.T) {
	const rounds = 25
	at := newSite(t)
	forth, back := at.lockers(at.session(), 3), at.lockers(at.session(), 3)
	var (
		r    room
		work sync.WaitGroup
	)
	for _, m := range []*zklock.MultiLocker{
		must(zklock.NewMulti(forth[0], forth[1], forth[2])),
		must(zklock.NewMulti(back[2], back[1], back[0])),
		must(zklock.NewMulti(back[1], back[2])),
		must(zklock.NewMulti(forth[2], forth[1])),
	} {
		work.Go(func() {
			for range rounds {
				if m.LockContext(t.Context()) != nil {
					return
				}
				r.visit()
				m.Unlock()
			}
		})
	}
	finished := begin(func() bool { work.Wait(); return true })
	receive(t, finished, "all rounds: they wait for each other")
	require.False(t, r.crowded.Load())
	require.Equal(t, 4*rounds, r.visits)
	at.awaitFree(3)
}

func TestTheLossOfAnyLockIsTheMultiLockersLoss(t *testing.T) {
	at := newSite(t)
	s := at.session()
	lockers := at.lockers(s, 3)
	m := must(zklock.NewMulti(lockers...))
	for i, l := range lockers {
		m.Lock()
		lost := m.Lost()
		require.Equal(t, lost, m.Lost())
		require.NoError(t, at.conn.Delete(l.Held().Node(), -1))
		receive(t, lost, "the loss")
		require.False(t, m.TryLock(), "lock %d is lost", i)
		require.ErrorIs(t, m.LockContext(t.Context()), zklock.ErrLost)
		require.ErrorIs(t, panicOf(t, m.Lock), zklock.ErrLost)
		_, err := m.TryLockFor(t.Context(), 0)
		require.ErrorIs(t, err, zklock.ErrLost)
		require.Equal(t, 1, m.HoldCount(), "what failed has taken nothing once more")
		err = m.UnlockContext(t.Context())
		require.ErrorIs(t, err, zklock.ErrLost)
		require.ErrorContains(t, err, at.part(i))
		at.awaitFree(3) // it went on past the error
	}
	m.Lock()
	released := m.Lost()
	m.Unlock()
	require.False(t, isClosed(released), "a release is no loss")
	m.Lock()
	require.False(t, isClosed(m.Lost()))
	m.Unlock()
}

func TestAMultiLockersReleaseGoesOnPastErrors(t *testing.T) {
	at := newSite(t)
	lockers := at.lockers(at.session(), 3)
	m := must(zklock.NewMulti(lockers...))
	_, err := at.conn.Create(at.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = at.conn.Create(at.part(1), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll&^zk.PermDelete))
	require.NoError(t, err)
	m.Lock()
	err = m.UnlockContext(t.Context())
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, at.part(1))
	require.Empty(t, at.childrenOf(at.part(0)))
	require.Len(t, at.childrenOf(at.part(1)), 1)
	require.Empty(t, at.childrenOf(at.part(2)))
	require.Zero(t, m.HoldCount())
}

func TestAMultiLockerThatCannotTakeOneLockKeepsNone(t *testing.T) {
	at := newSite(t)
	lockers := at.lockers(at.session(), 3)
	m := must(zklock.NewMulti(lockers...))
	_, err := at.conn.Create(at.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = at.conn.Create(at.part(2), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll&^zk.PermCreate))
	require.NoError(t, err)
	err = m.LockContext(t.Context())
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, at.part(2))
	require.ErrorIs(t, panicOf(t, m.Lock), zk.ErrNoAuth)
	require.False(t, m.TryLock())
	_, err = m.TryLockFor(t.Context(), time.Hour)
	require.ErrorIs(t, err, zk.ErrNoAuth)
	hold, err := m.Acquire(t.Context())
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.Nil(t, hold)
	for _, l := range lockers {
		require.Nil(t, l.Held())
	}
	at.awaitFree(3)
}

// A lock that is lost while the later ones are waited for is taken anew with them.
func TestAMultiLockerNeverReturnsWithALostLock(t *testing.T) {
	at := newSite(t)
	s := at.session()
	lockers, other := at.lockers(s, 2), at.lockers(at.session(), 2)[1]
	m := must(zklock.NewMulti(lockers...))
	other.Lock()
	type result struct {
		err   error
		holds [2]error
	}
	locked := begin(func() (r result) {
		if r.err = m.LockContext(context.Background()); r.err == nil {
			r.holds = [2]error{lockers[0].Held().Err(), lockers[1].Held().Err()}
			m.Unlock()
		}
		return r
	})
	at.awaitPart(1, 2)
	require.NoError(t, at.conn.Delete(at.part(0)+"/"+at.childrenOf(at.part(0))[0], -1))
	other.Unlock()
	require.Zero(t, receive(t, locked, "both locks"))
	at.awaitFree(2)
}

// Whoever holds one of the locks already, by itself, holds it on.
func TestAMultiLockersLossIsOfTheHoldsOfNow(t *testing.T) {
	at := newSite(t)
	lockers := at.lockers(at.session(), 2)
	m := must(zklock.NewMulti(lockers...))
	lockers[0].Lock()
	defer lockers[0].Unlock()
	m.Lock()
	require.False(t, isClosed(m.Lost()))
	m.Unlock()
	require.NoError(t, lockers[0].Held().Err())

	m.Lock()
	lost := m.Lost()
	require.NoError(t, at.conn.Delete(lockers[1].Held().Node(), -1))
	receive(t, lost, "the loss of the second lock, which was taken anew")
	m.Unlock()
}

func TestNewMultiRefusesLocksThatCannotBeHeldTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l, other := b.locker(s), must(zklock.New(s, "/other"))
		twice := "zklock: new multi /lock: the path is given twice: the second would wait for the first"
		for want, lockers := range map[string][][]*zklock.Locker{
			"zklock: new multi: no lock is given: it needs at least one Locker":             {nil},
			"zklock: new multi: the lock is nil or a zero value: make it with New or NewRW": {{l, nil}, {l, {}}},
			twice: {{l, l}, {l, other, b.locker(s)}, {l, b.locker(b.session("there"))}},
		} {
			for _, some := range lockers {
				m, err := zklock.NewMulti(some...)
				require.EqualError(t, err, want)
				require.Nil(t, m)
			}
		}
	})
}
