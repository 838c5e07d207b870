package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// world is a simulation under way, inside its bubble.
type world struct {
	program  *Program
	stats    *Stats
	log      *timeline
	checker  *checker
	ensemble *zktest.Ensemble
	machines []*machine

	ctx        context.Context // ends when the world does
	cancel     context.CancelFunc
	background sync.WaitGroup
	work       sync.WaitGroup // actors, and sessions being closed and opened
	asked      atomic.Int64   // how long those who came by faults are to hold locks, in all
	pending    atomic.Int64   // faults that are not over, but for those that take the servers' data

	away sync.Mutex // guards gone
	gone bool       // all servers are away, to lose their data
}

func simulate(p *Program, stats *Stats, log *timeline) *Failure {
	ensemble, err := zktest.StartEnsemble(p.Cluster.Servers, p.Cluster.options(p.Seed)...)
	if err != nil {
		return &Failure{Promise: "setup", Text: err.Error()}
	}
	w := &world{program: p, stats: stats, log: log, checker: newChecker(log, stats), ensemble: ensemble}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	defer w.end()
	w.checker.calm = true
	ensemble.Observe(w.checker.observe)
	for i := range p.Machines {
		w.machines = append(w.machines, newMachine(w, i))
		if err := w.machines[i].open(i); err != nil {
			return &Failure{Promise: "setup", Text: err.Error()}
		}
	}
	w.start()
	w.background.Go(w.drift)
	if w.injectFaults() && w.finish() && w.tidy() && w.calm() && w.tidy() {
		w.closeAll()
	}
	return w.checker.verdict()
}

// start lets the actors go.
func (w *world) start() {
	for i, spec := range w.program.Actors {
		a := &actor{world: w, machine: w.machines[spec.Machine], name: fmt.Sprintf("m%d/a%d", spec.Machine, i)}
		w.work.Go(func() { a.run(spec.Sections) })
	}
	for i, spec := range w.program.Foreigners {
		v := &visitor{world: w, spec: spec, name: fmt.Sprintf("foreign%d", i)}
		w.work.Go(v.run)
	}
}

// drift makes the clocks by which servers count sessions run fast.
func (w *world) drift() {
	const step = 100 * time.Millisecond
	fast := time.Duration(w.program.Cluster.Drift * float64(step))
	for fast > 0 && pause(w.ctx, step) {
		for _, s := range w.ensemble.Servers() {
			s.JumpClock(fast)
		}
	}
}

// pause sleeps, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	return !closesWithin(d, ctx.Done())
}

// closesWithin waits until the channel closes, for no longer than d, and reports
// whether it has.
func closesWithin(d time.Duration, channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	case <-time.After(d):
		return false
	}
}

// done returns a channel that closes when nobody is left in the group.
func done(group *sync.WaitGroup) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		group.Wait()
		close(over)
	}()
	return over
}

// finish waits until every actor is through, which has to happen soon now that
// the faults are over.
func (w *world) finish() bool {
	through, patience := done(&w.work), w.patience()
	for start := time.Now(); ; {
		limit := patience + w.checker.graces() // which a loss after the last fault adds to
		if time.Since(start) >= limit {
			w.checker.fail("liveness", "not everybody is through %v after the last fault", limit)
			return false
		}
		select {
		case <-through:
			return w.checker.verdict() == nil
		case <-w.checker.broken:
			return false
		case <-time.After(time.Until(start.Add(limit))):
		}
	}
}

// patience is how long all the sections take at most, one after the other, with
// every session expiring first. Those that faults bring are among them.
func (w *world) patience() time.Duration {
	limit := time.Minute + time.Duration(w.asked.Load()) + w.checker.recovery()
	for _, a := range w.program.Actors {
		limit += duration(a.Sections)
	}
	return limit + w.program.rest()
}

// rest is how long all the minimums take at most, one after the other: those of the
// sections, and of the crowds that faults bring.
func (p *Program) rest() time.Duration {
	longest := time.Duration(0)
	for _, l := range p.Lockers {
		longest = max(longest, l.MinHold)
	}
	sections := 0
	for _, a := range p.Actors {
		sections += count(a.Sections)
	}
	const crowd = 3
	return time.Duration(sections+crowd*len(p.Faults)*len(p.Lockers)) * longest
}

// count counts sections, and those within them.
func count(sections []Section) (n int) {
	for _, s := range sections {
		n += 1 + count(s.Inner) + count(s.Reading)
	}
	return n
}

func duration(sections []Section) time.Duration {
	var d time.Duration
	for _, s := range sections {
		d += s.Pause + s.Hold + duration(s.Inner) + duration(s.Reading)
	}
	return d
}

func (l *lock) lockAndUnlock(ctx context.Context) error {
	h, err := l.handles(Section{Permits: permits}).Acquire(ctx)
	if err != nil {
		return err
	}
	return h.Release(ctx)
}

// calm checks that every machine finds back into its session and gets its locks.
func (w *world) calm() bool {
	ctx, cancel := context.WithTimeout(w.ctx, w.checker.recovery()+calmly+time.Duration(2*len(w.program.Lockers))*longestRest)
	defer cancel()
	for _, m := range w.machines {
		inc := m.current()
		for _, s := range inc.sessions() {
			if err := s.Ping(ctx); err != nil {
				w.checker.fail("liveness", "%s has no connection %v after the last fault: %v", m.name, calmly, err)
				return false
			}
		}
		for _, l := range inc.locks {
			if l == nil || l.several != nil {
				continue
			}
			err := l.lockAndUnlock(ctx)
			if errors.Is(err, zklock.ErrLost) { // a node that was kept, and went unseen in a fault
				err = l.lockAndUnlock(ctx)
			}
			if err != nil {
				w.checker.fail("liveness", "%s cannot lock and unlock %s within %v after the last fault: %v", m.name, l.spec.Path, calmly, err)
				return false
			}
		}
	}
	return w.checker.verdict() == nil && !slices.ContainsFunc(w.machines, w.losesBehindSleep) && !w.passesUnseen()
}

// losesBehindSleep reports whether a machine loses a lock that it takes when it has slept, for no
// longer than its session lives, and has a network at once.
func (w *world) losesBehindSleep(m *machine) bool {
	inc, d := m.current(), newDice(w.program.Seed)
	i := slices.IndexFunc(inc.locks, func(l *lock) bool { return l != nil && l.several == nil })
	if i < 0 {
		return false
	}
	pause(w.ctx, d.span(m.spec.Timeout, 2*m.spec.Timeout))
	nap := d.span(m.spec.Timeout/4, 9*m.spec.Timeout/16)
	m.clock.Step(nap)
	for _, id := range m.ids() {
		w.ensemble.AgeSession(id, nap)
	}
	h, err := inc.locks[i].handles(Section{Permits: permits}).Acquire(w.ctx)
	if err != nil {
		return false // the session was older than that
	}
	defer h.Release(w.ctx)
	if pause(w.ctx, m.spec.Timeout); h.Err() != nil {
		w.checker.fail("liveness", "%s has slept for %v, and has lost the lock that it asked for then: %v", m.name, nap, h.Err())
	}
	return h.Err() != nil
}

// usual is how long it takes to come right what nothing is in the way of.
const usual = 5 * time.Second

// tidy checks that the queues and the servers' watches are empty while the
// sessions are still open.
func (w *world) tidy() bool {
	limit := usual + max(w.checker.recovery(), w.checker.graceLeft())
	for _, l := range w.program.Lockers {
		limit = max(limit, usual+l.Retention, usual+l.MinHold)
	}
	for _, m := range w.machines {
		limit += m.spec.Timeout
	}
	left := ""
	for range int(limit / (50 * time.Millisecond)) {
		if left = w.left(); left == "" {
			return w.checker.verdict() == nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	w.checker.fail("P4", "left %v after the last call: %s", limit, left)
	return false
}

// left tells what is left of lock nodes and watches.
func (w *world) left() string {
	var left []string
	sessions := 0
	for _, m := range w.machines {
		sessions += len(m.ids())
	}
	for _, path := range w.checker.nodes() {
		left = append(left, "node "+path)
	}
	for i, s := range w.ensemble.Servers() {
		for path, n := range s.Watches() {
			if n <= sessions && (path == permitsPath+"/leases" || path == keptPath || slices.Contains(paths, path) || isBelow(path)) {
				continue // a session may go on watching who comes, and what is no lock's
			}
			if w.checker.isKept(path) {
				continue
			}
			left = append(left, fmt.Sprintf("%d watches on %s at server %d", n, path, i))
		}
	}
	return strings.Join(left, ", ")
}

// isBelow reports whether an operator has made that path, which is no lock's node.
func isBelow(path string) bool {
	return slices.Contains(below, base(path)) || slices.Contains(junk, base(path))
}

// closeAll closes the sessions and checks that the servers know of none.
func (w *world) closeAll() {
	for _, m := range w.machines {
		m.close(true)
	}
	if len(w.ensemble.Sessions()) > 0 {
		// A Close under faults may not have been confirmed, nor an operator's.
		time.Sleep(42 * w.program.Cluster.Tick)
	}
	if sessions := w.ensemble.Sessions(); len(sessions) > 0 {
		w.checker.fail("P6", "sessions are left at the server: %v", sessions)
	}
}

// end stops everything, in whatever state it is.
func (w *world) end() {
	w.cancel()
	w.background.Wait()
	w.heal()
	for _, m := range w.machines {
		m.close(false)
	}
	w.ensemble.Close()
}

func (w *world) heal() {
	for _, m := range w.machines {
		m.place.Unblock()
	}
	for _, s := range w.ensemble.Servers() {
		s.Thaw()
	}
	w.ensemble.Heal()
}
