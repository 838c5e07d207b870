package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// A contender that was counted for ever would cost each later one a request, and the session
// memory for each path.
func TestNothingIsCountedOfContendersThatAreGone(t *testing.T) {
	const timeout = 20 * time.Second
	onNodes := zktest.OnPath("/lock/")
	for name, disturb := range map[string]func(server *zktest.Server, s *Session){
		"in peace":                         func(*zktest.Server, *Session) {},
		"the connection is lost":           func(server *zktest.Server, _ *Session) { server.Cut() },
		"the session expires":              func(server *zktest.Server, s *Session) { server.ExpireSession(s.client.ID()) },
		"a create's reply is lost":         func(server *zktest.Server, _ *Session) { server.DropReply(zktest.OpCreate, onNodes) },
		"a create is lost":                 func(server *zktest.Server, _ *Session) { server.DropRequest(zktest.OpCreate, onNodes) },
		"the server hangs for some time":   func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(timeout/2, server.Thaw) },
		"the server hangs for a long time": func(server *zktest.Server, _ *Session) { server.Freeze(); time.AfterFunc(2*timeout, server.Thaw) },
		"the session is closed":            func(_ *zktest.Server, s *Session) { s.end() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := connected(t)
				nobody := []zk.ACL{{Perms: zk.PermAll, Scheme: "unheard-of", ID: "nobody"}}
				ctx, leave := context.WithTimeout(t.Context(), timeout)
				defer leave()
				enter := func() {
					refused := defaults()
					refused.ACL = nobody
					plain := lockAt(s, "/lock")
					for _, l := range []Source{plain, plain, New(s, "/lock", recipe.Exclusive, refused), NewHandoff(lockAt(s, "/lock"), 2, 0)} {
						for range 2 {
							go func() {
								if h, err := l.Acquire(ctx, nil); err == nil {
									_ = s.client.Sleep(ctx, time.Second)
									h.SendRelease(ctx, nil)
								}
							}()
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
				require.Empty(t, s.index.lines)
				require.Empty(t, s.index.at)
				require.Empty(t, s.live)
				require.Empty(t, s.protected)
			})
		})
	}
}
