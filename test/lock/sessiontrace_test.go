package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
)

// connections is what a session's trace was told, in its order.
type connections struct {
	mu     sync.Mutex
	names  []string
	events []zklock.SessionTraceInfo
}

func (c *connections) note(name string, then func()) func(zklock.SessionTraceInfo) {
	return func(i zklock.SessionTraceInfo) {
		c.mu.Lock()
		c.names, c.events = append(c.names, name), append(c.events, i)
		c.mu.Unlock()
		then()
	}
}

// option has c told, by functions that end so.
func (c *connections) option(then func()) zklock.SessionOption {
	return zklock.WithSessionTrace(&zklock.SessionTrace{
		Connected: c.note("connected", then), Disconnected: c.note("disconnected", then),
		LeaseOver: c.note("lease over", then), Expired: c.note("expired", then),
	})
}

// next returns what was told since the last time, which must be these, when all is quiet.
func (c *connections) next(t *testing.T, names ...string) []zklock.SessionTraceInfo {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Equal(t, names, c.names)
	events := c.events
	c.names, c.events = nil, nil
	return events
}

// A lease may be over though the session lives on, or before it expires, or the session may expire
// while its lease runs.
func TestTheEndOfALeaseAndTheEndOfItsSessionAreToldApart(t *testing.T) {
	const timeout = 10 * time.Second
	for name, tc := range map[string]struct {
		away    time.Duration // how long no server is reached
		told    []string
		expires bool
	}{
		"the session lives on": {away: 6 * timeout / 10, told: []string{"disconnected", "lease over", "connected"}},
		"it expires later":     {away: 3 * timeout, told: []string{"disconnected", "lease over", "expired", "connected"}, expires: true},
		"it expires first":     {told: []string{"disconnected", "expired", "connected"}, expires: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var told connections
				var log lockedBuffer
				place := b.server.Client("mine")
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout,
					zklock.WithDialer(place.Dial), told.option(func() {}), informed(&log)))
				defer s.Close()
				id, h := s.ID(), must(b.locker(s).Acquire(t.Context()))
				told.next(t, "connected")
				require.Equal(t, timeout, s.Timeout())
				time.Sleep(timeout)
				cut := time.Now()
				if tc.away > 0 {
					b.server.Refuse(true)
					place.Cut()
					time.AfterFunc(tc.away, func() { b.server.Refuse(false) })
				} else {
					b.server.ExpireSession(id)
				}
				<-h.Lost()
				time.Sleep(4 * timeout)
				events := told.next(t, tc.told...)
				require.Equal(t, tc.expires, s.ID() != id)

				text, times := log.String(), map[bool]int{true: 1}
				require.Equal(t, times[tc.expires], strings.Count(text, `level=WARN msg="zklock: session expired" session=`+client.Hex(id)), text)
				require.Equal(t, times[tc.away > 0], strings.Count(text, `level=WARN msg="zklock: lease over" session=`+client.Hex(id)), text)
				if tc.away > 0 {
					over := events[1]
					require.Equal(t, id, over.Session)
					require.Equal(t, 1, over.Connection)
					require.ErrorContains(t, over.Err, "the lease is over: the session could not be proved alive in time (no connection")
					require.ErrorIs(t, h.Err(), over.Err)
					require.NotErrorIs(t, h.Err(), zk.ErrSessionExpired)
					require.WithinRange(t, over.Since, cut.Add(-timeout/8), cut)
				}
			})
		})
	}
}

func TestTheSessionTraceOfAConnectThatFailsIsWhole(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told connections
		_, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
			zklock.WithDialer(b.server.Dial), zklock.WithAuth("nobody", nil), told.option(func() {}))
		require.ErrorIs(t, err, zk.ErrAuthFailed)
		told.next(t, "connected", "disconnected")
	})
}

func TestCloseOfASessionWhoseTracePanicsPanicsWhenItHasClosedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, zklock.WithDialer(b.server.Dial),
			zklock.WithSessionTrace(&zklock.SessionTrace{Disconnected: func(zklock.SessionTraceInfo) { panic("the trace's") }})))
		h := must(b.locker(s).Acquire(t.Context()))
		require.PanicsWithValue(t, "the trace's", func() { s.Close() })
		require.ErrorIs(t, h.Err(), zklock.ErrClosed)
		require.Empty(t, b.server.Sessions())
		require.NoError(t, s.Close())
	})
}

// A function that takes its time delays what is told after it, and nobody else.
func TestASessionTraceThatTakesItsTimeIsToldInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told connections
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
			zklock.WithDialer(b.server.Dial), told.option(func() { time.Sleep(time.Minute) })))
		for range 3 {
			b.server.Cut()
			time.Sleep(time.Second)
			require.NoError(t, s.Ping(t.Context()))
		}
		require.NoError(t, s.Close())
		told.next(t, "connected", "disconnected", "connected", "disconnected", "connected", "disconnected", "connected", "disconnected")
	})
}

func TestANilSessionTraceIsNone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		for i, trace := range []*zklock.SessionTrace{nil, {}} {
			s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
				zklock.WithDialer(b.server.Dial), zklock.WithSessionTrace(trace))
			require.NoError(t, err, fmt.Sprint(i))
			require.NoError(t, s.Ping(context.Background()))
			require.NoError(t, s.Close())
		}
	})
}
