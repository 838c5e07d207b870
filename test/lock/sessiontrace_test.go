package lock_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
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
		Connected: c.note("connected", then), Disconnected: c.note("disconnected", then), Expired: c.note("expired", then),
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

func TestTheSessionTraceTellsOfTheConnectionsInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told connections
		began := time.Now()
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
			zklock.WithDialer(b.server.Dial), told.option(func() {})))
		defer s.Close()
		first := s.ID()
		up := told.next(t, "connected")[0]
		require.Equal(t, zklock.SessionTraceInfo{
			Session: first, Server: b.server.PipeAddr(), Connection: 1, Time: began, Since: began,
		}, up)

		time.Sleep(time.Minute)
		b.server.Refuse(true)
		b.server.Cut()
		down := told.next(t, "disconnected")[0]
		require.Equal(t, 1, down.Connection)
		require.Equal(t, time.Minute, down.Time.Sub(down.Since))
		require.Error(t, down.Err)
		time.Sleep(time.Second)
		b.server.Refuse(false)
		time.Sleep(time.Second)
		up = told.next(t, "connected")[0]
		require.Equal(t, 2, up.Connection)
		require.Equal(t, down.Time, up.Since)
		require.Equal(t, first, up.Session)

		b.server.ExpireSession(first)
		time.Sleep(time.Minute)
		events := told.next(t, "disconnected", "expired", "connected")
		expired := events[1]
		require.Equal(t, first, expired.Session)
		require.Equal(t, began, expired.Since)
		require.ErrorContains(t, expired.Err, "the ZooKeeper session has ended")
		require.Equal(t, s.ID(), events[2].Session)
		require.Equal(t, 3, events[2].Connection)

		require.NoError(t, s.Close())
		require.ErrorIs(t, told.next(t, "disconnected")[0].Err, zklock.ErrClosed)
	})
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

func TestASessionClosedWithoutAConnectionIsNotToldToBeDisconnectedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told connections
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
			zklock.WithDialer(b.server.Dial), told.option(func() {})))
		b.server.Refuse(true)
		b.server.Cut()
		told.next(t, "connected", "disconnected")
		s.Close()
		told.next(t)
	})
}

func TestASessionTraceThatDoesNotReturnKeepsNothingFromBeingDone(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var told connections
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second,
			zklock.WithDialer(b.server.Dial), told.option(runtime.Goexit)))
		b.server.Cut()
		time.Sleep(time.Minute)
		told.next(t, "connected", "disconnected", "connected")
		require.NoError(t, b.locker(s).LockContext(t.Context()))
		elsewhere(func() { s.Close() })
		told.next(t, "disconnected")
		require.Empty(t, b.server.Sessions())
		require.NoError(t, s.Close())
	})
}

func TestCloseOfASessionWhoseTracePanicsPanicsWhenItHasClosedIt(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, zklock.WithDialer(b.server.Dial),
			zklock.WithSessionTrace(&zklock.SessionTrace{Disconnected: func(zklock.SessionTraceInfo) { panic("the trace's") }})))
		h := must(b.locker(s, zklock.WithTrace(&zklock.Trace{Released: func(zklock.TraceInfo) {}})).Acquire(t.Context()))
		require.PanicsWithValue(t, "the trace's", func() { s.Close() })
		require.ErrorIs(t, h.Err(), zklock.ErrReleased)
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
