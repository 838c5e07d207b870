//go:build !race

package zklock

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// A contender that was counted for ever would cost each later one a request, and
// the session memory for each path. (go-zookeeper has a data race of its own at a
// reconnect.)
func TestNothingIsCountedOfContendersThatAreGone(t *testing.T) {
	const timeout = 20 * time.Second
	onNodes := zktest.OnPath("/lock/")
	for name, disturb := range map[string]func(server *zktest.Server, s *Session){
		"in peace":                         func(*zktest.Server, *Session) {},
		"the connection is lost":           func(server *zktest.Server, _ *Session) { server.Cut() },
		"the session expires":              func(server *zktest.Server, s *Session) { server.ExpireSession(s.ID()) },
		"a create's reply is lost":         func(server *zktest.Server, _ *Session) { server.DropReply(zktest.OpCreate, onNodes) },
		"a create is lost":                 func(server *zktest.Server, _ *Session) { server.DropRequest(zktest.OpCreate, onNodes) },
		"the server hangs for some time":   func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(timeout/2, server.Thaw) },
		"the server hangs for a long time": func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(2*timeout, server.Thaw) },
		"the session is closed":            func(_ *zktest.Server, s *Session) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t)
				s, err := Connect(t.Context(), []string{server.PipeAddr()}, timeout, WithDialer(server.Dial))
				require.NoError(t, err)
				defer s.Close()
				nobody := []zk.ACL{{Perms: zk.PermAll, Scheme: "unheard-of", ID: "nobody"}}
				ctx, leave := context.WithTimeout(t.Context(), timeout)
				defer leave()
				enter := func() {
					for _, opts := range [][]Option{nil, nil, {WithACL(nobody)}, {WithHandoff(2)}} {
						l, err := New(s, "/lock", opts...)
						if err != nil {
							continue // closed
						}
						for range 2 {
							go l.Do(ctx, func(context.Context) error { return s.sleep(ctx, time.Second) })
						}
					}
				}
				enter()
				synctest.Wait()
				disturb(server, s)
				enter()
				time.Sleep(10 * timeout)
				s.mu.Lock()
				defer s.mu.Unlock()
				require.Empty(t, s.lines.length)
				require.Empty(t, s.lines.at)
				require.Empty(t, s.lists)
				require.Empty(t, s.live)
				require.Empty(t, s.staked)
			})
		})
	}
}
