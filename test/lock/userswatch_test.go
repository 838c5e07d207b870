package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// loseWatches has the user's only watch fire, and the connection go before the one that never
// fires is set: go-zookeeper has none to set again, for which the first answer over the next
// connection would wait.
func (b *bubble) loseWatches(s *zklock.Session) {
	b.t.Helper()
	other := b.session("other").Conn()
	_, err := other.Create("/watched", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(b.t, err)
	asked := b.server.HoldRequest(zktest.OpExists)
	_, _, changed, err := s.Conn().GetW("/watched")
	require.NoError(b.t, err)
	_, err = other.Set("/watched", nil, -1)
	require.NoError(b.t, err)
	<-changed
	<-asked.Struck()
	b.server.CutSession(s.ID())
	synctest.Wait()
}

func TestAConnectionOverWhichNoWatchesAreSetAgainServesInTime(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 2 * time.Second, longSession, time.Hour} {
		for name, isServed := range map[string]func(b *bubble, s *zklock.Session){
			"a hold is kept": func(b *bubble, s *zklock.Session) {
				h := must(b.locker(s).Acquire(b.t.Context()))
				synctest.Wait()
				b.loseWatches(s)
				time.Sleep(timeout)
				require.NoError(b.t, h.Err())
			},
			"a lock is taken": func(b *bubble, s *zklock.Session) {
				b.loseWatches(s)
				require.NoError(b.t, b.locker(s).LockContext(within(b.t, time.Minute)))
			},
			"Close is heard": func(b *bubble, s *zklock.Session) {
				b.loseWatches(s)
				require.NoError(b.t, s.Close())
			},
		} {
			t.Run(timeout.String()+" "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, b *bubble) {
					b.server.SetSessionTimeouts(0, time.Hour)
					s := must(zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, timeout, zklock.WithDialer(b.server.Dial)))
					defer s.Close()
					isServed(b, s)
				})
			})
		}
	}
}
