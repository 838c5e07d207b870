package client

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// go-zookeeper would read what it has seen last, for its watches, while the first answer over
// the new connection changes it: a data race, after which an event may be missing.
func TestTheUsersWatchesAreSetAgainBeforeAnAnswerOverTheNewConnectionIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: server.Dial})
		c.Observe(nobody{})
		require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
		defer c.Close(RequestPatience)
		for i := range 5000 { // so many requests that other answers come between
			_, _, _, err := c.Conn.ExistsW(fmt.Sprintf("/%0200d", i))
			require.NoError(t, err)
		}
		synctest.Wait()
		for range 12 {
			_, err := c.Conn.Set("/", nil, -1)
			require.NoError(t, err)
			server.Cut()
			var asked sync.WaitGroup
			for range 8 {
				asked.Go(func() {
					for range 3 {
						_, _ = c.Conn.Set("/", nil, -1)
					}
				})
			}
			asked.Wait()
			synctest.Wait()
		}
		require.EqualValues(t, 1, c.dialer.Watches().Oldest, "each request has named what was seen before its connection")
	})
}
