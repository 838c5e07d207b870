package nemesis

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

var trials = flag.Int("trials", 8, "how many holds each schedule of a loss must see, at least")

const (
	// atOnce is how many sessions go through a schedule together.
	atOnce = 8

	shortTimeout = 2 * time.Second
)

// group is a process with several sessions at the only server that they know, a
// follower. Each locks a path.
type group struct {
	t       *testing.T
	cluster *Cluster
	home    *apachezk.Server
	leader  *apachezk.Server
	worker  *Worker
	doors   Doors
	history *History
	watcher *zk.Conn
	paths   []string       // to lock
	gone    []chan Instant // tells when each node was, in the order of the attempts
}

var next atomic.Int64 // group's number, which its paths have

// hang stops the group's server.
func hang(g *group) (undo func()) {
	require.NoError(g.t, g.home.Pause())
	return func() { require.NoError(g.t, g.home.Continue()) }
}

// cutOff separates the group's server from the others.
func cutOff(g *group) (undo func()) {
	var others []int
	for _, s := range g.cluster.others(g.home) {
		others = append(others, s.ID())
	}
	g.cluster.Mesh.Partition([]int{g.home.ID()}, others)
	return g.cluster.Mesh.Heal
}

// repeatLoss goes through a schedule that leads up to a fault of the group's
// server, again and again, and checks each time that whoever is cut off knows it
// before the servers could give the lock to somebody else.
func repeatLoss(t *testing.T, fault func(*group) (undo func()), schedule func(*group)) {
	breaksServers(t)
	// A server that has lost its leader may go on for the length of the test.
	c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 25 })
	var margins []time.Duration
	for trial := 0; len(margins) < *trials; trial++ {
		require.Less(t, trial, *trials, "hardly any hold lasts until the fault")
		g := newGroup(t, c, trial)
		schedule(g)
		struck := Now()
		undo := fault(g)
		ended := g.lose()
		undo()
		for i, a := range g.history.Attempts() {
			require.GreaterOrEqual(t, ended[i], a.Open, "the node of %v went, and its lost channel was open %v later", a, a.Open.Sub(ended[i]))
			if a.Open > struck {
				margins = append(margins, ended[i].Sub(a.Lost))
			}
		}
		require.NoError(t, c.Await(t.Context()))
	}
	slices.Sort(margins)
	t.Logf("%d holds; from lost to the node's end: least %v, median %v",
		len(margins), margins[0].Round(time.Millisecond), margins[len(margins)/2].Round(time.Millisecond))
}

func newGroup(t *testing.T, c *Cluster, trial int) *group {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	g := &group{t: t, cluster: c, home: followers[0], leader: leader, history: NewHistory(), doors: OpenDoors(t, followers[0])}
	g.watcher, err = dial(leader.Addr())
	require.NoError(t, err)
	t.Cleanup(g.watcher.Close)
	job := Job{Process: trial, Addrs: g.doors.Addrs(), Timeout: shortTimeout, Spread: shortTimeout / 3}
	for i := range atOnce {
		job.Keep = append(job.Keep, fmt.Sprintf("/group-%d-%d", next.Add(1), i))
	}
	g.paths = job.Keep
	g.worker, err = StartWorker(t, job, g.history)
	require.NoError(t, err)
	require.NoError(t, g.worker.Await(stateReady))
	return g
}

// lock takes the locks and has the watcher wait for the end of their nodes.
func (g *group) lock() {
	g.t.Helper()
	require.NoError(g.t, g.worker.Tell(commandLock))
	require.NoError(g.t, g.worker.Await(stateLocked))
	for _, a := range g.history.Attempts() {
		exists, _, events, err := g.watcher.ExistsW(a.Node)
		require.NoError(g.t, err)
		gone := make(chan Instant, 1)
		g.gone = append(g.gone, gone)
		if !exists { // a busy machine has ended its session: the hold does not last until the fault
			gone <- Now()
			continue
		}
		go func() {
			if e := <-events; e.Type == zk.EventNodeDeleted {
				gone <- Now()
			}
		}()
	}
}

// awaitProofs waits for the answer to a proof of each session, within limit. One
// whose lease has ended sends none.
func (g *group) awaitProofs(limit time.Duration) {
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

// lose waits until all holds are lost and their nodes gone, and returns when they
// went.
func (g *group) lose() (ended []Instant) {
	g.t.Helper()
	for _, gone := range g.gone {
		ended = append(ended, receive(g.t, gone, "a node to go with its session"))
	}
	require.NoError(g.t, g.worker.Await(stateLost))
	g.worker.Kill()
	return ended
}
