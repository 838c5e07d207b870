package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// lossGrace is longer than what a session has left when its lease is over.
const lossGrace = 20 * time.Second

// The session lives: it was cut off for as long as the lease, and no longer.
func TestALostLockIsTheNextOnesWhenItsGraceIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		opts []zklock.Option
		then func(owner *zklock.Session)
		stay time.Duration
	}{
		"none":                {nil, nil, 0},
		"with it":             {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, nil, lossGrace},
		"a longer minimum":    {[]zklock.Option{zklock.WithLossGrace(time.Second), zklock.WithMinHold(time.Hour)}, nil, -1},
		"the session is over": {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, func(owner *zklock.Session) { owner.Close() }, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				owner := b.session("owner")
				h := must(b.locker(owner, c.opts...).Acquire(t.Context()))
				granted := make(chan grant, 1)
				b.ask(t.Context(), "next", b.locker(b.session("next")), granted)
				place := b.server.Client("owner")
				place.Block(zktest.ToServer)
				<-h.Lost()
				lost := time.Now()
				place.Unblock()
				if c.then != nil {
					time.Sleep(c.stay)
					c.then(owner)
				}
				g := <-granted
				require.NoError(t, g.Release(t.Context()))
				if c.stay < 0 {
					require.GreaterOrEqual(t, time.Since(lost), 59*time.Minute)
					return
				}
				require.GreaterOrEqual(t, time.Since(lost), c.stay)
				require.Less(t, time.Since(lost), c.stay+2*time.Second, "it connects again")
			})
		})
	}
}

func TestAGraceAfterALossIsNotNegative(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		_, err := zklock.New(b.session("owner"), b.path, zklock.WithLossGrace(-1))
		require.ErrorContains(t, err, "WithLossGrace(-1ns)")
	})
}

// The grace is for what an owner has, which a turn is not.
func TestATurnThatIsLostHasNoGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		sem := func(s *zklock.Session) *zklock.Semaphore {
			return must(zklock.NewSemaphore(s, b.path, 1, zklock.WithLossGrace(lossGrace)))
		}
		s := b.session("owner")
		held, owner, next := must(sem(b.session("holder")).Acquire(t.Context(), 1)), sem(s), sem(b.session("next"))
		other := must(must(zklock.New(s, "/other")).Acquire(t.Context())) // is lost with the turn
		go func() {
			if h, err := owner.Acquire(t.Context(), 1); err == nil {
				_ = h.Release(t.Context())
			}
		}()
		time.Sleep(time.Second)
		place := b.server.Client("owner")
		place.Block(zktest.ToServer)
		<-other.Lost()
		place.Unblock()
		require.NoError(t, held.Release(t.Context()))
		began := time.Now()
		require.NoError(t, must(next.Acquire(t.Context(), 1)).Release(t.Context()))
		require.Less(t, time.Since(began), 2*time.Second)
	})
}
