package zklock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// A server counts the children of a path in 32 bits, and at the end its numbers
// no longer tell who came first. It takes two thousand million locks to get
// there on a real one.
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

// While the end is near, the release that empties the queue starts the counter
// anew, long before numbers repeat.
func TestTheCounterStartsAnewInTime(t *testing.T) {
	server := zktest.NewServer(t)
	at := siteAt(t, server.Addr())
	at.makeParent()
	l := at.stranger()
	server.SetSequence(at.path, math.MaxInt32-1<<24+10)
	require.NoError(t, l.LockContext(within(t, patience)))
	token := l.Held().Token()
	require.NoError(t, l.UnlockContext(t.Context()))
	require.NoError(t, l.LockContext(within(t, patience)))
	require.Equal(t, "0000000000", sequenceOf(l.Held().Node()))
	require.Greater(t, l.Held().Token(), token)
}
