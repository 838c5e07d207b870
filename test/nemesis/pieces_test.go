package nemesis

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/internal/faultproxy"
)

// slowTimeout is that of sessions whose connections are slow, and have all of a
// machine that may be busy at work on their pieces.
const slowTimeout = 8 * time.Second

// A connection that is slow, and hands frames on in pieces, is no reason for
// another one.
func TestF34FramesInPiecesCostNoConnection(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	for _, size := range []int{1, 7} {
		t.Run(fmt.Sprintf("of %d bytes", size), func(t *testing.T) {
			links := OpenLinks(t, c.Servers()...)
			links.Slow(50 * time.Millisecond)
			var connections atomic.Int32
			links.each(func(d *faultproxy.Proxy) {
				d.Slice(size)
				d.OnRequest(func(op int32, _ []byte) {
					if op == faultproxy.OpConnect {
						connections.Add(1)
					}
				})
			})
			s := connect(t, slowTimeout, links.Addrs())
			id := s.ID()
			began := Now()
			h := acquireLock(t, s, "/held")
			var users sync.WaitGroup
			for range atOnce / 2 {
				users.Go(func() { useLargeLock(t, s, began) })
			}
			users.Wait()
			require.True(t, h.Valid())
			require.False(t, isClosed(h.Lost()))
			require.NoError(t, h.Release(t.Context()))
			require.Equal(t, id, s.ID())
			require.EqualValues(t, 1, connections.Load(), "the first connection must do")
		})
	}
}

// useLargeLock takes a lock whose node is large, for longer than the session's
// timeout.
func useLargeLock(t *testing.T, s *zklock.Session, began Instant) {
	l, err := zklock.New(s, "/large", zklock.WithData(bytes.Repeat([]byte("x"), 2000)))
	if err != nil {
		t.Error(err)
		return
	}
	for Since(began) < 3*slowTimeout/2 {
		h, err := l.Acquire(t.Context())
		if err == nil {
			_, err = zklock.Inspect(t.Context(), s, "/large")
		}
		if err == nil {
			err = h.Release(t.Context())
		}
		if err != nil {
			t.Error(err)
			return
		}
	}
}
