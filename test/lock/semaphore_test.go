package lock_test

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// semaphore returns a semaphore on the site's path.
func (at *site) semaphore(s *zklock.Session, size int, opts ...zklock.Option) *zklock.Semaphore {
	at.t.Helper()
	sem, err := zklock.NewSemaphore(s, at.path, size, opts...)
	require.NoError(at.t, err)
	return sem
}

// permits begins to acquire n permits.
func (at *site) permits(sem *zklock.Semaphore, n int) <-chan *zklock.Hold {
	return at.begin(func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, n) })
}

// leases returns the names of the permits that are out.
func (at *site) leases() []string { return at.childrenOf(at.path + "/leases") }

func (at *site) childrenOf(path string) []string {
	at.t.Helper()
	names, _, err := at.conn.Children(path)
	if err != nil {
		require.ErrorIs(at.t, err, zk.ErrNoNode)
	}
	return names
}

func (at *site) awaitLeases(n int) {
	at.t.Helper()
	eventually(at.t, "the number of permits that are out", func() bool { return len(at.leases()) == n })
}

// awaitLine waits until n contenders are in line for permits.
func (at *site) awaitLine(n int) {
	at.t.Helper()
	eventually(at.t, "the line to have the expected length", func() bool { return len(at.childrenOf(at.path+"/locks")) == n })
}

func take(t *testing.T, sem *zklock.Semaphore, n int) *zklock.Hold {
	t.Helper()
	h, err := sem.Acquire(within(t, patience), n)
	require.NoError(t, err)
	return h
}

func TestASemaphoreHandsOutAsManyPermitsAsItHas(t *testing.T) {
	at := newSite(t)
	first, second := at.semaphore(at.session(), 3), at.semaphore(at.session(), 3)
	a, b := take(t, first, 2), take(t, second, 1)
	require.Len(t, at.leases(), 3)
	_, err := first.TryAcquire(t.Context(), 1)
	require.ErrorIs(t, err, zklock.ErrLocked)
	more := at.permits(second, 1)
	requireSilent(t, more, "all permits are out")
	require.NoError(t, a.Release(t.Context()))
	c := receive(t, more, "a permit")
	require.Len(t, at.leases(), 2)
	// Acquire does not wait for the end of its turn, which TryAcquire would meet.
	eventually(t, "the end of the turn", func() bool { return len(at.childrenOf(at.path+"/locks")) == 0 })
	d, err := first.TryAcquire(t.Context(), 1)
	require.NoError(t, err)
	for _, h := range []*zklock.Hold{b, c, d} {
		require.NoError(t, h.Err())
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, h.Release(t.Context()), "again")
	}
	at.awaitLeases(0)
}

func TestManyWhoWantPermitsNeverHaveMoreThanThereAre(t *testing.T) {
	const size, rounds = 4, 8
	at := newSite(t)
	var (
		out, most atomic.Int32
		work      sync.WaitGroup
	)
	for range 3 {
		sem := at.semaphore(at.session(), size)
		for n := 1; n <= size; n++ {
			work.Go(func() {
				for range rounds {
					h, err := sem.Acquire(context.Background(), n)
					if err != nil {
						t.Error(err)
						return
					}
					now := out.Add(int32(n))
					for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
					}
					out.Add(-int32(n))
					if err := h.Release(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	work.Wait()
	require.LessOrEqual(t, most.Load(), int32(size), "more permits were out than there are")
	at.awaitLeases(0)
	at.awaitLine(0)
}

// Who asks for many is not passed by those who ask for few: all or none, and in order.
func TestPermitsAreGrantedAllOrNoneInOrder(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 3)
	held := []*zklock.Hold{take(t, sem, 1), take(t, sem, 1), take(t, sem, 1)}
	other := at.semaphore(at.session(), 3)
	many := at.permits(other, 3)
	at.awaitLine(1)
	few := at.permits(sem, 1)
	at.awaitLine(2)
	for i, h := range held {
		requireSilent(t, many, "not all permits are free")
		requireSilent(t, few, "somebody is ahead")
		require.Len(t, at.leases(), len(held)-i, "none of the permits asked for is taken before all can be")
		if i > 0 {
			_, err := other.TryAcquire(t.Context(), 1)
			require.ErrorIs(t, err, zklock.ErrLocked, "others are in line")
		}
		require.NoError(t, h.Release(t.Context()))
	}
	h := receive(t, many, "all three permits")
	require.Len(t, at.leases(), 3)
	requireSilent(t, few, "all permits are out")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, receive(t, few, "one permit").Release(t.Context()))
	at.awaitLeases(0)
}

func TestWhoGivesUpWaitingForPermitsLeavesNone(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 2)
	h := take(t, sem, 1)
	for _, waiter := range []*zklock.Semaphore{sem, at.semaphore(at.session(), 2)} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := begin(func() error { _, err := waiter.Acquire(ctx, 2); return err })
		at.awaitLine(1)
		behind := begin(func() error { _, err := sem.Acquire(ctx, 1); return err })
		at.awaitLine(2)
		cancel()
		require.ErrorIs(t, receive(t, ended, "the one at the head of the line"), context.Canceled)
		require.ErrorIs(t, receive(t, behind, "the one behind"), context.Canceled)
		at.awaitLine(0)
		require.Len(t, at.leases(), 1)
		givenTime(t, isLocked, func(ctx context.Context) error { _, err := waiter.Acquire(ctx, 2); return err })
		_, err := waiter.Acquire(done(), 1)
		require.ErrorIs(t, err, context.Canceled)
		at.awaitLine(0)
	}
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, take(t, sem, 2).Release(t.Context()))
}

func TestThePermitsOfADeadSessionComeBack(t *testing.T) {
	at := newSite(t)
	s := at.session()
	dead := take(t, at.semaphore(s, 3), 2)
	waiting := at.permits(at.semaphore(at.session(), 3), 3)
	at.awaitLine(1)
	requireSilent(t, waiting, "two permits are out")
	at.kill(s)
	receive(t, dead.Lost(), "the loss of the permits")
	h := receive(t, waiting, "the permits of the dead session")
	require.Len(t, at.leases(), 3)
	require.ErrorIs(t, dead.Release(t.Context()), zklock.ErrLost)
	require.NoError(t, h.Release(t.Context()))

	// So do those of a session that is closed, and a waiter of it is sent away.
	s = at.session()
	sem := at.semaphore(s, 3)
	closing := take(t, sem, 3)
	ended := begin(func() error { _, err := sem.Acquire(context.Background(), 1); return err })
	at.awaitLine(1)
	require.NoError(t, s.Close())
	require.ErrorIs(t, receive(t, ended, "the waiter's end"), zklock.ErrClosed)
	require.ErrorIs(t, closing.Err(), zklock.ErrClosed)
	require.Empty(t, at.leases())
}

func TestAHoldOfPermitsIsLostWhenOneOfThemIsDeleted(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 3)
	h := take(t, sem, 3)
	leases := at.leases()
	require.NoError(t, at.conn.Delete(at.path+"/leases/"+leases[1], -1))
	receive(t, h.Lost(), "the loss")
	require.ErrorIs(t, h.Release(t.Context()), zklock.ErrLost)
	at.awaitLeases(0) // those that were left are not kept for nobody
	h = take(t, sem, 3)
	require.NoError(t, h.Release(t.Context()))
}

// A waiter whose place in line is deleted takes another one.
func TestAWaiterForPermitsSurvivesTheDeletionOfItsNode(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 1)
	h := take(t, sem, 1)
	waiting := at.permits(at.semaphore(at.session(), 1), 1)
	at.awaitLine(1)
	place := at.childrenOf(at.path + "/locks")[0]
	require.NoError(t, at.conn.Delete(at.path+"/locks/"+place, -1))
	eventually(t, "another place in line", func() bool {
		line := at.childrenOf(at.path + "/locks")
		return len(line) == 1 && line[0] != place
	})
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, receive(t, waiting, "the permit").Release(t.Context()))
	at.awaitLine(0)
	at.awaitLeases(0)
}

func TestSizesThatDifferAreRefusedWhilePermitsAreOut(t *testing.T) {
	at := newSite(t)
	three, five := at.semaphore(at.session(), 3), at.semaphore(at.session(), 5)
	h := take(t, three, 1)
	for _, acquire := range []func(context.Context, int) (*zklock.Hold, error){five.Acquire, five.TryAcquire} {
		_, err := acquire(within(t, patience), 1)
		require.ErrorContains(t, err, at.path)
		require.ErrorContains(t, err, "size=5")
		require.ErrorContains(t, err, "size=3")
		at.awaitLine(0)
	}
	require.Len(t, at.leases(), 1)
	require.NoError(t, h.Release(t.Context()))

	h = take(t, five, 5) // nobody had any: the size is changed
	_, err := three.Acquire(within(t, patience), 1)
	require.ErrorContains(t, err, "size=3")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, take(t, three, 3).Release(t.Context()))
}

func TestBadNumbersOfPermitsAreRefused(t *testing.T) {
	at := newSite(t)
	s := at.session()
	for _, size := range []int{0, -1} {
		_, err := zklock.NewSemaphore(s, at.path, size)
		require.ErrorContains(t, err, fmt.Sprint(size))
		require.ErrorContains(t, err, at.path)
	}
	_, err := zklock.NewSemaphore(s, "relative", 1)
	require.ErrorContains(t, err, "relative")
	_, err = zklock.NewSemaphore(nil, at.path, 1)
	require.ErrorContains(t, err, "session is nil")
	sem := at.semaphore(s, 2)
	for _, n := range []int{0, -1, 3} {
		_, err := sem.Acquire(t.Context(), n)
		require.ErrorContains(t, err, fmt.Sprintf("%d permits", n))
		_, err = sem.TryAcquire(t.Context(), n)
		require.ErrorContains(t, err, fmt.Sprintf("%d permits", n))
	}
	_, err = at.semaphore(s, 2000).Acquire(t.Context(), 1001)
	require.ErrorContains(t, err, "1001 permits")
	exists, _, err := at.conn.Exists(at.path)
	require.NoError(t, err)
	require.False(t, exists, "nothing was written")
}

func TestASemaphoreHasCuratorsLayout(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 2, zklock.WithData([]byte("who")))
	h := take(t, sem, 2)
	name := regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lease-\d{10}$`)
	leases := at.leases()
	require.Len(t, leases, 2)
	for _, lease := range leases {
		require.Regexp(t, name, lease)
		data, stat, err := at.conn.Get(at.path + "/leases/" + lease)
		require.NoError(t, err)
		require.Equal(t, "who", string(data))
		require.NotZero(t, stat.EphemeralOwner)
	}
	require.Equal(t, leases, at.leases())
	at.awaitLine(0)
	waiting := at.permits(sem, 1)
	at.awaitLine(1)
	place := regexp.MustCompile(`^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$`)
	require.Regexp(t, place, at.childrenOf(at.path + "/locks")[0])
	require.NoError(t, h.Release(t.Context()))
	h = receive(t, waiting, "the permit")

	// Every child of leases counts, whoever made it.
	foreign, err := at.conn.Create(at.path+"/leases/_c_8a0e0000-0000-4000-8000-000000000000-lease-",
		nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = sem.TryAcquire(t.Context(), 1)
	require.ErrorIs(t, err, zklock.ErrLocked)
	waiting = at.permits(sem, 1)
	requireSilent(t, waiting, "the foreign lease is one of two")
	require.NoError(t, at.conn.Delete(foreign, -1))
	require.NoError(t, receive(t, waiting, "the foreign permit").Release(t.Context()))
	require.NoError(t, h.Release(t.Context()))
}

// Those in line watch the one ahead of them; only the first looks at the leases, and so a
// release wakes one of them.
func TestOnlyTheHeadOfTheLineWatchesThePermits(t *testing.T) {
	const waiters = 6
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	h := take(t, at.semaphore(at.session(), 1), 1)
	var waiting []<-chan *zklock.Hold
	for i := range waiters {
		waiting = append(waiting, at.permits(at.semaphore(at.session(), 1), 1))
		at.awaitLine(i + 1)
	}
	for _, w := range waiting {
		eventually(t, "the head of the line, alone, to watch the leases", func() bool {
			return server.Watches()[at.path+"/leases"] == 1
		})
		require.NoError(t, h.Release(t.Context()))
		h = receive(t, w, "the next in line")
	}
	require.NoError(t, h.Release(t.Context()))
}

// The transaction that takes the permits is committed, and its reply is lost.
func TestALostReplyToTheTakingOfPermitsLeavesNoneBehind(t *testing.T) {
	at := newSite(t)
	sem := at.semaphore(at.session(), 3)
	require.NoError(t, take(t, sem, 1).Release(t.Context())) // says the size
	dropped := at.proxy.DropReply(faultproxy.OpMulti)
	h := take(t, sem, 3)
	receive(t, dropped, "the lost reply")
	require.Len(t, at.leases(), 3)
	require.NoError(t, h.Err())
	require.NoError(t, h.Release(t.Context()))
	require.Empty(t, at.leases())
}

// A turn that ends between the look at the leases and the taking takes nothing: the transaction
// checks it.
func TestPermitsAreTakenOnlyWithTheTurn(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	sem := at.semaphore(at.sessionVia(server.Addr(), longSession), 1)
	require.NoError(t, take(t, sem, 1).Release(t.Context())) // says the size
	held := server.HoldRequest(zktest.OpMulti, zktest.OnPath(at.path))
	late := at.permits(sem, 1)
	receive(t, held.Struck(), "the transaction on its way")
	place := at.childrenOf(at.path + "/locks")[0]
	require.NoError(t, at.conn.Delete(at.path+"/locks/"+place, -1))
	other := take(t, at.semaphore(at.session(), 1), 1)
	held.Release()
	requireSilent(t, late, "the only permit is out")
	require.Len(t, at.leases(), 1)
	require.NoError(t, other.Release(t.Context()))
	require.NoError(t, receive(t, late, "the permit").Release(t.Context()))
	at.awaitLeases(0)
}
