package client

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
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
