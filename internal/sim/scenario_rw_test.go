package sim

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func (p *player) readWrite() *zklock.RWLocker {
	rw, err := zklock.NewRW(p.Session, path)
	require.NoError(p.stage, err)
	return rw
}

func TestF38ReadersThatComeLaterDoNotStarveAWriter(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, c := s.enter("a"), s.enter("b").readWrite(), s.enter("c").readWrite()
		first := a.readWrite()
		first.RLock()
		wrote := make(chan struct{})
		go func() {
			b.Lock()
			close(wrote)
			b.Unlock()
		}()
		time.Sleep(100 * time.Millisecond)
		read := make(chan struct{})
		go func() {
			c.RLock()
			require.False(t, isOpen(wrote), "the writer was first")
			close(read)
			c.RUnlock()
		}()
		time.Sleep(time.Second)
		require.True(t, isOpen(wrote))
		require.True(t, isOpen(read))
		first.RUnlock()
		<-read
		s.empty(time.Second)
	})
}

func TestF38AReaderThatCrashesLetsTheWriterIn(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		reads, writes := a.readWrite(), b.readWrite()
		reads.RLock()
		a.cutOff()
		start := time.Now()
		writes.Lock()
		require.Less(t, time.Since(start), timeout+2*tick)
		require.False(t, isOpen(reads.RLost()))
		writes.Unlock()
		a.place.Unblock()
		reads.RUnlock()
	})
}

func TestF38AnUpgradeIsRefusedInsteadOfWaitingForItself(t *testing.T) {
	play(t, 1, func(s *stage) {
		rw := s.enter("a").readWrite()
		rw.RLock()
		require.ErrorIs(t, rw.LockContext(context.Background()), zklock.ErrUpgrade)
		require.False(t, rw.TryLock())
		rw.RUnlock()
	})
}
