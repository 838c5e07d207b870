package zktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

var open = zk.WorldACL(zk.PermAll)

// connect opens a go-zookeeper session through memory and waits until it stands.
func connect(t testing.TB, dial zk.Dialer, addrs ...string) *zk.Conn {
	t.Helper()
	return connectFor(t, 4*time.Second, dial, addrs...)
}

func connectFor(t testing.TB, timeout time.Duration, dial zk.Dialer, addrs ...string) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(addrs, timeout, zk.WithDialer(dial), zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}
