package nemesis

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// History collects what the workers report and what the nemeses do. Its methods may
// be called from several goroutines.
type History struct {
	mu         sync.Mutex
	ops        map[reportKey]*Op
	updates    map[reportKey]Update
	ended      map[int64]Instant // sessions that an operator ended, and before when
	injections []Injection
}

type reportKey struct {
	process int
	id      int64
}

// Injection is a fault that happened.
type Injection struct {
	Fault        string
	Began, Ended Instant
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{ops: make(map[reportKey]*Op), updates: make(map[reportKey]Update), ended: make(map[int64]Instant)}
}

// Report takes the newest state of an op.
func (h *History) Report(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops[reportKey{o.Process, o.ID}] = &o
}

// ReportUpdate takes the newest state of an update of a register.
func (h *History) ReportUpdate(u Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updates[reportKey{u.Process, u.ID}] = u
}

// Injected notes a fault.
func (h *History) Injected(i Injection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.injections = append(h.injections, i)
}

// Ended notes that an operator ends a session: whatever its owner believes from
// then on it cannot know better.
func (h *History) Ended(session int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended[session] = Now()
}

// Updates returns the updates of all registers.
func (h *History) Updates() []Update {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Values(h.updates))
}

// Injections returns the faults in the order of their ends.
func (h *History) Injections() []Injection {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.injections)
}

// Ops returns copies of all ops in the order of their calls. Those in a session that
// an operator ended are cut short at that moment.
func (h *History) Ops() []*Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Op, 0, len(h.ops))
	for _, reported := range h.ops {
		o := *reported
		if ended, ok := h.ended[o.Session]; ok {
			o.Valid, o.Open = min(o.Valid, ended), min(o.Open, ended)
		}
		all = append(all, &o)
	}
	slices.SortFunc(all, func(a, b *Op) int { return cmp.Compare(a.Invoked, b.Invoked) })
	return all
}

// holds returns how many ops have got a lock.
func (h *History) holds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, o := range h.ops {
		if o.ok() {
			n++
		}
	}
	return n
}
