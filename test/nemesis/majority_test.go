package nemesis

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/apachezk"
)

func TestF27WithoutAMajorityCallsEndWithTheirContextsAndLeasesEndHolds(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	const timeout = 5 * time.Second
	for name, strike := range map[string]func(*apachezk.Server) error{
		"two servers hang":       (*apachezk.Server).Pause,
		"two servers are killed": func(s *apachezk.Server) error { s.Kill(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			leader, followers, err := c.Roles(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Heal()) })
			root := fmt.Sprintf("/majority-%d", next.Add(1))
			taken, given, free := root+"/taken", root+"/given", root+"/free"
			owner, other := connect(t, timeout, c.Addrs()), connect(t, timeout, c.Addrs())
			held, back := acquireLock(t, owner, taken), acquireLock(t, owner, given)
			patient := acquiring(t.Context(), t, other, taken)

			require.NoError(t, strike(leader))
			require.NoError(t, strike(followers[0]))
			struck := Now()
			ctx, cancel := context.WithTimeout(t.Context(), timeout/5)
			defer cancel()
			waiting, first := acquiring(ctx, t, other, taken), acquiring(ctx, t, other, free)
			require.ErrorIs(t, back.Release(ctx), context.DeadlineExceeded)
			for what, call := range map[string]<-chan granted{"to wait": waiting, "to take a free lock": first} {
				require.ErrorIs(t, receive(t, call, "a call "+what+" to end").err, context.DeadlineExceeded)
			}
			receive(t, held.Lost(), "the lease to end")
			require.Less(t, Since(struck), timeout)
			require.False(t, held.Valid())
			require.Empty(t, patient, "nobody can be granted a lock")

			// Servers that hung have been seen not to find a leader for minutes.
			leader.Kill()
			followers[0].Kill()
			require.NoError(t, c.Heal())
			after := receive(t, patient, "the lock to be granted after the return")
			require.NoError(t, after.err)
			require.Greater(t, after.hold.Token(), held.Token())
			require.NoError(t, after.hold.Release(t.Context()))
			for _, path := range []string{taken, given, free} {
				for _, s := range []*zklock.Session{owner, other} {
					require.NoError(t, acquireLock(t, s, path).Release(t.Context()))
				}
			}
			left, err := c.Remains(t.Context(), root, patience)
			require.NoError(t, err)
			require.True(t, left.none(), "%v", left)
		})
	}
}

// granted is what a call for a lock returned.
type granted struct {
	hold *zklock.Hold
	err  error
}

// acquiring begins a call for a lock.
func acquiring(ctx context.Context, t *testing.T, s *zklock.Session, path string) <-chan granted {
	t.Helper()
	l, err := zklock.New(s, path)
	require.NoError(t, err)
	ended := make(chan granted, 1)
	go func() {
		h, err := l.Acquire(ctx)
		ended <- granted{h, err}
	}()
	return ended
}
