package lock_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
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
