package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// cutFor cuts the connections, and lets nobody connect for so long.
func (b *bubble) cutFor(d time.Duration) {
	b.server.Refuse(true)
	b.server.Cut()
	synctest.Wait()
	time.AfterFunc(d, func() { b.server.Refuse(false) })
}

func TestATryDoesNotWaitForANodeThatItsSessionCannotDelete(t *testing.T) {
	inFarBubble(t, func(t *testing.T, b *bubble) {
		s := b.session("here")
		_, err := s.Conn().Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermRead|zk.PermCreate))
		require.NoError(t, err)
		l := b.locker(s)
		l.Lock()
		require.ErrorIs(t, l.UnlockContext(t.Context()), zk.ErrNoAuth)
		ctx, cancel := context.WithTimeout(t.Context(), longSession/4)
		defer cancel()
		_, err = l.TryAcquire(ctx)
		require.ErrorIs(t, err, zklock.ErrLocked)
		require.NoError(t, ctx.Err())
	})
}
