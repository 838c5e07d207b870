package nemesis

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zklock/zklock"
)

// TestMain is also the main function of the workers, which are this executable.
func TestMain(m *testing.M) {
	WorkerMain()
	goleak.VerifyTestMain(m)
}

// breaksServers skips a test that breaks real servers, or the way to them, and
// takes its time. Two of them run side by side: each has servers of its own, and mostly waits.
func breaksServers(t *testing.T) {
	t.Helper()
	breaksServersAlone(t)
	t.Parallel()
}

// breaksServersAlone is breaksServers for a test in which servers have to do something in time.
func breaksServersAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts an ensemble and breaks it: left out by -short")
	}
}

// receive returns what comes from c.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		require.FailNow(t, "waited in vain for "+what)
		panic("unreachable")
	}
}

// pauseFor lets time pass in a schedule that is about time.
func pauseFor(d time.Duration) { time.Sleep(d) }

// connect opens a session for the duration of a test.
func connect(t testing.TB, timeout time.Duration, addrs []string, options ...zklock.SessionOption) *zklock.Session {
	t.Helper()
	s, err := zklock.Connect(t.Context(), addrs, timeout, options...)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// acquireLock takes the lock of a path.
func acquireLock(t testing.TB, s *zklock.Session, path string, options ...zklock.Option) *zklock.Hold {
	t.Helper()
	l, err := zklock.New(s, path, options...)
	require.NoError(t, err)
	h, err := l.Acquire(t.Context())
	require.NoError(t, err)
	return h
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// everybody may do everything.
var everybody = zk.WorldACL(zk.PermAll)

// patience is how long a test waits for what has to happen soon.
const patience = 30 * time.Second
