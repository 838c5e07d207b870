package lock_test

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

func TestARealServerThatHasLostItsDataIsUsedAgain(t *testing.T) {
	for name, tc := range map[string]struct{ restored, netty bool }{
		"nothing is left, Netty":        {netty: true},
		"a backup that has the session": {restored: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server := apachezk.Run(t, func(c *apachezk.Config) { c.Dir, c.Secure = dir, tc.netty }).Server(0)
			ctx := within(t, patience)
			s, err := zklock.Connect(ctx, []string{server.Addr()}, time.Second)
			require.NoError(t, err)
			t.Cleanup(func() { s.Close() })
			data, backup := filepath.Join(dir, "server-1", "data", "version-2"), filepath.Join(dir, "backup")
			if tc.restored {
				require.NoError(t, os.CopyFS(backup, os.DirFS(data)))
			}
			l := must(zklock.New(s, "/locks/mine"))
			for range 20 { // the restored server's own transactions do not come near these
				require.NoError(t, l.LockContext(ctx))
				require.NoError(t, l.UnlockContext(ctx))
			}
			session := s.ID()
			server.Kill()
			require.NoError(t, os.RemoveAll(data))
			if tc.restored {
				require.NoError(t, os.CopyFS(data, os.DirFS(backup)))
			}
			require.NoError(t, server.Start(ctx))
			require.NoError(t, l.LockContext(ctx))
			require.NotEqual(t, session, s.ID())
			require.NoError(t, l.UnlockContext(ctx))
		})
	}
}

// Another server, which knows nothing, is behind the same name: all that wait get the lock there,
// and what was held is lost.
func TestAServerThatHasLostItsDataIsUsedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		var log lockedBuffer
		var server atomic.Pointer[zktest.Server]
		server.Store(b.server)
		s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, informed(&log),
			zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				return server.Load().Dial(network, address, timeout)
			})))
		defer s.Close()
		session, granted := s.ID(), make(chan grant, 1)
		h := must(b.locker(s).Acquire(t.Context()))
		b.ask(t.Context(), "waiter", b.locker(s), granted)
		fresh := zktest.NewServer(t)
		server.Store(fresh)
		b.server.Cut()
		<-h.Lost()
		began := time.Now()
		waiter := <-granted
		require.NoError(t, waiter.err)
		require.Less(t, time.Since(began), 25*time.Second)
		require.NotEqual(t, session, s.ID())
		require.Contains(t, log.String(), `level=WARN msg="zklock: the servers may have lost their data" server=`+b.server.PipeAddr())
		require.NoError(t, waiter.Release(t.Context()))
	})
}

// unnamed calls asked before a connect request goes out that goes on with a session and names no
// transaction.
type unnamed struct {
	net.Conn
	asked func()
}

func (c unnamed) Write(p []byte) (int, error) {
	const length, seenAt, sessionAt = 44, 8, 20
	if len(p) == 4+length && binary.BigEndian.Uint64(p[seenAt:]) == 0 && binary.BigEndian.Uint64(p[sessionAt:]) != 0 {
		c.asked()
	}
	return c.Conn.Write(p)
}

// The first server that serves again may be one that is asked whether the session is over.
func TestASessionOutlivesALongElection(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		e := zktest.NewEnsemble(t, 3)
		const inSecondRound = 4
		asked := 0
		s := must(zklock.Connect(t.Context(), e.PipeAddrs(), 10*time.Second,
			zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
				if asked == inSecondRound {
					e.Heal()
					time.Sleep(time.Second)
				}
				conn, err := e.Dial(network, address, timeout)
				return unnamed{conn, func() { asked++ }}, err
			})))
		defer s.Close()
		session, l := s.ID(), must(zklock.New(s, "/lock"))
		require.NoError(t, l.LockContext(t.Context()))
		require.NoError(t, l.UnlockContext(t.Context()))
		require.Zero(t, asked)
		for _, server := range e.Servers() {
			e.Partition(server)
		}
		require.NoError(t, l.LockContext(t.Context()))
		require.Equal(t, inSecondRound+1, asked, "the last one says that the session lives")
		require.Equal(t, session, s.ID())
	})
}
