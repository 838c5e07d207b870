package zklock_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// timeless is a connection without deadlines, as those of a tunnel are. Some say so.
type timeless struct {
	net.Conn
	says error
}

func (c timeless) SetDeadline(time.Time) error      { return c.says }
func (c timeless) SetReadDeadline(time.Time) error  { return c.says }
func (c timeless) SetWriteDeadline(time.Time) error { return c.says }

// withoutDeadlines runs f in virtual time with a session, one of its locks, and a
// server, over connections without deadlines.
func withoutDeadlines(t *testing.T, f func(t *testing.T, server *zktest.Server, s *zklock.Session, l *zklock.Locker)) {
	t.Helper()
	for name, says := range map[string]error{"told": errors.ErrUnsupported, "untold": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, longSession,
					zklock.WithDialer(func(network, addr string, limit time.Duration) (net.Conn, error) {
						conn, err := server.Dial(network, addr, limit)
						if err != nil {
							return nil, err
						}
						return timeless{conn, says}, nil
					}))
				require.NoError(t, err)
				defer s.Close()
				l, err := zklock.New(s, "/lock")
				require.NoError(t, err)
				f(t, server, s, l)
			})
		})
	}
}

func TestAHoldOutlivesAReconnectWithoutDeadlines(t *testing.T) {
	withoutDeadlines(t, func(t *testing.T, server *zktest.Server, _ *zklock.Session, l *zklock.Locker) {
		h, err := l.Acquire(t.Context())
		require.NoError(t, err)
		server.Cut()
		time.Sleep(2 * longSession)
		require.NoError(t, h.Release(t.Context()))
	})
}

func TestAHandshakeWithoutDeadlinesIsGivenUp(t *testing.T) {
	withoutDeadlines(t, func(t *testing.T, server *zktest.Server, _ *zklock.Session, l *zklock.Locker) {
		server.HoldReply(zktest.OpConnect)
		server.Cut()
		time.Sleep(longSession / 2)
		ctx, cancel := context.WithTimeout(t.Context(), longSession)
		defer cancel()
		require.NoError(t, l.LockContext(ctx))
		l.Unlock()
	})
}

func TestAHalfOpenConnectionWithoutDeadlinesIsGivenUp(t *testing.T) {
	withoutDeadlines(t, func(t *testing.T, server *zktest.Server, s *zklock.Session, _ *zklock.Locker) {
		before := server.Requests()[zktest.OpConnect]
		server.HoldReply(zktest.OpExists)
		go s.Conn().Exists("/")
		time.Sleep(2 * longSession)
		require.Greater(t, server.Requests()[zktest.OpConnect], before)
	})
}

func TestClosingDuringAHandshakeWithoutDeadlinesLeavesNothing(t *testing.T) {
	withoutDeadlines(t, func(t *testing.T, server *zktest.Server, s *zklock.Session, l *zklock.Locker) {
		_, err := l.Acquire(t.Context())
		require.NoError(t, err)
		held := server.HoldReply(zktest.OpConnect)
		server.Cut()
		<-held.Struck()
		start := time.Now()
		require.Error(t, s.Close())
		require.Less(t, time.Since(start), longSession)
	})
}
