package sim

import (
	"slices"
	"time"
)

// waitLong has several of the machine that only waits stand behind two others, of whom the first
// keeps the lock until some of them have given up, and none of them is the next before. What their
// session is worth has not been proved since they came; or it is proved for a lock that it only keeps,
// until it is cut off for longer than that lasts.
func (w *world) waitLong(f Fault) func() {
	waiting := slices.IndexFunc(w.program.Machines, func(m Machine) bool { return m.Waits })
	if waiting < 0 {
		return nil
	}
	m, d := w.machines[waiting], w.dice(f)
	gaveUp := d.span(m.spec.Timeout, 2*m.spec.Timeout)
	const inLine = 200 * time.Millisecond // until all are
	ahead := slices.Delete(slices.Clone(w.machines), waiting, waiting+1)
	for i, hold := range []time.Duration{gaveUp + inLine, d.short(time.Second)} {
		w.askFor(paths[0], ahead[(f.Machine+i)%len(ahead)], Section{Take: Acquire, Hold: hold})
		pause(w.ctx, inLine/4)
	}
	patient := Section{Take: LockContext, Hold: d.short(100 * time.Millisecond)}
	if !d.one(2) {
		w.askFor(paths[0], m, Section{Take: Acquire, Limit: gaveUp, Cancel: d.one(2)}, patient, Section{Take: TryLockFor, For: gaveUp}, patient)
		return nil
	}
	w.askFor(keptPath, m, Section{Take: LockContext})
	pause(w.ctx, inLine/4)
	w.askFor(paths[0], m, patient, patient)
	pause(w.ctx, inLine/4)
	w.checker.storm(Fault{Kind: BlockBoth, Machine: waiting})
	cutOff(m.place)
	pause(w.ctx, d.span(m.spec.Timeout/2, m.spec.Timeout*9/10))
	m.place.Unblock()
	return nil
}
