package lock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

func TestAFencedWriteIsRefusedAfterTheLoss(t *testing.T) {
	at := newSite(t)
	at.makeParent()
	account := at.path + "/account"
	_, err := at.conn.Create(account, []byte("100"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	s := at.session()
	h, err := at.locker(s).Acquire(t.Context())
	require.NoError(t, err)
	pay := func(conn *zk.Conn, balance string) error {
		_, err := conn.Multi(h.Check(), &zk.SetDataRequest{Path: account, Data: []byte(balance), Version: -1})
		return err
	}
	require.NoError(t, pay(s.Conn(), "90"))

	at.kill(s)
	require.ErrorIs(t, pay(at.conn, "0"), zk.ErrNoNode)
	eventually(t, "the session's own connection to come back", func() bool {
		return errors.Is(pay(s.Conn(), "0"), zk.ErrNoNode)
	})
	data, _, err := at.conn.Get(account)
	require.NoError(t, err)
	require.Equal(t, "90", string(data))

	h, err = at.locker(s).Acquire(within(t, patience))
	require.NoError(t, err)
	require.NoError(t, h.Release(t.Context()))
	err = pay(s.Conn(), "0")
	require.True(t, errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion), "after a release too, though another owner has the node: %v", err)
}

// A panic, or the end of a goroutine, that stayed inside Do during an outage would be seen by
// nobody.
func TestWhatEndsTheFunctionOfDoDoesNotWaitForAConnection(t *testing.T) {
	for name, end := range map[string]func(){
		"a panic":                 func() { panic("the job broke") },
		"the goroutine's own end": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				l := b.locker(b.session("worker"))
				working, outage, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					_ = l.Do(context.Background(), func(context.Context) error {
						close(working)
						<-outage
						end()
						return nil
					})
				}()
				<-working
				b.server.Refuse(true)
				b.server.Cut()
				synctest.Wait()
				began := time.Now()
				close(outage)
				receive(t, ended, "the end of the goroutine")
				require.Zero(t, time.Since(began))
				require.Equal(t, 1, b.queue())
				b.server.Refuse(false)
				eventually(t, "the lock to be free", func() bool { return b.queue() == 0 })
				require.True(t, l.TryLock(), "the process has it no more either")
				l.Unlock()
			})
		})
	}
}
