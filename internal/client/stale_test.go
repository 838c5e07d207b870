package client

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/lease"
	"github.com/zklock/zklock/internal/virtual"
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
