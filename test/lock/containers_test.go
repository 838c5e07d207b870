package lock_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
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

// A server that does not know containers would hang up on a request of its own for one.
func TestAPathThatIsMissingOnAServerWithoutContainersCostsNoConnection(t *testing.T) {
	for refuses, how := range map[bool]string{true: "refused", false: "taken for persistent nodes"} {
		for _, path := range []string{"/new", "/a/path/that/is/deep"} {
			for what, take := range belowPaths {
				t.Run(how+path+"/"+what, func(t *testing.T) {
					virtual.Test(t, func(t *testing.T) {
						server := zktest.NewServer(t, zktest.WithoutContainers(refuses), zktest.WithContainerInterval(time.Second))
						var log lockedBuffer
						s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second,
							zklock.WithDialer(server.Dial), zklock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
						require.NoError(t, err)
						defer s.Close()
						for _, below := range []string{path, "/another" + path} {
							leave, err := take(t.Context(), s, below, zk.WorldACL(zk.PermAll))
							require.NoError(t, err)
							require.NoError(t, leave(t.Context()))
							time.Sleep(time.Minute)
							exists, _, err := s.Conn().Exists(below)
							require.NoError(t, err)
							require.True(t, exists, "the parents are persistent")
						}
						require.NotContains(t, log.String(), "no connection")
						require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
						require.Contains(t, log.String(), "the servers have no containers, parents are made persistent")
					})
				})
			}
		}
	}
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
	for name, acl := range map[string][]zk.ACL{
		"a password for a hash": {{Perms: zk.PermAll, Scheme: "digest", ID: "bob:typo"}},
		"somebody else's":       zk.DigestACL(zk.PermAll, "ann", "ann"),
		"nobody may read":       zk.WorldACL(zk.PermAll &^ zk.PermRead),
		"nobody may create":     zk.WorldACL(zk.PermAll &^ zk.PermCreate),
		"an unknown scheme":     {{Perms: zk.PermAll, Scheme: "sasl", ID: "bob"}},
	} {
		for what, take := range belowPaths {
			t.Run(name+"/"+what, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					wrong, other := b.session("bob"), b.session("other")
					for _, path := range []string{"/new", "/a/new/one"} {
						_, err := take(t.Context(), wrong, path, acl)
						require.ErrorContains(t, err, "ACL")
						require.NotContains(t, err.Error(), "typo")
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

// Each finds that others have made a part of its path.
func TestManyThatMakePathsWithinEachOtherTakeNoLongTime(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("owner")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				leave, err := belowPaths["a lock"](ctx, s, strings.Repeat("/x", i%20+1), zk.WorldACL(zk.PermAll))
				if err == nil {
					err = leave(ctx)
				}
				require.NoError(t, err)
			})
		}
		all.Wait()
	})
}

func TestALostAnswerToWhatMakesAPathIsNoWordAgainstContainers(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithContainerInterval(time.Second))
		b := &bubble{t, server, "/top/lock"}
		l := b.locker(b.session(""))
		for _, lose := range []func(zktest.Op, ...zktest.Filter) *zktest.Fault{server.DropRequest, server.DropReply, server.HoldReply} {
			lose(zktest.OpMulti)
			l.Lock()
			require.NoError(t, l.UnlockContext(t.Context()))
			time.Sleep(time.Minute)
			require.Empty(t, server.Nodes(), "the parents are containers, which have gone")
		}
	})
}
