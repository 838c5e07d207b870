package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/clock"
	"github.com/zklock/zklock/internal/virtual"
	"github.com/zklock/zklock/zktest"
)

// No event tells of who has come meanwhile: the list of the new connection does.
func TestWhoHasComeWhileThereWasNoConnectionIsNotPassedOnceThereIsOne(t *testing.T) {
	const limit = 2
	for name, c := range map[string]struct {
		retention time.Duration
		goesOn    func(t *testing.T, l *handoff) *Hold // by one node, alone, until nobody or one owner has the lock
	}{
		"by a node that is kept": {time.Hour, func(t *testing.T, l *handoff) *Hold {
			for range 2 * limit {
				require.NoError(t, lock(t, l).Release(t.Context(), nil))
			}
			return nil
		}},
		"by a turn that is over": {0, func(t *testing.T, l *handoff) *Hold {
			h := lock(t, l)
			for range 2 * limit {
				next := ask(t.Context(), l.Acquire)
				_, _ = h.release(nil, false)
				h = granted(t, next)
			}
			return h
		}},
	} {
		virtual.Run(t, name, func(t *testing.T) {
			server := zktest.NewServer(t)
			place := server.Client("ours")
			s := connectBy(t, server, new(clock.Clock), sessionTimeout, client.Options{Dialer: place.Dial})
			l := share(s, limit, c.retention)
			h := c.goesOn(t, l)
			place.Block(zktest.ToServer)
			place.Cut()
			synctest.Wait()
			elsewhere := ask(t.Context(), lockAt(connect(t, server), "/lock").Acquire)
			require.Len(t, server.Children("/lock"), 2, "it stands behind the node of the handoff")
			place.Unblock()
			time.Sleep(sessionTimeout / 4) // in which the dialer tries again
			require.True(t, s.client.Current() != nil && s.leaseLeft() > 0)
			ours := ask(t.Context(), l.Acquire)
			if h != nil {
				_, _ = h.release(nil, false)
			}
			synctest.Wait()
			require.Empty(t, ours, "who came while there was no connection was first, and is passed")
			require.NoError(t, granted(t, elsewhere).Release(t.Context(), nil))
			require.NoError(t, granted(t, ours).Release(t.Context(), nil))
		})
	}
}
