package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
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
			assert.False(t, isOpen(wrote), "the writer was first")
			close(read)
			c.RUnlock()
		}()
		time.Sleep(time.Second)
		assert.True(t, isOpen(wrote))
		assert.True(t, isOpen(read))
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
		ctx, cancel := context.WithTimeout(context.Background(), timeout+2*tick)
		defer cancel()
		require.NoError(t, writes.LockContext(ctx))
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
		ctx, cancel := context.WithTimeout(context.Background(), anAge)
		defer cancel()
		require.ErrorIs(t, rw.LockContext(ctx), zklock.ErrUpgrade)
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

// Readers and writers may wait for the same node, one of them ahead of time.
func TestAReleaseAmongReadersAndWritersWakesTwoMoreAtMost(t *testing.T) {
	for _, scene := range []struct {
		queue  string // R reads, W writes
		leaves int
	}{{"WRWRWR", 0}, {"RRWWWW", 1}, {"WRRWRW", 0}} { // whom the turn comes to sends no list
		play(t, 1, func(s *stage) {
			var granted []<-chan *zklock.Hold
			for i, kind := range scene.queue {
				p := s.enter(fmt.Sprint(string(kind), i))
				acquire := p.readWrite().Acquire
				if kind == 'R' {
					acquire = p.readWrite().RAcquire
				}
				granted = append(granted, p.waitsBy(context.Background(), acquire))
			}
			time.Sleep(time.Second)
			before := s.Requests()
			require.NoError(s, (<-granted[scene.leaves]).Release(context.Background()))
			time.Sleep(time.Second)
			lists := s.Requests()[zktest.OpGetChildren2] - before[zktest.OpGetChildren2]
			require.LessOrEqual(s, lists, 2, scene)
			for i, hold := range granted {
				if i != scene.leaves {
					require.NoError(s, (<-hold).Release(context.Background()))
				}
			}
		}, zktest.WithLatency(2*time.Millisecond, 2*time.Millisecond)) // far away: see farAway
	}
}

// One of several locks that is lost while the others are waited for is none that
// the caller has lost.
func TestSeveralLocksTryAgainWhenOneIsLostOnTheWay(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		first, err := zklock.New(a.Session, "/first")
		require.NoError(t, err)
		both, err := zklock.NewMulti(first, a.Locker)
		require.NoError(s, err)
		h := b.mustTake()
		go func() {
			time.Sleep(100 * time.Millisecond)
			for _, node := range s.checker.nodes() {
				if dirOf(node) == "/first" {
					require.NoError(t, b.Conn().Delete(node, -1))
				}
			}
			time.Sleep(100 * time.Millisecond)
			require.NoError(t, b.give(h))
		}()
		ok, err := both.TryLockFor(context.Background(), anAge)
		require.NoError(t, err)
		require.True(t, ok)
		both.Unlock()
		s.empty(time.Second)
	})
}

// Each lock had a third of the session timeout for itself.
func TestATryOfSeveralLocksHasOneDeadline(t *testing.T) {
	play(t, 1, func(s *stage) {
		a := s.enter("a")
		other, err := zklock.New(a.Session, "/other")
		require.NoError(t, err)
		several, err := zklock.NewMulti(a.Locker, other)
		require.NoError(s, err)
		require.True(t, several.TryLock()) // so that the paths are there
		several.Unlock()
		first := s.HoldReply(zktest.OpCreate, zktest.OnClient(a.place))
		over := make(chan struct{})
		go func() {
			defer close(over)
			<-first.Struck()
			time.Sleep(timeout / 5)
			second := s.HoldReply(zktest.OpCreate, zktest.OnClient(a.place))
			first.Release()
			<-second.Struck()
			time.Sleep(timeout / 2)
			second.Release()
		}()
		start := time.Now()
		require.False(t, several.TryLock())
		require.Less(t, time.Since(start), timeout/3+soon)
		<-over
	})
}

// A downgraded reader's node is younger than the nodes that queue behind its
// writer, whose owners' tokens must not be smaller.
func TestADowngradedReadersTokenIsBelowTheNextWriters(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		rw := a.readWrite()
		rw.Lock()
		writer := rw.Held().Token()
		waiting := b.waits(context.Background())
		rw.RLock()
		require.Equal(t, writer, rw.RHeld().Token())
		rw.Unlock()
		rw.RUnlock()
		next := <-waiting
		require.Greater(t, next.Token(), writer)
		require.NoError(t, b.give(next))
	})
}

// semaphore is a semaphore of one permit for a player.
func (p *player) semaphore() *zklock.Semaphore {
	p.stage.Helper()
	sem, err := zklock.NewSemaphore(p.Session, permitsPath, 1)
	require.NoError(p.stage, err)
	return sem
}

// takes returns a take of one permit.
func takes(sem *zklock.Semaphore) func(context.Context) (*zklock.Hold, error) {
	return func(ctx context.Context) (*zklock.Hold, error) { return sem.Acquire(ctx, 1) }
}

// onlyAtALaggard makes the player's next connection one to a follower that applies
// what is committed from now on late.
func (p *player) onlyAtALaggard() {
	p.stage.Helper()
	mine, others := p.server()
	mine.Refuse(true)
	for _, other := range others {
		if other == p.stage.Leader() {
			other.Refuse(true)
		} else {
			other.Lag(timeout / 8)
		}
	}
}

// allCaughtUp ends what onlyAtALaggard began.
func (s *stage) allCaughtUp() {
	for _, server := range s.Servers() {
		server.Lag(0)
		server.Refuse(false)
	}
}

// The recheck ends the watch on the permits while the size is on its way: what the watch has read
// is a minute old.
func TestPermitsAreNotOversoldByWhoLooksAsTheWatchesAreRechecked(t *testing.T) {
	for early := 60 * time.Millisecond; early <= 300*time.Millisecond; early += 10 * time.Millisecond {
		t.Run(early.String(), func(t *testing.T) {
			play(t, 1, func(s *stage) {
				const leases, delay = "/two/leases", 20 * time.Millisecond
				ctx, key := context.Background(), zklock.WithAuth("digest", []byte("operator:key"))
				a, b, c, operator := s.enter("a"), s.enter("b"), s.enter("c", key), s.enter("operator", key)
				two := func(p *player) *zklock.Semaphore {
					sem, err := zklock.NewSemaphore(p.Session, "/two", 2)
					require.NoError(s, err)
					return sem
				}
				for _, way := range []zktest.Direction{zktest.ToServer, zktest.ToClient} {
					a.place.Delay(way, delay, delay)
				}
				ofB, err := two(b).Acquire(ctx, 1)
				require.NoError(s, err)
				listed := s.HoldReply(zktest.OpGetChildren2, zktest.OnClient(a.place), zktest.OnPath(leases))
				tried := make(chan error, 1)
				go func() { _, err := two(a).TryAcquire(ctx, 2); tried <- err }()
				<-listed.Struck()
				rechecked := time.Now().Add(time.Minute - delay)
				listed.Release()
				require.ErrorIs(s, <-tried, zklock.ErrLocked)

				hidden := append(zk.DigestACL(zk.PermAll, "operator", "key"), zk.WorldACL(zk.PermAll&^zk.PermRead)...)
				_, err = operator.Conn().SetACL(leases, hidden, -1)
				require.NoError(s, err)
				ofC, err := two(c).Acquire(ctx, 1)
				require.NoError(s, err)
				_, err = operator.Conn().SetACL(leases, zk.WorldACL(zk.PermAll), -1)
				require.NoError(s, err)

				time.Sleep(time.Until(rechecked.Add(-early)))
				bounded, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, err = two(a).Acquire(bounded, 1)
				require.ErrorIs(s, err, zklock.ErrLocked, "three permits of two are out")
				require.NoError(s, ofB.Release(ctx))
				require.NoError(s, ofC.Release(ctx))
			})
		})
	}
}

// ZooKeeper does not tell of permits that have come while the session might not read them.
func TestPermitsAreNotOversoldByWhoMightNotReadThemForAMoment(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b := s.enter("a"), s.enter("b")
		operator := s.enter("operator", zklock.WithAuth("digest", []byte("operator:key")))
		hidden := append(zk.DigestACL(zk.PermAll, "operator", "key"), zk.WorldACL(zk.PermAll&^zk.PermRead)...)
		const leases = permitsPath + "/leases"
		require.NoError(t, s.granted(a.waitsBy(context.Background(), takes(a.semaphore()))).Release(context.Background())) // there is the path

		taking := s.HoldRequest(zktest.OpMulti, zktest.OnClient(a.place), zktest.OnPath(leases+"/"))
		first := a.waitsBy(context.Background(), takes(a.semaphore()))
		<-taking.Struck()
		_, err := operator.Conn().SetACL(leases, hidden, -1)
		require.NoError(t, err)
		taking.Release()
		held := s.granted(first)
		_, err = operator.Conn().SetACL(leases, zk.WorldACL(zk.PermAll), -1)
		require.NoError(t, err)
		require.NoError(t, held.Release(context.Background()))

		held = s.granted(b.waitsBy(context.Background(), takes(b.semaphore())))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = a.semaphore().Acquire(ctx, 1)
		require.ErrorIs(t, err, zklock.ErrLocked, "two permits of one are out")
		require.NoError(t, held.Release(context.Background()))
	})
}

// An event of ZooKeeper 3.8 names no transaction, and so the session may go on at a server that has
// not applied yet what it has told.
func TestF04ATurnThatAnEventGaveCountsThePermitsThatWereTakenBefore(t *testing.T) {
	play(t, 3, func(s *stage) {
		b := s.enter("b")
		b.moveToFollower()
		mine, _ := b.server()
		a := s.enterAt("a", []string{mine.PipeAddr()})
		taking := s.HoldRequest(zktest.OpMulti, zktest.OnClient(a.place), zktest.OnPath(permitsPath+"/leases/"))
		first := a.waitsBy(context.Background(), takes(a.semaphore()))
		<-taking.Struck()
		second := b.waitsBy(context.Background(), takes(b.semaphore()))
		// While b's proof is under way none goes ahead of its list on the next connection.
		proof := s.HoldRequest(zktest.OpMulti, zktest.OnClient(b.place))
		<-proof.Struck()

		b.onlyAtALaggard()
		taking.Release()
		held := <-first
		synctest.Wait() // b has been told that its turn has come
		b.place.Cut()
		select {
		case <-second:
			require.Error(s, held.Err(), "two permits of one are out")
		case <-time.After(timeout):
		}
		s.allCaughtUp()
		proof.Release()
		require.NoError(s, held.Release(context.Background()))
		require.NoError(s, (<-second).Release(context.Background()))
		s.empty(time.Second)
	})
}
