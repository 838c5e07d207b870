package zklock_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that went from one goroutine to the next leaves nodes behind that are deleted
// in the background. What is asked for after the last Unlock stands behind their deletes.
func TestALockThatAllHaveUnlockedIsFreeToItsSessionAtOnce(t *testing.T) {
	const rounds, goroutines = 500, 8
	inBubble(t, func(t *testing.T, b *bubble) {
		l, sections := b.locker(b.session("here")), 0
		for range rounds {
			var work sync.WaitGroup
			for range goroutines {
				work.Go(func() {
					l.Lock()
					sections++
					l.Unlock()
				})
			}
			work.Wait()
			h, err := l.TryAcquire(t.Context())
			require.NoError(t, err)
			require.NoError(t, h.Release(t.Context()))
		}
		require.Equal(t, rounds*goroutines, sections)
	})
}
