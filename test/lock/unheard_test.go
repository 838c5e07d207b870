package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// recheck is the longest that a change goes unnoticed of which ZooKeeper does not tell.
const recheck = time.Minute + time.Second

// hide lets nobody but a session that logs in read the path; to delete is left to all.
func (b *bubble) hide(conn *zk.Conn, path string) {
	b.t.Helper()
	_, err := conn.SetACL(path, append(zk.DigestACL(zk.PermAll, "in", "side"), zk.WorldACL(zk.PermAll&^zk.PermRead)...), -1)
	require.NoError(b.t, err)
}

// insider returns a session that logs in.
func (b *bubble) insider() *zklock.Session {
	b.t.Helper()
	return b.session("insider", zklock.WithAuth("digest", []byte("in:side")))
}

// ZooKeeper tells a session nothing of a node that it may not read.
func TestAWaiterThatMayNoLongerReadTheQueueStopsNobodyBehindIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		inside := b.insider()
		granted := make(chan grant, 3)
		h, err := b.locker(inside).Acquire(t.Context())
		require.NoError(t, err)
		for _, w := range []struct {
			who string
			s   *zklock.Session
		}{{"ahead", inside}, {"outsider", b.session("outside")}, {"behind", b.insider()}} {
			b.ask(t.Context(), w.who, b.locker(w.s), granted)
			time.Sleep(time.Second)
		}
		b.hide(inside.Conn(), b.path)
		for _, node := range b.server.Children(b.path) {
			b.hide(inside.Conn(), b.path+"/"+node)
		}
		require.NoError(t, h.Release(t.Context()))
		require.NoError(t, (<-granted).Release(t.Context()))
		began := time.Now()
		refused := <-granted
		require.Equal(t, "outsider", refused.who)
		require.ErrorIs(t, refused.err, zk.ErrNoAuth)
		last := <-granted
		require.Equal(t, "behind", last.who)
		require.NoError(t, last.err)
		require.LessOrEqual(t, time.Since(began), recheck)
	})
}

func TestATurnThatMayNoLongerReadThePermitsIsGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		inside := b.insider()
		other, err := b.semaphore(inside, 2).Acquire(t.Context(), 1) // which stays: ZooKeeper deletes an empty container
		require.NoError(t, err)
		h, err := b.semaphore(inside, 2).Acquire(t.Context(), 1)
		require.NoError(t, err)
		outside := b.semaphore(b.session("outside"), 2)
		refused := begin(func() error { _, err := outside.Acquire(context.Background(), 1); return err })
		time.Sleep(time.Second)
		b.hide(inside.Conn(), b.path+"/leases")
		came := begin(func() error { _, err := b.semaphore(inside, 2).Acquire(context.Background(), 1); return err })
		time.Sleep(time.Second)
		began := time.Now()
		require.NoError(t, h.Release(t.Context()))
		require.ErrorIs(t, <-refused, zk.ErrNoAuth)
		require.NoError(t, <-came)
		require.LessOrEqual(t, time.Since(began), recheck)
		require.NoError(t, other.Err())
	})
}

// What nobody tells of the queue is that somebody waits.
func TestALockIsNotRetainedForLongByOneThatMayNoLongerReadTheQueue(t *testing.T) {
	for name, cut := range map[string]bool{"over one connection": false, "over another connection": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				owner, inside := b.session("owner"), b.insider()
				l := b.locker(owner, zklock.WithRetention(kept))
				ctx, stop := context.WithCancel(t.Context())
				again := begin(func() error {
					for {
						h, err := l.Acquire(ctx)
						if err != nil {
							return err
						}
						time.Sleep(time.Second)
						_ = h.Release(ctx)
					}
				})
				time.Sleep(time.Second)
				b.hide(inside.Conn(), b.path)
				if cut {
					b.server.CutSession(owner.ID())
				}
				began := time.Now()
				h, err := b.locker(inside).Acquire(t.Context())
				require.NoError(t, err)
				require.LessOrEqual(t, time.Since(began), recheck+time.Second)
				require.NoError(t, h.Release(t.Context()))
				stop()
				require.Error(t, <-again)
			})
		})
	}
}
