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
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestTheEndOfASessionIsConfirmedAndNothingIsLeft(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server, o := zktest.NewServer(t), new(recorder)
		c := connectTold(t, server, server.Dial, o)
		require.Len(t, server.Sessions(), 1)
		l := c.Current()
		began := time.Now()
		for range 2 {
			require.NoError(t, c.Close(RequestPatience))
		}
		require.Zero(t, time.Since(began))
		require.Empty(t, server.Sessions())
		require.True(t, latch.IsClosed(l.Down()))
		require.Nil(t, c.Current())
		require.Equal(t, errClosing, context.Cause(c.Context()))
		_, err := c.Await(t.Context(), AnySession)
		require.ErrorIs(t, err, ErrClosed)
	})
}

func TestTheEndWaitsForRequestsUnderWayAndNotForEver(t *testing.T) {
	for name, answered := range map[string]bool{"one that is answered": true, "one that is not": false} {
		runInSession(t, name, func(t *testing.T, server *zktest.Server, c *Client) {
			held := server.HoldReply(zktest.OpExists)
			call := c.Background(func() error { _, _, err := c.Conn.Exists("/"); return err })
			<-held.Struck()
			began := time.Now()
			if answered {
				time.AfterFunc(time.Second-1, held.Release)
				require.NoError(t, c.Close(time.Second))
				require.Equal(t, time.Second-1, time.Since(began))
				require.NoError(t, Wait(t.Context(), call))
				return
			}
			err := c.Close(time.Second)
			require.EqualError(t, err, "no server confirmed it: its nodes may stay for its timeout of 10s")
			require.True(t, errors.Is(c.Close(time.Hour), err), "the first call's result")
			require.Equal(t, time.Second, time.Since(began))
			require.Error(t, Wait(t.Context(), call))
			held.Release()
		})
	}
}

func TestWithoutPatienceOrAConnectionNoServerIsAsked(t *testing.T) {
	lose := func(server *zktest.Server, _ *Client) { server.Refuse(true); server.Cut(); synctest.Wait() }
	for name, tc := range map[string]struct {
		patience time.Duration
		lose     func(server *zktest.Server, c *Client)
		asks     bool // something of the server, meanwhile
		says     string
	}{
		"without patience":                         {0, func(*zktest.Server, *Client) {}, false, "no server confirmed it: "},
		"without patience, a request is under way": {0, func(*zktest.Server, *Client) {}, true, "no server confirmed it: "},
		"without a connection":                     {time.Second, lose, false, "no server confirmed it: "},
		"without a connection, a request waits":    {time.Second, lose, true, "no server confirmed it: "},
		"without a session": {time.Second, func(server *zktest.Server, c *Client) {
			lose(server, c)
			c.id = 0
		}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 4 { // a select takes any of two that are ready
				inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
					tc.lose(server, c)
					if tc.asks {
						held := server.HoldReply(zktest.OpExists)
						defer held.Release()
						c.Background(func() error { _, _, err := c.Conn.Exists("/"); return err })
						synctest.Wait()
					}
					began := time.Now()
					err := c.Close(tc.patience)
					require.Less(t, time.Since(began), 500*time.Millisecond)
					if tc.says == "" {
						require.NoError(t, err, "there is nothing that could stay")
					} else {
						require.ErrorContains(t, err, tc.says)
					}
					require.Zero(t, server.Requests()[zktest.OpCloseSession])
				})
			}
		})
	}
}

// A request that is queued while go-zookeeper closes may wedge it.
func TestGoZookeeperIsClosedWhenNobodyUsesItAnyMore(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		until, closed := make(chan struct{}), make(chan error, 1)
		c.Spawn(func() { <-until })
		go func() { closed <- c.Close(time.Second) }()
		time.Sleep(time.Minute)
		for len(c.events) > 0 {
			_, open := <-c.events
			require.True(t, open)
		}
		select {
		case _, open := <-c.events:
			require.True(t, open)
		default:
		}
		close(until)
		require.ErrorContains(t, <-closed, "no server confirmed it: ")
	})
}

func TestAnEndThatIsNotAnsweredIsNotConfirmed(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		server.DropReply(zktest.OpCloseSession)
		require.ErrorContains(t, c.Close(RequestPatience), "no server confirmed it: ")
	})
}

// Requests that a user has made over the connection may wedge go-zookeeper.
func TestAClientThatDoesNotEndIsNotWaitedForForEver(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := unconnected(t, slog.New(slog.DiscardHandler))
		events := make(chan zk.Event, 1)
		c.events = events
		events <- zk.Event{}
		began := time.Now()
		require.False(t, c.ends())
		require.Equal(t, 2*time.Second, time.Since(began), "twice what go-zookeeper allows itself")
		events <- zk.Event{}
		time.AfterFunc(time.Second, func() { close(events) })
		require.True(t, c.ends())
		require.Equal(t, 3*time.Second, time.Since(began))

		server := zktest.NewServer(t)
		c = connect(t, server, server.Dial)
		c.events = make(chan zk.Event)
		require.EqualError(t, c.Close(RequestPatience), "the client did not end")
	})
}

func TestTheEndWaitsForWhatRunsInTheSessionAndWhatIsToldOfIt(t *testing.T) {
	for name, begin := range map[string]func(c *Client, until <-chan struct{}){
		"a goroutine": func(c *Client, until <-chan struct{}) { c.Spawn(func() { <-until }) },
		"the trace": func(c *Client, until <-chan struct{}) {
			c.trace.note(func(Event) { <-until }, Event{})
		},
		"the log": func(c *Client, until <-chan struct{}) { c.Log.add(func() { <-until }) },
	} {
		virtual.Run(t, name, func(t *testing.T) {
			c := unconnected(t, slog.New(slog.DiscardHandler))
			until, closed := make(chan struct{}), make(chan error, 1)
			begin(c, until)
			go func() { closed <- c.Close(RequestPatience) }()
			time.Sleep(time.Hour)
			require.Empty(t, closed)
			close(until)
			require.NoError(t, <-closed)
		})
	}
}
