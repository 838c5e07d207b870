package sim

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
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

// Readers behind the same writer have their turn together, and are woken together, also
// where that is ahead of time: each lists the queue once.
func TestReadersBehindTheSameWriterAreWokenOnce(t *testing.T) {
	const readers = 6
	for _, latency := range []time.Duration{0, 2 * time.Millisecond} { // the second is far away: see farAway
		play(t, 1, func(s *stage) {
			asks := func(name string, acquire func(*zklock.RWLocker, context.Context) (*zklock.Hold, error)) <-chan *zklock.Hold {
				rw, granted := s.enter(name).readWrite(), make(chan *zklock.Hold, 1)
				go func() {
					h, err := acquire(rw, context.Background())
					require.NoError(s, err)
					granted <- h
				}()
				time.Sleep(100 * time.Millisecond)
				return granted
			}
			held := <-asks("holder", (*zklock.RWLocker).Acquire)
			writing := asks("writer", (*zklock.RWLocker).Acquire)
			var reading []<-chan *zklock.Hold
			for i := range readers {
				reading = append(reading, asks(fmt.Sprint("reader", i), (*zklock.RWLocker).RAcquire))
			}
			time.Sleep(time.Second)
			before := s.Requests()
			require.NoError(s, held.Release(context.Background()))
			require.NoError(s, (<-writing).Release(context.Background()))
			for _, r := range reading {
				require.NoError(s, (<-r).Release(context.Background()))
			}
			lists := s.Requests()[zktest.OpGetChildren2] - before[zktest.OpGetChildren2]
			require.LessOrEqual(s, lists, 1+readers)
		}, zktest.WithLatency(latency, latency))
	}
}
