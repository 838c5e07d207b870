package election_test

import (
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// deaf is a connection over which the server does not hear once of the watches that the client sets
// again after a reconnect.
type deaf struct {
	net.Conn
	left *atomic.Int64
}

func (d deaf) Write(p []byte) (int, error) {
	const opSetWatches = 101
	if len(p) >= 12 && slices.Equal(p[8:12], []byte{0, 0, 0, opSetWatches}) && d.left.Add(-1) >= 0 {
		return len(p), nil
	}
	return d.Conn.Write(p)
}

func TestAnObserverWhoseWatchesAreLostLooksAgain(t *testing.T) {
	for name, then := range map[string]func(place *zktest.Client, o *observer){
		"and never set again": func(*zktest.Client, *observer) {},
		"and set again after the next break, for what changes from then on": func(place *zktest.Client, o *observer) {
			place.Cut()
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, server *zktest.Server) {
				place, left := server.Client("observer"), new(atomic.Int64)
				left.Store(1)
				observing := connect(t, server, zklock.WithDialer(func(network, addr string, d time.Duration) (net.Conn, error) {
					conn, err := place.Dial(network, addr, d)
					return deaf{conn, left}, err
				}))
				term, o := campaign(t, connect(t, server), "one"), observe(t, observing)
				require.Equal(t, []string{"one"}, o.sees())
				place.Cut()
				for left.Load() > 0 {
					time.Sleep(time.Millisecond)
				}
				require.NoError(t, term.Proclaim(t.Context(), []byte("two")))
				_, _, err := observing.Conn().Get("/") // the server is not asked for what has changed before
				require.NoError(t, err)
				synctest.Wait()
				require.Empty(t, o.sees(), "a watch has told, the test shows nothing")
				then(place, o)
				time.Sleep(4 * time.Second)
				require.Equal(t, []string{"two"}, o.sees())
				require.Zero(t, requests(server, func() {
					require.Equal(t, []string{"two"}, observe(t, observing).sees())
				}), "the watch of this connection stands")
				require.NoError(t, term.Resign(t.Context()))
				require.Equal(t, []string{nobody}, o.sees())
			})
		})
	}
}
