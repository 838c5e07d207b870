package nemesis

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// History collects what the workers report. Its methods may be called from
// several goroutines.
type History struct {
	mu       sync.Mutex
	attempts map[reportKey]*Attempt
	updates  map[reportKey]Update
	ended    map[int64]Instant // sessions that an operator ended, and before when
}

type reportKey struct {
	process int
	id      int64
}

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{attempts: make(map[reportKey]*Attempt), updates: make(map[reportKey]Update), ended: make(map[int64]Instant)}
}

// Report takes the newest state of an attempt.
func (h *History) Report(a Attempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempts[reportKey{a.Process, a.ID}] = &a
}

// ReportUpdate takes the newest state of an update of a register.
func (h *History) ReportUpdate(u Update) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.updates[reportKey{u.Process, u.ID}] = u
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

// Attempts returns copies of all attempts in the order of their calls. Those in a
// session that an operator ended are cut short at that moment.
func (h *History) Attempts() []*Attempt {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Attempt, 0, len(h.attempts))
	for _, reported := range h.attempts {
		a := *reported
		if ended, ok := h.ended[a.Session]; ok {
			a.Valid, a.Open = min(a.Valid, ended), min(a.Open, ended)
		}
		all = append(all, &a)
	}
	slices.SortFunc(all, func(a, b *Attempt) int { return cmp.Compare(a.Called, b.Called) })
	return all
}

// holds returns how many attempts have got a lock.
func (h *History) holds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, a := range h.attempts {
		if a.granted() {
			n++
		}
	}
	return n
}

// byPath sorts attempts by the path of their lock.
func byPath(attempts []*Attempt) map[string][]*Attempt {
	paths := make(map[string][]*Attempt)
	for _, a := range attempts {
		paths[a.Path] = append(paths[a.Path], a)
	}
	return paths
}
