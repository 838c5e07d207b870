package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

func TestACallIsSentOnce(t *testing.T) {
	c, sent := unconnected(t, slog.New(slog.DiscardHandler)), 0
	why := errors.New("why")
	call := Later(func() (int, error) { sent++; return 7, why })
	require.False(t, latch.IsClosed(call.Done))
	for range 3 {
		call.Send(c)
	}
	value, err := call.Wait(t.Context())
	require.Equal(t, 7, value)
	require.ErrorIs(t, err, why)
	c.work.Wait()
	require.Equal(t, 1, sent)
}

func TestACallOfAClosedSessionIsNotSent(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	c.life.end()
	send := func() (int, error) { require.Fail(t, "it is sent"); return 7, nil }
	for _, call := range []*Call[int]{Send(c, send), SendUnder(nil, c, send), SendUnder(t.Context().Done(), c, send)} {
		value, err := call.Wait(t.Context())
		require.ErrorIs(t, err, ErrClosed)
		require.Zero(t, value)
	}
}

func TestACallIsWaitedForNoLongerThanItsContextLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		answer := make(chan struct{})
		call := Send(c, func() (int, error) { <-answer; return 7, zk.ErrNoNode })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		for _, wait := range []func() (int, error){
			func() (int, error) { return call.Wait(ctx) },
			func() (int, error) { return call.WaitOn(ctx, c.Current()) },
		} {
			value, err := wait()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Zero(t, value)
			require.Equal(t, time.Minute, time.Since(began))
		}
		l := c.Current()
		server.Cut()
		value, err := call.WaitOn(t.Context(), l)
		require.ErrorIs(t, err, zk.ErrConnectionClosed)
		require.Zero(t, value)
		close(answer)
		synctest.Wait()
		l = c.Current()
		for range 20 { // whatever else there is, a select takes any
			value, err = call.WaitOn(t.Context(), l)
			require.Equal(t, 7, value)
			require.ErrorIs(t, err, zk.ErrNoNode)
		}
	})
}

// The session is closed when what is under way has ended.
func TestOnlyACallThatMayBeLeftHasAGoroutineOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		answer, answered := make(chan struct{}), false
		send := func() (int, error) { <-answer; answered = true; return 7, zk.ErrNoNode }
		ended := make(chan struct{})

		call := SendUnder(t.Context().Done(), c, send)
		require.False(t, latch.IsClosed(call.Done), "its answer is not waited for")
		go func() { c.work.Wait(); close(ended) }()
		synctest.Wait()
		require.False(t, latch.IsClosed(ended))
		answer <- struct{}{}
		<-ended
		require.True(t, answered)

		answered, ended = false, make(chan struct{})
		go func() {
			synctest.Wait()
			go func() { c.work.Wait(); close(ended) }()
			synctest.Wait()
			require.False(t, latch.IsClosed(ended))
			answer <- struct{}{}
		}()
		call = SendUnder(nil, c, send)
		require.True(t, answered)
		require.True(t, latch.IsClosed(call.Done))
		require.Equal(t, 7, call.Value)
		require.ErrorIs(t, call.Err, zk.ErrNoNode)
		<-ended
	})
}

func TestACallThatIsLeftCountsUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		answer := make(chan struct{})
		call := Send(c, func() (int, error) { <-answer; return 0, nil })
		call.Leave(c)
		synctest.Wait()
		require.Equal(t, 1, c.cleanups.count)
		close(answer)
		synctest.Wait()
		require.Zero(t, c.cleanups.count)
	})
}

func TestTheChildrenOfANodeAreAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
		for _, path := range []string{"/lock", "/lock/a"} {
			_, err := c.Conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		names, err := c.Children("/lock").Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, names)
		_, err = c.Children("/other").Wait(t.Context())
		require.ErrorIs(t, err, zk.ErrNoNode)
	})
}
