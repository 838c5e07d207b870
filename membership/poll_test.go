package membership_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// abandoned bounds the work that calls have left behind when their contexts ended.
const abandoned = 300

func TestJoiningAgainAndAgainWhereNobodyMayDoesNotPileUpWork(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		_, err := s.Conn().Create("/closed", nil, 0, zk.WorldACL(zk.PermRead))
		require.NoError(t, err)
		before := runtime.NumGoroutine()
		for range 100 {
			_, err := membership.Join(t.Context(), s, "/closed", nil)
			require.ErrorIs(t, err, zk.ErrNoAuth)
		}
		synctest.Wait()
		require.Less(t, runtime.NumGoroutine(), before+20)
	})
}

func TestJoiningAgainAndAgainWithoutAServerDoesNotPileUpWork(t *testing.T) {
	inSession(t, func(t *testing.T, server *zktest.Server, s *zklock.Session) {
		require.NoError(t, join(t, s, "first").Leave(t.Context())) // makes the path
		created := made(server)
		server.Refuse(true)
		server.Cut()
		synctest.Wait()
		before := runtime.NumGoroutine()
		for range 1000 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			began := time.Now()
			_, err := membership.Join(ctx, s, path, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, 10*time.Millisecond, time.Since(began))
			cancel()
		}
		require.Less(t, runtime.NumGoroutine(), before+abandoned)
		server.Refuse(false)
		join(t, s, "last")
		eventually(t, "the others to be off the list", func() bool { return len(server.Children(path)) == 1 })
		require.Less(t, created.Load(), int32(abandoned), "what was abandoned is not done in the end")
	})
}
