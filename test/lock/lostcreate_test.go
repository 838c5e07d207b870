package lock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// Who may not list the queue cannot find the node of a create whose reply was lost. That is told
// as loudly as a delete that is refused, also if the call has ended before.
func TestANodeThatMayBeLeftSinceTheQueueMayNotBeListedIsToldOf(t *testing.T) {
	for name, endsBefore := range map[string]bool{"the call waits": false, "the call has ended": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				log := new(lockedBuffer)
				s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
					zklock.WithDialer(b.server.Client("mine").Dial), zklock.WithLogger(slog.New(slog.NewTextHandler(log, nil)))))
				t.Cleanup(func() { s.Close() })
				_, err := s.Conn().Create(b.path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermCreate|zk.PermDelete|zk.PermAdmin))
				require.NoError(t, err)
				reply := b.server.DropReply(zktest.OpCreate)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					<-reply.Struck()
					if endsBefore {
						cancel()
					}
				}()
				err = b.locker(s).LockContext(ctx)
				if endsBefore {
					require.ErrorIs(t, err, context.Canceled)
				} else {
					require.ErrorIs(t, err, zk.ErrNoAuth)
					require.ErrorContains(t, err, "blocks the others")
					require.NotContains(t, err.Error(), "create a lock node there", "it may")
				}
				time.Sleep(longSession)
				require.Equal(t, 1, b.queue())
				require.Contains(t, log.String(), "level=ERROR msg=\"zklock: a lock node may be left\" path="+b.path)

				_, err = s.Conn().SetACL(b.path, zk.WorldACL(zk.PermAll), -1)
				require.NoError(t, err)
				l := b.locker(s)
				require.NoError(t, l.LockContext(aMinute(t)), "the node is in nobody's way any more")
				l.Unlock()
			})
		})
	}
}
