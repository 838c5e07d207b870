package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// goingOn are the ways from one node to the next: each goes on while busy writes on the former,
// and returns the new hold.
var goingOn = map[string]func(t *testing.T, b *bubble, s *zklock.Session, busy func(node string) (stop func())) *zklock.Hold{
	"from writing to reading": func(t *testing.T, b *bubble, s *zklock.Session, busy func(string) func()) *zklock.Hold {
		l := must(zklock.NewRW(s, b.path))
		l.Lock()
		t.Cleanup(l.Unlock)
		defer busy(l.Held().Node())()
		require.NoError(t, l.RLockContext(aMinute(t)))
		t.Cleanup(l.RUnlock)
		return l.RHeld()
	},
	"from a turn to permits": func(t *testing.T, b *bubble, s *zklock.Session, busy func(string) func()) *zklock.Hold {
		sem := must(zklock.NewSemaphore(s, b.path, 1))
		first := must(sem.Acquire(t.Context(), 1))
		granted := make(chan grant, 1)
		go func() {
			h, err := sem.Acquire(aMinute(t), 1)
			granted <- grant{"second", h, err}
		}()
		time.Sleep(time.Second) // it has its turn
		turns := b.server.Children(b.path + "/locks")
		require.Len(t, turns, 1)
		defer busy(b.path + "/locks/" + turns[0])()
		require.NoError(t, first.Release(t.Context()))
		second := <-granted
		require.NoError(t, second.err)
		return second.Hold
	},
}

// The transaction that makes the new node checks that nothing was written on the former that is
// unheard of. Somebody may write there all the time.
func TestWhoGoesOnDoesNotWaitUntilNobodyWritesOnItsNode(t *testing.T) {
	for name, goOn := range goingOn {
		t.Run(name, func(t *testing.T) {
			virtual.Test(t, func(t *testing.T) {
				const delay = 5 * time.Millisecond
				b := &bubble{t, zktest.NewServer(t, zktest.WithLatency(delay, delay)), "/lock"}
				operator := b.session("operator").Conn()
				h := goOn(t, b, b.session("owner"), func(node string) func() {
					ctx, cancel := context.WithCancel(t.Context())
					for range 20 { // one after the other, half a millisecond apart
						time.Sleep(delay / 10)
						go func() {
							for ctx.Err() == nil {
								_, _ = operator.Set(node, []byte("at work"), -1)
							}
						}()
					}
					return cancel
				})
				require.NoError(t, h.Err())
				require.False(t, isClosed(h.Revoked()))
			})
		})
	}
}
