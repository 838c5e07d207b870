package lock_test

import (
	"context"
	"math"
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

// A path whose counter is at its end has to be made anew, which somebody else's child does not let happen.
func TestTheEndOfACounterThatCannotStartAfreshIsAnErrorAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("a")
		for _, node := range []string{b.path, b.path + "/config"} {
			must(s.Conn().Create(node, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)))
		}
		b.server.SetSequence(b.path, math.MaxInt32-1)
		_, err := b.locker(s).Acquire(aMinute(t))
		require.ErrorIs(t, err, zk.ErrNotEmpty)
		require.ErrorContains(t, err, "the sequence counter is at its end")
		require.ErrorContains(t, err, `has the child "config"`)
		synctest.Wait()
		require.Equal(t, []string{"config"}, b.server.Children(b.path))
	})
}
