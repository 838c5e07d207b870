package client

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// The race detector judges it too: go-zookeeper reads what it has seen last while it takes answers.
func TestTheUsersWatchesAreSetAgainWhateverIsAnsweredBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c := connect(t, server, server.Dial)
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

// A request that was queued goes out ahead of the watches.
func TestAUsersWatchTellsOfAChangeThoughAConnectionIsAnsweredAndEndsBeforeItIsSetAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		c, other := connect(t, server, server.Dial), connect(t, server, server.Dial)
		_, err := other.Conn.Create("/node", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, _, changed, err := c.Conn.GetW("/node")
		require.NoError(t, err)
		server.Refuse(true)
		server.CutSession(c.ID())
		_, err = other.Conn.Set("/node", nil, -1)
		require.NoError(t, err)
		synctest.Wait()
		lost := server.DropRequest(zktest.OpSetWatches)
		server.Refuse(false)
		_, _, err = c.Conn.Get("/")
		require.NoError(t, err)
		<-lost.Struck()
		select {
		case event := <-changed:
			require.Equal(t, zk.EventNodeDataChanged, event.Type)
		case <-time.After(time.Minute):
			require.Fail(t, "nobody tells")
		}
	})
}
