package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// proofs are when a session has sent its proofs, the code that they are answered with, 0 for
// none, and what the session's log says when that has ended.
type proofs struct {
	code atomic.Int32
	log  bytes.Buffer // a handler writes one line at a time

	mu sync.Mutex // guards at
	at []time.Time
}

// since returns when proofs were sent from a time on, reckoned from that.
func (p *proofs) since(from time.Time) (after []time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.at {
		if !at.Before(from) {
			after = append(after, at.Sub(from))
		}
	}
	return after
}

// proofNoting is a connection that notes when proofs are sent over it.
type proofNoting struct {
	net.Conn
	proofs *proofs
}

func (c proofNoting) Write(p []byte) (int, error) {
	if len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == wire.OpMulti {
		c.proofs.mu.Lock()
		c.proofs.at = append(c.proofs.at, time.Now())
		c.proofs.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// roundTrip is that to the server of proving.
const roundTrip = 2 * time.Millisecond

// proving runs f with a session of that timeout, and its proofs.
func proving(t *testing.T, timeout time.Duration, f func(t *testing.T, server *zktest.Server, s *Session, p *proofs)) {
	t.Helper()
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(roundTrip/2, roundTrip/2))
		p := new(proofs)
		s := connectBy(t, server, new(clock.Clock), timeout, client.Options{
			Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
			Dialer: func(network, addr string, timeout time.Duration) (net.Conn, error) {
				conn, err := server.Dial(network, addr, timeout)
				if err != nil {
					return nil, err
				}
				return proofNoting{refuse(conn, wire.OpMulti, &p.code), p}, nil
			},
		})
		f(t, server, s, p)
	})
}

// heads returns contenders at the head of a queue each, whose session has not been proved for
// longer than its lease lasts.
func heads(t *testing.T, s *Session, n int) []*contender {
	t.Helper()
	inc, err := s.await(t.Context())
	require.NoError(t, err)
	all := make([]*contender, n)
	for i := range all {
		q := lockAt(s, fmt.Sprintf("/lock%d", i))
		h := take(t, q) // there is the path
		require.NoError(t, h.Release(t.Context(), nil))
		all[i], _, err = q.create(t.Context(), inc, q.lockNode())
		require.NoError(t, err)
		t.Cleanup(func() { all[i].leaveUnused() })
	}
	time.Sleep(s.client.Timeout() + time.Millisecond)
	synctest.Wait()
	require.LessOrEqual(t, s.leaseLeft(), time.Duration(0))
	return all
}

// securing has a contender put under the lease.
func securing(ctx context.Context, c *contender) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.secure(ctx) }()
	return done
}

// secured reports whether the lease runs and c stands under it.
func (c *contender) secured() bool {
	s := c.queue.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.among.is && s.runs(c.incarnation, s.client.Clock.Now())
}

// reconnect cuts a session's connection, and waits for the next.
func reconnect(t *testing.T, server *zktest.Server, s *Session) {
	t.Helper()
	before := s.client.Current()
	server.Cut()
	for changed := s.client.Changed(); s.client.Current() == before; changed = s.client.Changed() {
		<-changed
	}
	_, err := s.await(t.Context())
	require.NoError(t, err)
}

// A refusal that names no node says nothing of one.
func TestAProofThatIsRefusedExtendsNothingAndIsRepeatedAfterAPause(t *testing.T) {
	for name, code := range map[string]int32{"too much to do": throttled, "a node is missing": -101, "not allowed": -102, "the session is elsewhere": moved} {
		t.Run(name, func(t *testing.T) {
			proving(t, reconnectTimeout, func(t *testing.T, _ *zktest.Server, s *Session, p *proofs) {
				h := hold(t, s)
				time.Sleep(reconnectTimeout)
				p.code.Store(code)
				began := time.Now()
				time.Sleep(s.leaseLeft())
				synctest.Wait()
				require.ErrorIs(t, h.Err(), ErrLost)
				tries := p.since(began)
				require.Greater(t, len(tries), 10)
				for i := range 10 {
					require.Equal(t, backoff.First+roundTrip, tries[i+1]-tries[i])
				}
				p.code.Store(0)
			})
		})
	}
}

func TestAGrantIsProvedAgainUntilTheServerHasTimeForThat(t *testing.T) {
	const timeout = 4 * time.Second
	proving(t, timeout, func(t *testing.T, _ *zktest.Server, s *Session, p *proofs) {
		c := heads(t, s, 1)[0]
		p.code.Store(throttled)
		began := time.Now()
		done := securing(t.Context(), c)
		time.Sleep(timeout / 2)
		require.False(t, c.secured())
		at := p.since(began)
		var pauses []time.Duration
		for i := range at[1:] {
			pauses = append(pauses, at[i+1]-at[i]-roundTrip)
		}
		const first = backoff.First
		require.Equal(t, []time.Duration{0, first, 2 * first, 4 * first, 8 * first, 16 * first, timeout / 8, timeout / 8}, pauses)
		p.code.Store(0)
		require.NoError(t, <-done)
		require.True(t, c.secured())
	})
}

// The lease of an earlier hold may run on, for too short a time: nothing would end a hold under
// it that nothing proves.
func TestAGrantThatMayNotBeProvedIsNone(t *testing.T) {
	for name, left := range map[string]time.Duration{"the lease is over": 0, "the lease is short": time.Second} {
		t.Run(name, func(t *testing.T) {
			proving(t, reconnectTimeout, func(t *testing.T, _ *zktest.Server, s *Session, p *proofs) {
				c := heads(t, s, 1)[0]
				s.makeLast(left)
				p.code.Store(-102)
				began := time.Now()
				h, err := c.grant(t.Context(), s.client.Current())
				require.ErrorIs(t, err, zk.ErrNoAuth)
				require.Nil(t, h)
				require.Equal(t, []time.Duration{0}, p.since(began))
				require.False(t, c.secured())
				p.code.Store(0)
			})
		})
	}
}

// Whoever calls Lock has no error to look at.
func TestTheLogSaysWhyAGrantCannotBeProved(t *testing.T) {
	proving(t, reconnectTimeout, func(t *testing.T, _ *zktest.Server, s *Session, p *proofs) {
		c := heads(t, s, 1)[0]
		p.code.Store(throttled)
		ctx, stalls := s.client.LogStalls(t.Context(), c.queue.path)
		done := securing(ctx, c)
		time.Sleep(2 * reconnectTimeout)
		p.code.Store(0)
		require.NoError(t, <-done)
		stalls.End()
		c.leaveUnused()
		s.end()
		require.Contains(t, p.log.String(), "it waits for a write that proves the session alive; the last try: unknown error: -127")
	})
}

// The leader may have been paused, and have found the proof ahead of the session's end. What
// the first proof is worth is seen as soon as the next one can tell.
func TestASlowProofGrantsNothingUntilAnotherHasFollowedItInTime(t *testing.T) {
	const slow, doubt = time.Second, reconnectTimeout / 16
	for name, patience := range map[string]time.Duration{"all wait": time.Hour, "one ends meanwhile": slow + doubt/2} {
		t.Run(name, func(t *testing.T) {
			proving(t, reconnectTimeout, func(t *testing.T, server *zktest.Server, s *Session, p *proofs) {
				all := heads(t, s, 6)
				first := server.HoldReply(zktest.OpMulti)
				began := time.Now()
				ctx := within(t, patience)
				impatient := securing(ctx, all[0])
				<-first.Struck()
				var done []<-chan error
				for _, c := range all[1:] {
					done = append(done, securing(t.Context(), c))
				}
				short := within(t, slow/2)
				require.ErrorIs(t, all[0].secure(short), context.DeadlineExceeded)
				require.Less(t, time.Since(began), slow, "who waits for another's proof ends with his ctx")
				all[5].losesItsNode()
				time.Sleep(time.Until(began.Add(slow)))
				first.Release()
				time.Sleep(roundTrip)
				synctest.Wait()
				for _, c := range all {
					require.False(t, c.secured())
				}
				if patience < time.Hour {
					require.ErrorIs(t, <-impatient, context.DeadlineExceeded)
					require.Equal(t, patience, time.Since(began))
				} else {
					require.NoError(t, <-impatient)
				}
				for i, c := range all[1:5] {
					require.NoError(t, <-done[i])
					require.True(t, c.secured())
				}
				require.ErrorIs(t, <-done[4], errNodeDeleted)
				require.False(t, all[5].secured())
				require.Equal(t, slow+doubt+roundTrip, time.Since(began))
				synctest.Wait()
				require.Equal(t, []time.Duration{0, slow + doubt, slow + doubt + roundTrip}, p.since(began), "two for all, and the first of those that go on")
			})
		})
	}
}

func TestWhoLosesItsPlaceWhileAnotherBeginsTheLeaseProvesNothing(t *testing.T) {
	proving(t, reconnectTimeout, func(t *testing.T, server *zktest.Server, s *Session, p *proofs) {
		all := heads(t, s, 2)
		hung := server.HoldReply(zktest.OpMulti)
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		first := securing(ctx, all[0])
		<-hung.Struck()
		second := securing(t.Context(), all[1])
		synctest.Wait()
		all[1].losesItsNode()
		cancel()
		require.ErrorIs(t, <-first, context.Canceled)
		require.ErrorIs(t, <-second, errNodeDeleted)
		synctest.Wait()
		require.Equal(t, []time.Duration{0}, p.since(began))
		hung.Release()
	})
}

func TestOneGoroutineProvesAllHoldsAsLongAsThereIsOne(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		var holds []*Hold
		for i := range 5 {
			h := take(t, lockAt(s, fmt.Sprintf("/lock%d", i)))
			holds = append(holds, h)
		}
		for _, h := range holds {
			require.Equal(t, 1, running("keepProving"))
			require.NoError(t, h.Release(t.Context(), nil))
		}
		time.Sleep(sessionTimeout / 8)
		require.Zero(t, running("keepProving"))
		before := server.Requests()[zktest.OpMulti]
		time.Sleep(2 * sessionTimeout)
		require.Equal(t, before, server.Requests()[zktest.OpMulti])
		require.NoError(t, hold(t, s).Release(t.Context(), nil))
	})
}

func TestANewConnectionIsProvedAtOnceWheneverItComes(t *testing.T) {
	for _, away := range []time.Duration{0, 17 * time.Millisecond, 777 * time.Millisecond} {
		proving(t, reconnectTimeout, func(t *testing.T, server *zktest.Server, s *Session, p *proofs) {
			h := hold(t, s)
			time.Sleep(time.Second)
			unheard := server.HoldReply(zktest.OpConnect)
			server.Cut()
			<-unheard.Struck()
			time.Sleep(away)
			began := time.Now()
			unheard.Release()
			_, err := s.client.Await(t.Context(), client.AnySession)
			require.NoError(t, err)
			came := time.Since(began)
			time.Sleep(2 * roundTrip)
			require.Equal(t, []time.Duration{came}, p.since(began))
			require.NoError(t, h.Err())
		})
	}
}

// Its write may have been carried out over the connection before, or over this one ahead of
// whatever that has to tell.
func TestAProofThatWasBegunOverAnotherConnectionProvesNothing(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		time.Sleep(reconnectTimeout)
		before := s.beginProof()
		server.Refuse(true)
		server.Cut()
		synctest.Wait()
		without := s.beginProof()
		require.NotPanics(t, func() { s.proven(without, true) })
		ctx := within(t, time.Second)
		c := &contender{queue: lockAt(s, "/lock"), incarnation: s.incarnation}
		require.ErrorIs(t, s.prove(ctx, c, s.lease.Patience(0)), zk.ErrConnectionClosed)
		require.ErrorIs(t, c.prove(ctx), context.DeadlineExceeded, "it waits for a connection")
		server.Refuse(false)
		_, err := s.await(t.Context())
		require.NoError(t, err)
		for _, p := range []proof{before, without} {
			s.proven(p, true)
			require.LessOrEqual(t, s.leaseLeft(), time.Duration(0))
		}
		s.proven(s.beginProof(), true)
		require.Greater(t, s.leaseLeft(), time.Duration(0))
	})
}

// The next connection may be there before the end of the last one is told, or say that the
// session is over.
func TestTheEndOfAnEarlierConnectionEndsNothing(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, server *zktest.Server, s *Session, _ *clock.Clock) {
		h := hold(t, s)
		first := s.client.Current()
		server.Cut()
		time.Sleep(time.Second)
		s.Disconnected(first)
		require.NotNil(t, s.beginProof().link)
		time.Sleep(2 * reconnectTimeout)
		require.NoError(t, h.Err(), "proofs go on")

		p := s.beginProof()
		s.Connected(new(wire.Link), 0)
		require.ErrorIs(t, h.Err(), ErrLost)
		require.NotPanics(t, func() { s.proven(p, true) })
		require.NotPanics(t, func() { s.Disconnected(p.link) })
	})
}

// swings is a history that counts how often a hold was suspended and resumed.
type swings struct {
	untold
	suspended, resumed int
}

func (h *swings) Suspended() bool {
	h.suspended++
	return false
}

func (h *swings) Resumed() bool {
	h.resumed++
	return false
}

func TestAHoldIsSuspendedAndResumedOnceForEachConnectionThatIsLost(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		o := defaults()
		var history swings
		o.NewHistory = func(string, int64) History { return &history }
		h := take(t, New(s, "/lock", recipe.Exclusive, o))
		for i := range 3 {
			time.Sleep(sessionTimeout)
			synctest.Wait()
			require.Equal(t, i, history.suspended)
			require.Equal(t, i, history.resumed)
			server.Cut()
		}
		require.NoError(t, h.Release(t.Context(), nil))
	})
}

// While the machine sleeps only the wall clock goes on.
func TestAProofThatTheMachineSleptThroughIsNotQuick(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, _ *zktest.Server, s *Session, c *clock.Clock) {
		time.Sleep(reconnectTimeout)
		p := s.beginProof()
		c.Step(reconnectTimeout / 10)
		s.proven(p, true)
		require.LessOrEqual(t, s.leaseLeft(), time.Duration(0))
	})
}

// A leader that was paused finds it ahead of the touches of that time.
func TestASingleProofMakesNoTouchSureWhileSomethingIsHeld(t *testing.T) {
	for name, held := range map[string]bool{"nothing is held": false, "one lock is": true} {
		t.Run(name, func(t *testing.T) {
			reconnecting(t, straight, func(t *testing.T, _ *zktest.Server, s *Session, _ *clock.Clock) {
				const short = reconnectTimeout / 8
				other := new(contender)
				time.Sleep(2 * reconnectTimeout)
				s.makeLast(short)
				s.mu.Lock()
				if held {
					s.protected.add(other)
				}
				s.mu.Unlock()
				s.proven(s.beginProof(), true)
				require.Equal(t, held, s.leaseLeft() == short)
				s.mu.Lock()
				s.protected.remove(other)
				s.mu.Unlock()
			})
		})
	}
}

// Each of these is given time that is taken from those who look for another server.
func TestTheClientIsToldWhatTheLeaseOfAHoldHasLeft(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		told := func() time.Duration {
			timeout, left := s.Left()
			require.Equal(t, s.client.Timeout(), timeout)
			return left
		}
		h := hold(t, s)
		require.Equal(t, s.leaseLeft(), told())
		require.NoError(t, h.Release(t.Context(), nil))
		require.NotZero(t, s.leaseLeft())
		require.Zero(t, told(), "there is nothing to save")
		h = hold(t, s)
		time.Sleep(time.Second + 1)
		tooLate := lease.TooLate(s.client.Timeout())
		s.client.Clock.Step(s.leaseLeft() - tooLate)
		require.Equal(t, tooLate, told())
		time.Sleep(time.Nanosecond)
		require.Zero(t, told(), "no server is in time")
		require.NoError(t, h.Err())
		s.Connected(new(wire.Link), 0)
		require.Zero(t, told(), "the session is over, and the next one's timeout is not known")
	})
}

// The leader counts down what the last server has granted, and any may yet grant that again.
func TestALeaseIsNoLongerThanTheShortestTimeoutThatWasGranted(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		long := s.client.Timeout()
		short := long / 8 // less than any is to grant
		h := hold(t, s)
		for _, granted := range []time.Duration{short, long} {
			server.SetSessionTimeouts(granted, granted)
			proofs := server.HoldRequest(zktest.OpMulti)
			reconnect(t, server, s)
			require.Equal(t, granted, s.client.Timeout())
			require.LessOrEqual(t, s.leaseLeft(), short*19/20)
			require.NoError(t, h.Err())
			proofs.Release()
			time.Sleep(short)
			require.LessOrEqual(t, s.leaseLeft(), short*19/20)
			timeout, _ := s.Left()
			require.Equal(t, short, timeout)
		}
	})
}

// Timers stand still while the machine sleeps: what is left of it is seen at the next look.
func TestALeaseIsLookedAtAsOftenAsItsTimeoutAsks(t *testing.T) {
	const short = time.Second
	for name, begin := range map[string]func(t *testing.T, server *zktest.Server, s *Session) *Hold{
		"another session": func(t *testing.T, server *zktest.Server, s *Session) *Hold {
			before := hold(t, s)
			server.ExpireSession(s.client.ID())
			<-before.Lost()
			return hold(t, s)
		},
		"another connection": func(t *testing.T, server *zktest.Server, s *Session) *Hold {
			h := hold(t, s)
			reconnect(t, server, s)
			return h
		},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			c := new(clock.Clock)
			s := connectBy(t, server, c, sessionTimeout, client.Options{Dialer: server.Dial})
			server.SetSessionTimeouts(short, short)
			h := begin(t, server, s)
			require.Equal(t, short, s.client.Timeout())
			server.Freeze() // who proves waits for an answer
			c.Step(sessionTimeout)
			began := time.Now()
			<-h.Lost()
			require.LessOrEqual(t, time.Since(began), short/32)
		})
	}
}

// A goroutine may be paused just before its lock is granted.
func TestAPlaceThatIsLostJustBeforeItsGrantTakesNoHoldOfTheNextLeaseWithIt(t *testing.T) {
	reconnecting(t, straight, func(t *testing.T, _ *zktest.Server, s *Session, c *clock.Clock) {
		var other *Hold
		h, err := lockAt(s, "/lock").Acquire(thoughtful{t.Context(), atTheGrant(s, "/lock", func() {
			c.Step(reconnectTimeout) // the machine slept
			s.looks()
			other = take(t, lockAt(s, "/other"))
		})}, nil)
		require.NoError(t, err)
		require.True(t, h.Valid())
		require.NoError(t, other.Err())
	})
}

// As in a backup of the queue.
func TestANodeOfTheSameNameElsewhereIsNoMatterOfAHold(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		h := hold(t, s)
		s.Deleted("/backup/" + recipe.Base(h.Node()))
		require.NoError(t, h.Err())
		s.Deleted("/backup/" + s.ids.id())
		s.Deleted(h.Node())
		require.ErrorIs(t, h.Err(), ErrLost)
	})
}
