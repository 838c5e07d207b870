// Package membership_test has members of a list on a real server.
package membership_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/membership"
)

const (
	path = "/app/servers"

	// patience is how long a test waits for what has to happen.
	patience = time.Minute
)

// list is what a Watch has yielded.
type list struct {
	newest atomic.Pointer[[]membership.Peer]
}

// watch runs a Watch until the test ends.
func watch(t *testing.T, s *zklock.Session, opts ...membership.Option) *list {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l, ended := new(list), make(chan struct{})
	go func() {
		defer close(ended)
		for peers, err := range membership.Watch(ctx, s, path, opts...) {
			if err == nil {
				l.newest.Store(&peers)
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return l
}

// latest returns the newest list, nil if there is none yet.
func (l *list) latest() []membership.Peer {
	if newest := l.newest.Load(); newest != nil {
		return *newest
	}
	return nil
}

// crowd makes the nodes of n members.
func crowd(t *testing.T, conn *zk.Conn, n int) {
	t.Helper()
	everybody := zk.WorldACL(zk.PermAll)
	for _, dir := range []string{"/app", path} {
		_, err := conn.Create(dir, nil, 0, everybody)
		require.NoError(t, err)
	}
	for i := range n {
		_, err := conn.Create(fmt.Sprintf("%s/member-%d", path, i), fmt.Append(nil, i), zk.FlagEphemeral, everybody)
		require.NoError(t, err)
	}
}

// eventually waits until condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	retry := time.NewTicker(2 * time.Millisecond)
	defer retry.Stop()
	for limit := time.Now().Add(patience); !condition(); <-retry.C {
		if time.Now().After(limit) {
			require.FailNow(t, "waited in vain for "+what)
		}
	}
}
