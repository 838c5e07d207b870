package zktest_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keepAwake pings servers of ZooKeeper, each in a session of its own, until the test ends. ZooKeeper's CommitProcessor looks
// whether there is something to do, and then waits to be told of more: what comes in between stays where it is until
// something else comes. Most clients ping; the raw sessions of the cases do not, and would wait for ever.
func keepAwake(t *testing.T, addrs []string) {
	t.Helper()
	const often = 20 * time.Millisecond
	for _, addr := range addrs {
		w := dialWire(t, net.DialTimeout, addr, 10*time.Minute, nil)
		var running sync.WaitGroup
		running.Go(func() { _, _ = io.Copy(io.Discard, w.nc) })
		ping := packet{}.int32(8).int32(-2).int32(opPing)
		running.Go(func() {
			for again := time.Tick(often); ; <-again {
				if _, err := w.nc.Write(ping); err != nil {
					return // the test has ended
				}
			}
		})
		t.Cleanup(func() {
			require.NoError(t, w.nc.Close())
			running.Wait()
		})
	}
}
