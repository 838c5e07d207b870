package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

// A process that is stopped cannot know what becomes of its session. It must find
// out before it does harm.
func TestAHolderThatWasStoppedWhileItsSessionEndedFindsOutAtItsFirstLook(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	const path, timeout = "/stopped", 5 * time.Second
	history := NewHistory()
	worker, err := StartWorker(t, Job{Process: 1, Addrs: c.Addrs(), Timeout: timeout, Hold: []string{path}}, history)
	require.NoError(t, err)
	require.NoError(t, worker.Await(stateReady))
	require.NoError(t, worker.Tell(commandLock))
	require.NoError(t, worker.Await(stateLocked))
	_, err = connect(t, longTimeout, c.Addrs()).Conn().Create(registerOf(path), []byte("0"), 0, everybody)
	require.NoError(t, err)

	require.NoError(t, worker.Stop())
	stopped := Now()
	victim := history.Ops()[0]
	require.NoError(t, apachezk.KillSession(t.Context(), c.Server(0).Addr(), victim.Session))
	next := connect(t, longTimeout, c.Addrs())
	h := acquireLock(t, next, path)
	require.Greater(t, h.Token(), victim.Token)
	pauseFor(timeout - Since(stopped)) // the lease is over by then

	resumed := Now()
	require.NoError(t, worker.Continue())
	require.NoError(t, worker.Await(stateLost))
	late := history.Ops()[0]
	require.Less(t, late.Valid, resumed, "the first Valid after the stop must be false")
	require.Less(t, late.Open, resumed, "and the lost channel closed with it")

	require.NoError(t, worker.Tell(commandWrite))
	require.NoError(t, worker.Await(stateWrote))
	updates := history.Updates()
	require.Len(t, updates, 1)
	require.Equal(t, Refused, updates[0].Outcome)
	data, _, err := next.Conn().Get(registerOf(path))
	require.NoError(t, err)
	require.Equal(t, "0", string(data))
}
