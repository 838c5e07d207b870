package sim

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zktest"
)

// loseHold keeps a machine's requests back until what it holds is lost, or its session about to
// end, while others wait for that.
func (w *world) loseHold(f Fault) func() {
	m, next := w.machines[f.Machine], w.machines[(f.Machine+1)%len(w.machines)]
	w.ask(m, Section{Take: Acquire, Permits: 1, Hold: 2 * m.spec.Timeout})
	w.ask(next, Section{Take: Acquire, Permits: 1, Hold: f.For / 16})
	pause(w.ctx, f.For/8)
	m.place.Block(zktest.ToServer)
	const looks = 64
	for range looks {
		if !pause(w.ctx, m.spec.Timeout/looks) || !w.checker.holds(m.id()) {
			break
		}
	}
	m.place.Unblock()
	return nil
}

// loseData has all servers go away for longer than any session lasts, and come back with nothing.
// Half of the time nothing else is in the way then, so that all has to be well soon.
func (w *world) loseData(f Fault) func() {
	if !w.leave() {
		return nil
	}
	longest, back := w.longest(), make(chan struct{})
	alone, cancel := context.WithCancel(w.ctx)
	defer cancel()
	var asking sync.WaitGroup
	defer asking.Wait()
	if w.dice(f).one(2) {
		cancel()
	}
	for _, m := range w.machines {
		asking.Go(func() { m.regains(alone, back) })
	}
	w.crowd(f)
	pause(w.ctx, f.For/8)
	for _, s := range w.ensemble.Servers() {
		s.Stop()
	}
	if !w.othersOver(alone) {
		cancel()
	}
	away := longest + time.Second
	if alone.Err() == nil {
		away += 3*longest + faultTime // for what the others have set going
	}
	pause(w.ctx, away)
	w.checker.forget()
	w.ensemble.LoseData()
	w.comeBack()
	close(back)
	over := &spell{tail: regaining(longest)}
	w.checker.begin(over)
	w.checker.end(over)
	return nil
}

// othersOver waits until all other faults are over, and reports whether they are: one may wait for
// a session that the servers have to be there for.
func (w *world) othersOver(ctx context.Context) bool {
	for range 4 * faultTime / time.Second {
		if w.pending.Load() == 0 || !pause(ctx, time.Second) {
			break
		}
	}
	return w.pending.Load() == 0 && ctx.Err() == nil
}

// leave notes that all servers go away, and reports whether they were not yet.
func (w *world) leave() bool {
	w.away.Lock()
	defer w.away.Unlock()
	if w.gone {
		return false
	}
	w.gone = true
	return true
}

// comeBack has all servers come back.
func (w *world) comeBack() {
	w.away.Lock()
	defer w.away.Unlock()
	w.gone = false
	for _, s := range w.ensemble.Servers() {
		s.Restart()
	}
}

// longest is the longest timeout of a session.
func (w *world) longest() (longest time.Duration) {
	for _, m := range w.machines {
		longest = max(longest, m.spec.Timeout)
	}
	return longest
}

// regaining is how long it takes at most until a session of that timeout has locks again, from
// when the servers are back without their data.
func regaining(timeout time.Duration) time.Duration { return 4*timeout + usual }

// regains checks that those who wait for a lock of the machine's own while the servers are away
// get it soon when they are back, and so does who comes then, unless ctx ends before.
func (m *machine) regains(ctx context.Context, back <-chan struct{}) {
	inc := m.current()
	if inc == nil {
		return
	}
	within := regaining(m.spec.Timeout)
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	var asking sync.WaitGroup
	defer asking.Wait()
	for i, s := range inc.sessions() {
		l, err := zklock.New(s, fmt.Sprintf("%s/%s.%d", ownPath, m.name, i))
		if err != nil {
			m.world.checker.fail("setup", "%v", err)
			return
		}
		get := func(until <-chan struct{}) {
			err := holdFor(limited, l, until)
			refused := codeOf(err) != 0
			if err != nil && !refused && ctx.Err() == nil && !inc.closing.Load() {
				m.world.checker.fail("liveness", "%s has no lock %v after the servers are back: %v", m.name, within, err)
			}
		}
		asking.Go(func() { get(back) })
		asking.Go(func() { get(nil) })
		asking.Go(func() {
			select {
			case <-back:
				get(nil)
			case <-ctx.Done():
			}
		})
	}
	select {
	case <-back:
		closesWithin(within, done(&asking))
	case <-ctx.Done():
	}
	cancel()
}

// holdFor takes a lock, and gives it back when until closes or the lock is lost: at once, if until is nil.
func holdFor(ctx context.Context, l *zklock.Locker, until <-chan struct{}) error {
	h, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	if until != nil {
		select {
		case <-until:
		case <-h.Lost():
		case <-ctx.Done():
		}
	}
	_ = h.Release(ctx)
	return nil
}
