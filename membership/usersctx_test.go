package membership_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

func TestTheErrorOfAWatchNamesTheWholePath(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		operator := connect(t, server)
		create(t, operator.Conn(), "/app", 0)
		_, err := operator.Conn().Create(path, nil, 0, zk.WorldACL(zk.PermWrite))
		require.NoError(t, err)
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr() + "/app"}, timeout, zklock.WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		for _, err := range membership.Watch(t.Context(), s, "/servers") {
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.Equal(t, path, err.(*zklock.Error).Path)
		}
	})
}

func TestAWatchWhoseContextHasEndedAsksForNothing(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range membership.Watch(ctx, s, path) {
			require.Fail(t, "nobody can know the members")
		}
		synctest.Wait()
		require.Zero(t, server.Requests()[zktest.OpGetChildren2])
	})
}

func TestAWatchThatHasEndedReadsNoMoreMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		conn, s := connect(t, server).Conn(), connect(t, server)
		crowd(t, conn, 500)
		held := server.HoldReply(zktest.OpGetData, zktest.OnSession(s.ID()))
		ctx, cancel := context.WithCancel(t.Context())
		before := 0
		go func() {
			<-held.Struck()
			synctest.Wait()
			before = server.Requests()[zktest.OpGetData]
			cancel()
		}()
		for range membership.Watch(ctx, s, path) {
			require.Fail(t, "nobody can know the members")
		}
		held.Release()
		time.Sleep(time.Second)
		require.Equal(t, before, server.Requests()[zktest.OpGetData])
	})
}

// A Join may fail when its member has been seen, and leave what waits for that to be told: others write to the node, and
// the member may not.
func TestMembersWhoseUserIsBusyKeepNobodyFromALock(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s, operator := connect(t, server), connect(t, server, operatorsAuth)
		goOn := make(chan struct{})
		defer close(goOn)
		mu, err := zklock.New(s, "/lock")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		join(t, s, "first") // makes the path
		for range 100 {
			created := server.HoldReply(zktest.OpCreate, zktest.OnPath(path+"/member-"))
			go func() {
				select {
				case <-created.Struck():
				case <-ctx.Done():
				}
				for _, name := range server.Children(path) {
					operator.Conn().Set(path+"/"+name, []byte("theirs"), -1)
				}
				created.Release()
			}()
			_, err := membership.Join(ctx, s, path, nil, operatorsACL, membership.WithNotify(func(membership.State) { <-goOn }))
			require.ErrorIs(t, err, zk.ErrNoAuth)
		}
		require.NoError(t, mu.LockContext(ctx))
		require.NoError(t, mu.UnlockContext(ctx))
	})
}
