package lock_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// rw returns a reader/writer lock on the site's path.
func (at *site) rw(s *zklock.Session, opts ...zklock.Option) *zklock.RWLocker {
	at.t.Helper()
	l, err := zklock.NewRW(s, at.path, opts...)
	require.NoError(at.t, err)
	return l
}

// kindsOf returns a letter for each lock node, R or W or L, in the order given.
func kindsOf(nodes []string) string {
	kinds := make([]byte, len(nodes))
	for i, node := range nodes {
		switch {
		case strings.Contains(node, "-__READ__"):
			kinds[i] = 'R'
		case strings.Contains(node, "-__WRIT__"):
			kinds[i] = 'W'
		default:
			kinds[i] = 'L'
		}
	}
	return string(kinds)
}

func TestReadersShareTheLockAndAWriterHasItAlone(t *testing.T) {
	const readers = 12
	at := newSite(t)
	sessions := []*zklock.Session{at.session(), at.session(), at.session()}
	var together, finished sync.WaitGroup
	together.Add(readers)
	for i := range readers {
		l := at.rw(sessions[i%len(sessions)])
		finished.Go(func() {
			l.RLock()
			defer l.RUnlock()
			together.Done()
			together.Wait() // comes to its end only if all of them read at once
		})
	}
	finished.Wait()

	s := at.session()
	writer, reader := at.rw(s), at.rw(sessions[0])
	writer.Lock()
	require.False(t, reader.TryRLock())
	require.False(t, reader.TryLock())
	reading := at.begin(reader.RAcquire)
	writing := at.begin(at.rw(sessions[1]).Acquire)
	at.awaitQueue(3)
	requireSilent(t, reading, "a writer has the lock")
	requireSilent(t, writing, "a writer has the lock")
	writer.Unlock()
	for range 2 {
		select {
		case h := <-reading:
			reading = nil
			require.NoError(t, h.Release(t.Context()))
		case h := <-writing:
			writing = nil
			require.NoError(t, h.Release(t.Context()))
		}
	}
	at.awaitQueue(0)
}

func TestGoroutinesOfOneRWLockerReadTogetherAndWriteAlone(t *testing.T) {
	const readers = 10
	at := newSite(t)
	l := at.rw(at.session())
	var together, finished sync.WaitGroup
	together.Add(readers)
	for range readers {
		finished.Go(func() {
			l.RLock()
			defer l.RUnlock()
			together.Done()
			together.Wait()
		})
	}
	finished.Wait()

	l.Lock()
	elsewhere(func() {
		require.False(t, l.TryRLock())
		require.False(t, l.TryLock())
		ok, err := l.TryRLockFor(t.Context(), aWhile)
		require.NoError(t, err)
		require.False(t, ok)
	})
	l.Unlock()
	elsewhere(func() {
		require.True(t, l.TryRLock())
		l.RUnlock()
	})
	at.awaitQueue(0)
}

func TestReadersAndWritersAreReentrant(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	locks := map[string]struct {
		lock, unlock func()
		again        []func() bool
	}{
		"reading": {l.RLock, l.RUnlock, []func() bool{
			l.TryRLock,
			func() bool { return l.RLockContext(t.Context()) == nil },
			func() bool { ok, err := l.TryRLockFor(t.Context(), 0); return ok && err == nil },
		}},
		"writing": {l.Lock, l.Unlock, []func() bool{
			l.TryLock,
			func() bool { return l.LockContext(t.Context()) == nil },
			func() bool { ok, err := l.TryLockFor(t.Context(), 0); return ok && err == nil },
		}},
	}
	for name, c := range locks {
		c.lock()
		node := at.queue()
		require.Len(t, node, 1)
		for i, again := range c.again {
			require.True(t, again(), "%s again, %d", name, i)
		}
		for range c.again {
			c.unlock()
			require.Equal(t, node, at.queue(), "%s until the last unlock", name)
		}
		c.unlock()
		at.awaitQueue(0)
		require.ErrorIs(t, panicOf(t, c.unlock), zklock.ErrNotHeld)
	}
	require.ErrorIs(t, l.UnlockContext(t.Context()), zklock.ErrNotHeld)
	require.ErrorIs(t, l.RUnlockContext(t.Context()), zklock.ErrNotHeld)
	require.True(t, isClosed(l.Lost()) && isClosed(l.RLost()), "whoever holds nothing has lost it")
}

func TestAReaderThatAsksToWriteIsRefused(t *testing.T) {
	at := newSite(t)
	l := at.rw(at.session())
	l.RLock()
	require.ErrorIs(t, panicOf(t, l.Lock), zklock.ErrUpgrade)
	require.ErrorIs(t, l.LockContext(t.Context()), zklock.ErrUpgrade)
	require.False(t, l.TryLock())
	ok, err := l.TryLockFor(t.Context(), time.Hour)
	require.ErrorIs(t, err, zklock.ErrUpgrade)
	require.ErrorContains(t, err, at.path)
	require.False(t, ok)
	require.Equal(t, "R", kindsOf(at.queue()), "no node is left, and the reader reads on")
	elsewhere(func() {
		require.False(t, l.TryLock(), "another goroutine has to wait, and is not told of an upgrade")
		_, err := l.TryLockFor(t.Context(), time.Millisecond)
		require.NoError(t, err)
	})
	at.awaitQueue(1) // what the other goroutine gave up is deleted
	l.RUnlock()
	require.True(t, l.TryLock())
	l.Unlock()
}

// A cancelled writer no longer keeps the readers behind it waiting.
func TestReadersGetInWhenTheWriterAheadOfThemGivesUp(t *testing.T) {
	at := newSite(t)
	reader := at.rw(at.session())
	reader.RLock()
	ctx, cancel := context.WithCancel(t.Context())
	writer := at.rw(at.session())
	ended := begin(func() error { return writer.LockContext(ctx) })
	at.awaitQueue(2)
	behind := at.begin(at.rw(at.session()).RAcquire)
	at.awaitQueue(3)
	requireSilent(t, behind, "a writer is ahead")
	cancel()
	require.ErrorIs(t, receive(t, ended, "the cancelled writer"), context.Canceled)
	require.NoError(t, receive(t, behind, "the reader behind the writer").Release(t.Context()))
	reader.RUnlock()
	at.awaitQueue(0)
}
