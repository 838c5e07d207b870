package cli

import (
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

func TestAWatchThatFindsItsPathCreatedMeanwhileSeesItsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		watcher, other := connect(t, server), connect(t, server).Conn()
		looking := server.HoldRequest(zktest.OpExists, zktest.OnPath("/p"))
		changed := make(chan struct{}, 1)
		go watchChildren(t.Context(), watcher, "/p", changed)
		<-looking.Struck()
		_, err := other.Create("/p", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		looking.Release()
		synctest.Wait()
		<-changed
		_, err = other.Create("/p/child", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, changed, 1)
	})
}
