package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/zktest"
)

// A write of the size outlives the call that has sent it, by its ctx's end. It may not come when
// the next one, who says another size, has counted the permits: its check has to fail by then.
func TestATurnInWhichTheSizeIsWrittenIsOverWhenItsNodeIsGone(t *testing.T) {
	for said, handedOver := range map[string]bool{"size=2": true, "size=3": false} {
		synctest.Test(t, func(t *testing.T) {
			s, server := connected(t)
			sem := NewSemaphore(s, "/sem", 2, defaults())
			granted := make(chan *Hold, 2)
			for range 2 {
				go func() {
					if h, err := sem.turns.Acquire(t.Context(), nil); err == nil {
						granted <- h
					}
				}()
				synctest.Wait()
			}
			turn := <-granted
			_, err := s.client.Conn.Create(sem.permits.dir, []byte(said), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
			require.NoError(t, sem.agree(t.Context(), turn, client.Content{Data: []byte(said), Stat: new(zk.Stat)}, 0))
			data, _, err := s.client.Conn.Get(sem.permits.dir)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("size=%d", sem.size), string(data))

			held := []*zktest.Fault{
				server.HoldRequest(zktest.OpDelete, zktest.OnPath(turn.Node())), server.HoldRequest(zktest.OpMulti, zktest.OnPath(turn.Node())),
			}
			go turn.Release(context.Background(), nil)
			synctest.Wait()
			require.Equal(t, handedOver, len(granted) == 1, said)
			for _, f := range held {
				f.Release()
			}
			go (<-granted).Release(context.Background(), nil)
			synctest.Wait()
		})
	}
}

// The user asks whether the lock is taken: a server that hangs says nothing of that.
func TestOnlyACallThatHadToWaitForPermitsSaysThatTheyAreTaken(t *testing.T) {
	for name, taken := range map[string]bool{"the permits are out": true, "the server hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := connected(t)
				sem := NewSemaphore(s, "/sem", 1, defaults())
				h, err := sem.Acquire(t.Context(), 1, nil)
				require.NoError(t, err)
				if !taken {
					require.NoError(t, h.Release(t.Context(), nil))
					defer server.HoldRequest(zktest.OpMulti, zktest.OnPath(sem.permits.dir)).Release()
				}
				ctx, stop := context.WithTimeout(t.Context(), sessionTimeout/10)
				defer stop()
				_, err = sem.Acquire(ctx, 1, nil)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, taken, errors.Is(err, ErrLocked), "%v", err)
			})
		})
	}
}
