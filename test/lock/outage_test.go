package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// informed returns the option that has the log written to the buffer from Info on.
func informed(log *lockedBuffer) zklock.SessionOption {
	return zklock.WithLogger(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})))
}

// requireOutages checks how many outages, and ends of them, the log has told.
func requireOutages(t *testing.T, log *lockedBuffer, begun, ended int) {
	t.Helper()
	synctest.Wait()
	text := log.String()
	require.Equal(t, begun, strings.Count(text, `level=WARN msg="zklock: no connection"`), text)
	require.Equal(t, ended, strings.Count(text, `level=INFO msg="zklock: connected again"`), text)
}

// So do proxies that end idle connections. No request is answered between two cuts, and no ping is sent.
func TestAnIdleSessionWhoseConnectionsAreCutOftenIsNotWithoutOne(t *testing.T) {
	for name, logins := range map[string][]zklock.SessionOption{"": nil, "that logs in": {login("ann"), login("bob")}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var log lockedBuffer
				place, without := b.server.Client("mine"), time.Duration(0)
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 10*time.Second, append(logins,
					zklock.WithDialer(place.Dial), informed(&log),
					zklock.WithSessionTrace(&zklock.SessionTrace{Connected: func(i zklock.SessionTraceInfo) { without += i.Time.Sub(i.Since) }}))...))
				defer s.Close()
				began := time.Now()
				for i := range 100 {
					time.Sleep(2*time.Second + time.Duration(i)*time.Second/100)
					place.Cut()
				}
				requireOutages(t, &log, 0, 0)
				require.Less(t, without, time.Since(began)/2, "it is connected most of the time")
			})
		})
	}
}

// ending are calls that end with their ctx while there is no connection.
var ending = map[string]func(ctx context.Context, s *zklock.Session, h *zklock.Hold) error{
	"LockContext": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return must(zklock.New(s, "/a")).LockContext(ctx)
	},
	"TryLockFor": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(must(zklock.New(s, "/a")).TryLockFor(ctx, time.Hour))
	},
	"Acquire": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(must(zklock.New(s, "/a")).Acquire(ctx))
	},
	"TryAcquire": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(must(zklock.New(s, "/a")).TryAcquire(ctx))
	},
	"Do": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return must(zklock.New(s, "/a")).Do(ctx, func(context.Context) error { return nil })
	},
	"RLockContext": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return must(zklock.NewRW(s, "/a")).RLockContext(ctx)
	},
	"several": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return must(zklock.NewMulti(must(zklock.New(s, "/a")))).LockContext(ctx)
	},
	"permits": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(must(zklock.NewSemaphore(s, "/a", 1)).Acquire(ctx, 1))
	},
	"a permit tried": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(must(zklock.NewSemaphore(s, "/a", 1)).TryAcquire(ctx, 1))
	},
	"Inspect": func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error {
		return errOf(zklock.Inspect(ctx, s, "/a"))
	},
	"Revoke": func(ctx context.Context, s *zklock.Session, h *zklock.Hold) error {
		return zklock.Revoke(ctx, s, h.Node())
	},
	"Release": func(ctx context.Context, _ *zklock.Session, h *zklock.Hold) error { return h.Release(ctx) },
	"Ping":    func(ctx context.Context, s *zklock.Session, _ *zklock.Hold) error { return s.Ping(ctx) },
}

func errOf[T any](_ T, err error) error { return err }

func TestACallThatEndsWhileThereIsNoConnectionSaysWhyThereIsNone(t *testing.T) {
	for name, call := range ending {
		for _, failure := range []error{errors.New("no route"), os.ErrDeadlineExceeded, dialTooLate()} {
			inBubble(t, func(t *testing.T, b *bubble) {
				var fails atomic.Bool
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
					zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
						if fails.Load() {
							return nil, failure
						}
						return b.server.Dial(network, address, timeout)
					})))
				defer s.Close()
				h := must(b.locker(s).Acquire(t.Context()))
				fails.Store(true)
				b.server.Cut()
				time.Sleep(time.Second)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				err := call(ctx, s, h)
				require.ErrorIs(t, err, context.Canceled, name)
				require.NotErrorIs(t, err, context.DeadlineExceeded, name)
				require.ErrorContains(t, err, "no connection, last cause: "+failure.Error(), name)
				fails.Store(false)
			})
		}
	}
}

// The context of a lost hold ends with a cause that says why there was no connection, and the call
// under it ends while there is none.
func TestAnErrorSaysOnceWhyThereIsNoConnection(t *testing.T) {
	for name, call := range ending {
		inBubble(t, func(t *testing.T, b *bubble) {
			place := b.server.Client("mine")
			s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession, zklock.WithDialer(place.Dial)))
			defer s.Close()
			var errs []error
			lost := must(b.locker(s).Acquire(t.Context()))
			errs = append(errs, must(zklock.New(s, "/b")).Do(t.Context(), func(ctx context.Context) error {
				b.server.Refuse(true)
				place.Cut()
				errs = append(errs, call(ctx, s, lost), call(lost.Context(), s, lost))
				b.server.Refuse(false)
				return errs[0]
			}), lost.Err())
			for _, err := range errs {
				for _, says := range []string{"no connection", "connection refused", "could not be proved alive"} {
					require.LessOrEqual(t, strings.Count(fmt.Sprint(err), says), 1, "%s: %v", name, err)
				}
			}
		})
	}
}

// Behind somebody who waits nobody is next: who is cut off there for longer than a hold lasts, and not
// as long as a session, comes back to its place.
func TestAnOutageCostsNoPlaceBehindAnotherThatWaits(t *testing.T) {
	read := func(b *bubble, s *zklock.Session) (*zklock.Hold, error) { return b.rw(s).RAcquire(b.t.Context()) }
	write := func(b *bubble, s *zklock.Session) (*zklock.Hold, error) { return b.rw(s).Acquire(b.t.Context()) }
	permit := func(b *bubble, s *zklock.Session) (*zklock.Hold, error) {
		return b.semaphore(s, 1).Acquire(b.t.Context(), 1)
	}
	for name, asks := range map[string][]func(*bubble, *zklock.Session) (*zklock.Hold, error){
		"as a reader":         {read, write, read, write},
		"as a writer":         {write, write, write, write},
		"in line for permits": {permit, permit, permit, permit},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				granted := make(chan grant, len(asks))
				sessions := make([]*zklock.Session, len(asks))
				for i, ask := range asks {
					who := strconv.Itoa(i)
					sessions[i] = b.session(who)
					go func() {
						h, err := ask(b, sessions[i])
						granted <- grant{who, h, err}
					}()
					time.Sleep(time.Second)
				}
				held, id := b.next(granted), sessions[2].ID()
				time.Sleep(longSession)
				cut := b.server.Client("2")
				cut.Block(zktest.ToServer)
				cut.Block(zktest.ToClient)
				time.Sleep(3 * sessions[2].Timeout() / 4)
				cut.Unblock()
				cut.Cut()
				time.Sleep(longSession)
				require.Equal(t, id, sessions[2].ID())
				for _, who := range []string{"1", "2", "3"} {
					require.NoError(t, held.Release(t.Context()))
					time.Sleep(time.Second)
					held = b.next(granted)
					require.Equal(t, who, held.who)
				}
			})
		})
	}
}

func TestPingFailsWhileTheServerIsCutOffFromItsLeader(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		e := zktest.NewEnsemble(t, 3)
		leader := e.Leader()
		follower := e.Server(0)
		if follower == leader {
			follower = e.Server(1)
		}
		s := must(zklock.Connect(t.Context(), []string{follower.PipeAddr()}, longSession, zklock.WithDialer(e.Dial)))
		defer s.Close()
		ping := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return s.Ping(ctx)
		}
		require.NoError(t, ping())
		e.Block(follower, leader)
		e.Block(leader, follower)
		err := ping()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "zklock: ping session 0x")
		e.Heal()
		time.Sleep(time.Minute)
		require.NoError(t, ping())
		s.Close()
		require.ErrorIs(t, ping(), zklock.ErrClosed)
	})
}

func TestPingNeedsNoPermission(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		_, err := s.Conn().SetACL("/", zk.DigestACL(zk.PermAll, "ann", "ann"), -1)
		require.NoError(t, err)
		require.NoError(t, s.Ping(t.Context()))
	})
}
