package lock_test

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
	"github.com/zklock/zklock/zktest"
)

// containerless is a session with a server that does not know containers, in which a lock is
// held whatever else goes on.
type containerless struct {
	*bubble
	*zklock.Session
	log                       lockedBuffer
	dials, suspended, resumed atomic.Int32
	straight                  atomic.Bool // requests for containers go out at once
}

func (w *containerless) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	w.dials.Add(1)
	conn, err := w.server.Dial(network, address, timeout)
	return late{conn, w}, err
}

// late is a connection that a request for a container takes its time to go out on, so that a
// proof is answered ahead of it.
type late struct {
	net.Conn
	of *containerless
}

const lateness = 50 * time.Millisecond

func (l late) Write(frame []byte) (int, error) {
	if !isOf(frame, zktest.OpCreateContainer) || l.of.straight.Load() {
		return l.Conn.Write(frame)
	}
	frame = slices.Clone(frame)
	time.AfterFunc(lateness, func() { _, _ = l.Conn.Write(frame) })
	return len(frame), nil
}

// answers are the ways in which such a server refuses a container.
var answers = map[string]bool{"without a word": false, "with an answer": true}

func withoutContainers(t *testing.T, answered bool, f func(t *testing.T, w *containerless), opts ...zklock.SessionOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithoutContainers(answered), zktest.WithContainerInterval(time.Second))
		w := &containerless{bubble: &bubble{t, server, "/held"}}
		s, err := zklock.Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, append(opts,
			zklock.WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))),
			zklock.WithDialer(w.dial))...)
		require.NoError(t, err)
		defer s.Close()
		w.Session = s
		_, err = s.Conn().Create("/held", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		held, err := w.locker(s, zklock.WithTrace(&zklock.Trace{
			Suspended: func(zklock.TraceInfo) { w.suspended.Add(1) },
			Resumed:   func(zklock.TraceInfo) { w.resumed.Add(1) },
		})).Acquire(t.Context())
		require.NoError(t, err)

		f(t, w)
		time.Sleep(s.Timeout()) // for more proofs
		require.NoError(t, held.Err(), "what is held outlives it")
		require.Equal(t, w.suspended.Load(), w.resumed.Load())
	})
}

// requireLost checks how many connections have been lost, and that all other holds were
// suspended once at most and the log says why, once.
func (w *containerless) requireLost(t *testing.T, connections int32) {
	t.Helper()
	time.Sleep(w.Timeout())
	require.Equal(t, connections, w.dials.Load()-1)
	require.Equal(t, min(connections, 1), w.suspended.Load())
	require.Equal(t, min(int(connections), 1), strings.Count(w.log.String(), "level=WARN"), w.log.String())
}

// lockAt takes and releases the lock on path, in a time that suits anybody.
func (w *containerless) lockAt(t *testing.T, path string) {
	t.Helper()
	l, err := zklock.New(w.Session, path)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.NoError(t, l.LockContext(ctx))
	require.NoError(t, l.UnlockContext(ctx))
}

func TestALockBelowAMissingPathOnAServerWithoutContainersSuspendsTheOthersOnce(t *testing.T) {
	for how, answered := range answers {
		for _, path := range []string{"/lock", "/a/path/that/is/deep/enough/for/many/losses/lock"} {
			t.Run(how+path, func(t *testing.T) {
				withoutContainers(t, answered, func(t *testing.T, w *containerless) {
					lost := int32(2)
					if answered {
						lost = 1
					}
					w.lockAt(t, path)
					w.requireLost(t, lost)
					w.lockAt(t, path)
					w.lockAt(t, "/another"+path)
					w.requireLost(t, lost)
					exists, _, err := w.Conn().Exists(path)
					require.NoError(t, err)
					require.True(t, exists, "the parents are persistent")
					require.Contains(t, w.log.String(), "persistent")
				})
			})
		}
	}
}

// Once may be chance.
func TestAServerThatErrsTwiceAtContainersIsAskedForNoMore(t *testing.T) {
	for _, code := range []int32{-1, -5, -7} {
		for errs, asked := range []int{1, 2, 2, 2} {
			inBubble(t, func(t *testing.T, b *bubble) {
				for range errs {
					b.server.RefuseRequest(zktest.OpCreateContainer, code)
				}
				l, err := zklock.New(b.session("owner"), "/missing")
				require.NoError(t, err)
				require.NoError(t, l.LockContext(aMinute(t)))
				require.Equal(t, asked, b.server.Requests()[zktest.OpCreateContainer], "%d times, %d", errs, code)
			})
		}
	}
}

func TestWithPersistentParentsNoContainerIsAskedFor(t *testing.T) {
	withoutContainers(t, false, func(t *testing.T, w *containerless) {
		w.lockAt(t, "/a/b/c/lock")
		w.requireLost(t, 0)
		require.Zero(t, w.server.Requests()[zktest.OpCreateContainer])
	}, zklock.WithPersistentParents())
}

// Each call gives up before it knows what its request has come to.
func TestWhoPollsBelowAMissingPathWithoutContainersLearnsItToo(t *testing.T) {
	withoutContainers(t, false, func(t *testing.T, w *containerless) {
		l, err := zklock.New(w.Session, "/a/b/lock")
		require.NoError(t, err)
		for ok := false; !ok; {
			ok, err = l.TryLockFor(t.Context(), time.Nanosecond)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		l.Unlock()
		w.requireLost(t, 2)
	})
}

// Many ask at once: what they lose is one connection.
func TestManyLocksBelowMissingPathsWithoutContainersSuspendTheOthersOnce(t *testing.T) {
	for range 60 { // which request meets which connection is left to chance
		withoutContainers(t, false, func(t *testing.T, w *containerless) {
			w.straight.Store(true)
			const many = 20
			done := make(chan struct{})
			for i := range many {
				go func() {
					defer func() { done <- struct{}{} }()
					w.lockAt(t, strings.Repeat("/x", i+1))
				}()
			}
			for range many {
				<-done
			}
			w.requireLost(t, 2)
		})
	}
}

// The holds would stay suspended if nobody asked again.
func TestADoubtAboutContainersIsSettledWhenItsCallerHasLeft(t *testing.T) {
	withoutContainers(t, false, func(t *testing.T, w *containerless) {
		l, err := zklock.New(w.Session, "/a/b/lock")
		require.NoError(t, err)
		refuse := time.AfterFunc(lateness/2, func() { w.server.Refuse(true) })
		defer refuse.Stop()
		ok, err := l.TryLockFor(t.Context(), 2*lateness)
		require.NoError(t, err)
		require.False(t, ok)
		require.EqualValues(t, 1, w.suspended.Load())
		w.server.Refuse(false)
		time.Sleep(w.Timeout())
		require.EqualValues(t, 1, w.suspended.Load())
		require.Contains(t, w.log.String(), "persistent")
	})
}

func TestAMemberJoinsAMissingPathOnAServerWithoutContainers(t *testing.T) {
	for how, answered := range answers {
		t.Run(how, func(t *testing.T) {
			withoutContainers(t, answered, func(t *testing.T, w *containerless) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				m, err := membership.Join(ctx, w.Session, "/deep/servers", []byte{})
				require.NoError(t, err)
				require.NoError(t, m.Leave(ctx))
				w.lockAt(t, "/a/b/c")
				require.EqualValues(t, 1, w.suspended.Load())
			})
		})
	}
}

// A connection that is lost once by chance, or by a server that does not answer at all, says
// nothing of containers.
func TestALostConnectionIsNoWordAgainstContainers(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Server){
		"one request": func(s *zktest.Server) { s.DropRequest(zktest.OpCreateContainer) },
		"one reply":   func(s *zktest.Server) { s.DropReply(zktest.OpCreateContainer) },
		"no answers": func(s *zktest.Server) {
			for range 3 {
				s.HoldReply(zktest.OpCreateContainer)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t, zktest.WithContainerInterval(time.Second))
				b := &bubble{t, server, "/top/lock"}
				l := b.locker(b.session(""))
				for range 3 { // now and then
					lose(server)
					l.Lock()
					require.NoError(t, l.UnlockContext(t.Context()))
					time.Sleep(time.Minute)
					require.Empty(t, server.Nodes(), "the parents are containers, which have gone")
				}
			})
		})
	}
}

// The server hangs up on whoever asks for a container, and on the whole session.
func TestAUsersOwnRequestForAContainerSaysNothingOfWhatTheSessionMayAskFor(t *testing.T) {
	withoutContainers(t, false, func(t *testing.T, w *containerless) {
		w.straight.Store(true)
		for i := range int32(3) {
			_, err := w.Conn().CreateContainer("/users", nil, zk.FlagContainer, zk.WorldACL(zk.PermAll))
			require.Error(t, err)
			time.Sleep(w.Timeout())
			require.Equal(t, i+1, w.suspended.Load())
			require.Equal(t, i+1, w.resumed.Load())
		}
		require.NotContains(t, w.log.String(), "persistent")
	})
}

// However far a call gets until its ctx ends, the server is left as it was.
func TestACallThatEndsWhileItsPathIsMadeLeavesNoPath(t *testing.T) {
	const oneWay = 5 * time.Millisecond
	for name, take := range map[string]func(context.Context, *bubble, *zklock.Session) (*zklock.Hold, error){
		"a lock": func(ctx context.Context, b *bubble, s *zklock.Session) (*zklock.Hold, error) {
			return b.locker(s).Acquire(ctx)
		},
		"a semaphore": func(ctx context.Context, b *bubble, s *zklock.Session) (*zklock.Hold, error) {
			return b.semaphore(s, 1).Acquire(ctx, 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &bubble{t, zktest.NewServer(t, zktest.WithContainerInterval(time.Second)), "/a/path/below"}
				s := b.session("far away")
				answersTake(b.server.Client("far away"), 2*oneWay)
				for patience := oneWay / 2; ; patience += oneWay {
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					h, err := take(ctx, b, s)
					cancel()
					if err == nil {
						require.NoError(t, h.Release(t.Context()))
					}
					time.Sleep(time.Minute)
					require.Empty(t, b.server.Nodes(), "after a call of %v", patience)
					if err == nil {
						return
					}
				}
			})
		})
	}
}

// A path that a call has made is taken back if it is as the call has made it.
func TestAPathThatSomebodyElseUsesIsNotTakenBack(t *testing.T) {
	const oneWay = 100 * time.Millisecond
	everybody := zk.WorldACL(zk.PermAll)
	for name, c := range map[string]struct {
		lasts time.Duration // the call: for so many requests, of which the last is on its way back
		use   func(t *testing.T, conn *zk.Conn, path string)
	}{
		"since something was written to it": {4*oneWay - oneWay/4, func(t *testing.T, conn *zk.Conn, path string) {
			_, err := conn.Set(path, []byte("theirs"), -1)
			require.NoError(t, err)
		}},
		"since it was made anew": {8*oneWay - oneWay/4, func(t *testing.T, conn *zk.Conn, path string) {
			require.NoError(t, conn.Delete(path, -1))
			time.Sleep(3 * oneWay) // a node was asked for in vain once more, and now the path is
			_, err := conn.Create(path, []byte("theirs"), zk.FlagPersistent, everybody)
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				s, other := b.session("far away"), b.session("near").Conn()
				l := b.locker(s)
				answersTake(b.server.Client("far away"), 2*oneWay)
				ended := begin(func() error { return l.LockContext(within(t, c.lasts)) })
				time.Sleep(3*oneWay + oneWay/2) // the path has just been made
				c.use(t, other, b.path)
				require.ErrorIs(t, <-ended, context.DeadlineExceeded)
				time.Sleep(10 * oneWay)
				data, _, err := other.Get(b.path)
				require.NoError(t, err)
				require.Equal(t, "theirs", string(data))
			})
		})
	}
}

// With an access list that keeps the call itself out, it has made a part of the path.
func TestAPathThatCannotBeMadeWholeIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t, zktest.NewServer(t, zktest.WithContainerInterval(time.Second)), "/a/path/below"}
		l := b.locker(b.session(""), zklock.WithACL(zk.WorldACL(zk.PermRead|zk.PermDelete)))
		require.ErrorIs(t, l.LockContext(t.Context()), zk.ErrNoAuth)
		time.Sleep(time.Minute)
		require.Empty(t, b.server.Nodes())
	})
}
