package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/zktest"
)

// asking has s ask for the lock at path, and sends what comes of it.
func asking(t *testing.T, s *Session, path string) (held <-chan *Hold, refused <-chan error) {
	t.Helper()
	h, e := make(chan *Hold, 1), make(chan error, 1)
	go func() {
		hold, err := lockAt(s, path).Acquire(t.Context(), nil)
		if err != nil {
			e <- err
			return
		}
		h <- hold
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	return h, e
}

// A contender that is far from its server lists the queue when the last but one goes, so that
// the release of the lock needs no list. Near the server that would cost the others more than
// it gains.
func TestAContenderThatIsFarAwayListsTheQueueBeforeItsTurnHasCome(t *testing.T) {
	for name, tc := range map[string]struct {
		latency time.Duration // each way
		lists   [2]int        // when the last but one has gone, and when the turn has come
	}{
		"far":  {time.Millisecond, [2]int{1, 0}},
		"near": {100 * time.Microsecond, [2]int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := zktest.NewServer(t, zktest.WithLatency(tc.latency, tc.latency))
				first, _ := asking(t, connect(t, server), "/lock")
				second, _ := asking(t, connect(t, server), "/lock")
				third, _ := asking(t, connect(t, server), "/lock")
				lists := server.Requests()[zktest.OpGetChildren2]
				listed := func() int {
					time.Sleep(time.Second)
					before := lists
					lists = server.Requests()[zktest.OpGetChildren2]
					return lists - before
				}
				require.NoError(t, (<-first).Release(context.Background(), nil))
				h := <-second
				require.Equal(t, tc.lists[0], listed())
				require.Empty(t, third)
				require.NoError(t, h.Release(context.Background(), nil))
				<-third
				require.Equal(t, tc.lists[1], listed())
			})
		})
	}
}

// Who waits behind another contender of its own session watches no node ahead.
func TestAWaiterWhoseNodeIsDeletedLinesUpAgainAtOnce(t *testing.T) {
	for name, own := range map[string]bool{"behind its own session": true, "behind another one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, server := connected(t)
				other := connect(t, server)
				first, _ := asking(t, s, "/lock")
				if !own {
					s = other
				}
				asking(t, s, "/lock")
				h := <-first
				var waits string
				for _, name := range server.Children("/lock") {
					if path := "/lock/" + name; path != h.contender.node {
						waits = name
						require.NoError(t, other.client.Conn.Delete(path, -1))
					}
				}
				time.Sleep(time.Second)
				require.Len(t, server.Children("/lock"), 2)
				require.NotContains(t, server.Children("/lock"), waits)
				require.NoError(t, h.Err())
			})
		})
	}
}

func TestTheEndOfASessionEndsItsHoldsAndWaitsAndLeavesNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := connected(t)
		first, _ := asking(t, s, "/lock")
		h := <-first
		_, refused := asking(t, s, "/lock")
		s.mu.Lock()
		looks := s.expiry
		s.mu.Unlock()
		require.NotNil(t, looks)
		s.Close()
		require.Nil(t, s.expiry)
		require.False(t, looks.Stop(), "nothing is left to be looked at")
		synctest.Wait()
		require.ErrorIs(t, <-refused, client.ErrClosed)
		require.Error(t, h.Err())
		require.Empty(t, s.live)
	})
}

// Nothing proves the session of one that waits behind two: its lease is over by then.
func TestAWaiterWhoseTurnComesAfterALongTimeProvesItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		first := hold(t, connect(t, server))
		second, _ := asking(t, connect(t, server), "/lock")
		third, _ := asking(t, connect(t, server), "/lock")
		time.Sleep(10 * sessionTimeout)
		go first.Release(t.Context(), nil)
		go (<-second).Release(t.Context(), nil)
		time.Sleep(time.Second)
		require.Len(t, third, 1)
		require.True(t, (<-third).Valid())
	})
}

// It would be asked for again and again, for ever.
func TestAWaitBehindANodeThatMayNotBeReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t, zktest.WithLatency(time.Millisecond, time.Millisecond))
		first := connect(t, server)
		hold(t, first).Release(t.Context(), nil) // the path is everybody's
		secret := defaults()
		secret.ACL = zk.DigestACL(zk.PermAll, "first", "secret")
		require.NoError(t, first.client.Conn.AddAuth("digest", []byte("first:secret")))
		_, err := New(first, "/lock", recipe.Exclusive, secret).Acquire(t.Context(), nil)
		require.NoError(t, err)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err = lockAt(connect(t, server), "/lock").Acquire(ctx, nil)
		require.ErrorIs(t, err, zk.ErrNoAuth)
	})
}
