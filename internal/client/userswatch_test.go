package client

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/internal/wire"
	"github.com/zklock/zklock/zktest"
)

// The race detector judges it too: go-zookeeper reads what it has seen last while it takes answers.
func TestTheUsersWatchesAreSetAgainWhateverIsAnsweredBefore(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, c *Client) {
		const watches = 5000 // so many requests that other answers come between
		for i := range watches {
			_, _, _, err := c.Conn.ExistsW(fmt.Sprintf("/%0200d", i))
			require.NoError(t, err)
		}
		for range 12 {
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
			require.True(t, c.Watches().Set)
			require.Len(t, server.Watches(), watches)
		}
	})
}

// ending is a connection that ends as watches are to be set again over it, behind another answer.
type ending struct {
	net.Conn
	answered <-chan struct{}
}

func (e ending) Write(p []byte) (int, error) {
	if len(p) >= 12 && int32(binary.BigEndian.Uint32(p[8:])) == wire.OpSetWatches {
		<-e.answered
		e.Conn.Close()
	}
	return e.Conn.Write(p)
}

// A request that was queued goes out ahead of the watches.
func TestAUsersWatchTellsOfAChangeThoughAConnectionIsAnsweredAndEndsBeforeItIsSetAgain(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		var dials atomic.Int32
		answered := make(chan struct{})
		c := connect(t, server, func(network, addr string, timeout time.Duration) (net.Conn, error) {
			conn, err := server.Dial(network, addr, timeout)
			if err == nil && dials.Add(1) == 2 {
				conn = ending{conn, answered}
			}
			return conn, err
		})
		other := connect(t, server, server.Dial)
		_, err := other.Conn.Create("/node", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, changed, err := c.Conn.GetW("/node")
		require.NoError(t, err)
		server.Refuse(true)
		server.CutSession(c.ID())
		synctest.Wait()
		_, err = other.Conn.Set("/node", nil, -1)
		require.NoError(t, err)
		go func() {
			_, _, err := c.Conn.Get("/")
			assert.NoError(t, err)
			close(answered)
		}()
		synctest.Wait()
		server.Refuse(false)
		select {
		case event := <-changed:
			require.Equal(t, zk.EventNodeDataChanged, event.Type)
		case <-time.After(time.Minute):
			require.Fail(t, "nobody tells")
		}
		require.EqualValues(t, 3, dials.Load())
	})
}
