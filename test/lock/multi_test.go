package lock_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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
