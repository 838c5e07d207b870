package lock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// wipe deletes the lock with all its nodes.
func (b *bubble) wipe(conn *zk.Conn) {
	b.t.Helper()
	for _, node := range b.server.Children(b.path) {
		require.NoError(b.t, conn.Delete(b.path+"/"+node, -1))
	}
	require.NoError(b.t, conn.Delete(b.path, -1))
}

// The queue that is made anew counts from zero, so that a newcomer may have the number after
// that of a holder whose node went with the old one, unseen.
func TestALockIsNotHandedOnFromAQueueThatWasDeletedToTheNext(t *testing.T) {
	for name, early := range map[string]bool{"that the newcomer has asked for the lock in": false, "while it asks for the lock": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s, stranger := b.session("here"), b.session("elsewhere")
				another, err := zklock.New(s, "/another")
				require.NoError(t, err)
				_, err = another.Acquire(t.Context()) // keeps the lease
				require.NoError(t, err)
				l := b.locker(s)
				first, err := l.Acquire(t.Context())
				require.NoError(t, err)
				granted := make(chan grant, 2)
				asked := b.server.HoldRequest(zktest.OpCreate, zktest.OnSession(s.ID()))
				if early {
					b.ask(t.Context(), "second", l, granted)
				}
				b.wipe(stranger.Conn()) // before the first one's node is watched
				other, err := b.locker(stranger).Acquire(t.Context())
				require.NoError(t, err)
				if !early {
					b.ask(t.Context(), "second", l, granted)
				}
				asked.Release()
				b.ask(t.Context(), "third", l, granted)

				require.NoError(t, first.Release(t.Context()))
				synctest.Wait()
				require.Empty(t, granted, "the stranger has the lock")
				require.NoError(t, other.Err())
				require.NoError(t, other.Release(t.Context()))
				for range 2 {
					require.NoError(t, b.next(granted).Release(t.Context()))
				}
			})
		})
	}
}

func TestASuccessorWhoseQueueIsDeletedLosesTheLockAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l, stranger := b.locker(b.session("here")), b.session("elsewhere")
		first, err := l.Acquire(t.Context())
		require.NoError(t, err)
		granted := make(chan grant, 1)
		b.ask(t.Context(), "here", l, granted)
		b.wipe(stranger.Conn())
		require.NoError(t, first.Release(t.Context()))
		b.requireNode(granted)
	})
}

// The node that a lock went on from is gone: whether the next one's is there is to be seen, but no
// reply comes.
func TestACheckOfWhoHasTheLockNowIsMadeAgainWithoutAReplyAndCostsNoHold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, operator := b.session("here"), b.session("operator")
		l := b.locker(s)
		first, err := l.Acquire(t.Context())
		require.NoError(t, err)
		granted := make(chan grant, 1)
		b.ask(t.Context(), "next", l, granted)
		require.NoError(t, operator.Conn().Delete(first.Node(), -1))
		lost := b.server.DropReply(zktest.OpMulti, zktest.OnSession(s.ID()))
		require.NoError(t, first.Release(t.Context()))
		require.True(t, isClosed(lost.Struck()))
		next := b.next(granted)
		time.Sleep(time.Second)
		require.NoError(t, next.Err())
		require.NoError(t, next.Release(t.Context()))
	})
}

// requireNode requires that what is granted is lost unless its node is there.
func (b *bubble) requireNode(granted <-chan grant) {
	b.t.Helper()
	synctest.Wait()
	require.Len(b.t, granted, 1)
	g := <-granted
	require.NoError(b.t, g.err)
	if g.Hold.Err() == nil {
		require.Contains(b.t, b.server.Children(b.path), strings.TrimPrefix(g.Node(), b.path+"/"))
	}
}

// While the connection is away the lock goes on inside the session, and the node of the one
// before is still there when the write comes.
func TestACheckFailsOnceTheLockWentToAnotherOfTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		l := b.locker(s)
		_, err := s.Conn().Create("/total", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		first, err := l.Acquire(t.Context())
		require.NoError(t, err)
		check := first.Check()
		granted := make(chan grant, 1)
		b.ask(t.Context(), "next", l, granted)

		for _, op := range []zktest.Op{zktest.OpDelete, zktest.OpMulti} {
			held := b.server.HoldRequest(op, zktest.OnPath(first.Node()))
			time.AfterFunc(time.Second, held.Release)
		}
		elsewhere := b.session("elsewhere").Conn()
		go first.Release(t.Context())
		g := <-granted
		require.NoError(t, g.err)
		_, err = elsewhere.Multi(&zk.SetDataRequest{Path: "/total", Version: -1}, check)
		require.ErrorIs(t, err, zk.ErrNoNode, "the hold that was checked has ended")
		require.NoError(t, g.Release(t.Context()))
	})
}

func TestAHoldHasAllItsPermitsOrIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		leases := b.path + "/leases"
		semaphore, operator := b.usedSemaphore(2), b.session("operator")
		lost := b.server.DropReply(zktest.OpMulti, zktest.OnPath(leases+"/"))
		granted := make(chan grant, 1)
		go func() {
			h, err := semaphore.Acquire(t.Context(), 2)
			granted <- grant{"here", h, err}
		}()
		<-lost.Struck()
		b.server.Client("here").Block(zktest.ToServer)
		synctest.Wait()
		permits := b.server.Children(leases)
		require.Len(t, permits, 2)
		require.NoError(t, operator.Conn().Delete(leases+"/"+permits[0], -1))
		b.server.Client("here").Unblock()
		g := <-granted
		require.NoError(t, g.err)
		synctest.Wait()
		require.NoError(t, g.Err())
		require.Len(t, b.server.Children(leases), 2)
	})
}

func TestPermitsThatArePartlyDeletedWhileTheyAreLookedForDoNotStay(t *testing.T) {
	for which := range 2 {
		inBubble(t, func(t *testing.T, b *bubble) {
			leases := b.path + "/leases"
			semaphore, operator := b.usedSemaphore(2), b.session("operator")
			b.server.DropReply(zktest.OpMulti, zktest.OnPath(leases+"/"))
			looked := b.server.HoldRequest(zktest.OpExists, zktest.OnPath(leases+"/"))
			ctx, leave := context.WithCancel(t.Context())
			returned := make(chan error, 1)
			go func() {
				_, err := semaphore.Acquire(ctx, 2)
				returned <- err
			}()
			<-looked.Struck()
			permits := b.server.Children(leases)
			require.Len(t, permits, 2)
			require.NoError(t, operator.Conn().Delete(leases+"/"+permits[which], -1))
			leave()
			require.ErrorIs(t, <-returned, context.Canceled)
			looked.Release()
			time.Sleep(time.Second)
			require.Empty(t, b.server.Children(leases))
		})
	}
}

// usedSemaphore returns one of a session's whose path exists.
func (b *bubble) usedSemaphore(size int) *zklock.Semaphore {
	b.t.Helper()
	s, err := zklock.NewSemaphore(b.session("here"), b.path, size)
	require.NoError(b.t, err)
	h, err := s.Acquire(b.t.Context(), size)
	require.NoError(b.t, err)
	require.NoError(b.t, h.Release(b.t.Context()))
	return s
}

// The change of its data has used up the watch on the node of one that waits.
func TestADeletionAfterARevocationIsSeenByTheOneThatWaited(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		operator := b.session("operator")
		granted := make(chan grant, 3)
		b.ask(t.Context(), "first", b.locker(b.session("first")), granted)
		b.ask(t.Context(), "second", b.locker(b.session("second")), granted)
		ahead := b.server.Children(b.path)
		slices.SortFunc(ahead, func(x, y string) int { return strings.Compare(sequenceOf(y), sequenceOf(x)) })
		b.next(granted)
		b.ask(t.Context(), "third", b.locker(b.session("third")), granted)
		time.Sleep(time.Second) // it watches its node by now
		for _, name := range b.server.Children(b.path) {
			if !slices.Contains(ahead, name) {
				require.NoError(t, zklock.Revoke(t.Context(), operator, b.path+"/"+name))
			}
		}
		synctest.Wait()
		var deletes []any // of the second and the first at once: a list gives the third the lock
		for _, name := range ahead {
			deletes = append(deletes, &zk.DeleteRequest{Path: b.path + "/" + name, Version: -1})
		}
		_, err := operator.Conn().Multi(deletes...)
		require.NoError(t, err)
		g := b.next(granted)
		require.Equal(t, "third", g.who)
		time.Sleep(50 * time.Millisecond) // it watches its node again
		require.NoError(t, operator.Conn().Delete(g.Node(), -1))
		synctest.Wait()
		require.ErrorIs(t, g.Err(), zklock.ErrLost)
	})
}

func TestANodeOfAnyNegativeNumberIsInTheWay(t *testing.T) {
	for _, sequence := range []string{"-000000005", "-2147483648"} {
		inBubble(t, func(t *testing.T, b *bubble) {
			s, foreign := b.session("here"), b.session("foreign")
			h, err := b.locker(s).Acquire(t.Context())
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context()))
			_, err = foreign.Conn().Create(b.path+"/_c_x-lock-"+sequence, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			_, err = b.locker(s).TryAcquire(t.Context())
			require.ErrorIs(t, err, zklock.ErrLocked, sequence)
		})
	}
}
