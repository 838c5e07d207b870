package lock_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

const (
	clockSession = 8 * time.Second
	sleeping     = clockSession * 5 / 8
)

// A machine that sleeps finds its wall clock ahead of what its timers have lived through. Two
// holders are cut off at the same time, and one of them then sleeps.
func TestAHoldEndsEarlierByTheTimeThatItsMachineSlept(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	var sleeper, awake clock.Clock
	slept, waking := at.holder(&sleeper), at.holder(&awake)
	at.proxy.Freeze(faultproxy.ClientToServer)
	sleeper.Step(sleeping)
	receive(t, slept.Lost(), "the end of the hold whose machine slept")
	lost := time.Now()
	receive(t, waking.Lost(), "the end of the other")
	require.Greater(t, time.Since(lost), sleeping/5)
	at.proxy.Thaw(faultproxy.ClientToServer)
}

func TestAWallClockThatIsSetBackKeepsNoHoldAlive(t *testing.T) {
	t.Parallel()
	at := newSite(t)
	var c clock.Clock
	h := at.holder(&c)
	at.proxy.Freeze(faultproxy.ClientToServer)
	c.Step(-time.Hour)
	receive(t, h.Lost(), "the end of the hold")
	at.proxy.Thaw(faultproxy.ClientToServer)
}

// No timer has run when a machine wakes up, and the first thing that its program does is to give back.
func TestALossInASleepIsToldByTheReleaseThatFollowsIt(t *testing.T) {
	for name, give := range map[string]func(l *zklock.Locker, sleep func()) error{
		"Do": func(l *zklock.Locker, sleep func()) error {
			return l.Do(context.Background(), func(context.Context) error { sleep(); return nil })
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

// holder has a lock of its own, on a machine that c is the clock of.
func (at *site) holder(c *clock.Clock) *zklock.Hold {
	at.t.Helper()
	s, err := zklock.Connect(clock.With(within(at.t, patience), c), []string{at.proxy.Addr()}, clockSession)
	require.NoError(at.t, err)
	at.t.Cleanup(func() { s.Close() })
	l, err := zklock.New(s, fmt.Sprintf("%s-%x", at.path, s.ID()))
	require.NoError(at.t, err)
	h, err := l.Acquire(context.Background())
	require.NoError(at.t, err)
	return h
}

// pinging is a client's connection that says when it has sent a ping.
type pinging struct {
	net.Conn
	pinged func()
}

func (c *pinging) Write(p []byte) (int, error) {
	if len(p) == 12 && isOf(p, zktest.OpPing) {
		c.pinged()
	}
	return c.Conn.Write(p)
}

// awaitTouch returns when the leader has been told of a touch of the session.
func awaitTouch(e *zktest.Ensemble, id int64) time.Time {
	ends := func() time.Time {
		i := slices.IndexFunc(e.Sessions(), func(s zktest.Session) bool { return s.ID == id })
		return e.Sessions()[i].Ends
	}
	for before := ends(); ends() == before; {
		time.Sleep(time.Millisecond / 2)
	}
	return time.Now()
}

// A leader asks its followers for touches each half tick, which by the client's clock may take longer
// than a quarter of the timeout. A ping that was answered as long ago may not have been told yet.
func TestAFirstHoldIsLostInTimeThoughTheLeaderIsLate(t *testing.T) {
	t.Parallel()
	const timeout, tick = 2 * time.Second, 1009 * time.Millisecond
	const halfTick, late = tick / 2, tick/2 - timeout/4
	for seed := range int64(60) {
		virtual.Test(t, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3, zktest.WithSeed(seed), zktest.WithTickTime(tick))
			leader := slices.Index(e.Servers(), e.Leader())
			follower, others := (leader+1)%3, (leader+2)%3
			pings := make(chan struct{}, 1)
			connect := func(name string, server int, pinged func()) (*zklock.Session, *zklock.Locker) {
				s := must(zklock.Connect(t.Context(), e.PipeAddrs()[server:server+1], timeout,
					zklock.WithDialer(func(network, address string, limit time.Duration) (net.Conn, error) {
						conn, err := e.Client(name).Dial(network, address, limit)
						if err != nil {
							return nil, err
						}
						slow := func(time.Duration) time.Duration { return timeout } // what it calls longer, by a clock that is slow
						return &pinging{faultproxy.Granting(conn, slow), pinged}, nil
					})))
				t.Cleanup(func() { s.Close() })
				return s, must(zklock.New(s, "/lock"))
			}
			session, holder := connect("holder", follower, func() {
				select {
				case pings <- struct{}{}:
				default:
				}
			})
			_, next := connect("next", others, func() {})
			require.NoError(t, next.Do(t.Context(), nothing), "the path exists")
			told := awaitTouch(e, session.ID())
			for pinged := time.Now(); ; pinged = time.Now() {
				if since := pinged.Sub(told) % halfTick; since > 0 && since < late {
					break
				}
				<-pings
			}
			time.Sleep(timeout/4 + time.Microsecond)
			h := must(holder.Acquire(t.Context()))
			e.Partition(e.Server(follower))
			e.Client("holder").Block(zktest.ToServer)
			e.Client("holder").Block(zktest.ToClient)
			must(next.Acquire(t.Context()))
			require.True(t, isClosed(h.Lost()), "seed %d", seed)
		})
	}
}

// A leader that goes on after a pause may commit a lock and end its session just behind it. What proofs
// took before says nothing of how long this one may have waited.
func TestALockThatWaitedForAPausedLeaderIsNotQuickForWhatProofsOnceTook(t *testing.T) {
	const timeout, slow, pause = 2 * time.Second, 120 * time.Millisecond, 2200 * time.Millisecond
	for asked := slow / 2; asked < 4*slow; asked += slow / 10 {
		virtual.Test(t, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3, zktest.WithTickTime(timeout/2), zktest.WithSyncLimit(10), zktest.WithSeed(int64(asked)))
			leader := slices.Index(e.Servers(), e.Leader())
			connect := func(name string, server int, timeout time.Duration) (*zklock.Session, *zklock.Locker) {
				s := must(zklock.Connect(t.Context(), e.PipeAddrs()[server:server+1], timeout, zklock.WithDialer(e.Client(name).Dial)))
				t.Cleanup(func() { s.Close() })
				return s, must(zklock.New(s, "/lock"))
			}
			_, first := connect("first", (leader+1)%3, timeout)
			other, next := connect("next", (leader+2)%3, 5*timeout)
			must(must(zklock.New(other, "/other")).Acquire(t.Context())) // so that its lease runs
			e.Client("first").Delay(zktest.ToServer, slow, slow)
			require.NoError(t, first.Do(t.Context(), func(context.Context) error { time.Sleep(timeout / 3); return nil }))
			e.Client("first").Delay(zktest.ToServer, 0, 0)
			time.Sleep(5*timeout + 3*asked)
			e.Server(leader).Freeze()
			time.Sleep(pause - asked)
			ctx, cancel := context.WithTimeout(t.Context(), pause)
			defer cancel()
			granted := begin(func() *zklock.Hold { h, _ := first.Acquire(ctx); return h })
			time.Sleep(time.Millisecond)
			follows := begin(func() *zklock.Hold { return must(next.Acquire(t.Context())) })
			time.Sleep(asked)
			e.Server(leader).Thaw()
			if h := <-granted; h != nil {
				time.AfterFunc(timeout, func() { h.Release(t.Context()) })
				<-follows
				require.False(t, h.Valid(), "asked for %v before the leader went on", asked)
			}
		})
	}
}

// The lock before is given back during the pause: its delete is what waits for the leader, and the
// write of the next follows right behind it.
func TestALockRightBehindAnUnlockThatWaitedForAPausedLeaderIsNotQuick(t *testing.T) {
	const timeout, pause = 2 * time.Second, time.Second
	for seed := range int64(100) {
		virtual.Test(t, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3, zktest.WithTickTime(timeout/2), zktest.WithSyncLimit(10), zktest.WithSeed(seed),
				zktest.WithLatency(0, time.Millisecond), zktest.WithServerLatency(0, time.Millisecond))
			leader := slices.Index(e.Servers(), e.Leader())
			connect := func(name string, server int) *zklock.Session {
				s := must(zklock.Connect(t.Context(), e.PipeAddrs()[server:server+1], timeout, zklock.WithDialer(e.Client(name).Dial)))
				t.Cleanup(func() { s.Close() })
				return s
			}
			s := connect("first", (leader+1)%3)
			before, first := must(zklock.New(s, "/before")), must(zklock.New(s, "/lock"))
			next := must(zklock.New(connect("next", (leader+2)%3), "/lock"))
			require.NoError(t, next.Do(t.Context(), func(context.Context) error { return nil }), "the path is there")
			time.Sleep(5*timeout + time.Duration(seed)*timeout/100)
			before.Lock()
			e.Server(leader).Freeze()
			time.AfterFunc(pause, e.Server(leader).Thaw)
			before.Unlock()
			h := must(first.Acquire(t.Context()))
			e.Server((leader + 1) % 3).Freeze()
			time.AfterFunc(timeout, func() { h.Release(t.Context()) })
			follows := must(next.Acquire(t.Context()))
			require.False(t, h.Valid(), "seed %d", seed)
			require.NoError(t, follows.Release(t.Context()))
		})
	}
}

// What others write slowly leaves a doubt each time, but a proof is the second of two all the same.
func TestSlowWritesOfOthersKeepNobodyFromALease(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		const timeout = 2 * time.Second
		e := zktest.NewEnsemble(t, 1)
		s := must(zklock.Connect(t.Context(), e.PipeAddrs(), timeout, zklock.WithDialer(e.Client("slow").Dial)))
		defer s.Close()
		e.Client("slow").Delay(zktest.ToServer, timeout/50, timeout/50)
		l := must(zklock.New(s, "/lock"))
		time.Sleep(5 * timeout)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		wrote := begin(func() error {
			for ctx.Err() == nil {
				if _, err := s.Conn().Set("/", nil, -1); err != nil {
					return err
				}
			}
			return nil
		})
		h, err := l.Acquire(ctx)
		require.NoError(t, err)
		cancel()
		require.NoError(t, <-wrote)
		require.NoError(t, h.Release(t.Context()))
	})
}

// All that the connection has answered was slow, pings too, and it is fast again while a first lock
// waits for the leader.
func TestALockThatWaitedForAPausedLeaderIsNotQuickForHowSlowTheNetworkWas(t *testing.T) {
	const timeout, slow = 2 * time.Second, 330 * time.Millisecond
	for seed := range int64(100) {
		virtual.Test(t, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3, zktest.WithTickTime(timeout/5), zktest.WithSeed(seed),
				zktest.WithLatency(0, time.Millisecond), zktest.WithServerLatency(0, time.Millisecond))
			leader, place := slices.Index(e.Servers(), e.Leader()), e.Client("first")
			connect := func(place *zktest.Client, server int) *zklock.Locker {
				s := must(zklock.Connect(t.Context(), e.PipeAddrs()[server:server+1], timeout, zklock.WithDialer(place.Dial)))
				t.Cleanup(func() { s.Close() })
				return must(zklock.New(s, "/lock"))
			}
			next := connect(e.Client("next"), (leader+2)%3)
			require.NoError(t, next.Do(t.Context(), func(context.Context) error { return nil }), "the path is there")
			place.Delay(zktest.ToClient, slow, slow)
			first := connect(place, (leader+1)%3)
			time.Sleep(timeout/3 - time.Millisecond) // a ping is about to go out
			e.Server(leader).Freeze()
			time.Sleep(slow + timeout*290/1024) // it was answered 9/32 of the timeout ago
			granted := begin(func() *zklock.Hold { return must(first.Acquire(t.Context())) })
			time.Sleep(slow - timeout/500)
			place.Delay(zktest.ToClient, 0, 0)
			e.Server(leader).Thaw()
			follows := begin(func() *zklock.Hold { return must(next.Acquire(t.Context())) })
			select {
			case h := <-granted:
				e.Server((leader + 1) % 3).Freeze()
				time.AfterFunc(timeout, func() { h.Release(t.Context()) })
				<-follows
				require.False(t, h.Valid(), "seed %d", seed)
			case h := <-follows:
				require.NoError(t, h.Release(t.Context()))
				<-granted
			}
		})
	}
}

// gap is a time in which a session hears of no server.
type gap func(b *bubble, c *clock.Clock, s *zklock.Session, d time.Duration)

var gaps = map[string]gap{
	"the network stood": func(b *bubble, _ *clock.Clock, _ *zklock.Session, d time.Duration) {
		place := b.server.Client("here")
		place.Block(zktest.ToServer)
		time.Sleep(d)
		place.Unblock()
	},
	"the machine slept": func(b *bubble, c *clock.Clock, s *zklock.Session, d time.Duration) {
		c.Step(d)
		b.server.Ensemble().AgeSession(s.ID(), d)
	},
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

// behindGap has test take a lock in a session that has held nothing for long, so long behind a gap.
func behindGap(t *testing.T, timeout time.Duration, of gap, idle, length, later time.Duration, test func(b *bubble, l *zklock.Locker)) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var c clock.Clock
		place := b.server.Client("here")
		s := must(zklock.Connect(clock.With(t.Context(), &c), []string{b.server.PipeAddr()}, timeout, zklock.WithDialer(place.Dial)))
		defer s.Close()
		l := b.locker(s)
		require.NoError(t, l.Do(t.Context(), nothing))
		time.Sleep(3*timeout + idle)
		of(b, &c, s, length)
		time.Sleep(later)
		test(b, l)
	}, zktest.WithTickTime(timeout/5), zktest.WithLatency(time.Millisecond, time.Millisecond))
}

// What was answered before the gap ends the lease before anything since can make it longer: the
// first lock waits for that.
func TestALockBehindATimeWithoutAnswersIsKept(t *testing.T) {
	const timeout = 10 * time.Second
	for name, of := range gaps {
		for phase := range time.Duration(12) { // of the pings
			for _, part := range []time.Duration{30, 40, 50, 55, 60, 64} {
				behindGap(t, timeout, of, phase*timeout/36, timeout*part/100, timeout/50, func(b *bubble, l *zklock.Locker) {
					asked := time.Now()
					h := must(l.Acquire(context.Background()))
					require.Less(t, time.Since(asked), timeout/2, "phase %d, %d %%, %s", phase, part, name)
					time.Sleep(2 * timeout)
					require.NoError(t, h.Err(), "phase %d, %d %%, %s", phase, part, name)
				})
			}
		}
	}
}

// behindGaps has test hold a lock that was asked for at several times behind gaps of several lengths.
func behindGaps(t *testing.T, timeout time.Duration, gaps map[string]gap, test func(b *bubble, h *zklock.Hold, where string)) {
	for name, of := range gaps {
		for _, part := range []time.Duration{15, 20, 25, 30, 40, 50} {
			for later := range time.Duration(18) {
				behindGap(t, timeout, of, 0, timeout*part/100, later*timeout/50, func(b *bubble, l *zklock.Locker) {
					test(b, must(l.Acquire(context.Background())), fmt.Sprintf("%d %%, %d, %s", part, later, name))
				})
			}
		}
	}
}

// A server may take a 20th of the timeout, though the last proofs were quick, without being given up.
func TestALockBehindATimeWithoutAnswersIsKeptThoughTheNextAnswersTakeLong(t *testing.T) {
	const timeout = 10 * time.Second
	behindGaps(t, timeout, gaps, func(b *bubble, h *zklock.Hold, where string) {
		answersTake(b.server.Client("here"), 2*timeout/41)
		time.Sleep(2 * timeout)
		require.NoError(t, h.Err(), where)
	})
}

// The operations page says how long a hold lasts at least.
func TestALockBehindATimeWithoutAnswersOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	outlasts := func(b *bubble, h *zklock.Hold, where string) {
		time.Sleep(timeout * 6 / 100)
		b.server.Freeze()
		defer b.server.Thaw()
		frozen := time.Now()
		<-h.Lost()
		require.Greater(t, time.Since(frozen), timeout*16/100, where)
	}
	behindGaps(t, timeout, gaps, outlasts)
	slept := gaps["the machine slept"]
	behindGaps(t, timeout, map[string]gap{
		"it slept after a connect request without an answer": func(b *bubble, c *clock.Clock, s *zklock.Session, d time.Duration) {
			unheard(b, s, timeout)
			slept(b, c, s, d)
		},
	}, outlasts)
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
