package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

const (
	clockSession = 8 * time.Second
	sleeping     = clockSession / 4
)

// A machine that sleeps finds its wall clock ahead of what its timers have lived through. Two
// holders are cut off at the same time, and one of them then sleeps.
func TestAHoldEndsEarlierByTheTimeThatItsMachineSlept(t *testing.T) {
	at := newSite(t)
	var sleeper, awake clock.Clock
	slept, waking := at.holder(&sleeper), at.holder(&awake)
	at.proxy.Freeze(faultproxy.ClientToServer)
	sleeper.Step(sleeping)
	receive(t, slept.Lost(), "the end of the hold whose machine slept")
	lost := time.Now()
	receive(t, waking.Lost(), "the end of the other")
	require.Greater(t, time.Since(lost), sleeping/2)
	at.proxy.Thaw(faultproxy.ClientToServer)
}

func TestAWallClockThatIsSetBackKeepsNoHoldAlive(t *testing.T) {
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
