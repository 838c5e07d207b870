package lock_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
				lost := b.cutUntil("owner", h.Lost())
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
		context.AfterFunc(h.Context(), func() {
			_ = before.Release(t.Context())
			ctx, cancel := context.WithTimeout(context.WithoutCancel(before.Context()), lossGrace/2)
			defer cancel()
			_, err := l.Acquire(ctx)
			assert.ErrorIs(t, err, context.DeadlineExceeded, "nor is it one's own")
		})
		require.GreaterOrEqual(t, b.loses("owner", h, granted), lossGrace)
	})
}

// A reconnect looks how much of it is left.
func TestAGraceDoesNotPassWhileTheMachineSleeps(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var c clock.Clock
		place := b.server.Client("owner")
		owner := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(place.Dial)))
		defer owner.Close()
		h := must(b.locker(owner, zklock.WithLossGrace(lossGrace)).Acquire(t.Context()))
		granted := make(chan grant, 1)
		b.ask(t.Context(), "next", b.locker(b.session("next")), granted)
		context.AfterFunc(h.Context(), func() {
			time.Sleep(lossGrace / 4)
			c.Step(lossGrace)
			place.Cut()
		})
		require.GreaterOrEqual(t, b.loses("owner", h, granted), lossGrace)
	})
}

func TestWithoutALossThereIsNoGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		h := must(b.locker(b.session("owner"), zklock.WithLossGrace(math.MaxInt64)).Acquire(t.Context()))
		require.NoError(t, h.Release(t.Context()))
		require.Zero(t, b.queue())
	})
}

// A MultiLocker that starts over has no use for it, and for the next hold by the same node it has.
func TestAHoldByANodeThatWasKeptHasItsGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		opts := []zklock.Option{zklock.WithoutOwner(), zklock.WithRetention(time.Minute), zklock.WithLossGrace(lossGrace)}
		l := b.locker(s, opts...)
		busy := must(must(zklock.New(b.session("busy"), "/z")).Acquire(t.Context()))
		several := must(zklock.NewMulti(l, must(zklock.New(s, "/z", opts...))))
		done := begin(func() error { return several.LockContext(t.Context()) })
		time.Sleep(time.Second)
		node := l.Held().Node()
		require.NoError(t, l.Held().Release(t.Context())) // any goroutine may
		time.Sleep(time.Second)
		require.NoError(t, busy.Release(t.Context()))
		require.NoError(t, <-done)
		require.Equal(t, node, l.Held().Node())
		granted := make(chan grant, 1)
		b.ask(t.Context(), "next", b.locker(b.session("next")), granted)
		require.GreaterOrEqual(t, b.loses("owner", l.Held(), granted), lossGrace)
		several.Unlock()
	})
}

// It is neither the next one's to wait for, nor one's own.
func TestWhereThereIsNoNodeThereIsNoGrace(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(b *bubble, s *zklock.Session, h *zklock.Hold)
		want error
	}{
		"deleted": {func(b *bubble, _ *zklock.Session, h *zklock.Hold) {
			require.NoError(b.t, b.session("operator").Conn().Delete(h.Node(), -1))
			<-h.Lost()
		}, nil},
		"closed": {func(b *bubble, s *zklock.Session, h *zklock.Hold) {
			b.cutUntil("owner", h.Lost())
			time.Sleep(5 * time.Second) // there is a connection again
			require.NoError(b.t, s.Close())
		}, zklock.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s := b.session("owner")
				l := b.locker(s, zklock.WithLossGrace(time.Hour))
				h := must(l.Acquire(t.Context()))
				c.end(b, s, h)
				ctx, cancel := context.WithTimeout(context.WithoutCancel(h.Context()), longSession)
				defer cancel()
				_, err := l.Acquire(ctx)
				require.ErrorIs(t, err, c.want)
			})
		})
	}
}

func TestAGraceEndsWithItsSession(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		sem := must(zklock.NewSemaphore(s, b.path, 1, zklock.WithLossGrace(time.Hour)))
		h := must(sem.Acquire(t.Context(), 1))
		require.True(t, b.server.ExpireSession(s.ID()))
		<-h.Lost()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.Context()), longSession)
		defer cancel()
		require.NoError(t, must(sem.Acquire(ctx, 1)).Release(ctx))
	})
}

// A member of the handoff has got its node since.
func TestAMultiLockerThatGivesBackWhatWasReleasedEndsNobodyElsesGrace(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := b.session("owner")
		opts := []zklock.Option{zklock.WithoutOwner(), zklock.WithHandoff(4), zklock.WithLossGrace(lossGrace)}
		l := b.locker(s, opts...)
		busy := must(must(zklock.New(b.session("busy"), "/z")).Acquire(ctx))
		defer func() { _ = busy.Release(context.Background()) }()
		several := must(zklock.NewMulti(l, must(zklock.New(s, "/z", opts...))))
		go func() { _ = several.LockContext(ctx) }()
		time.Sleep(time.Second)
		got := make(chan *zklock.Hold)
		go func() { got <- must(l.Acquire(ctx)) }()
		synctest.Wait()
		require.NoError(t, l.Held().Release(ctx)) // any goroutine may
		h := <-got
		time.Sleep(time.Second)
		granted := make(chan grant, 1)
		b.ask(ctx, "next", b.locker(b.session("next")), granted)
		require.GreaterOrEqual(t, b.loses("owner", h, granted), lossGrace)
	})
}

// loses has the client lose h, and returns how long after that the lock is granted.
func (b *bubble) loses(client string, h *zklock.Hold, granted <-chan grant) time.Duration {
	b.t.Helper()
	lost := b.cutUntil(client, h.Lost())
	g := <-granted
	require.NoError(b.t, g.Release(b.t.Context()))
	return time.Since(lost)
}

// cutUntil keeps the client's requests back until a hold of its session, which lives on, is lost,
// and returns when that was.
func (b *bubble) cutUntil(client string, lost <-chan struct{}) time.Time {
	place := b.server.Client(client)
	place.Block(zktest.ToServer)
	<-lost
	at := time.Now()
	place.Unblock()
	return at
}

// It lasts until the function has returned that waits.
func TestACallDoesNotWaitForTheGraceOfWhatItsOwnContextCarries(t *testing.T) {
	type (
		call func(ctx context.Context) error
		do   func(ctx context.Context, f func(context.Context) error) error
	)
	grace := zklock.WithLossGrace(time.Hour)
	handle := func(_ *zklock.Hold, err error) error { return err }
	for name, of := range map[string]func(b *bubble, s *zklock.Session) (do, call){
		"Locker.LockContext": func(b *bubble, s *zklock.Session) (do, call) {
			l := b.locker(s, grace)
			return l.Do, l.LockContext
		},
		"Locker.Acquire": func(b *bubble, s *zklock.Session) (do, call) {
			l := b.locker(s, grace)
			return l.Do, func(ctx context.Context) error { return handle(l.Acquire(ctx)) }
		},
		"another Locker": func(b *bubble, s *zklock.Session) (do, call) { return b.locker(s, grace).Do, b.locker(s).LockContext },
		"MultiLocker.Acquire": func(b *bubble, s *zklock.Session) (do, call) {
			m := must(zklock.NewMulti(b.locker(s, grace)))
			return m.Do, func(ctx context.Context) error { _, err := m.Acquire(ctx); return err }
		},
		"Semaphore.Acquire": func(_ *bubble, s *zklock.Session) (do, call) {
			sem := must(zklock.NewSemaphore(s, "/sem", 2, grace))
			return func(ctx context.Context, f func(context.Context) error) error { return sem.Do(ctx, 2, f) },
				func(ctx context.Context) error { return handle(sem.Acquire(ctx, 1)) }
		},
		"RWLocker.Acquire": func(b *bubble, s *zklock.Session) (do, call) {
			l := must(zklock.NewRW(s, b.path, grace))
			return l.RDo, func(ctx context.Context) error { return handle(l.Acquire(ctx)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				do, again := of(b, b.session("owner"))
				require.ErrorIs(t, do(t.Context(), func(ctx context.Context) error {
					b.cutUntil("owner", zklock.HoldFrom(ctx).Lost())
					began := time.Now()
					err := again(context.WithoutCancel(ctx))
					require.Zero(t, time.Since(began))
					return err
				}), zklock.ErrDeadlock)
			})
		})
	}
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
		b.cutUntil("owner", other.Lost())
		require.NoError(t, held.Release(t.Context()))
		began := time.Now()
		require.NoError(t, must(next.Acquire(t.Context(), 1)).Release(t.Context()))
		require.Less(t, time.Since(began), 2*time.Second)
	})
}
