package zklock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// A list that was under way before may be older than the caller's own node.
func TestAListIsSharedByThoseWhoAskedBeforeItWasSentAndByNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		connect := func() *Session {
			s, err := Connect(t.Context(), []string{server.PipeAddr()}, 20*time.Second, WithDialer(server.Dial))
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			return s
		}
		s, other := connect(), connect()
		_, err := other.conn.Create("/queue", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)

		held := server.HoldReply(zktest.OpGetChildren2)
		first := s.joinList("/queue")
		<-held.Struck()
		_, err = other.conn.Create("/queue/node", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		second, third := s.joinList("/queue"), s.joinList("/queue")
		assert.Same(t, second, third)
		held.Release()

		before, err := first.wait(t.Context())
		require.NoError(t, err)
		assert.Empty(t, before.names)
		after, err := second.wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"node"}, after.names)
		synctest.Wait()
		assert.Empty(t, s.lists)
	})
}
