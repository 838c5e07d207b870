package nemesis

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
	"github.com/zklock/zklock/internal/faultproxy"
)

var trials = flag.Int("trials", 4, "how many holds each schedule of a loss must see, at least")

const (
	// atOnce is how many sessions go through a schedule together.
	atOnce = 8

	shortTimeout = 2 * time.Second

	// patientTimeout is for a machine whose stalls cost every hold before the fault comes.
	patientTimeout = 4 * shortTimeout
)

// group is a process with several sessions at the only server that they know, a
// follower. Each locks a path.
type group struct {
	t       *testing.T
	timeout time.Duration // of the sessions, of which a schedule's times are parts
	cluster *Cluster
	home    *apachezk.Server
	leader  *apachezk.Server
	worker  *Worker
	links   Links
	history *History
	watcher *zk.Conn
	paths   []string         // to lock
	gone    []<-chan Instant // tells when each node was, in the order of the ops
}

var next atomic.Int64 // group's number, which its paths have

// hang stops the group's server.
func hang(g *group) (undo func()) {
	require.NoError(g.t, g.home.Pause())
	return func() { require.NoError(g.t, g.home.Continue()) }
}

// cutOff separates the group's server from the others.
func cutOff(g *group) (undo func()) {
	g.cluster.CutOff(g.home)
	return g.cluster.Mesh.Heal
}

// repeatLoss goes through a schedule that leads up to a fault of the group's
// server, again and again, and checks each time that whoever is cut off knows it
// before the servers could give the lock to somebody else.
func repeatLoss(t *testing.T, fault func(*group) (undo func()), schedule func(*group)) {
	breaksServers(t)
	// A server that has lost its leader may go on for the length of the test.
	c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 100 })
	var margins []time.Duration
	timeout := shortTimeout
	for trial := 0; len(margins) < *trials; trial++ {
		require.Less(t, trial, *trials+8, "hardly any hold lasts until the fault")
		before := len(margins)
		g := newGroup(t, c, trial, timeout)
		schedule(g)
		struck := Now()
		undo := fault(g)
		ended := g.lose()
		undo()
		for i, a := range g.history.Ops() {
			require.GreaterOrEqual(t, ended[i], a.Open, "the node of %v went, and its lost channel was open %v later", a, a.Open.Sub(ended[i]))
			if a.Open > struck {
				margins = append(margins, ended[i].Sub(a.Lost))
			}
		}
		if len(margins) == before {
			timeout = min(2*timeout, patientTimeout)
		}
		require.NoError(t, c.Await(t.Context()))
	}
	slices.Sort(margins)
	t.Logf("%d holds, session timeout %v at last; from lost to the node's end: least %v, median %v",
		len(margins), timeout, margins[0].Round(time.Millisecond), margins[len(margins)/2].Round(time.Millisecond))
}

func newGroup(t *testing.T, c *Cluster, trial int, timeout time.Duration) *group {
	t.Helper()
	leader, followers, err := c.Roles(t.Context())
	require.NoError(t, err)
	g := &group{t: t, timeout: timeout, cluster: c, home: followers[0], leader: leader, history: NewHistory(), links: OpenLinks(t, followers[0])}
	g.watcher, err = dial(leader.Addr())
	require.NoError(t, err)
	t.Cleanup(g.watcher.Close)
	job := Job{Process: trial, Addrs: g.links.Addrs(), Timeout: timeout, Spread: timeout / 3}
	for i := range atOnce {
		job.Hold = append(job.Hold, fmt.Sprintf("/group-%d-%d", next.Add(1), i))
	}
	g.paths = job.Hold
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
	for _, o := range g.history.Ops() {
		g.gone = append(g.gone, watchEnd(g.t, g.watcher, o.Node))
	}
}

// watchEnd tells when a node goes. It may be gone already: a busy machine has ended
// its session.
func watchEnd(t *testing.T, conn *zk.Conn, node string) <-chan Instant {
	t.Helper()
	exists, _, events, err := conn.ExistsW(node)
	require.NoError(t, err)
	gone := make(chan Instant, 1)
	if !exists {
		gone <- Now()
		return gone
	}
	go func() {
		if e := <-events; e.Type == zk.EventNodeDeleted {
			gone <- Now()
		}
	}()
	return gone
}

// awaitProofs waits for the answer to a proof of each session, within limit. One
// whose lease has ended sends none.
func (g *group) awaitProofs(limit time.Duration) {
	ctx, cancel := context.WithTimeout(g.t.Context(), limit)
	defer cancel()
	var proofs []*faultproxy.Held
	for range atOnce {
		proofs = append(proofs, g.links[0].HoldReply(faultproxy.OpMulti))
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

// A follower that has lost its leader answers pings and reads as before, while the
// leader counts the session down.
func TestAHoldBehindAFollowerThatIsCutOffIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, cutOff, func(g *group) {
		g.lock()
		pauseFor(rand.N(g.timeout / 3))
	})
}

func TestAHoldOfAClientThatIsCutOffIsLostBeforeItsNodeGoes(t *testing.T) {
	for name, dir := range map[string]faultproxy.Direction{
		"in both directions": faultproxy.Both,
		"when it sends":      faultproxy.ClientToServer,
	} {
		t.Run(name, func(t *testing.T) {
			silence := func(g *group) (undo func()) {
				g.links.Drop(dir)
				return func() {}
			}
			repeatLoss(t, silence, func(g *group) {
				g.lock()
				pauseFor(rand.N(g.timeout / 3))
			})
		})
	}
}

// The servers hear everything that such a client sends, and keep its session.
func TestAClientThatHearsNothingLosesItsHold(t *testing.T) {
	breaksServers(t)
	c := Start(t)
	links := OpenLinks(t, c.Servers()...)
	h := acquireLock(t, connect(t, shortTimeout, links.Addrs()), "/deaf")
	links.Drop(faultproxy.ServerToClient)
	receive(t, h.Lost(), "the lease to end")
	links.Cut()
	links.Heal()
	next := acquireLock(t, connect(t, shortTimeout, c.Addrs()), "/deaf")
	require.Greater(t, next.Token(), h.Token())
}

// The leader counts a session down from the last touch that a follower relayed.
// After a quiet gap that is long ago, whatever write was committed since. Here the
// holder's process is stopped for half of its session timeout.
func TestAfterAQuietGapAHoldIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, hang, func(g *group) {
		g.lock()
		g.awaitProofs(g.timeout / 4)
		pauseFor(rand.N(g.timeout / 16))
		require.NoError(t, g.worker.Stop())
		pauseFor(g.timeout / 2)
		require.NoError(t, g.worker.Continue())
		g.awaitProofs(g.timeout / 40) // before the follower has the time to relay a touch
	})
}

// An idle session only pings. Its first lock is the first write in a long time.
func TestTheFirstLockOfAnIdleSessionIsLostBeforeItsNodeGoes(t *testing.T) {
	repeatLoss(t, hang, func(g *group) {
		pauseFor(g.timeout/3 + rand.N(g.timeout/3))
		g.lock()
	})
}
