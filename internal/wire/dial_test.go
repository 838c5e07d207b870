package wire

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/backoff"
)

// pressed is a session with a timeout, of which a lease has something left.
type pressed struct {
	nobody
	id            int64
	timeout, left time.Duration
}

func (s pressed) ID() int64                           { return s.id }
func (s pressed) Left() (timeout, left time.Duration) { return s.timeout, s.left }

func dialerOf(ctx context.Context, s Session) *Dialer {
	d := NewDialer(ctx, s, Options{Hosts: NewHosts()})
	_ = d.Hosts.Init([]string{"a", "b", "c"})
	return d
}

const ms = time.Millisecond

func TestAServerHasAnEighthOfTheTimeoutToAnswerAndMoreWhenAllOfThemAreSlow(t *testing.T) {
	for slow, want := range map[int]time.Duration{
		0: 1000 * ms, 2: 1000 * ms, 3: 2000 * ms, 6: 4000 * ms, 9: 8000 * ms, 12: 8000 * ms,
	} {
		d := dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms})
		for range slow {
			d.timedOut()
		}
		require.Equal(t, want, d.patience(), "after %d attempts at 3 servers", slow)
		require.Equal(t, want, d.handshakeLimit())
		d.served()
		require.Equal(t, 1000*ms, d.patience(), "one serves again")
	}
	require.Equal(t, 250*ms, dialerOf(t.Context(), pressed{id: 1, timeout: 1000 * ms}).patience(), "the least that an answer takes")
}

// A third leaves time for another server, however many do not answer.
func TestAServerHasAThirdOfWhatALeaseHasLeftAtMost(t *testing.T) {
	for left, want := range map[time.Duration]time.Duration{
		6000 * ms: 1000 * ms, 2400 * ms: 800 * ms, 900 * ms: 300 * ms, 600 * ms: 250 * ms, 300 * ms: 150 * ms,
	} {
		require.Equal(t, want, dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms, left: left}).patience(), left)
	}
}

// To cut off a handshake that makes a session would leave one on the servers each time.
func TestAHandshakeThatMakesASessionHasTheWholeTimeout(t *testing.T) {
	require.Equal(t, 8000*ms, dialerOf(t.Context(), pressed{timeout: 8000 * ms}).handshakeLimit())
	require.Equal(t, 250*ms, dialerOf(t.Context(), pressed{timeout: 100 * ms}).handshakeLimit())
}

func TestThereIsAPauseBetweenTheRoundsOfTheServersThatIsShortWhileALeaseRuns(t *testing.T) {
	for left, most := range map[time.Duration]time.Duration{0: backoff.Before(1), 80 * ms: 10 * ms} {
		synctest.Test(t, func(t *testing.T) {
			d := dialerOf(t.Context(), pressed{id: 1, timeout: 8000 * ms, left: left})
			for range 100 {
				begun := time.Now()
				for range 3 {
					require.NoError(t, d.pause())
				}
				require.Zero(t, time.Since(begun), "each server is tried once")
				require.NoError(t, d.pause())
				require.GreaterOrEqual(t, time.Since(begun), most/2)
				require.LessOrEqual(t, time.Since(begun), most)
				d.served()
			}
		})
	}
}

func TestAClosedSessionPausesForNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		d := dialerOf(ctx, pressed{id: 1, timeout: 8000 * ms})
		for range 3 {
			require.NoError(t, d.pause())
		}
		time.AfterFunc(1, end)
		begun := time.Now()
		require.ErrorIs(t, d.pause(), context.Canceled)
		require.EqualValues(t, 1, time.Since(begun))
		d.served()
		require.ErrorIs(t, d.pause(), context.Canceled)
	})
}
