package lock_test

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

func TestAnOldHoldKeepsNoLaterOnesInMemory(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("here"))
		granted := make(chan grant, 1)
		b.ask(t.Context(), "first", l, granted)
		first := b.next(granted).Hold
		var later []weak.Pointer[zklock.Hold]
		last := first
		for range 100 {
			b.ask(t.Context(), "later", l, granted)
			require.NoError(t, last.Release(t.Context())) // which hands the lock over
			last = b.next(granted).Hold
			later = append(later, weak.Make(last))
		}
		time.Sleep(time.Second) // after which their nodes would be watched
		kept := func() (n int) {
			for range 2 {
				runtime.GC()
			}
			for _, h := range later {
				if h.Value() != nil {
					n++
				}
			}
			return n
		}
		require.Less(t, kept(), 5, "of %d, while one is held", len(later))
		require.NoError(t, last.Release(t.Context()))
		last = nil
		require.Less(t, kept(), 5, "of %d, when none is held", len(later))
		runtime.KeepAlive(first)
	})
}
