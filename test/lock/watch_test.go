package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// The client cannot forget a watch: it would have one more of each node that stays as it is,
// and is watched anew, after each reconnect. What it has it sets again then.
func TestTheClientRemembersNoWatchThroughReconnects(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s, granted := b.session("owner"), make(chan grant, 2)
		holder := b.locker(s)
		holder.Lock()
		b.ask(t.Context(), "waiter", b.locker(b.session("waiter")), granted)
		b.path = "/kept"
		kept := b.locker(s, zklock.WithRetention(time.Hour))
		kept.Lock()
		kept.Unlock() //lint:ignore SA2001 its node is kept
		b.path = "/permits"
		all, err := b.semaphore(s, 1).Acquire(t.Context(), 1)
		require.NoError(t, err)
		permits := b.semaphore(b.session("another"), 1)
		go func() {
			h, err := permits.Acquire(t.Context(), 1)
			granted <- grant{"another", h, err}
		}()
		var watches map[string]int
		const cuts = 5
		for range cuts {
			time.Sleep(time.Second)
			watches = b.server.Watches()
			b.server.Cut()
			time.Sleep(time.Second)
			require.Equal(t, watches, b.server.Watches())
		}
		require.Contains(t, watches, "/kept")
		require.Contains(t, watches, "/permits/leases")
		require.Equal(t, 2*cuts, b.server.Requests()[zktest.OpSetWatches], "one of each session that holds something, and none of go-zookeeper's")
		holder.Unlock()
		require.Equal(t, "waiter", b.next(granted).who)
		require.NoError(t, all.Release(t.Context()))
		require.Equal(t, "another", b.next(granted).who)
	})
}
