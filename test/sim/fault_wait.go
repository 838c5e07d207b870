package sim

import (
	"slices"
	"time"
)

// waitLong has several of the machine that only waits stand behind two others, of whom the first
// keeps the lock until some of them have given up, and none of them is the next before. What their
// session is worth has not been proved since they came.
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
	w.askFor(paths[0], m, Section{Take: Acquire, Limit: gaveUp, Cancel: d.one(2)}, patient, Section{Take: TryLockFor, For: gaveUp}, patient)
	return nil
}
