package lock_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// No timer has run when a machine wakes up, and the first thing that its program does is to give back.
func TestALossInASleepIsToldByTheReleaseThatFollowsIt(t *testing.T) {
	for name, give := range map[string]func(l *zklock.Locker, sleep func()) error{
		"Do": func(l *zklock.Locker, sleep func()) error {
			return l.Do(context.Background(), func(context.Context) error { sleep(); return nil })
		},
		"Do whose function fails": func(l *zklock.Locker, sleep func()) error {
			return l.Do(context.Background(), func(context.Context) error { sleep(); return io.EOF })
		},
		"UnlockContext": func(l *zklock.Locker, sleep func()) error {
			l.Lock()
			sleep()
			return l.UnlockContext(context.Background())
		},
		"Release": func(l *zklock.Locker, sleep func()) error {
			h := must(l.Acquire(context.Background()))
			sleep()
			return h.Release(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var c clock.Clock
				machine := b.server.Client("sleeper")
				s := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(machine.Dial)))
				t.Cleanup(func() { s.Close() })
				other := b.locker(b.session("other"))
				require.ErrorIs(t, give(b.locker(s), func() {
					machine.Block(zktest.ToClient)
					b.server.ExpireSession(s.ID())
					<-begin(func() error { return other.Do(context.Background(), nothing) })
					c.Step(2 * longSession)
					machine.Unblock()
				}), zklock.ErrLost)
			})
		})
	}
}

// answersTake has each answer to what place sends take d, half of it in each direction.
func answersTake(place *zktest.Client, d time.Duration) {
	place.Delay(zktest.ToServer, d/2, d/2)
	place.Delay(zktest.ToClient, d/2, d/2)
}

// unheard has the answer to a connect request lost, and the next one heard.
func unheard(b *bubble, s *zklock.Session, d time.Duration) {
	place := b.server.Client("here")
	lost := b.server.DropReply(zktest.OpConnect, zktest.OnClient(place))
	place.Cut()
	<-lost.Struck()
	time.Sleep(d)
	must(s.Conn().Sync("/"))
}

// A lock is to be had while two proofs leave a lease of use, and lasts up to a 12th of the timeout; while a
// connect request is unheard it is to be had up to that.
func TestALockIsHadAndKeptWhileAnswersTakeA12thOfTheTimeoutAtMost(t *testing.T) {
	const timeout, phases = 8 * time.Second, 40
	for permille := time.Duration(4); permille <= 100; permille += 6 { // of which 82 is the last below a 12th
		for phase := range time.Duration(phases) {
			if skips() > 1 {
				continue
			}
			lasts := permille < 1000/12
			doubtful := phase%4 == 0 && lasts
			inBubble(t, func(t *testing.T, b *bubble) {
				place := b.server.Client("here")
				answersTake(place, permille*timeout/1000)
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout, zklock.WithDialer(place.Dial)))
				defer s.Close()
				if doubtful {
					unheard(b, s, timeout)
				}
				time.Sleep(phase * 3 * timeout / phases)
				asked := time.Now()
				h := must(b.locker(s).Acquire(t.Context()))
				require.Less(t, time.Since(asked), 3*timeout/4, "answers of %d thousandths of the timeout, phase %d", permille, phase)
				if lasts {
					time.Sleep(2 * timeout)
					require.NoError(t, h.Err(), "answers of %d thousandths of the timeout, phase %d", permille, phase)
				}
			})
		}
	}
}

// No lease that can be had would leave time for the next proof.
func TestNoLockIsHadWhereAnswersTakeTooLongAndTheLogSaysSo(t *testing.T) {
	const timeout = 8 * time.Second
	for permille, had := range map[time.Duration]bool{82: true, 150: false} {
		inBubble(t, func(t *testing.T, b *bubble) {
			place, log := b.server.Client("here"), new(lockedBuffer)
			answersTake(place, permille*timeout/1000)
			s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout,
				zklock.WithDialer(place.Dial), zklock.WithLogger(slog.New(slog.NewTextHandler(log, nil)))))
			defer s.Close()
			time.Sleep(timeout)
			ctx, cancel := context.WithTimeout(t.Context(), 5*timeout)
			defer cancel()
			h, err := b.locker(s).Acquire(ctx)
			require.Equal(t, had, err == nil, permille)
			told := strings.Count(log.String(), "answers take too long for the session timeout")
			if had {
				require.Zero(t, told)
				require.NoError(t, h.Release(t.Context()))
				return
			}
			require.Equal(t, 1, told)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			answersTake(place, 0)
			require.NoError(t, must(b.locker(s).Acquire(t.Context())).Release(t.Context()), "they are fast again")
		})
	}
}

// Of two proofs under way at once, the first makes the lease longer, by which the second has more time.
func TestAHoldIsKeptThoughOthersAreAskedForWhileItsProofsAreUnderWay(t *testing.T) {
	const timeout, phases = 8 * time.Second, 40
	for permille := time.Duration(60); permille <= 76; permille += 4 {
		for phase := range time.Duration(phases) {
			if skips() > 1 {
				continue
			}
			inBubble(t, func(t *testing.T, b *bubble) {
				place := b.server.Client("here")
				answersTake(place, permille*timeout/1000)
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout, zklock.WithDialer(place.Dial)))
				defer s.Close()
				unheard(b, s, timeout)
				held := must(must(zklock.New(s, "/held")).Acquire(t.Context()))
				other := must(b.locker(b.session("other")).Acquire(t.Context()))
				next := begin(func() *zklock.Hold { return must(b.locker(s).Acquire(t.Context())) })
				time.Sleep(timeout + phase*timeout/8/phases)
				require.NoError(t, other.Release(t.Context()))
				<-next
				time.Sleep(timeout)
				require.NoError(t, held.Err(), "answers of %d thousandths of the timeout, phase %d", permille, phase)
			})
		}
	}
}

// A semaphore gives its turn back between the grant and the call's end.
func TestPermitsThatAreLostBeforeTheirCallReturnsAreTakenAnew(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		srv := zktest.NewServer(t, zktest.WithLatency(timeout/20, timeout/20))
		var deletes atomic.Int32
		s := must(zklock.Connect(t.Context(), []string{srv.PipeAddr()}, timeout, zklock.WithDialer(stalling(srv.Dial, func(frame []byte) bool {
			return isOf(frame, zktest.OpDelete) && deletes.Add(1) == 1
		}))))
		defer s.Close()
		h := must(must(zklock.NewSemaphore(s, "/permits", 1)).Acquire(t.Context(), 1))
		require.NoError(t, h.Err())
		require.Greater(t, deletes.Load(), int32(1), "the turn of the permits that were lost was one of two")
	})
}
