package lock_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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
