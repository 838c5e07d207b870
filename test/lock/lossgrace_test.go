package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/zktest"
)

// lossGrace is longer than what a session has left when its lease is over.
const lossGrace = 20 * time.Second

// The session lives: it was cut off for as long as the lease, and no longer.
func TestALostLockIsTheNextOnesWhenItsGraceIsOver(t *testing.T) {
	for name, c := range map[string]struct {
		opts []zklock.Option
		then func(owner *zklock.Session, h *zklock.Hold)
		stay time.Duration
	}{
		"none":                {nil, nil, 0},
		"with it":             {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, nil, lossGrace},
		"a longer minimum":    {[]zklock.Option{zklock.WithLossGrace(time.Second), zklock.WithMinHold(time.Hour)}, nil, -1},
		"the session is over": {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, func(owner *zklock.Session, _ *zklock.Hold) { owner.Close() }, 5 * time.Second},
		"given back":          {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, giveBackLost, 5 * time.Second},
		"given back at once":  {[]zklock.Option{zklock.WithLossGrace(lossGrace)}, giveBackLost, 0},
		"given back before the minimum is over": {
			[]zklock.Option{zklock.WithLossGrace(2 * time.Hour), zklock.WithMinHold(time.Hour)}, giveBackLost, -1,
		},
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
					c.then(owner, h)
				}
				g := <-granted
				require.NoError(t, g.Release(t.Context()))
				if c.stay < 0 {
					require.InDelta(t, time.Hour, time.Since(lost), float64(time.Minute))
					return
				}
				require.GreaterOrEqual(t, time.Since(lost), c.stay)
				require.Less(t, time.Since(lost), c.stay+2*time.Second, "it connects again")
			})
		})
	}
}

func giveBackLost(_ *zklock.Session, h *zklock.Hold) {
	if !errors.Is(h.Release(context.Background()), zklock.ErrLost) {
		panic("it was not lost")
	}
}

func TestAHoldThatIsGivenBackAgainEndsNobodyElsesGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("owner"), zklock.WithHandoff(4), zklock.WithLossGrace(lossGrace))
		before := must(l.Acquire(t.Context()))
		got := make(chan *zklock.Hold)
		go func() { got <- must(l.Acquire(t.Context())) }()
		synctest.Wait()
		require.NoError(t, before.Release(t.Context()))
		h := <-got
		granted := make(chan grant, 1)
		b.ask(t.Context(), "next", b.locker(b.session("next")), granted)
		place := b.server.Client("owner")
		place.Block(zktest.ToServer)
		<-h.Lost()
		lost := time.Now()
		place.Unblock()
		_ = before.Release(t.Context())
		g := <-granted
		require.GreaterOrEqual(t, time.Since(lost), lossGrace)
		require.NoError(t, g.Release(t.Context()))
	})
}

// Its owner, who has given it back, was the last that had it.
func TestAMemberThatIsHandedALostLockHasNoGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var c clock.Clock
		s, err := zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(b.server.Dial))
		require.NoError(t, err)
		defer s.Close()
		l := b.locker(s, zklock.WithHandoff(4), zklock.WithLossGrace(time.Hour))
		l.Lock()
		got := begin(func() error {
			defer l.Unlock()
			return l.LockContext(t.Context())
		})
		synctest.Wait()
		c.Step(longSession * 7 / 10) // the machine sleeps, and the session lives
		l.Unlock()
		began := time.Now()
		require.NoError(t, <-got)
		require.Less(t, time.Since(began), longSession)
	})
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
