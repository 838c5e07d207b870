package queue

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/zktest"
)

// taker takes what is at a path, if it can at once.
type taker func(ctx context.Context, s *Session, path string) (*Hold, error)

func aLock(ctx context.Context, s *Session, path string) (*Hold, error) {
	return lockAt(s, path).Acquire(ctx, nil)
}

func aPermit(ctx context.Context, s *Session, path string) (*Hold, error) {
	return NewSemaphore(s, path, 2, defaults()).Acquire(ctx, 1, nil)
}

// They do not see each other's nodes, or take them for their own.
func TestALockAndASemaphoreRefuseToShareAPath(t *testing.T) {
	for name, tc := range map[string]struct {
		first    taker
		at       string
		second   taker
		refusal  string
		secondAt string
	}{
		"a lock on a semaphore":               {aPermit, "/a", aLock, "/a is used by a semaphore, whose permits are in /a/leases: ", "/a"},
		"a lock among the permits":            {aPermit, "/a", aLock, "/a/leases is used by a semaphore, whose permits are in /a/leases: ", "/a/leases"},
		"a lock among the turns":              {aPermit, "/a", aLock, "/a/locks is used by a semaphore, whose permits are in /a/leases: ", "/a/locks"},
		"a lock below a semaphore":            {aPermit, "/a", aLock, "", "/a/other"},
		"a semaphore on a lock":               {aLock, "/a", aPermit, "a lock is in use at /a: ", "/a"},
		"a semaphore whose permits are one's": {aLock, "/a/leases", aPermit, "a lock is in use at /a/leases, among the permits: ", "/a"},
		"a semaphore below a lock":            {aLock, "/a", aPermit, "", "/a/other"},
		"a semaphore below the turns":         {aPermit, "/a", aPermit, "", "/a/locks"},
		"a lock beside a lock":                {aLock, "/a", aLock, "", "/b/locks"},
	} {
		runInSession(t, name, func(t *testing.T, s *Session, _ *zktest.Server) {
			first, err := tc.first(t.Context(), s, tc.at)
			require.NoError(t, err)
			ctx := within(t, sessionTimeout/4)
			second, err := tc.second(ctx, s, tc.secondAt)
			if tc.refusal == "" {
				require.NoError(t, err)
				require.True(t, second.Valid())
			} else {
				require.ErrorIs(t, err, errMixed)
				require.ErrorContains(t, err, tc.refusal)
			}
			require.True(t, first.Valid())
		})
	}
}

// That it may not be read is no reason to fail: the lock itself does not need it.
func TestALockIsHadWhereNobodyMayLookForPermits(t *testing.T) {
	inSession(t, func(t *testing.T, s *Session, _ *zktest.Server) {
		h, err := aPermit(t.Context(), s, "/a")
		require.NoError(t, err)
		allow(t, s.client.Conn, "/a/leases", zk.PermAll&^zk.PermRead)
		_, err = aLock(t.Context(), s, "/a")
		require.NoError(t, err)
		require.NoError(t, h.Err())
	})
}

func TestALookForTheOtherKindIsTakenOnceAndEndsWithItsCall(t *testing.T) {
	for name, path := range map[string]string{"a lock": "/a/locks", "a semaphore": "/a"} {
		runInSession(t, name, func(t *testing.T, s *Session, server *zktest.Server) {
			create(t, s.client.Conn, "/a", zk.FlagPersistent)
			look := func() func(ctx context.Context) error {
				if path == "/a" {
					sem := NewSemaphore(s, path, 2, defaults())
					return func(ctx context.Context) error { return sem.mixed(ctx, nil) }
				}
				q := lockAt(s, path)
				return func(ctx context.Context) error { return q.mixed(ctx, nil) }
			}
			mixed := look()
			for _, cause := range []error{nil, zk.ErrNoAuth} { // which no server has answered
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(cause)
				require.ErrorIs(t, mixed(ctx), context.Canceled)
			}
			synctest.Wait()
			before := server.Requests()[zktest.OpGetChildren2]
			for range 3 {
				require.NoError(t, mixed(t.Context()))
			}
			require.Equal(t, before+1, server.Requests()[zktest.OpGetChildren2])
		})
	}
}
