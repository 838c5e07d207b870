package client

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

func TestAConnectionIsWaitedForAsLongAsItsSessionMayGetOne(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Await(ctx, AnySession)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = c.Await(t.Context(), 1)
		require.ErrorIs(t, err, ErrSessionOver)

		l := &wire.Link{ID: 1}
		c.id = 1
		for _, id := range []int64{AnySession, 1} {
			c.link = nil
			go func() {
				for range 2 { // the first one brings nothing
					synctest.Wait()
					c.mu.Lock()
					c.broadcast()
					c.mu.Unlock()
				}
				synctest.Wait()
				c.publish(l, 1)
			}()
			got, err := c.Await(t.Context(), id)
			require.NoError(t, err)
			require.True(t, got == l)
			got, err = c.Await(t.Context(), id)
			require.NoError(t, err)
			require.True(t, got == l)
		}
		_, err = c.Await(t.Context(), 2)
		require.ErrorIs(t, err, ErrSessionOver, "whoever has a connection")
		c.link = nil
		go func() { synctest.Wait(); c.Shut() }()
		_, err = c.Await(t.Context(), 1)
		require.ErrorIs(t, err, ErrClosed)
		c.link = l
		_, err = c.Await(t.Context(), 1)
		require.ErrorIs(t, err, ErrClosed, "it is not to be used any more")
	})
}

// changes reports whether whoever waits for a change is woken by it.
func (c *Client) changes(by func()) bool {
	before := c.Changed()
	by()
	return latch.IsClosed(before) && !latch.IsClosed(c.Changed())
}

func TestAConnectionIsToldOfBeforeItIsHadAndEndsForAllAtOnce(t *testing.T) {
	c, o := unconnected(t, slog.New(slog.DiscardHandler)), new(recorder)
	h := new(history)
	c.trace.Trace = h.trace()
	c.Observe(o)
	c.Failed(errors.New("earlier"))
	var l *wire.Link
	require.True(t, c.changes(func() { l = c.connectedTo(t, errors.New("hung up")) }))
	require.Equal(t, []string{"connected in 0x1 for 10s"}, o.all())
	require.True(t, l == c.Current())
	require.EqualValues(t, 1, c.ID())
	require.EqualValues(t, 1, c.ID())
	require.NoError(t, c.lastFailure())

	c.Disconnected(new(wire.Link), errors.New("another"))
	require.True(t, l == c.Current())
	require.NoError(t, c.lastFailure(), "it is of no matter while there is a connection")
	require.True(t, c.changes(func() { _, _ = l.Read(make([]byte, 1)) }))
	require.Equal(t, []string{"disconnected from 0x1"}, o.all())
	require.Nil(t, c.Current())
	require.False(t, c.outage.since.IsZero())
	require.False(t, c.outage.first, "its end is told")
	require.EqualError(t, c.lastFailure(), "hung up")
	require.EqualValues(t, 1, c.ID(), "the session goes on")
	c.Disconnected(l, errors.New("late"))
	require.Empty(t, o.all())
	require.EqualError(t, c.lastFailure(), "late")
	c.told.Wait()
	require.Len(t, h.told, 2)
	require.EqualError(t, h.told[1].(happened).err, "hung up")
}

// watchful is an observer that notes what everybody has as its connection when it is told.
type watchful struct {
	nobody
	current     func() *wire.Link
	told, early atomic.Int64 // how often, and how often while there was one
}

func (w *watchful) Connected(*wire.Link, time.Duration) { w.look() }
func (w *watchful) Disconnected(*wire.Link)             { w.look() }

func (w *watchful) look() {
	w.told.Add(1)
	if w.current() != nil {
		w.early.Add(1)
	}
}

// A request that goes out earlier, or later, would be judged by the connection before, or by one
// that has ended.
func TestNobodyHasAConnectionThatTheObserverDoesNotKnow(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, o := zktest.NewServer(t), new(watchful)
		c, establish := connecting(server, Options{})
		o.current = c.Current
		c.Observe(o)
		require.NoError(t, establish(t.Context()))
		server.Cut()
		time.Sleep(time.Second)
		server.ExpireSession(c.ID())
		time.Sleep(time.Second)
		c.Close(RequestPatience)
		require.Greater(t, o.told.Load(), int64(4))
		require.Zero(t, o.early.Load(), "everybody has a connection when the observer is told that there is one, or none any more")
	})
}

func TestASessionThatHasEndedIsToldOfOnce(t *testing.T) {
	c, o, h := unconnected(t, slog.New(slog.DiscardHandler)), new(recorder), new(history)
	c.trace.Trace = h.trace()
	c.Observe(o)
	con := c
	expired := func() (n int) {
		c.told.Wait()
		for _, e := range h.told {
			if e.(happened).what == "expired" {
				n++
			}
		}
		return n
	}
	first, again := &wire.Link{ID: 1}, &wire.Link{ID: 1}
	con.Connected(first, time.Second)
	con.Disconnected(first, errLost)
	con.Connected(again, time.Second)
	require.Zero(t, expired(), "it goes on")
	con.Disconnected(again, errLost)
	o.all()
	require.True(t, c.changes(func() { con.Connected(new(wire.Link), 0) }))
	require.Equal(t, []string{"connected in 0x0 for 0s"}, o.all())
	require.Equal(t, 1, expired())
	require.Zero(t, c.ID())
	require.Nil(t, c.Current())
	con.Connected(&wire.Link{ID: 2}, time.Second)
	require.Equal(t, 1, expired())
	require.EqualValues(t, 2, c.ID())
	con.Connected(&wire.Link{ID: 3}, time.Second)
	require.Equal(t, 2, expired(), "nobody has said so, but there is another one")
}

var errLost = errors.New("lost")

func TestAConnectionThatIsLostWhileItIsToldOfIsNobodys(t *testing.T) {
	for name, lost := range map[string]bool{"it is lost": true, "the session is closed": false} {
		t.Run(name, func(t *testing.T) {
			c, o := unconnected(t, slog.New(slog.DiscardHandler)), new(recorder)
			l := c.connectedTo(t, errors.New("hung up"))
			_, err := l.Read(make([]byte, 1))
			require.Error(t, err)
			require.Nil(t, c.Current())
			c.Observe(o)
			c.id = 0
			if !lost {
				l = &wire.Link{ID: 1}
				c.life.end()
			}
			c.Connected(l, time.Second)
			require.Nil(t, c.Current())
			if lost {
				require.Equal(t, []string{"connected in 0x1 for 1s", "disconnected from 0x1"}, o.all())
				require.EqualValues(t, 1, c.ID(), "the session is known")
			} else {
				require.Empty(t, o.all())
			}
		})
	}
}

// waits is an attempt that a server has not answered yet.
func waits(server string) wire.Attempt { return wire.Attempt{Server: server} }

func TestTheLastFailureIsThatOfTheLoginUntilAServerServes(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c, why := unconnected(t, slog.New(slog.DiscardHandler)), errors.New("why")
		con := c
		con.Failed(why)
		con.Failed(waits("a"))
		require.Equal(t, waits("a"), c.lastFailure())
		con.Failed(wire.Attempt{Server: "a", Err: io.EOF})
		con.Failed(waits("a"))
		require.Equal(t, wire.Attempt{Server: "a", Err: io.EOF}, c.lastFailure(), "a server that takes connections may do the same again")
		con.Failed(wire.ErrRefused)
		con.Failed(waits("b"))
		require.Equal(t, wire.ErrRefused, c.lastFailure(), "a server that answers may refuse the login again")
		c.outage.begin(false)
		l := &wire.Link{ID: 1}
		con.Connected(l, time.Second)
		require.Equal(t, wire.ErrRefused, c.lastFailure(), "the login has yet to come")
		con.Served(new(wire.Link))
		require.Equal(t, wire.ErrRefused, c.lastFailure(), "another connection's")
		con.Served(l)
		require.NoError(t, c.lastFailure())
		require.True(t, c.outage.since.IsZero())
		con.Failed(wire.ErrRefused)
		con.Failed(why)
		require.Equal(t, why, c.lastFailure())
		con.Connected(l, time.Second)
		require.NoError(t, c.lastFailure(), "whatever the login comes to")
	})
}

func TestAFirstLoginThatIsRefusedIsNotWaitedFor(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		c.Failed(wire.ErrRefused) // of a credential, by the connection before
		failed := make(chan error, 1)
		go func() {
			_, err := c.await(t.Context(), AnySession, nil, isRefusal)
			failed <- err
		}()
		synctest.Wait()
		for _, passes := range []error{io.EOF, context.DeadlineExceeded, wire.ErrRefused} {
			c.Failed(wire.SASLError{Mechanism: "X", Server: "a:2181", Err: passes})
			if passes != wire.ErrRefused {
				synctest.Wait()
				require.Empty(t, failed, passes)
			}
		}
		require.ErrorIs(t, <-failed, wire.ErrRefused)
	})
}

// asked is an observer that notes when a connect request was sent.
type asked struct {
	nobody
	at *[]clock.Instant
}

func (o asked) Asks(at clock.Instant) { *o.at = append(*o.at, at) }

func TestWhatTheWireAsksForTheObserverIsAsked(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	var at []clock.Instant
	c.Observe(asked{at: &at})
	now := c.Clock.Now()
	c.Asks(now)
	require.Equal(t, []clock.Instant{now}, at)
	timeout, _ := c.Left()
	require.Equal(t, 20*time.Second, timeout)
	ran := make(chan struct{})
	require.True(t, c.Spawn(func() { close(ran) }))
	<-ran
	c.life.end()
	require.False(t, c.Spawn(func() { require.Fail(t, "it runs") }))
	c.Tell(func() { t.Error("it is told") })
	c.told.Wait()
}
