package queue

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestWhoComesWhileThereIsNoConnectionWaitsAsLongAsItsContext(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, server *zktest.Server) {
		server.Refuse(true)
		server.Cut()
		synctest.Wait()
		ctx := within(t, time.Second)
		_, err := s.await(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Each look at a lease that nobody needs any more would find it over.
func TestTheEndOfALeaseIsToldOnceHoweverLongTheServersAreAway(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		hold(t, connect(t, server))
		s, log := connectTold(t, server)
		asking(t, s, "/lock")
		server.Freeze()
		time.Sleep(10 * sessionTimeout)
		s.end()
		require.Equal(t, 1, strings.Count(log.String(), "lease over"))
		require.NotContains(t, log.String(), "session expired", "nobody has said so")
	})
}

func TestTheLogTellsOfEachSessionOnce(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, log := connectTold(t, server)
		first := s.client.ID()
		server.Cut()
		time.Sleep(sessionTimeout)
		server.ExpireSession(first)
		time.Sleep(sessionTimeout)
		second := s.client.ID()
		s.end()
		require.NotEqual(t, first, second)
		require.Equal(t, 2, strings.Count(log.String(), "session established"))
		require.Equal(t, 1, strings.Count(log.String(), "session expired"))
		for _, id := range []int64{first, second} {
			require.Equal(t, 1, strings.Count(log.String(), `session established" session=`+client.Hex(id)), log.String())
		}
	})
}
