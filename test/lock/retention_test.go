package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const kept = 5 * time.Minute

// retained returns a lock that was locked and unlocked once, and its node.
func (b *bubble) retained(s *zklock.Session) (l *zklock.Locker, node string) {
	b.t.Helper()
	l = b.locker(s, zklock.WithRetention(kept))
	l.Lock()
	node = l.Held().Node()
	l.Unlock()
	synctest.Wait()
	require.Equal(b.t, 1, b.queue(), "the node is kept")
	return l, node
}

func TestWhatNeedsNoConfirmationIsGivenBackUnderAContextThatHasEnded(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		option zklock.Option
		waits  bool // another owner, here
	}{
		"the node is kept": {zklock.WithRetention(kept), false},
		"the node goes on": {zklock.WithHandoff(8), true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("owner"), c.option)
				l.Lock()
				next := make(chan *zklock.Hold, 1)
				if c.waits {
					go func() {
						h, _ := l.Acquire(t.Context())
						next <- h
					}()
					synctest.Wait()
				}
				require.NoError(t, l.UnlockContext(over))
				if c.waits {
					require.NoError(t, (<-next).Release(t.Context()))
				}
			})
		})
	}
}

func TestARetainedLockIsTakenAgainWithoutARequest(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, node := b.retained(b.session("owner"))
		before := b.server.Requests()
		for range 100 {
			l.Lock()
			require.Equal(t, node, l.Held().Node())
			require.True(t, l.Held().Valid())
			l.Unlock()
			require.NoError(t, l.LockContext(t.Context()))
			require.NoError(t, l.UnlockContext(t.Context()))
			require.True(t, l.TryLock())
			l.Unlock()
		}
		synctest.Wait()
		require.Equal(t, before, b.server.Requests())
		require.False(t, b.locker(b.session("other")).TryLock(), "a try sees it as taken, as documented")
	})
}

// What the watch on the queue will tell takes a round trip, in which the lock may be given
// back: whoever stands in line by then is not passed.
func TestALockIsNotRetainedPastOneWhoWaits(t *testing.T) {
	for name, c := range map[string]struct {
		session string        // of the one who waits
		handed  bool          // the owner has waited too, and gives the lock back at once
		after   time.Duration // that the other has begun to wait
		atOnce  bool          // the other is handed the lock
	}{
		"of the same session, behind an owner that has waited": {"owner", true, time.Second, true},
		"of another session, behind an owner that has waited":  {"other", true, time.Second, false},
		"of the same session, whose node is not known yet":     {"owner", false, 0, false},
		"of the same session, whose node is known":             {"owner", false, 12 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				far := zktest.NewServer(t, zktest.WithLatency(5*time.Millisecond, 5*time.Millisecond))
				b := &bubble{t, far, "/lock"}
				sessions := map[string]*zklock.Session{"owner": b.session("owner"), "other": b.session("other")}
				l := b.locker(sessions["owner"], zklock.WithRetention(kept))
				granted := make(chan grant, 2)
				before, err := b.locker(sessions["other"]).Acquire(t.Context())
				require.NoError(t, err)
				if !c.handed {
					require.NoError(t, before.Release(t.Context()))
				}
				b.ask(t.Context(), "owner", l, granted)
				time.Sleep(time.Second)
				b.ask(t.Context(), "waiter", b.locker(sessions[c.session], zklock.WithRetention(kept)), granted)
				time.Sleep(c.after)
				if c.handed {
					require.NoError(t, before.Release(t.Context()))
				}
				owner := <-granted
				require.Equal(t, "owner", owner.who)
				go owner.Release(t.Context())
				synctest.Wait()
				require.Equal(t, c.atOnce, len(granted) > 0)
				require.False(t, l.TryLock(), "it would pass the one who waits")
				time.Sleep(time.Second)
				require.Equal(t, "waiter", b.next(granted).who)
			})
		})
	}
}

// What has changed takes a round trip to read.
func TestARetainedLockIsNotTakenAgainWhenTheQueueHasChanged(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const latency = 5 * time.Millisecond
		b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(latency, latency)), "/lock"}
		other := b.locker(b.session("other"))
		l, _ := b.retained(b.session("owner"))
		time.Sleep(time.Second) // it knows that it is alone
		granted := make(chan grant, 1)
		b.ask(t.Context(), "other", other, granted)
		time.Sleep(2*latency + latency/2) // the create is there, and the event is told
		require.Equal(t, 2, b.queue())
		require.False(t, l.TryLock(), "it would pass the one who waits")
		require.NoError(t, (<-granted).Release(t.Context()))
	})
}

func TestARetainedLockIsTakenAgainWithoutAConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, node := b.retained(b.session("owner"))
		time.Sleep(time.Second)
		place := b.server.Client("owner")
		place.Block(zktest.ToServer)
		place.Cut()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, l.LockContext(ctx))
		require.Equal(t, node, l.Held().Node())
		place.Unblock()
		require.NoError(t, l.UnlockContext(t.Context()))
	})
}

func TestARetainedNodeGoesWithItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		l, node := b.retained(s)
		require.True(t, b.server.ExpireSession(s.ID()))
		time.Sleep(longSession / 16) // until it is told so
		l.Lock()
		require.NotEqual(t, node, l.Held().Node(), "not from memory")
		require.Equal(t, b.path+"/"+b.server.Children(b.path)[0], l.Held().Node())
		node = l.Held().Node()
		l.Unlock()
		synctest.Wait()

		time.Sleep(time.Second) // a fresh node is not watched yet
		require.NoError(t, b.session("operator").Conn().Delete(node, -1))
		synctest.Wait()
		l.Lock()
		require.NotEqual(t, node, l.Held().Node(), "not from memory")
		l.Unlock()
		synctest.Wait()
		require.Equal(t, 1, b.queue())
		require.NoError(t, s.Close())
		require.Zero(t, b.queue())
		require.ErrorIs(t, l.LockContext(t.Context()), zklock.ErrClosed)
	})
}

// Cut off, the owner may take its lock again as long as its lease lasts, and not a moment
// longer: by then somebody else may have it.
func TestARetainedLockIsNotTakenAgainWithoutALease(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		l, node := b.retained(s)
		client := b.server.Client("owner")
		client.Block(zktest.ToServer)
		client.Block(zktest.ToClient)
		granted := make(chan grant, 1)
		b.ask(t.Context(), "other", b.locker(b.session("other")), granted)
		var lastFromMemory time.Time
		for len(granted) == 0 {
			if l.TryLock() {
				require.Empty(t, granted)
				lastFromMemory = time.Now()
				require.Equal(t, node, l.Held().Node())
				l.Unlock()
			}
			time.Sleep(10 * time.Millisecond)
		}
		require.False(t, lastFromMemory.IsZero(), "within the lease it can be taken")
		require.Greater(t, time.Since(lastFromMemory), time.Second, "the lease ends well before the session does")
		require.ErrorIs(t, l.LockContext(within(t, time.Second)), context.DeadlineExceeded)
		client.Unblock()
		g := b.next(granted)
		require.NoError(t, g.Release(t.Context()))
		l.Lock()
		require.NotEqual(t, node, l.Held().Node())
		l.Unlock()
	})
}

// Nobody has come to use it: a try that has failed leaves no node.
func TestALockThatAMultiLockerHasTakenInVainIsNotRetained(t *testing.T) {
	soon := func(t *testing.T) context.Context { return within(t, time.Second) }
	for name, call := range map[string]func(*testing.T, *zklock.MultiLocker) bool{
		"lock":    func(t *testing.T, m *zklock.MultiLocker) bool { return m.LockContext(soon(t)) == nil },
		"try":     func(_ *testing.T, m *zklock.MultiLocker) bool { return m.TryLock() },
		"acquire": func(t *testing.T, m *zklock.MultiLocker) bool { _, err := m.Acquire(soon(t)); return err == nil },
		"do": func(t *testing.T, m *zklock.MultiLocker) bool {
			return m.Do(soon(t), func(context.Context) error { return nil }) == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s, other := b.session("mine"), b.session("other")
				first := must(zklock.New(s, "/a", zklock.WithRetention(kept)))
				last := must(zklock.New(s, "/b", zklock.WithRetention(kept)))
				must(zklock.New(other, "/b")).Lock()
				require.False(t, call(t, must(zklock.NewMulti(first, last))))
				synctest.Wait()
				require.Empty(t, b.server.Children("/a"))
				require.True(t, must(zklock.New(other, "/a")).TryLock())
			})
		})
	}
}

// Nobody uses the path any more, and a watch that is never told of anything stays for as long
// as the session.
func TestALockThatIsKeptNoLongerLeavesNoWatch(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("worker")
		_, err := s.Conn().Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		b.retained(s)
		require.Contains(t, b.server.Watches(), b.path)
		time.Sleep(2 * kept)
		require.Zero(t, b.queue())
		require.Empty(t, b.server.Watches())
	})
}

func TestCohortsExcludeEachOther(t *testing.T) {
	at := newSite(t)
	s := at.session()
	requireExclusion(t, []*zklock.Locker{
		at.locker(s, zklock.WithHandoff(4)),
		at.locker(s, zklock.WithRetention(time.Minute)),
		at.stranger(zklock.WithHandoff(3), zklock.WithRetention(10*time.Millisecond)),
		at.stranger(zklock.WithHandoff(100)),
		at.stranger(),
	}, len(ways), 10)
	eventually(t, "all but retained nodes to go", func() bool { return len(at.queue()) <= 1 })
}

func TestReleasingAgainIsDoneWhateverBecomesOfTheNodeThatOthersHaveHadSince(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("owner"), zklock.WithRetention(kept))
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context()))
		synctest.Wait()
		require.Equal(t, 1, b.queue(), "the node is kept")
		b.server.Freeze()
		time.Sleep(10 * time.Millisecond)
		next, err := l.Acquire(t.Context())
		require.NoError(t, err)
		next.Check() // whose node is not kept
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, next.Release(ctx), context.DeadlineExceeded)
		again, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, h.Release(again), "released for good, long ago")
		b.server.Thaw()
	})
}
