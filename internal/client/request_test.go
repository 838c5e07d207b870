package client

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

func TestARequestWithoutAConnectionFailsAtOnce(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	require.ErrorIs(t, c.Ask(t.Context(), Read("/")), zk.ErrConnectionClosed)
	c.life.end()
	require.ErrorIs(t, c.Ask(t.Context(), Read("/")), ErrClosed)
}

func TestARequestIsWaitedForNoLongerThanItsContextLivesAndCountsUntilItIsAnswered(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		held := server.HoldReply(zktest.OpGetData)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		read, began := Read("/"), time.Now()
		require.ErrorIs(t, c.Ask(ctx, read), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		synctest.Wait()
		require.Equal(t, 1, c.cleanups.count)
		held.Release()
		synctest.Wait()
		require.Zero(t, c.cleanups.count)
		require.NoError(t, read.Err())
	})
}

func TestATransactionIsWaitedForNoLongerThanItsContextLives(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		held := server.HoldReply(zktest.OpMulti)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, c.Transact(ctx, Check("/")), context.DeadlineExceeded)
		held.Release()
		require.Equal(t, zk.ErrNoNode, c.Transact(t.Context(), Check("/missing")))
	})
}

func TestWorkOfAClientThatIsClosedIsOver(t *testing.T) {
	c := unconnected(t, slog.New(slog.DiscardHandler))
	c.life.end()
	w := c.Background(func() error { return nil })
	require.True(t, latch.IsClosed(w.Done()))
	require.ErrorIs(t, w.Err(), ErrClosed)
}
