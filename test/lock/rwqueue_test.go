package lock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// Readers that come while a writer waits stand behind it: neither side starves.
func TestReadersAndWritersAreServedInTheOrderOfTheQueue(t *testing.T) {
	at := newSite(t)
	holder := at.rw(at.session())
	holder.RLock()
	const order = "WRRWR"
	granted := make([]<-chan *zklock.Hold, len(order))
	for i, kind := range order {
		l := at.rw(at.session())
		if kind == 'W' {
			granted[i] = at.begin(l.Acquire)
		} else {
			granted[i] = at.begin(l.RAcquire)
		}
		at.awaitQueue(i + 2)
	}
	require.Equal(t, "R"+order, kindsOf(at.queue()))
	latecomer := at.rw(at.session())
	require.False(t, latecomer.TryRLock(), "a writer waits")

	var tokens []int64
	holder.RUnlock()
	for _, group := range [][]int{{0}, {1, 2}, {3}, {4}} {
		var holds []*zklock.Hold
		for _, i := range group {
			holds = append(holds, receive(t, granted[i], "the next in the queue"))
			tokens = append(tokens, holds[len(holds)-1].Token())
		}
		if last := group[len(group)-1]; last+1 < len(granted) {
			requireSilent(t, granted[last+1], "those ahead hold the lock")
		}
		for _, h := range holds {
			require.NoError(t, h.Release(t.Context()))
		}
	}
	require.IsIncreasing(t, tokens)
	at.awaitQueue(0)
}

func TestAReaderWatchesOnlyTheNearestWriterAhead(t *testing.T) {
	at := newSite(t)
	first := at.rw(at.session())
	first.RLock()
	writing := at.begin(at.rw(at.session()).Acquire)
	at.awaitQueue(2)
	var reading []<-chan *zklock.Hold
	for i := range 3 {
		reading = append(reading, at.begin(at.rw(at.session()).RAcquire))
		at.awaitQueue(3 + i)
	}
	queue := at.queue()
	watchers := func(node string) int { return len(watchersOf(t, sharedServer(t), node)) }
	eventually(t, "all to watch what is ahead of them, and themselves", func() bool {
		return watchers(queue[0]) == 2 && // its owner and the writer
			watchers(queue[1]) == 4 && // its owner and each reader behind
			watchers(queue[2]) == 1 && watchers(queue[3]) == 1 && watchers(queue[4]) == 1
	})
	// The end of a reader wakes none of the readers behind it.
	require.NoError(t, at.conn.Delete(queue[2], -1))
	requireSilent(t, reading[1], "the writer is still ahead")
	first.RUnlock()
	h := receive(t, writing, "the writer's turn")
	require.NoError(t, h.Release(t.Context()))
	for _, r := range reading {
		require.NoError(t, receive(t, r, "a reader's turn").Release(t.Context()))
	}
	at.awaitQueue(0)
}

// When the nearest writer gives up while an older one is still there, a reader must not get in.
func TestAReaderLooksAgainWhenTheNearestWriterGoesBeforeAnOlderOne(t *testing.T) {
	at := newSite(t)
	older := at.rw(at.session())
	older.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	nearest := at.rw(at.session())
	gaveUp := begin(func() error { return nearest.LockContext(ctx) })
	at.awaitQueue(2)
	reading := at.begin(at.rw(at.session()).RAcquire)
	queue := at.awaitQueue(3)
	eventually(t, "the reader to watch the nearest writer", func() bool { return at.watched(queue[1]) })
	cancel()
	require.ErrorIs(t, receive(t, gaveUp, "the cancelled writer"), context.Canceled)
	at.awaitQueue(2)
	requireSilent(t, reading, "the older writer holds the lock")
	older.Unlock()
	require.NoError(t, receive(t, reading, "the reader's turn").Release(t.Context()))
}

// A Locker and zk.Lock on the path of a reader/writer lock count as writers.
func TestALockerAndZkLockExcludeReadersAndWriters(t *testing.T) {
	at := newSite(t)
	rw, l := at.rw(at.session()), at.stranger()
	rw.RLock()
	require.False(t, l.TryLock())
	rw.RUnlock()
	l.Lock()
	require.False(t, rw.TryRLock())
	require.False(t, rw.TryLock())
	l.Unlock()

	foreign := zk.NewLock(at.conn, at.path, zk.WorldACL(zk.PermAll))
	rw.RLock()
	locked := begin(foreign.Lock)
	at.awaitQueue(2)
	requireSilent(t, locked, "a reader has the lock")
	rw.RUnlock()
	require.NoError(t, receive(t, locked, "zk.Lock's turn"))
	require.False(t, rw.TryRLock())
	require.NoError(t, foreign.Unlock())
	require.True(t, rw.TryRLock())
	rw.RUnlock()
}

// library is what a reader/writer lock guards.
type library struct {
	readers, writers atomic.Int32
	wrong            atomic.Bool
	books            int // only the lock protects it
}

func (l *library) read() {
	l.readers.Add(1)
	if l.writers.Load() > 0 {
		l.wrong.Store(true)
	}
	_ = l.books
	l.readers.Add(-1)
}

func (l *library) write() {
	if l.writers.Add(1) > 1 || l.readers.Load() > 0 {
		l.wrong.Store(true)
	}
	l.books++
	l.writers.Add(-1)
}

func TestReadersAndWritersOfManySessionsExcludeEachOther(t *testing.T) {
	const rounds = 15
	at := newSite(t)
	var (
		guarded library
		work    sync.WaitGroup
	)
	ways := []func(l *zklock.RWLocker){
		func(l *zklock.RWLocker) { l.RLock(); guarded.read(); l.RUnlock() },
		func(l *zklock.RWLocker) { l.Lock(); guarded.write(); l.Unlock() },
		func(l *zklock.RWLocker) { // downgrade
			l.Lock()
			guarded.write()
			l.RLock()
			l.Unlock()
			guarded.read()
			l.RUnlock()
		},
		func(l *zklock.RWLocker) {
			if l.TryRLock() {
				guarded.read()
				l.RUnlock()
			}
		},
	}
	for range 3 {
		l := at.rw(at.session())
		for _, use := range ways {
			work.Go(func() {
				for range rounds {
					use(l)
				}
			})
		}
	}
	work.Wait()
	require.False(t, guarded.wrong.Load(), "a writer was not alone")
	require.Equal(t, 3*2*rounds, guarded.books, "writes were lost")
	at.awaitQueue(0)
}
