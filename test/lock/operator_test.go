package lock_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
	"github.com/zklock/zklock/zktest"
)

// remove deletes a lock node as an operator would.
func (at *site) remove(node string) {
	at.t.Helper()
	require.NoError(at.t, at.conn.Delete(node, -1))
}

func TestAHoldWhoseNodeIsDeletedIsValidUntilTheNewsArrives(t *testing.T) {
	at := newSite(t)
	h, err := at.locker(at.sessionVia(at.proxy.Addr(), 10*longSession)).Acquire(t.Context())
	require.NoError(t, err)
	at.proxy.Freeze(faultproxy.Both)
	at.remove(h.Node())
	require.True(t, h.Valid())
	at.proxy.Thaw(faultproxy.Both)
	receive(t, h.Lost(), "the loss")
	require.False(t, h.Valid())
}

// A copy of the queue from a backup, say, while the holder's own watch does not stand.
func TestAHoldWhoseNodeIsReplacedIsLost(t *testing.T) {
	for name, cutOff := range map[string]bool{"while it is cut off": true, "before it is watched": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				op := b.session("operator").Conn()
				holder, waiter := b.locker(b.session("holder")), b.locker(b.session("waiter"))
				h := must(holder.Acquire(t.Context()))
				got := begin(func() *zklock.Hold { return must(waiter.Acquire(t.Context())) })
				place := b.server.Client("holder")
				if time.Sleep(10 * time.Millisecond); cutOff {
					time.Sleep(time.Second)
					place.Block(zktest.ToServer)
					place.Cut()
				}
				require.NoError(t, op.Delete(h.Node(), -1))
				must(op.Create(h.Node(), nil, 0, zk.WorldACL(zk.PermAll)))
				next := <-got
				place.Unblock()
				time.Sleep(time.Second)
				require.ErrorIs(t, h.Err(), zklock.ErrLost)
				require.True(t, next.Valid())
			})
		})
	}
}
