package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// leaveSoon returns a ctx that ends while the next request of that kind is under way.
func (b *bubble) leaveSoon(op zktest.Op) context.Context {
	ctx, cancel := context.WithCancel(b.t.Context())
	reply := b.server.HoldReply(op)
	go func() {
		<-reply.Struck()
		cancel()
		time.Sleep(time.Millisecond)
		reply.Release()
	}()
	return ctx
}

// cutFor cuts the connections, and lets nobody connect for so long.
func (b *bubble) cutFor(d time.Duration) {
	b.server.Refuse(true)
	b.server.Cut()
	synctest.Wait()
	time.AfterFunc(d, func() { b.server.Refuse(false) })
}

// leftovers are ways in which a session comes to have a node that nobody wants.
var leftovers = map[string]func(*bubble, *zklock.Locker){
	"by an unlock while disconnected": func(b *bubble, l *zklock.Locker) {
		l.Lock()
		b.cutFor(time.Second)
		l.Unlock()
	},
	"by a call whose ctx ended during its create": func(b *bubble, l *zklock.Locker) {
		require.ErrorIs(b.t, l.LockContext(b.leaveSoon(zktest.OpCreate)), context.Canceled)
	},
	"by a call whose ctx ended while it looked for its node": func(b *bubble, l *zklock.Locker) {
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		reply := b.server.DropReply(zktest.OpCreate)
		go func() {
			<-reply.Struck()
			b.cutFor(2 * time.Second)
		}()
		require.ErrorIs(b.t, l.LockContext(ctx), context.DeadlineExceeded)
	},
}

func TestATryIsNotRefusedForWhatItsOwnSessionHasLeft(t *testing.T) {
	const trials = 20 // the delete and the list go out in either order
	for name, leave := range leftovers {
		t.Run(name, func(t *testing.T) {
			for range trials {
				inFarBubble(t, func(t *testing.T, b *bubble) {
					l := b.locker(b.session("here"))
					l.Lock() // so that the path is there
					require.NoError(t, l.UnlockContext(t.Context()))
					leave(b, l)
					h, err := l.TryAcquire(t.Context())
					require.NoError(t, err)
					require.Equal(t, 1, b.queue())
					require.NoError(t, h.Release(t.Context()))
				})
			}
		})
	}
}

func TestATryForPermitsIsNotRefusedForWhatItsOwnSessionHasLeft(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		sem := b.semaphore(b.session("here"), 2)
		h, err := sem.Acquire(t.Context(), 2)
		require.NoError(t, err)
		require.NoError(t, h.Release(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		reply := b.server.DropReply(zktest.OpMulti)
		go func() {
			<-reply.Struck()
			b.cutFor(2 * time.Second)
		}()
		_, err = sem.Acquire(ctx, 2)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		h, err = sem.TryAcquire(t.Context(), 2)
		require.NoError(t, err)
		require.Len(t, b.server.Children(b.path+"/leases"), 2)
		_, err = sem.TryAcquire(t.Context(), 1)
		require.ErrorIs(t, err, zklock.ErrLocked)
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestATryDoesNotWaitForANodeThatItsSessionCannotDelete(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		_, err := s.Conn().Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead|zk.PermCreate))
		require.NoError(t, err)
		l := b.locker(s)
		l.Lock()
		require.ErrorIs(t, l.UnlockContext(t.Context()), zk.ErrNoAuth)
		ctx, cancel := context.WithTimeout(t.Context(), longSession/4)
		defer cancel()
		_, err = l.TryAcquire(ctx)
		require.ErrorIs(t, err, zklock.ErrLocked)
		require.NoError(t, ctx.Err())
	})
}

// The first of a cohort stands in the queue for all of them, if it has come as far.
func TestAMemberIsToldThatTheLockIsTakenIfItsCohortStandsInTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		hinder func(*bubble)
		taken  bool
	}{
		"there is no connection":       {func(b *bubble) { b.cutFor(longSession / 2) }, false},
		"the server does not answer":   {func(b *bubble) { b.server.Freeze() }, false},
		"somebody else holds the lock": {func(b *bubble) { b.locker(b.session("elsewhere")).Lock() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			inFarBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("cohort"), zklock.WithHandoff(8))
				c.hinder(b)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				granted := make(chan grant, 3)
				for range cap(granted) {
					b.ask(ctx, "-", l, granted)
				}
				for range cap(granted) {
					err := (<-granted).err
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.Equal(t, c.taken, isLocked(err), "%v", err)
				}
			})
		})
	}
}

func TestATryBesideAnOwnerThatHasLostTheLockWritesNothing(t *testing.T) {
	owners := map[string]struct {
		own func(*zklock.Locker, *zklock.RWLocker, func(lost <-chan struct{}))
		try func(*zklock.Locker, *zklock.RWLocker) bool
	}{
		"an owner": {
			func(l *zklock.Locker, _ *zklock.RWLocker, during func(<-chan struct{})) {
				l.Lock()
				defer l.Unlock()
				during(l.Lost())
			},
			func(l *zklock.Locker, _ *zklock.RWLocker) bool { return l.TryLock() },
		},
		"a Do": {
			func(l *zklock.Locker, _ *zklock.RWLocker, during func(<-chan struct{})) {
				_ = l.Do(context.Background(), func(ctx context.Context) error {
					during(zklock.HoldFrom(ctx).Lost())
					return nil
				})
			},
			func(l *zklock.Locker, _ *zklock.RWLocker) bool { return l.TryLock() },
		},
		"a reader, of a writer": {
			func(_ *zklock.Locker, rw *zklock.RWLocker, during func(<-chan struct{})) {
				rw.RLock()
				defer rw.RUnlock()
				during(rw.RLost())
			},
			func(_ *zklock.Locker, rw *zklock.RWLocker) bool { return rw.TryLock() },
		},
		"a writer, of a reader": {
			func(_ *zklock.Locker, rw *zklock.RWLocker, during func(<-chan struct{})) {
				rw.Lock()
				defer rw.Unlock()
				during(rw.Lost())
			},
			func(_ *zklock.Locker, rw *zklock.RWLocker) bool { return rw.TryRLock() },
		},
	}
	for name, c := range owners {
		t.Run(name, func(t *testing.T) {
			inFarBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("here")
				l, rw := b.locker(s), b.rw(s)
				c.own(l, rw, func(lost <-chan struct{}) {
					require.True(t, b.server.ExpireSession(s.ID()))
					<-lost
					time.Sleep(longSession) // there is another session by now
					written := b.server.Requests()[zktest.OpCreate]
					tried := make(chan bool)
					go func() { tried <- c.try(l, rw) }()
					require.False(t, <-tried)
					require.Equal(t, written, b.server.Requests()[zktest.OpCreate])
				})
				require.True(t, c.try(l, rw), "it has unlocked")
			})
		})
	}
}
