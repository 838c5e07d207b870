package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// belowPaths are ways to ask for something below a path.
var belowPaths = map[string]func(ctx context.Context, s *zklock.Session, path string, acl []zk.ACL) (leave func(context.Context) error, err error){
	"a lock": func(ctx context.Context, s *zklock.Session, path string, acl []zk.ACL) (func(context.Context) error, error) {
		l, err := zklock.New(s, path, zklock.WithACL(acl))
		if err == nil {
			err = l.LockContext(ctx)
		}
		return func(ctx context.Context) error { return l.UnlockContext(ctx) }, err
	},
	"a try": func(ctx context.Context, s *zklock.Session, path string, acl []zk.ACL) (func(context.Context) error, error) {
		rw, err := zklock.NewRW(s, path, zklock.WithACL(acl))
		if err != nil {
			return nil, err
		}
		h, err := rw.TryRAcquire(ctx)
		return h.Release, err
	},
	"a semaphore": func(ctx context.Context, s *zklock.Session, path string, acl []zk.ACL) (func(context.Context) error, error) {
		permits, err := zklock.NewSemaphore(s, path, 3, zklock.WithACL(acl))
		if err != nil {
			return nil, err
		}
		h, err := permits.Acquire(ctx, 2)
		return h.Release, err
	},
	"a member": func(ctx context.Context, s *zklock.Session, path string, acl []zk.ACL) (func(context.Context) error, error) {
		m, err := membership.Join(ctx, s, path, nil, membership.WithACL(acl))
		return m.Leave, err
	},
}

// However far a call gets until its ctx, or its process, ends, the server is left as it was.
func TestACallThatEndsWhileItsPathIsMadeLeavesNoPath(t *testing.T) {
	const oneWay = 5 * time.Millisecond
	for what, take := range belowPaths {
		for _, end := range []string{"its ctx", "its process"} {
			t.Run(what+"/"+end, func(t *testing.T) {
				virtual.Test(t, func(t *testing.T) {
					b := &bubble{t, zktest.NewServer(t, zktest.WithContainerInterval(time.Second)), ""}
					for patience := oneWay / 2; ; patience += oneWay {
						s := b.session("far away")
						far := b.server.Client("far away")
						answersTake(far, 2*oneWay)
						ctx, cancel := context.WithTimeout(t.Context(), patience+oneWay/10) // its process is no more then
						dies := time.AfterFunc(patience, func() {
							if end == "its process" {
								far.Block(zktest.ToServer)
								far.Block(zktest.ToClient)
							}
						})
						leave, err := take(ctx, s, "/a/path/below", zk.WorldACL(zk.PermAll))
						cancel()
						dies.Stop()
						if err == nil {
							require.NoError(t, leave(t.Context()))
						}
						time.Sleep(time.Minute)
						require.Empty(t, b.server.Nodes(), "after %v", patience)
						far.Unblock()
						_ = s.Close()
						_ = s.Close()
						if err == nil {
							return
						}
					}
				})
			})
		}
	}
}

// A hash that is none, as a password is in its place, matches nobody.
func TestAListThatKeepsItsOwnCallOutLeavesNothingThatRefusesOthers(t *testing.T) {
	for name, acl := range wrongLists {
		for what, take := range belowPaths {
			t.Run(name+"/"+what, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					wrong, other := b.session("bob"), b.session("other")
					for _, path := range []string{"/new", "/a/new/one"} {
						_, err := take(t.Context(), wrong, path, acl)
						require.ErrorContains(t, err, "ACL")
						require.NotContains(t, err.Error(), "secret")
						require.Empty(t, b.server.Nodes(), "at once")
						leave, err := take(t.Context(), other, path, zk.WorldACL(zk.PermAll))
						require.NoError(t, err)
						require.NoError(t, leave(t.Context()))
						time.Sleep(5 * time.Minute)
						require.Empty(t, b.server.Nodes())
					}
				})
			})
		}
	}
}
