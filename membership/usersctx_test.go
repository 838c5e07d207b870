package membership_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// silent is a context that has ended and does not say so.
type silent struct{ context.Context }

func (silent) Err() error { return nil }

func TestACallWhoseContextDoesNotSayThatItHasEndedFails(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		m := join(t, s, "one")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		ctx := silent{ended}
		watched, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range membership.Watch(silent{watched}, s, path) {
			cancel()
		}
		server.Freeze()
		_, err := membership.Join(ctx, s, path, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, m.Update(ctx, []byte("two")), context.Canceled)
		require.ErrorIs(t, m.Leave(ctx), context.Canceled)
		for range membership.Watch(ctx, s, path) {
			require.Fail(t, "nobody can know the members")
		}
	})
}

func TestTheErrorOfAWatchNamesTheWholePath(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		operator := connect(t, server)
		_, err := operator.Conn().Create("/app", nil, 0, everybody)
		require.NoError(t, err)
		_, err = operator.Conn().Create(path, nil, 0, zk.WorldACL(zk.PermWrite))
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

func TestAWatchThatHasEndedReadsNoMoreMembers(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		operator, s := connect(t, server), connect(t, server)
		join(t, operator, "first")
		for i := range 200 {
			_, err := operator.Conn().Create(fmt.Sprintf("%s/%d", path, i), nil, zk.FlagEphemeral, everybody)
			require.NoError(t, err)
		}
		held := server.HoldReply(zktest.OpGetData, zktest.OnSession(s.ID()))
		seen := watch(t, s)
		<-held.Struck()
		synctest.Wait()
		before := server.Requests()[zktest.OpGetData]
		seen.cancel()
		<-seen.ended
		held.Release()
		time.Sleep(time.Second)
		require.Equal(t, before, server.Requests()[zktest.OpGetData])
	})
}

// A Join that fails tells of it too, and may leave what waits for that.
func TestMembersWhoseUserIsBusyKeepNobodyFromALock(t *testing.T) {
	inBubble(t, func(t *testing.T, server *zktest.Server) {
		s := connect(t, server)
		goOn := make(chan struct{})
		defer close(goOn)
		mu, err := zklock.New(s, "/lock")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		for range 100 {
			_, err := membership.Join(ctx, s, path, nil,
				membership.WithNotify(func(membership.State) { <-goOn }),
				membership.WithACL([]zk.ACL{{Perms: zk.PermAll, Scheme: "auth"}}))
			require.ErrorIs(t, err, zk.ErrInvalidACL)
		}
		require.NoError(t, mu.LockContext(ctx))
		require.NoError(t, mu.UnlockContext(ctx))
	})
}
