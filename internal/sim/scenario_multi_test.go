package sim

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// A machine may sleep while a MultiLocker waits for the last of its locks. The first may
// be of another session: the grant of the last has not looked at its lease, and no timer has.
func TestSeveralLocksOfTwoSessionsAreHadWhileBothLeasesRun(t *testing.T) {
	play(t, 1, func(s *stage) {
		a, b, other := s.enter("a"), s.enter("b"), s.enter("other")
		first, err := zklock.New(a.Session, "/a")
		require.NoError(s, err)
		held := other.mustTake()
		m := zklock.NewMulti(first, b.Locker)
		valid := make(chan bool)
		go func() {
			m.Lock()
			defer m.Unlock()
			valid <- first.Held().Valid() && b.Held().Valid()
		}()
		synctest.Wait()
		a.sleep(3 * timeout / 4)
		b.sleep(3 * timeout / 4)
		require.NoError(s, other.give(held))
		require.True(s, <-valid)
	})
}
