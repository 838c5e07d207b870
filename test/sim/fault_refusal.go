package sim

import (
	"slices"
	"time"

	"github.com/zklock/zklock/zktest"
)

// refusable are the requests that a server may refuse, as often as locks make them.
var refusable = []zktest.Op{
	zktest.OpCreate, zktest.OpCreate, zktest.OpDelete, zktest.OpDelete, zktest.OpGetData, zktest.OpGetData,
	zktest.OpGetChildren2, zktest.OpGetChildren2, zktest.OpMulti, zktest.OpMulti,
	zktest.OpSync, zktest.OpExists, zktest.OpSetData, zktest.OpSetWatches, zktest.OpSetWatches,
}

// refusal draws the code with which a server refuses a request. ZooKeeper throttles any of them,
// and only what adds something is beyond a quota.
func (d dice) refusal(op zktest.Op) int32 {
	codes := []int32{systemError, marshalling, throttled, throttled}
	if slices.Contains([]zktest.Op{zktest.OpCreate, zktest.OpSetData, zktest.OpMulti}, op) {
		codes = append(codes, overQuota)
	}
	return codes[d.IntN(len(codes))]
}

// refuseOne has a server refuse the next request of a machine of its kind.
func (w *world) refuseOne(f Fault) func() {
	d := w.dice(f)
	op := refusable[d.IntN(len(refusable))]
	return w.refuses(f, op, d.refusal(op), func() bool { return false })
}

// refuseMany has servers refuse requests of a machine for a while, one after the other: of one
// kind, or of any.
func (w *world) refuseMany(f Fault) func() {
	d := w.dice(f)
	ops := []zktest.Op{refusable[d.IntN(len(refusable))]}
	if d.one(2) {
		ops = slices.Compact(slices.Clone(refusable))
	}
	longest := d.short(f.For / 4)
	var ends []func()
	for i, op := range ops {
		own := newDice(d.Uint64() + uint64(i))
		ends = append(ends, w.refuses(f, op, d.refusal(op), func() bool { return pause(w.ctx, own.span(0, longest)) }))
	}
	w.crowd(f)
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// refuses refuses a request of a machine, and another one for as long as again returns true,
// until the function that it returns is called.
func (w *world) refuses(f Fault, op zktest.Op, code int32, again func() bool) (end func()) {
	m := w.machines[f.Machine]
	s := &spell{by: m.name, code: int(code), tail: unasked, deaf: op == zktest.OpGetData}
	if op == zktest.OpMulti && code == overQuota { // all else is asked again like a busy server
		s.tail = undeleted
	}
	w.checker.begin(s)
	over := make(chan struct{})
	w.work.Go(func() {
		defer w.checker.end(s)
		for goes := true; goes && isOpen(over); goes = again() {
			refusing := w.ensemble.RefuseRequest(op, code, zktest.OnClient(m.place))
			select {
			case <-refusing.Struck():
				w.log.note("server", "refuses %v of %s with %d", op, m.name, code)
			case <-over:
				refusing.Release()
			}
		}
	})
	return func() { close(over) }
}

// refuseWatch has servers refuse a machine that has just come to hold locks the reads of their
// nodes, and then asks the locks back.
func (w *world) refuseWatch(f Fault) func() {
	m, d := w.machines[f.Machine], w.dice(f)
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: 2 * (2*m.spec.Timeout + faultTime/2)})
	later := d.span(f.For/2, 2*time.Second+f.For)
	end := w.refuses(f, zktest.OpGetData, throttled, func() bool { return !d.one(3) })
	w.later(later, func() {
		asking := w.machines[(f.Machine+1)%len(w.machines)]
		inc := asking.current()
		if inc == nil {
			return
		}
		for _, l := range inc.locks {
			if l == nil || l.several != nil {
				continue
			}
			v := &visit{actor: &actor{w, asking, asking.name + "/asks"}, inc: inc, lock: l}
			v.revoke(l.spec.Path, 0)
		}
	})
	return end
}
