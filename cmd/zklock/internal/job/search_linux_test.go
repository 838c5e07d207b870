package job

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// world is a kernel in which something may happen before each question: what act does. It begins
// with this process and a daemon, which has left one behind in our session.
type world struct {
	processes        map[int]*fake
	daemon, last, us int
	act              func()
}

type fake struct {
	parent, session int
	over, adopts    bool
	children        []int
}

func newWorld() *world {
	us := os.Getpid()
	w := &world{processes: map[int]*fake{us: {session: us, adopts: true}}, last: 1 << 22, us: us, act: func() {}}
	w.daemon = w.fork(us)
	w.fork(w.daemon)
	w.processes[w.daemon].session = w.daemon
	return w
}

func (w *world) fork(parent int) (pid int) {
	w.last++
	p := w.processes[parent]
	w.processes[w.last] = &fake{parent: parent, session: p.session}
	p.children = append(p.children, w.last)
	return w.last
}

func (w *world) exit(pid int) {
	p := w.processes[pid]
	heir := p.parent
	for !w.processes[heir].adopts {
		heir = w.processes[heir].parent
	}
	for _, child := range p.children {
		w.processes[child].parent = heir
	}
	w.processes[heir].children = append(w.processes[heir].children, p.children...)
	p.over, p.children = true, nil
}

func (w *world) reap(pid int) {
	parent := w.processes[w.processes[pid].parent]
	parent.children = slices.DeleteFunc(parent.children, func(child int) bool { return child == pid })
	delete(w.processes, pid)
}

func (w *world) children(pid int) (pids []int, known bool) {
	w.act()
	if p := w.processes[pid]; p != nil {
		pids = slices.Clone(p.children)
	}
	return pids, true
}

func (w *world) session(pid int) (id int, err error) {
	w.act()
	if p := w.processes[pid]; p != nil {
		return p.session, nil
	}
	return 0, unix.ESRCH
}

func (w *world) isOver(pid int) bool {
	w.act()
	p := w.processes[pid]
	return p != nil && p.over
}

// left are those in our session, or in any, that have not ended.
func (w *world) left(everything bool) (pids []int) {
	for pid, p := range w.processes {
		if pid != w.us && !p.over && (everything || p.session == w.us) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// happen has any process do anything, but us.
func (w *world) happen(r *rand.Rand) {
	pids := slices.Sorted(maps.Keys(w.processes))
	pid := pids[r.IntN(len(pids))]
	p := w.processes[pid]
	switch do := r.IntN(4); {
	case pid == w.us || p.over && p.parent == w.us:
	case p.over:
		w.reap(pid)
	case do == 0 && len(pids) < 7:
		w.fork(pid)
	case do == 1:
		p.session = pid
	case do >= 2:
		w.exit(pid)
	}
}

func TestNobodyIsOverlookedWhileProcessesLeaveTheirWorkToOthers(t *testing.T) {
	for seed := range uint64(2000) {
		w, r := newWorld(), rand.New(rand.NewPCG(seed, 0))
		chance, everything := r.Float64(), r.IntN(8) == 0
		w.processes[w.daemon].adopts = r.IntN(2) == 0
		w.act = func() {
			if r.Float64() < chance {
				w.happen(r)
			}
		}
		if foundNothing(w, nil, everything) {
			require.Empty(t, w.left(everything), "seed %d", seed)
		}
	}
}

func TestADaemonThatIsBusyHoldsNobodyUp(t *testing.T) {
	w := newWorld()
	behind := w.daemon + 1
	require.False(t, foundNothing(w, nil, false))
	w.exit(behind) // the daemon does not wait for it
	worker := w.fork(w.daemon)
	w.act = func() {
		w.exit(worker)
		worker = w.fork(w.daemon)
	}
	require.True(t, foundNothing(w, nil, false))
	require.False(t, foundNothing(w, nil, true))
	require.True(t, foundNothing(w, []int{w.daemon}, true))
}
