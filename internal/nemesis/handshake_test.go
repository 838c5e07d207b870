package nemesis

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

// A server that grants less than the one before has the leader count the session
// down with its smaller timeout as soon as the handshake has reached it, whether or
// not its answer arrives. A change of tickTime from server to server makes such an
// ensemble.
func TestAHoldIsLostBeforeItsNodeGoesThoughTheAnswerToAHandshakeIsLost(t *testing.T) {
	breaksServers(t)
	granted := map[int]time.Duration{1: 3 * time.Second, 2: 4 * time.Second, 3: longTimeout}
	c := Start(t, func(cfg *apachezk.Config) {
		cfg.Own = func(id int) map[string]string {
			return map[string]string{"maxSessionTimeout": fmt.Sprint(granted[id].Milliseconds())}
		}
	})
	home := c.Server(2)
	for _, mean := range c.Servers()[:2] {
		t.Run(fmt.Sprintf("%v of %v", granted[mean.ID()], longTimeout), func(t *testing.T) {
			doors := OpenDoors(t, home, mean)
			session := connect(t, longTimeout, doors.Addrs(), zklock.WithHostProvider(&inOrder{servers: doors.Addrs()}))
			require.Equal(t, longTimeout, session.Timeout())
			h := acquireLock(t, session, fmt.Sprint("/granted-", mean.ID()))
			gone := watchEnd(t, home, h.Node())
			pauseFor(longTimeout / 16)

			unheard := doors[1].HoldReply(faultproxy.OpConnect)
			doors[0].Refuse(true)
			doors[0].Cut()
			receive(t, unheard.Arrived(), "the server's answer")
			doors.Drop(faultproxy.Both)
			struck := Now()
			lost := make(chan Instant, 1)
			go func() {
				<-h.Lost()
				lost <- Now()
			}()
			ended, told := receive(t, gone, "the node's end"), receive(t, lost, "the loss")
			require.LessOrEqual(t, told, ended, "the node went %v after the handshake, and the lost channel was open %v later",
				ended.Sub(struck), told.Sub(ended))
			t.Logf("lost after %v, the node went after %v", told.Sub(struck), ended.Sub(struck))
		})
	}
}

// watchEnd tells when a node goes.
func watchEnd(t *testing.T, server *apachezk.Server, node string) <-chan Instant {
	t.Helper()
	conn, err := dial(server.Addr())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	exists, _, events, err := conn.ExistsW(node)
	require.NoError(t, err)
	require.True(t, exists)
	gone := make(chan Instant, 1)
	go func() {
		if e := <-events; e.Type == zk.EventNodeDeleted {
			gone <- Now()
		}
	}()
	return gone
}
