package client

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// A write is dear, and places are as many as callers make up.
func TestTheLeaderIsAskedForEachPlaceOnceAMinuteAndNotForAnyNumberOfThem(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		c := New(0, nil, Options{Logger: slog.New(slog.DiscardHandler)})
		for i := range mostChecks {
			require.True(t, c.DueToConfirm(fmt.Sprint(i)))
		}
		time.Sleep(trust - 1)
		require.False(t, c.DueToConfirm("one more"))
		require.False(t, c.DueToConfirm("0"))
		time.Sleep(time.Nanosecond)
		require.True(t, c.DueToConfirm("one more"))
		require.True(t, c.DueToConfirm("0"))
	})
}

func TestTheLeaderIsAskedForAllThatAServerShows(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		for _, tc := range []struct {
			paths []string
			asks  int // of the leader
		}{
			{slices.Repeat([]string{"/"}, mostChecks+1), 2},
			{[]string{"/missing", "/"}, 3}, // once more for the one alone, which nobody has
		} {
			before := server.Requests()[zktest.OpMulti]
			require.NoError(t, c.ConfirmAll(tc.paths))
			require.Equal(t, tc.asks, server.Requests()[zktest.OpMulti]-before)
		}
	})
}

func TestTheLeaderIsAskedForANodeThatHasBeenThereForLong(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		_, err := c.Conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		for asks := range 2 {
			require.NoError(t, c.ConfirmOld("/a"))
			require.Equal(t, asks, server.Requests()[zktest.OpMulti])
			time.Sleep(trust)
		}
	})
}

// What has changed meanwhile, or was not answered, says nothing of a server.
func TestAServerIsStaleIfItsLeaderSaysTheOppositeBeforeAndAfter(t *testing.T) {
	const kept, there = "/kept", "/there" // in kept the server differs
	for name, tc := range map[string]struct {
		path      string
		before    func(e *zktest.Ensemble)
		meanwhile func(e *zktest.Ensemble, c, other *Client) // the leader has answered, the server has not
		stale     bool
	}{
		"the server keeps a node": {path: kept, stale: true},
		"both have it":            {path: there},
		"neither has it":          {path: "/missing"},
		"the leader does not say": {path: kept, before: func(e *zktest.Ensemble) { e.RefuseRequest(zktest.OpMulti, -127) }},
		"the server does not say": {path: there, before: func(e *zktest.Ensemble) { e.RefuseRequest(zktest.OpExists, -127) }},
		"the leader says no more": {path: kept, meanwhile: func(e *zktest.Ensemble, _, _ *Client) { e.RefuseRequest(zktest.OpMulti, -127) }},
		"the node goes meanwhile": {path: there, meanwhile: func(_ *zktest.Ensemble, _, other *Client) { _ = other.Conn.Delete(there, -1) }},
		"the connection has changed": {path: kept, meanwhile: func(e *zktest.Ensemble, c, _ *Client) {
			answer := e.HoldReply(zktest.OpMulti)
			go func() {
				<-answer.Struck()
				c.mu.Lock()
				c.link = nil // just now
				c.mu.Unlock()
				answer.Release()
			}()
		}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			e := zktest.NewEnsemble(t, 3)
			server := e.Server(0)
			c, other := connect(t, server, e.Dial), connect(t, e.Server(1), e.Dial)
			for _, path := range []string{kept, there} {
				_, err := other.Conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
			}
			time.Sleep(time.Second)
			require.True(t, server.KeepNode(kept))
			require.NoError(t, other.Conn.Delete(kept, -1))
			time.Sleep(time.Second)
			if tc.before != nil {
				tc.before(e)
			}
			read, said := server.HoldRequest(zktest.OpExists), make(chan error, 1)
			go func() { said <- c.Confirm(tc.path) }()
			time.Sleep(time.Second)
			if tc.meanwhile != nil {
				tc.meanwhile(e, c, other)
			}
			read.Release()
			if tc.stale {
				require.Equal(t, wire.Stale{Server: server.PipeAddr(), Path: kept, Keeps: true}, <-said)
			} else {
				require.NoError(t, <-said)
			}
		})
	}
}

func TestAServerThatAnswersLessThanItWasAskedSaysNothingOfANode(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		noResults := append(numbers(25, math.MinInt32, 0, 0, 0, -1), 1, 255, 255, 255, 255)
		c := connect(t, zktest.NewServer(t), wild{greeting, noResults}.dial)
		require.NoError(t, c.ConfirmAll([]string{"/"}))
	})
}

func TestAStopOfTheProcessIsToldIfItMayHaveCostAHold(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		b := new(book)
		c := unconnected(t, slog.New(b))
		_, costly := lease.Pulse(c.Timeout())
		c.tellStop(costly - 1)
		synctest.Wait()
		require.Empty(t, b.all())
		c.tellStop(costly)
		synctest.Wait()
		require.Len(t, b.warnings(), 1)
	})
}
