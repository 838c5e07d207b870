package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// A directory may be called leases.
func TestALockAboveOtherLocksThatAreCalledAsASemaphoresQueuesIsGranted(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		for _, path := range []string{"/app/locks/a", "/app/leases/a", "/app/locks", "/app/leases", "/app"} {
			l := must(zklock.New(s, path))
			require.NoError(t, l.LockContext(aMinute(t)), path)
			defer l.Unlock()
		}
	})
}
