package nemesis

import (
	"fmt"
	"testing"
	"time"

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
			links := OpenLinks(t, home, mean)
			session := connect(t, longTimeout, links.Addrs(), zklock.WithHostProvider(&inOrder{servers: links.Addrs()}))
			require.Equal(t, longTimeout, session.Timeout())
			h := acquireLock(t, session, fmt.Sprint("/granted-", mean.ID()))
			observer, err := dial(home.Addr())
			require.NoError(t, err)
			defer observer.Close()
			gone := watchEnd(t, observer, h.Node())
			pauseFor(longTimeout / 16)

			unheard := links[1].HoldReply(faultproxy.OpConnect)
			links[0].Refuse(true)
			links[0].Cut()
			receive(t, unheard.Arrived(), "the server's answer")
			links.Drop(faultproxy.Both)
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
