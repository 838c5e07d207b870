package client

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// mourner is an observer that is slow to take that a node is gone.
type mourner struct {
	nobody
	gone map[string]bool
}

func (m mourner) Deleted(path string) {
	time.Sleep(time.Second)
	m.gone[path] = true
}

func TestTheObserverKnowsThatANodeIsGoneBeforeItsWatchEnds(t *testing.T) {
	for name, late := range map[string]bool{"while it is watched": false, "before it is watched": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				m := mourner{gone: make(map[string]bool)}
				c := New(20*time.Second, new(clock.Clock), Options{Logger: slog.New(slog.DiscardHandler), Hosts: wire.NewHosts(), Dialer: server.Dial})
				c.Observe(m)
				require.NoError(t, c.Connect(t.Context(), []string{server.PipeAddr()}, nil))
				defer c.Close(RequestPatience)
				if !late {
					_, err := c.Conn.Create("/node", nil, 0, zk.WorldACL(zk.PermAll))
					require.NoError(t, err)
				}
				w := c.Watch(WatchKey{Path: "/node"})
				if !late {
					<-w.Armed
					go c.Conn.Delete("/node", -1)
				}
				<-w.Fired
				require.True(t, w.Deleted)
				require.True(t, m.gone["/node"])
			})
		})
	}
}
