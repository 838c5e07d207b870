package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// taking is a session whose queue was behind the other one before, and has read its node.
func taking(t *testing.T, f func(t *testing.T, server *zktest.Server, other *Session, q *Queue)) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		other, q := connect(t, server), lockAt(s, "/lock")
		take(t, lockAt(s, "/held")) // the lease runs
		h := hold(t, other)
		came := ask(t.Context(), q.Acquire)
		synctest.Wait()
		require.NoError(t, h.Release(t.Context(), nil))
		o := <-came
		require.NoError(t, o.err)
		require.NoError(t, o.hold.Release(t.Context(), nil))
		time.Sleep(time.Second)
		f(t, server, other, q)
	})
}

// counted returns how many requests of that kind are sent while f runs.
func counted(server *zktest.Server, op zktest.Op, f func()) int {
	before := server.Requests()[op]
	f()
	synctest.Wait()
	return server.Requests()[op] - before
}

func TestTwoSessionsThatTakeTurnsReadNoNode(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, other *Session, q *Queue) {
		for range 3 {
			h := hold(t, other)
			var came <-chan outcome
			sets := counted(server, zktest.OpSetWatches, func() {
				require.Zero(t, counted(server, zktest.OpGetData, func() { came = ask(t.Context(), q.Acquire) }))
			})
			require.Equal(t, 1, sets)
			require.Zero(t, counted(server, zktest.OpGetChildren2, func() { require.NoError(t, h.Release(t.Context(), nil)) }))
			require.NoError(t, granted(t, came).Release(t.Context(), nil))
			synctest.Wait()
		}
	})
}

// A session of which no node was read here may have made one that may not be.
func TestANodeOfAnotherMakerIsRead(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, _ *Session, q *Queue) {
		another := connect(t, server)
		late := server.HoldRequest(zktest.OpGetData)
		h := hold(t, another)
		came := ask(t.Context(), q.Acquire)
		<-late.Struck()
		require.NoError(t, h.Release(t.Context(), nil))
		late.Release()
		require.NoError(t, granted(t, came).Release(t.Context(), nil)) // behind a node that it could not read any more
		time.Sleep(time.Second)
		hold(t, another)
		require.Equal(t, 2, counted(server, zktest.OpGetData, func() { ask(t.Context(), q.Acquire) }))
	})
}

// A session that another library has made is not known by the names of its nodes.
func TestANodeOfAnotherLibraryIsReadEachTime(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, _ *Session, q *Queue) {
		for range 2 {
			takeAway := other(t, server, zk.FlagEphemeralSequential, "_c_89828215-0848-46eb-9811-070aa416b844-lock-")
			var came <-chan outcome
			require.Equal(t, 2, counted(server, zktest.OpGetData, func() { came = ask(t.Context(), q.Acquire) }))
			takeAway[0]()
			require.NoError(t, granted(t, came).Release(t.Context(), nil))
			synctest.Wait()
		}
	})
}

// Its own node would tell it nothing: it looks at the queue when it is woken.
func TestWhoIsBehindSeveralWatchesTheNearestAlone(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, other *Session, q *Queue) {
		hold(t, connect(t, server))
		ask(t.Context(), lockAt(other, "/lock").Acquire)
		require.Zero(t, counted(server, zktest.OpSetWatches, func() { ask(t.Context(), q.Acquire) }))
	})
}

// One process may have two Lockers on a path, with different access lists. From ZooKeeper 3.9 on nobody is told of
// the end of a node that he may not read.
func TestWhoMayNotReadTheNodeAheadIsToldSoWithinSeconds(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, other *Session, q *Queue) {
		secret := defaults()
		secret.ACL = zk.DigestACL(zk.PermAll, "other", "secret")
		require.NoError(t, other.client.Conn.AddAuth("digest", []byte("other:secret")))
		take(t, New(other, "/lock", recipe.Exclusive, secret))
		came := ask(t.Context(), q.Acquire)
		time.Sleep(3 * time.Second)
		require.Len(t, came, 1)
		require.ErrorIs(t, (<-came).err, zk.ErrNoAuth)
	})
}

// Somebody asks the owner for the lock, or the waiter, whose nodes were created before.
func TestAChangeOfWhatIsWatchedUnreadIsRead(t *testing.T) {
	for name, own := range map[string]bool{"of the node ahead": false, "of its own": true} {
		t.Run(name, func(t *testing.T) {
			taking(t, func(t *testing.T, server *zktest.Server, other *Session, q *Queue) {
				h := hold(t, other)
				came := ask(t.Context(), q.Acquire)
				synctest.Wait()
				node := h.Node()
				if own {
					for _, name := range server.Children("/lock") {
						if at := recipe.Join("/lock", name); at != h.Node() {
							node = at
						}
					}
				}
				unread := server.HoldRequest(zktest.OpSetWatches)
				for range 2 {
					require.Equal(t, 1, counted(server, zktest.OpGetData, func() {
						write(t, other.client.Conn, node, recipe.Revoked(nil))
					}), "to be told of it again and again would help nobody")
				}
				unread.Release()
				require.NoError(t, h.Release(t.Context(), nil))
				require.Equal(t, own, granted(t, came).contender.revoked)
			})
		})
	}
}

func TestAWaiterWhoseNodeIsGoneBeforeItsWatchIsSetIsNotGrantedTheLock(t *testing.T) {
	taking(t, func(t *testing.T, server *zktest.Server, other *Session, q *Queue) {
		hold(t, other)
		set := server.HoldRequest(zktest.OpSetWatches)
		came := ask(t.Context(), q.Acquire)
		<-set.Struck()
		for _, name := range server.Children("/lock") {
			require.NoError(t, other.client.Conn.Delete(recipe.Join("/lock", name), -1))
		}
		synctest.Wait()
		third := hold(t, other)
		set.Release()
		synctest.Wait()
		require.Empty(t, came)
		require.NoError(t, third.Release(t.Context(), nil))
		granted(t, came)
	})
}

func TestTheMakerOfANodeIsToldByItsName(t *testing.T) {
	ids := newIdentities()
	first, ok := makerOf(nameOf(ids))
	require.True(t, ok)
	second, _ := makerOf(nameOf(ids))
	require.Equal(t, first, second)
	another, _ := makerOf(nameOf(newIdentities()))
	require.NotEqual(t, first, another)
	_, ok = makerOf("_c_f81d4fae-7dec-11d0-a765-00a0c91e6bf6-lock-0000000001")
	require.False(t, ok, "Curator's")
}
