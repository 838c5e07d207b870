package lock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/virtual"
)

// "The first failure stops all": what a trace is told becomes the cause of the others' ctx.
func TestTheTimeOfAnotherTryIsNotTakenForTheCallsOwn(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		b.locker(b.session("theirs")).Lock()
		ctx, cancel := context.WithCancelCause(t.Context())
		l := b.locker(b.session("mine"), zklock.WithTrace(&zklock.Trace{Failed: func(i zklock.TraceInfo) { cancel(i.Err) }}))
		go l.TryLockFor(t.Context(), time.Second)
		ok, err := l.TryLockFor(ctx, time.Hour)
		require.False(t, ok)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A ctx may be cancelled with any cause: errgroup cancels with its first error, which may be
// that a deadline passed, or one of ours, elsewhere.
func TestACauseThatIsADeadlineOrAnErrorOfOursIsNotTakenForTheCallsOwn(t *testing.T) {
	elsewhere := &zklock.Error{Op: "lock", Path: "/other", Err: errors.Join(zklock.ErrLocked, context.DeadlineExceeded)}
	for name, cause := range map[string]error{
		"deadline": context.DeadlineExceeded, "closed": zklock.ErrClosed, "an error of another lock": elsewhere,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("mine"))
				b.locker(b.session("theirs")).Lock()
				ctx, cancel := context.WithCancelCause(t.Context())
				tried, waited := make(chan error, 1), make(chan error, 1)
				go func() {
					ok, err := l.TryLockFor(ctx, time.Hour)
					if ok || err == nil {
						err = errors.New("TryLockFor returned false and no error, with most of its hour left")
					}
					tried <- err
				}()
				go func() { waited <- l.LockContext(ctx) }()
				time.Sleep(time.Second)
				cancel(cause)
				require.ErrorIs(t, <-tried, context.Canceled)
				err := <-waited
				require.ErrorIs(t, err, context.Canceled)
				if cause != error(elsewhere) {
					require.NotErrorIs(t, err, zklock.ErrLocked, "no deadline has passed")
				}
			})
		})
	}
}

func TestADoInsideADoWhoseLockIsLostDoesNotSayThatItsOwnWas(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		outer, inner := b.session("outer"), b.session("inner")
		within, err := zklock.New(inner, "/inner")
		require.NoError(t, err)
		_ = b.locker(outer).Do(t.Context(), func(ctx context.Context) error {
			err := within.Do(ctx, func(ctx context.Context) error {
				b.server.ExpireSession(outer.ID())
				<-ctx.Done()
				require.NoError(t, zklock.HoldFrom(ctx).Err(), "the inner lock is held")
				return nil
			})
			require.NoError(t, err, "it did its work under its lock")
			return nil
		})
	})
}

func TestWhoReleasedItsHoldIsNotToldThatTheSessionIsClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		l := b.locker(b.session("mine"))
		l.Lock()
		require.NoError(t, l.Held().Release(t.Context()))
		err := l.LockContext(t.Context())
		require.NotErrorIs(t, err, zklock.ErrClosed)
		require.ErrorIs(t, err, zklock.ErrReleased)
	})
}

// The hold that a call waits with for an owner that has lost the lock is no owner's: there is
// nothing to retain.
func TestACallThatFailsRetainsNoNode(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		l := b.locker(s, zklock.WithRetention(time.Hour))
		elsewhere(l.Lock)
		b.server.ExpireSession(s.ID())
		time.Sleep(time.Second)
		ok, err := l.TryLockFor(t.Context(), time.Second)
		require.False(t, ok)
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, b.queue())
	})
}

func TestANilTLSConfigDoesNotSendInTheClear(t *testing.T) {
	virtual.Test(t, func(t *testing.T) {
		first := make(chan byte, 1)
		dial := func(string, string, time.Duration) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				b := make([]byte, 1)
				if n, _ := theirs.Read(b); n == 1 {
					select {
					case first <- b[0]:
					default:
					}
				}
				theirs.Close()
			}()
			return ours, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := zklock.Connect(ctx, []string{"zk"}, time.Second, zklock.WithDialer(dial), zklock.WithTLS((*tls.Config)(nil)))
		require.Error(t, err)
		select {
		case b := <-first:
			const handshake = 22 // the type of a TLS record
			require.EqualValues(t, handshake, b)
		default: // refused before anything was sent
		}
	})
}

func TestEveryErrorNamesThePackageOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("mine")
		free, lost := b.locker(s), b.locker(s)
		other, err := zklock.New(s, "/b")
		require.NoError(t, err)
		multi := must(zklock.NewMulti(lost, other))
		once := func(err error) {
			t.Helper()
			require.Error(t, err)
			if strings.Count(err.Error(), "zklock: ") != 1 {
				t.Errorf("%s", err)
			}
		}
		once(free.UnlockContext(t.Context()))
		h, err := free.Acquire(t.Context())
		require.NoError(t, err)
		require.NotContains(t, free.UnlockContext(t.Context()).Error(), "it is not locked", "it is, by a handle")
		require.NoError(t, h.Release(t.Context()))
		once(panicOf(t, free.Unlock))
		once(multi.UnlockContext(t.Context()))
		require.NoError(t, multi.LockContext(t.Context()))
		b.server.ExpireSession(s.ID())
		time.Sleep(time.Second)
		once(multi.UnlockContext(t.Context()))
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(zklock.ErrLost)
		once(free.LockContext(ctx))
		_, err = zklock.NewSemaphore(s, "", 1)
		once(err)
		require.NotContains(t, err.Error(), "new :", "an empty path is no word")
	})
}

func TestTheKindOfAContenderThatIsUnknownHasAName(t *testing.T) {
	require.NotPanics(t, func() { _ = zklock.Kind(9).String() })
}
