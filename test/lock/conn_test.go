package lock_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/zktest"
)

var each = flag.Int("each", 300, "how many of the user's requests, of its watches, and of cycles of locks go over one connection")

// user is an application that has locks, and requests and watches of its own by Session.Conn.
type user struct {
	at   *site
	s    *zklock.Session
	conn *zk.Conn
	held atomic.Bool // the lock
	took atomic.Int64
}

func TestTheUsersRequestsAndWatchesLoseNothingBesideTheLocksThroughReconnects(t *testing.T) {
	const workers, cuts = 4, 20
	for name, addr := range map[string]func(t *testing.T) string{
		"in memory":        func(t *testing.T) string { return zktest.NewServer(t).Addr() },
		"Apache ZooKeeper": func(t *testing.T) string { return sharedServer(t).Addr() },
	} {
		t.Run(name, func(t *testing.T) {
			at := siteAt(t, addr(t))
			s := at.session()
			u := &user{at: at, s: s, conn: s.Conn()}
			at.makeParent()
			user, stranger := errgroup.Group{}, errgroup.Group{}
			ctx, end := context.WithCancel(t.Context())
			other := at.stranger()
			stranger.Go(func() error { return u.locks(ctx, other, *each, func() {}) })
			for i := range workers {
				asked, watched := u.node(fmt.Sprint("asked", i)), u.node(fmt.Sprint("watched", i))
				user.Go(func() error { return u.asks(asked, *each/workers) })
				user.Go(func() error { return u.watches(watched, *each/workers) })
				l := at.locker(s)
				user.Go(func() error {
					return u.locks(t.Context(), l, *each/workers, func() {
						if u.took.Add(1)%max(1, int64(*each/cuts)) == 0 {
							at.proxy.Cut()
						}
					})
				})
			}
			began := time.Now()
			require.NoError(t, user.Wait())
			end()
			if err := stranger.Wait(); !errors.Is(err, context.Canceled) {
				require.NoError(t, err)
			}
			t.Logf("%d of each in %v", *each, time.Since(began))
		})
	}
}

// node makes a node beside the lock.
func (u *user) node(name string) string {
	u.at.t.Helper()
	path, err := u.at.conn.Create(u.at.path+"-"+name, []byte("0"), zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	require.NoError(u.at.t, err)
	return path
}

// mishap reports whether a request may have been carried out or not.
func mishap(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer)
}

// asks sets a node n times, and reads it each time.
func (u *user) asks(node string, n int) error {
	for version := int32(0); int(version) < n; {
		stat, err := u.conn.Set(node, []byte(strconv.Itoa(int(version)+1)), version)
		unknown := mishap(err)
		for mishap(err) {
			_, stat, err = u.conn.Exists(node)
		}
		if err != nil {
			return fmt.Errorf("version %d of %s: %w", version, node, err)
		}
		if stat.Version != version+1 && (!unknown || stat.Version != version) {
			return fmt.Errorf("version %d of %s follows %d", stat.Version, node, version)
		}
		version = stat.Version
		data, stat, err := u.conn.Get(node)
		if !mishap(err) && (err != nil || stat.Version != version || string(data) != strconv.Itoa(int(version))) {
			return fmt.Errorf("version %d of %s is read as %q: %w", version, node, data, err)
		}
	}
	return nil
}

// watches watches a node n times, and has it changed each time, by this session and by another in turn. Whoever reads
// the change has been told of it.
func (u *user) watches(node string, n int) error {
	for i := 0; i < n; {
		link := client.Of(u.s).Current()
		_, stat, changed, err := u.conn.GetW(node)
		if mishap(err) {
			continue
		}
		if err == nil {
			err = change([]*zk.Conn{u.conn, u.at.conn}[i%2], node, stat.Version)
		}
		if err != nil {
			return fmt.Errorf("change %d of %s: %w", i, node, err)
		}
		_, shown, err := u.conn.Get(node)
		told := len(changed) > 0
		if err == nil && shown.Version > stat.Version && !told && link != nil && client.Of(u.s).Current() == link {
			return fmt.Errorf("change %d of %s is read ahead of its event", i, node)
		}
		select {
		case e := <-changed:
			if e.Type != zk.EventNodeDataChanged || e.Path != node {
				return fmt.Errorf("change %d of %s: %v", i, node, e)
			}
		case <-time.After(patience):
			return fmt.Errorf("change %d of %s: its watch is gone", i, node)
		}
		i++
	}
	return nil
}

// change changes a node that has that version.
func change(by *zk.Conn, node string, version int32) error {
	for {
		_, err := by.Set(node, nil, version)
		switch {
		case mishap(err):
			continue
		case errors.Is(err, zk.ErrBadVersion): // by the one before, whose answer was lost
			return nil
		}
		return err
	}
}

// locks takes and gives back a lock n times.
func (u *user) locks(ctx context.Context, l *zklock.Locker, n int, then func()) error {
	for i := range n {
		if err := l.LockContext(ctx); err != nil {
			return fmt.Errorf("lock %d: %w", i, err)
		}
		if u.held.Swap(true) {
			return fmt.Errorf("lock %d has two holders", i)
		}
		u.held.Store(false)
		if err := l.UnlockContext(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("unlock %d: %w", i, err)
		}
		then()
	}
	return nil
}
