package zklock

import (
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/zktest"
)

// One of the locks is held all along, the other comes and goes.
func TestAskingAMultiLockerForItsLossLeavesNothingAtALongHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := zktest.NewServer(t)
		s, err := Connect(t.Context(), []string{server.PipeAddr()}, 10*time.Second, WithDialer(server.Dial))
		require.NoError(t, err)
		defer s.Close()
		var parts []*Locker
		for _, path := range []string{"/a", "/b"} {
			l, err := New(s, path)
			require.NoError(t, err)
			parts = append(parts, l)
		}
		m := NewMulti(parts...)
		parts[0].Lock()
		defer parts[0].Unlock()
		for range 100 {
			m.Lock()
			require.False(t, latch.IsClosed(m.Lost()))
			m.Unlock()
		}
		first := reflect.ValueOf(&parts[0].Held().hold).Elem().FieldByName("atEnd")
		require.True(t, first.IsNil() || first.Elem().FieldByName("next").IsNil(), "of one round at most")

		m.Lock()
		lost := m.Lost()
		time.Sleep(time.Second) // until the nodes are watched
		require.NoError(t, s.Conn().Delete(parts[0].Held().Node(), -1))
		synctest.Wait()
		require.True(t, latch.IsClosed(lost), "the newest one stands")
		m.Unlock()
	})
}
