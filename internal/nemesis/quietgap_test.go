package nemesis

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/faultproxy"
)

var trials = flag.Int("trials", 8, "of each schedule with a quiet gap, at least")

// atOnce is how many sessions go through a schedule together.
const atOnce = 8

const (
	shortTimeout = 2 * time.Second
	patience     = time.Minute
)

// The leader counts a session down from the last touch that a follower relayed.
// After a quiet gap that is long ago, whatever write was committed since. Here the
// holder's process is stopped for half of its session timeout.
func TestAfterAQuietGapAHoldIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatGap(t, func(g *gap) {
		g.lock()
		g.awaitProofs(shortTimeout / 4)
		pauseFor(rand.N(shortTimeout / 16))
		require.NoError(t, g.worker.Stop())
		pauseFor(shortTimeout / 2)
		require.NoError(t, g.worker.Continue())
		g.awaitProofs(shortTimeout / 40) // before the follower has the time to relay a touch
	})
}

// An idle session only pings. Its first lock is the first write in a long time.
func TestTheFirstLockOfAnIdleSessionIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatGap(t, func(g *gap) {
		pauseFor(shortTimeout/3 + rand.N(shortTimeout/3))
		g.lock()
	})
}

// gap is a schedule in which several sessions of a process hold a lock each when
// the only server that they know hangs.
type gap struct {
	t       *testing.T
	worker  *Worker
	doors   Doors
	history *History
	gone    []chan Instant // tells when each node was, in the order of the attempts
	watcher *zk.Conn
}

// repeatGap goes through a schedule that leads up to the hang, again and again.
func repeatGap(t *testing.T, schedule func(*gap)) {
	if testing.Short() {
		t.Skip("waits for sessions to expire")
	}
	c := Start(t)
	var margins []time.Duration
	for trial := 0; len(margins) < *trials; trial++ {
		require.Less(t, trial, *trials, "hardly any hold lasts until the server hangs")
		g, hang := c.newGap(t, trial)
		schedule(g)
		hung := Now()
		ended := hang()
		for i, a := range g.history.Attempts() {
			gone := ended[i]
			require.GreaterOrEqual(t, gone, a.Open, "the node of %v went, and its lost channel was open %v later", a, a.Open.Sub(gone))
			if a.Open > hung {
				margins = append(margins, gone.Sub(a.Lost))
			}
		}
		require.NoError(t, c.Await(t.Context()))
	}
	slices.Sort(margins)
	t.Logf("%d sessions held when their server hung; from lost to the node's end: least %v, median %v",
		len(margins), margins[0].Round(time.Millisecond), margins[len(margins)/2].Round(time.Millisecond))
}

// newGap opens the sessions at a follower. What it returns makes the follower
// hang until all is over, and tells when the nodes went.
func (c *Cluster) newGap(t *testing.T, trial int) (g *gap, hang func() (ended []Instant)) {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	g = &gap{t: t, history: NewHistory(), doors: OpenDoors(t, followers[0])}
	g.watcher, err = dial(leader.Addr())
	require.NoError(t, err)
	job := Job{Process: trial, Addrs: g.doors.Addrs(), Timeout: shortTimeout}
	for i := range atOnce {
		job.Keep = append(job.Keep, fmt.Sprintf("/gap-%d-%d", trial, i))
	}
	g.worker, err = StartWorker(t, job, g.history)
	require.NoError(t, err)
	require.NoError(t, g.worker.Await(stateReady))
	return g, func() (ended []Instant) {
		require.NoError(t, followers[0].Pause())
		require.NoError(t, g.worker.Await(stateLost))
		for _, gone := range g.gone {
			ended = append(ended, receive(t, gone, "a node to go with its session"))
		}
		require.NoError(t, followers[0].Continue())
		g.worker.Kill()
		g.watcher.Close()
		return ended
	}
}

// lock takes the locks and has the watcher wait for the end of their nodes.
func (g *gap) lock() {
	g.t.Helper()
	require.NoError(g.t, g.worker.Tell(commandLock))
	require.NoError(g.t, g.worker.Await(stateLocked))
	for _, a := range g.history.Attempts() {
		exists, _, events, err := g.watcher.ExistsW(a.Node)
		require.NoError(g.t, err)
		require.True(g.t, exists)
		gone := make(chan Instant, 1)
		go func() {
			if e := <-events; e.Type == zk.EventNodeDeleted {
				gone <- Now()
			}
		}()
		g.gone = append(g.gone, gone)
	}
}

// awaitProofs waits for the answer to a proof of each session, within limit. One
// whose lease has ended sends none.
func (g *gap) awaitProofs(limit time.Duration) {
	ctx, cancel := context.WithTimeout(g.t.Context(), limit)
	defer cancel()
	var proofs []*faultproxy.Held
	for range atOnce {
		proofs = append(proofs, g.doors[0].HoldReply(faultproxy.OpMulti))
	}
	for _, proof := range proofs {
		select {
		case <-proof.Arrived():
		case <-ctx.Done():
		}
		proof.Release()
	}
}
