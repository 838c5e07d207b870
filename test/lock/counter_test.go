package lock_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A server counts the children of a path in 32 bits, and at the end its numbers no longer tell
// who came first. It takes two thousand million locks to get there on a real one.
func TestTheLockOutlivesTheEndOfTheSequenceCounter(t *testing.T) {
	const nearEnd = math.MaxInt32 - 1<<16
	for name, next := range map[string]int32{
		"the last number in order": nearEnd,
		"the end":                  math.MaxInt32 - 1,
		"behind the end":           math.MinInt32 + 1,
	} {
		t.Run(name, func(t *testing.T) {
			server := zktest.NewServer(t)
			at := siteAt(t, server.Addr())
			s, other := at.session(), at.session()
			for call, take := range takes {
				at.makeParent()
				server.SetSequence(at.path, next)
				h, err := take(within(t, patience), at.locker(s))
				require.NoError(t, err, call)
				at.requireHeld(h, s)
				got := at.acquire(other)
				at.awaitQueue(2)
				requireSilent(t, got, "the lock is held")
				require.NoError(t, h.Release(t.Context()))
				second := receive(t, got, "the other's turn")
				at.requireHeld(second, other)
				require.Greater(t, second.Token(), h.Token())
				require.NoError(t, second.Release(t.Context()))
				at.path += "x"
			}
		})
	}
}

func TestContendersAtTheEndOfTheCounterExcludeEachOther(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	at.makeParent()
	server.SetSequence(at.path, math.MaxInt32-1<<16-20)
	requireExclusion(t, []*zklock.Locker{at.stranger(), at.stranger(), at.stranger()}, 4, 10)
}

// At the end of its counter a path has to be made anew. Where that cannot be, nobody gets the
// lock any more, and everybody is told why.
func TestTheEndOfACounterThatCannotStartAfreshIsAnError(t *testing.T) {
	const open, closed = zk.PermAll, zk.PermRead | zk.PermCreate
	cases := map[string]struct {
		path  string
		perms int32 // of the node above the lock's path
		child string
		want  error
		says  string
	}{
		"a child of somebody else's": {"/above/lock", open, "/above/lock/config", zk.ErrNotEmpty, `has the child "config"`},
		"an ACL":                     {"/above/lock", closed, "", zk.ErrNoAuth, "the ACL of /above does not let this session delete /above/lock and make it again"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("a")
				create := func(path string, perms int32) {
					if path != "" {
						_, err := s.Conn().Create(path, nil, 0, zk.WorldACL(perms))
						require.NoError(t, err)
					}
				}
				create("/above", c.perms)
				create("/above/lock", open)
				create(c.child, open)
				b.server.SetSequence(c.path, math.MaxInt32-1)
				b.path = c.path
				for call, take := range takes {
					_, err := take(t.Context(), b.locker(s))
					if call == "TryLockFor" && c.perms == closed { // one with more rights may come in its time
						require.NoError(t, err)
						continue
					}
					require.ErrorIs(t, err, c.want, call)
					require.ErrorContains(t, err, "the sequence counter is at its end", call)
					require.ErrorContains(t, err, c.says, call)
					synctest.Wait()
					for _, name := range b.server.Children(c.path) {
						require.NotRegexp(t, contenderName, name)
					}
				}
			})
		})
	}
}

// A node that somebody has made by hand may have the number of a contender, which says nothing
// about the counter: the contender takes another place.
func TestANodeWithTheNumberOfAContenderIsNotTheEndOfTheCounter(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("a")
		byHand := b.path + "/_c_byhand-lock-0000000002"
		for _, node := range []string{b.path, b.path + "/config", byHand} {
			_, err := s.Conn().Create(node, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		granted := make(chan grant, 1)
		b.ask(within(t, patience), "a", b.locker(s), granted)
		names := b.server.Children(b.path)
		require.True(t, slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "0000000003") }),
			"the contender's second place: %v", names)
		require.NoError(t, s.Conn().Delete(byHand, -1))
		one := <-granted
		require.NoError(t, one.err)
		require.NoError(t, one.Release(t.Context()))
	})
}

// The numbers of permits mean nothing, and some have a sign at the end of the counter.
func TestPermitsAtTheEndOfTheCounterAreSeenAndAskedFor(t *testing.T) {
	const size = 4
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	s := at.sessionVia(server.Addr(), longSession)
	sem := at.semaphore(s, size)
	kept := take(t, sem, 1)
	server.SetSequence(at.path+"/leases", math.MaxInt32)
	h := take(t, sem, size-1)
	require.True(t, slices.ContainsFunc(at.leases(), func(name string) bool { return strings.Contains(name, "-lease--") }))
	_, err := sem.TryAcquire(within(t, patience), 1)
	require.ErrorIs(t, err, zklock.ErrLocked)
	permits := slices.DeleteFunc(at.inspect(s), func(c zklock.Contender) bool { return c.Kind != zklock.Permit })
	require.Len(t, permits, size)
	for _, c := range permits {
		require.NoError(t, zklock.Revoke(within(t, patience), s, c.Node))
	}
	receive(t, h.Revoked(), "the wish")
	require.NoError(t, h.Release(t.Context()))
	require.NoError(t, kept.Release(t.Context()))
	at.awaitLeases(0)
}
