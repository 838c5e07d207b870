package lock_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock that went from one goroutine to the next leaves nodes behind that are deleted in the
// background. What its session asks for after the last Unlock stands behind their deletes.
func TestALockThatAllHaveUnlockedIsFreeToItsSessionAtOnce(t *testing.T) {
	const rounds, goroutines = 500, 8
	inBubble(t, func(t *testing.T, b *bubble) {
		s, sections := b.session("here"), 0
		l := b.locker(s)
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
			left, _, err := s.Conn().Children(b.path)
			require.NoError(t, err)
			require.Empty(t, left)
		}
		require.Equal(t, rounds*goroutines, sections)
	})
}
