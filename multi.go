package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/latch"
)

// MultiLocker makes several locks one: it holds all of them or none. It is a sync.Locker with
// the rules of [Locker]; each of the locks may also be used alone.
type MultiLocker struct {
	lockers []*Locker // in the order of their paths

	mu   sync.Mutex   // guards the fields below; a Hold's is locked under it
	of   []*Hold      // that lost stands for
	lost *latch.Latch // given when any of them is lost
	stop []func()     // takes the callbacks back that give it
}

var _ sync.Locker = (*MultiLocker)(nil)

// NewMulti makes lockers one. They are taken in the order of their paths, so that two
// MultiLockers with some of the same never wait for each other, and released in the reverse
// order. It is an error if there is none, one is nil, or two have the same path: on one ensemble
// they would wait for each other.
func NewMulti(lockers ...*Locker) (*MultiLocker, error) {
	const op = "new multi"
	if len(lockers) == 0 {
		return nil, wrap(op, "", errors.New("no lock is given: it needs at least one Locker"))
	}
	for _, l := range lockers {
		if err := l.exclusive().made(op); err != nil {
			return nil, err
		}
	}
	m := &MultiLocker{lockers: slices.Clone(lockers)}
	slices.SortFunc(m.lockers, func(a, b *Locker) int { return strings.Compare(a.Path(), b.Path()) })
	for i, l := range m.lockers[1:] {
		if l.Path() == m.lockers[i].Path() {
			return nil, wrap(op, l.Path(), errors.New("the path is given twice: the second would wait for the first"))
		}
	}
	return m, nil
}

// Lock takes all the locks, as [Locker.Lock] does each. If it panics, none is held that was not
// held before.
func (m *MultiLocker) Lock() { must(m.LockContext(context.Background())) }

// LockContext takes all the locks under one ctx, as [Locker.LockContext] does each. When one of
// them is lost while it waits for the others, it gives back those that it has and starts over,
// at the ends of the queues; but if the caller has held that one before, it returns [ErrLost] at
// once. After an error none is held that was not held before.
func (m *MultiLocker) LockContext(ctx context.Context) error {
	if err := m.made("lock"); err != nil {
		return err
	}
	if err := m.hopeless(ctx, "lock", (*Locker).barsOthers); err != nil {
		return err
	}
	return m.fail("lock", m.own(ctx, func(ctx context.Context, l *Locker) error { return l.lock(ctx) }))
}

// TryLock takes all the locks if all are free, within the time that [Locker.TryLock] has for
// one.
func (m *MultiLocker) TryLock() bool {
	must(m.made("try"))
	deadline := m.lockers[0].tryUntil()
	for _, l := range m.lockers[1:] {
		if other := l.tryUntil(); other.Before(deadline) {
			deadline = other
		}
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	return m.own(ctx, func(_ context.Context, l *Locker) error { return l.tryLock(deadline) }) == nil
}

// TryLockFor takes all the locks within d, as [Locker.TryLockFor] does each.
func (m *MultiLocker) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	if m.made("try") == nil && d > 0 {
		if err := m.hopeless(ctx, "try", (*Locker).barsOthers); err != nil {
			return false, err
		}
	}
	return tryFor(ctx, d, m)
}

// ask asks for each of the locks, whose errors name it.
func (m *MultiLocker) ask(ctx context.Context, op string, by way) error {
	return m.fail(op, m.own(ctx, func(ctx context.Context, l *Locker) error { return l.ask(ctx, op, by) }))
}

func (m *MultiLocker) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(op, m.paths(), err)
}

// hopeless returns why a call under ctx cannot succeed, as the error of op: ctx has ended, or
// what it carries bars the call from one of the locks.
func (m *MultiLocker) hopeless(ctx context.Context, op string, bars func(*Locker, context.Context) error) error {
	if client.HasEnded(ctx) {
		return m.fail(op, client.Ended(ctx))
	}
	for _, l := range m.lockers {
		if err := bars(l, ctx); err != nil {
			return l.fail(op, err)
		}
	}
	return nil
}

// barsOthers is barred for who may own the lock already.
func (l *Locker) barsOthers(ctx context.Context) error {
	if l.ownedBy(goid.Get()) {
		return nil
	}
	return l.barred(ctx)
}

// own makes the calling goroutine the owner of all the locks, of each by take.
func (m *MultiLocker) own(ctx context.Context, take func(context.Context, *Locker) error) error {
	var before []*Locker
	for _, l := range m.lockers {
		if l.ownedBy(goid.Get()) {
			before = append(before, l)
		}
	}
	_, err := m.all(ctx, taking{
		before: before,
		take:   func(ctx context.Context, l *Locker) (*Hold, error) { err := take(ctx, l); return l.Held(), err },
		give: func(l *Locker, h *Hold) {
			if _, outermost := l.yieldIf(h); outermost { // WithoutOwner, somebody else may have unlocked it
				h.hold.SendReleaseUnused(ctx, l.leave)
			}
		},
	})
	return err
}

// taking is a way to take the locks one by one: as their owner, as handles, or for Do.
type taking struct {
	// before are the locks that the caller owns already. One that was lost stays lost, as for a
	// Locker: then no other is waited for.
	before []*Locker
	take   func(context.Context, *Locker) (*Hold, error)
	// give gives back what was taken for nothing. For its delete to be sent it waits as long as
	// the caller's ctx lives.
	give func(*Locker, *Hold)
}

// next takes l, as long as the others are held.
func (by taking) next(ctx context.Context, l *Locker, others []*Hold) (*Hold, error) {
	ctx, detach := while(others, ctx)
	defer detach()
	h, err := by.take(ctx, l)
	if err == nil && h != nil {
		orElse(detach, func() { by.give(l, h) })
	}
	return h, err
}

// held are the holds of the locks that the caller owned before.
func (by taking) held() (holds []*Hold) {
	for _, l := range by.before {
		holds = append(holds, l.Held())
	}
	return holds
}

// all takes one lock after the other until it holds all of them, and starts over when one is
// lost while the others are waited for.
func (m *MultiLocker) all(ctx context.Context, by taking) ([]*Hold, error) {
	for {
		for i, h := range by.held() {
			if h.Err() != nil {
				_, err := by.take(ctx, by.before[i]) // which says so
				return nil, err
			}
		}
		holds, err := m.each(ctx, by)
		if err != errLostMeanwhile {
			return holds, err
		}
	}
}

// errLostMeanwhile has all start over.
var errLostMeanwhile = errors.New("one of the locks was lost while the others were waited for")

// each takes one lock after the other, and gives back those taken if that fails, panics, or one
// of them ends meanwhile.
func (m *MultiLocker) each(ctx context.Context, by taking) (_ []*Hold, err error) {
	var holds []*Hold
	complete := false
	defer func() {
		if !complete {
			last := len(holds)
			backwards(m.lockers[:last], func(l *Locker) { last--; by.give(l, holds[last]) })
		}
	}()
	needed := by.held()
	before := needed
	for _, l := range m.lockers {
		h, err := by.next(ctx, l, needed)
		switch {
		case err != nil && ended(needed) == nil:
			return nil, err
		case err != nil && ctx.Err() != nil:
			return nil, client.Ended(ctx)
		case err != nil || h == nil: // WithoutOwner, somebody else has unlocked it
			return nil, errLostMeanwhile
		}
		holds, needed = append(holds, h), append(needed, h)
		if !slices.Contains(before, h) {
			h.hold.AwaitOthers()
		}
	}
	for _, h := range holds {
		if !slices.Contains(before, h) {
			h.hold.StartMinimum()
		}
	}
	if complete = valid(holds); !complete {
		return nil, errLostMeanwhile
	}
	return holds, nil
}

// Unlock gives back what one Lock took, as [Locker.Unlock] does each. It panics, and leaves all
// as it is, if the calling goroutine does not own them all.
func (m *MultiLocker) Unlock() { m.unlock(context.Background()) }

func (m *MultiLocker) unlock(ctx context.Context) {
	must(m.made("unlock"))
	holds, err := m.held()
	must(m.fail("unlock", err))
	defer m.forget(holds)
	backwards(m.lockers, func(l *Locker) { l.unlock(ctx) })
}

// UnlockContext is Unlock with confirmation and errors, as [Locker.UnlockContext]. It goes on
// past errors and returns all of them; [ErrNotHeld], and all stays as it is, if the caller does
// not own them all.
func (m *MultiLocker) UnlockContext(ctx context.Context) error {
	if err := m.made("unlock"); err != nil {
		return err
	}
	client.NeedsContext(ctx)
	holds, err := m.held()
	if err == nil {
		defer m.forget(holds)
		var errs []error
		backwards(m.lockers, func(l *Locker) { errs = append(errs, l.UnlockContext(ctx)) })
		err = together(errs)
	}
	return m.fail("unlock", err)
}

// held returns the calling goroutine's holds if it owns all the locks.
func (m *MultiLocker) held() ([]*Hold, error) {
	holds := make([]*Hold, len(m.lockers))
	for i, l := range m.lockers {
		if holds[i] = l.Held(); holds[i] == nil {
			return nil, fmt.Errorf("%s: %w", l.Path(), l.misuse())
		}
	}
	return holds, nil
}

// HoldCount returns how often the calling goroutine has locked the locks without unlocking
// them.
func (m *MultiLocker) HoldCount() int {
	must(m.made("hold count"))
	count := m.lockers[0].HoldCount()
	for _, l := range m.lockers[1:] {
		count = min(count, l.HoldCount())
	}
	return count
}

// Lost returns a channel that is closed when any of the calling goroutine's holds is lost, before
// it unlocks so that it does not hold all the locks any more; or a closed one if it does not now.
// As [Locker.Lost] it answers for a Do whose function the goroutine runs, too.
func (m *MultiLocker) Lost() <-chan struct{} {
	must(m.made("lost"))
	m.mu.Lock()
	defer m.mu.Unlock() // whoever looks at the holds later says later what lost stands for
	var holds []*Hold
	for _, l := range m.lockers {
		h := l.mine()
		if h == nil {
			return latch.Closed
		}
		holds = append(holds, h)
	}
	if !slices.Equal(m.of, holds) {
		m.lostWith(holds)
	}
	return m.lost.Done()
}

// lostWith makes lost stand for holds. If some of those before go on, and none was lost, the same
// channel stands for them too. What it left at those before, some of which may be held for long,
// it takes back. m.mu is held.
func (m *MultiLocker) lostWith(holds []*Hold) {
	lasts := func(h *Hold) bool { return slices.Contains(holds, h) }
	wasLost := slices.ContainsFunc(m.of, func(h *Hold) bool { return h.hold.IsLost() })
	if wasLost {
		m.lost.Close() // before what does so is taken back
	}
	if wasLost || !slices.ContainsFunc(m.of, lasts) {
		m.lost = new(latch.Latch)
	}
	for _, stop := range m.stop {
		stop()
	}
	m.of, m.stop = holds, nil
	for _, h := range holds {
		m.stop = append(m.stop, h.closeIfLost(m.lost))
	}
}

// forget has lost stand no more for holds of which the calling goroutine has given some back: others
// may be held for long.
func (m *MultiLocker) forget(holds []*Hold) {
	if _, err := m.held(); err == nil {
		return // it had locked more than once
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(m.of, func(h *Hold) bool { return slices.Contains(holds, h) }) {
		m.lostWith(nil)
	}
}

func (m *MultiLocker) paths() string {
	paths := make([]string, len(m.lockers))
	for i, l := range m.lockers {
		paths[i] = l.Path()
	}
	return strings.Join(paths, ",")
}

// Acquire takes all the locks for whoever has the [MultiHold] that it returns, as
// [Locker.Acquire] does with each, and starts over as [MultiLocker.LockContext] does. After an
// error none is held.
func (m *MultiLocker) Acquire(ctx context.Context) (*MultiHold, error) {
	if err := m.made("acquire"); err != nil {
		return nil, err
	}
	if err := m.hopeless(ctx, "acquire", (*Locker).deadlock); err != nil {
		return nil, err
	}
	holds, err := m.all(ctx, taking{
		take: func(ctx context.Context, l *Locker) (*Hold, error) { return l.Acquire(ctx) },
		give: func(_ *Locker, h *Hold) { h.hold.SendReleaseUnused(ctx, nil) },
	})
	if err != nil {
		return nil, m.fail("acquire", err)
	}
	h := &MultiHold{holds: holds}
	for _, part := range holds {
		part.closeIfLost(&h.lost)
	}
	return h, nil
}

// valid reports whether all are held. It reads the clock: the locks may be of several sessions,
// whose leases end apart.
func valid(holds []*Hold) bool {
	for _, h := range holds {
		if !h.Valid() {
			return false
		}
	}
	return true
}

// backwards calls f for one after the other, the last one first, and for the others too if one
// panics.
func backwards[T any](all []T, f func(T)) {
	if last := len(all) - 1; last >= 0 {
		defer backwards(all[:last], f)
		f(all[last])
	}
}
