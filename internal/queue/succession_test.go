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

// A newcomer that is alone in its session asks for a list at once; one that is not need not.
func TestAContenderKnowsWhetherOthersOfItsSessionStandInItsQueue(t *testing.T) {
	s := &Session{index: index{lines: map[string]*line{}}}
	in := func(dir string, k recipe.Kind, queues bool) *contender {
		c := &contender{queue: &Queue{session: s, dir: dir, kind: k}, entry: entry{queues: queues}}
		c.countIn()
		return c
	}
	first := in("/lock", recipe.Exclusive, true)
	in("/other", recipe.Exclusive, true)
	in("/lock", recipe.Read, true)       // is never handed a lock
	in("/lock", recipe.Exclusive, false) // has no place in the queue
	require.False(t, first.othersInLineLocked())
	second := in("/lock", recipe.Exclusive, true)
	require.True(t, first.othersInLineLocked())
	require.True(t, second.othersInLineLocked())
	for range 2 { // as often as something ends it
		second.countOut()
		require.False(t, first.othersInLineLocked())
		require.False(t, second.othersInLineLocked(), "it has left")
		require.Contains(t, s.index.lines, "/lock")
	}
	first.countOut()
	require.NotContains(t, s.index.lines, "/lock")
	require.Contains(t, s.index.lines, "/other")
}
