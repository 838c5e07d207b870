package nemesis

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zklock/zklock/internal/apachezk"
)

// A leader that was paused has heard of no touch meanwhile. When it goes on it
// ends the sessions that seem overdue, but may commit what it finds in its buffers
// just before. Idle sessions at a follower take their first lock at that time.
func TestALockTakenWhileAPausedLeaderGoesOnIsLostBeforeItsNodeGoes(t *testing.T) {
	breaksServers(t)
	c := Start(t, func(cfg *apachezk.Config) { cfg.SyncLimit = 25 })
	const kinds = 4 // share the trials: one takes 7 s, and grants two locks, or none
	for call, delay := range map[string]func() time.Duration{
		"called before": func() time.Duration { return -rand.N(shortTimeout / 8) },
		"called after":  func() time.Duration { return rand.N(shortTimeout / 40) },
	} {
		for follower, hangs := range map[string]bool{"its follower goes on": false, "its follower hangs": true} {
			t.Run(call+", "+follower, func(t *testing.T) {
				th := &thaws{t: t, cluster: c, delay: delay, hangs: hangs}
				enough := (*trials + kinds - 1) / kinds
				for trial := 0; th.granted < enough; trial++ {
					require.Less(t, trial, 10*(enough+1), "hardly any session is granted a lock")
					th.trial()
				}
				th.judge()
			})
		}
	}
}

// thaws are trials of one kind.
type thaws struct {
	t       *testing.T
	cluster *Cluster
	delay   func() time.Duration // from the leader's going on to the call
	hangs   bool                 // the follower, once a lock is granted

	asked, granted, expired int             // sessions that asked for a lock, got it, and ended before that
	unaware                 int             // whose hold was over before they knew, as docs/design.md allows
	margins                 []time.Duration // from lost to the node's end
}

func (th *thaws) trial() {
	t := th.t
	g := newGroup(t, th.cluster, th.asked, shortTimeout)
	nodes := watchNodes(t, g)
	pauseFor(rand.N(shortTimeout / 3))
	length := 3*shortTimeout/5 + rand.N(3*shortTimeout/5)
	delay := th.delay()
	lock := func() { require.NoError(t, g.worker.Tell(commandLock)) }

	require.NoError(t, g.leader.Pause())
	pauseFor(length + min(delay, 0))
	if delay < 0 {
		lock()
		pauseFor(-delay)
	}
	thawed := Now()
	require.NoError(t, g.leader.Continue())
	if delay >= 0 {
		pauseFor(delay)
		lock()
	}
	undo := func() {}
	if th.hangs {
		for g.history.holds() == 0 && Since(thawed) < shortTimeout {
			pauseFor(lookEvery)
		}
		undo = hang(g)
	}
	pauseFor(2*shortTimeout - Since(thawed)) // each session is over that was not touched again
	ops := g.history.Ops()
	undo()
	for _, a := range ops {
		th.asked++
		switch {
		case !a.ok():
		case a.Session != a.Asked:
			th.expired++
		default:
			th.granted++
			th.check(a, nodes, thawed, length)
		}
	}
	g.worker.Kill()
	g.watcher.Close()
	require.NoError(t, th.cluster.Await(t.Context()))
}

// lastMoments is how shortly before the leader goes on a write can be sent and be
// quick all the same: what docs/design.md says remains, with room for a busy machine.
const lastMoments = shortTimeout / 100

func (th *thaws) check(a *Op, nodes *nodeEnds, thawed Instant, length time.Duration) {
	end, gone := nodes.end(a.Node)
	if !gone {
		return
	}
	before := thawed.Sub(a.Invoked)
	if end < a.Open && before > 0 && before < lastMoments {
		th.unaware++
		return
	}
	require.GreaterOrEqual(th.t, end, a.Open,
		"the leader paused for %v, called %v before its end: the node of %v went %v after the grant, and its lost channel was open %v later",
		length, before, a, end.Sub(a.OK), a.Open.Sub(end))
	if a.Lost != 0 {
		th.margins = append(th.margins, end.Sub(a.Lost))
	}
}

func (th *thaws) judge() {
	th.t.Logf("%d sessions: %d granted, %d over before; %d asked in the last %v of the pause and did not know in time",
		th.asked, th.granted, th.expired, th.unaware, lastMoments)
	if slices.Sort(th.margins); len(th.margins) > 0 {
		th.t.Logf("%d lost; from lost to the node's end: least %v, median %v", len(th.margins),
			th.margins[0].Round(time.Millisecond), th.margins[len(th.margins)/2].Round(time.Millisecond))
	}
}

// nodeEnds knows when the lock nodes of a group went.
type nodeEnds struct {
	mu    sync.Mutex
	there map[string]bool
	ends  map[string]Instant
}

// watchNodes makes the group's paths and watches what becomes of the nodes there.
func watchNodes(t *testing.T, g *group) *nodeEnds {
	n := &nodeEnds{there: make(map[string]bool), ends: make(map[string]Instant)}
	for _, path := range g.paths {
		_, err := g.watcher.Create(path, nil, 0, everybody)
		require.NoError(t, err)
		_, _, events, err := g.watcher.ChildrenW(path)
		require.NoError(t, err)
		go n.follow(g.watcher, path, events)
	}
	return n
}

// follow ends with the connection.
func (n *nodeEnds) follow(conn *zk.Conn, path string, events <-chan zk.Event) {
	var last []string
	for {
		if e := <-events; e.Type != zk.EventNodeChildrenChanged {
			return
		}
		names, _, next, err := conn.ChildrenW(path)
		if err != nil {
			return
		}
		n.note(path, last, names)
		last, events = names, next
	}
}

func (n *nodeEnds) note(path string, last, names []string) {
	at := Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		n.there[path+"/"+name] = true
	}
	for _, name := range last {
		if node := path + "/" + name; !slices.Contains(names, name) {
			delete(n.there, node)
			n.ends[node] = at
		}
	}
}

// end returns when the node was seen to be gone. One that was never seen has gone
// by now.
func (n *nodeEnds) end(node string) (at Instant, gone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.there[node] {
		return 0, false
	}
	if at, gone = n.ends[node]; gone {
		return at, true
	}
	return Now(), true
}
