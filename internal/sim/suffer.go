package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/zktest"
)

// suffer inflicts the faults and ends them; false if a promise was broken.
func (w *world) suffer() bool {
	faults := slices.SortedFunc(slices.Values(w.program.Faults), func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	var struck sync.WaitGroup
	start := time.Now()
	for _, f := range faults {
		select {
		case <-time.After(time.Until(start.Add(f.At))):
			struck.Go(func() { w.strike(f) })
		case <-w.referee.broken:
			return false
		}
	}
	over := make(chan struct{})
	go func() {
		struck.Wait()
		close(over)
	}()
	select {
	case <-over:
		return true
	case <-w.referee.broken:
		return false
	}
}

// strike waits for the fault's moment, a few seconds at most, inflicts the fault,
// and ends it when its time is over.
func (w *world) strike(f Fault) {
	if f.Moment != AnyMoment {
		const wait = 3 * time.Second
		select {
		case <-w.referee.await(f.Moment, w.machines[f.Machine].id()):
		case <-w.ctx.Done():
			return
		case <-time.After(wait):
			return
		}
		time.Sleep(f.Delay)
	}
	if w.ctx.Err() != nil {
		return
	}
	w.referee.storm()
	w.log.note("FAULT", "%v", f)
	w.stats.Faults[f.Kind].Add(1)
	end := faultTable[f.Kind].inflict(w, f)
	if end == nil {
		return
	}
	select {
	case <-time.After(f.For):
	case <-w.ctx.Done():
	}
	w.log.note("FAULT", "end of: %v", f)
	end()
}

// dice returns where a fault's own chance comes from.
func (w *world) dice(f Fault) dice { return newDice(w.program.Seed ^ uint64(f.At+f.Delay)) }

// later calls f when d has passed or the world ends.
func (w *world) later(d time.Duration, f func()) {
	w.work.Go(func() {
		select {
		case <-time.After(d):
		case <-w.ctx.Done():
		}
		f()
	})
}

// moments are what faults wait for.
type moments map[moment][]chan struct{}

type moment struct {
	kind    zktest.Kind
	session int64
}

// reach wakes those who wait for a change like this.
func (ms moments) reach(c zktest.Change) {
	m := moment{c.Kind, c.Owner}
	for _, waiting := range ms[m] {
		close(waiting)
	}
	delete(ms, m)
}

// await returns a channel that closes at the session's next moment of that kind.
func (r *referee) await(what Moment, session int64) <-chan struct{} {
	reached := make(chan struct{})
	m := moment{zktest.NodeCreated, session}
	if what == OnDelete {
		m.kind = zktest.NodeDeleted
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moments == nil {
		r.moments = make(moments)
	}
	r.moments[m] = append(r.moments[m], reached)
	return reached
}
