package lock_test

import (
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock"
)

// stoppable is a connection whose writes wait while it is stopped, as those to a socket whose
// buffers are full.
type stoppable struct {
	net.Conn
	stopped *atomic.Pointer[chan struct{}] // to the channel that ends the wait, nil while it goes on
}

func (c *stoppable) Write(p []byte) (int, error) {
	if over := c.stopped.Load(); over != nil {
		<-*over
	}
	return c.Conn.Write(p)
}

// What is asked for behind Unlock, by whatever means, comes behind its delete.
func TestUnlockReturnsWhenItsDeleteHasBeenWrittenAndNotBefore(t *testing.T) {
	for name, ends := range map[string]bool{"it is written": false, "the connection ends": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bubble) {
				var stopped atomic.Pointer[chan struct{}]
				s, err := zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, longSession,
					zklock.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
						conn, err := b.server.Dial(network, address, timeout)
						return &stoppable{conn, &stopped}, err
					}))
				require.NoError(t, err)
				defer s.Close()
				l, over := b.locker(s), make(chan struct{})
				unlocked := begin(func() bool {
					l.Lock()
					stopped.Store(&over)
					l.Unlock()
					return true
				})
				synctest.Wait()
				early, left := len(unlocked), b.queue()
				stopped.Store(nil)
				if ends {
					b.server.CutSession(s.ID())
				}
				close(over)
				require.Equal(t, 1, left)
				require.Zero(t, early, "Unlock has returned, and its delete has not been written")
				synctest.Wait()
				require.Len(t, unlocked, 1)
				time.Sleep(longSession / 4) // in which there is a connection again
				require.Zero(t, b.queue())
			})
		})
	}
}
