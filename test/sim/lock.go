package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/zklock/zklock"
)

// facade is a lock that its goroutine owns.
type facade interface {
	sync.Locker
	LockContext(ctx context.Context) error
	TryLock() bool
	TryLockFor(ctx context.Context, d time.Duration) (bool, error)
	UnlockContext(ctx context.Context) error
	Lost() <-chan struct{}
}

// handles is a lock that whoever has the Hold owns.
type handles interface {
	Acquire(ctx context.Context) (*zklock.Hold, error)
	TryAcquire(ctx context.Context) (*zklock.Hold, error)
}

// lock is one lock of an incarnation, by its spec. What its kind does not have
// is nil.
type lock struct {
	spec    LockerSpec
	mutexes []*zklock.Locker // of a MultiLocker several, otherwise one
	rw      *zklock.RWLocker
	permits *zklock.Semaphore
	several *zklock.MultiLocker
}

// newLock makes the lock of a spec. A MultiLocker is made of Lockers of its own.
func (inc *incarnation) newLock(ck *checker, spec LockerSpec) (l *lock, err error) {
	l = &lock{spec: spec}
	s, opts := inc.session, []zklock.Option{zklock.WithTrace(panicky(ck)), zklock.WithMinHold(spec.MinHold)}
	if spec.Ownerless {
		opts = append(opts, zklock.WithoutOwner())
	}
	if spec.Handoff > 1 {
		opts = append(opts, zklock.WithHandoff(spec.Handoff))
	}
	if spec.Retention > 0 {
		opts = append(opts, zklock.WithRetention(spec.Retention))
	}
	switch spec.Kind {
	case Mutex:
		err = l.addMutex(s, spec.Path, opts)
	case ReadWrite:
		l.rw, err = zklock.NewRW(s, spec.Path, opts...)
	case Permits:
		l.permits, err = zklock.NewSemaphore(s, spec.Path, permits, opts...)
	case Several:
		for _, path := range paths {
			err = errors.Join(err, l.addMutex(s, path, opts))
			if spec.Apart {
				s = inc.second
			}
		}
		if err == nil {
			l.several = zklock.NewMulti(l.mutexes...)
		}
	}
	return l, err
}

// panicky is a trace that tells the checker of holds, and whose functions panic where the
// section of the call says so.
func panicky(ck *checker) *zklock.Trace {
	acquired := panicsAt(Acquired)
	return &zklock.Trace{
		Enqueued: panicsAt(Enqueued),
		Acquired: func(i zklock.TraceInfo) { ck.begins(i.Node); acquired(i) },
		Failed:   panicsAt(Failed),
		Lost:     func(i zklock.TraceInfo) { ck.ends(i.Node) },

		Released:  func(i zklock.TraceInfo) { ck.log.note("trace", "released: %s", i.Node) },
		Suspended: func(i zklock.TraceInfo) { ck.log.note("trace", "suspended: %s", i.Node) },
		Resumed:   func(i zklock.TraceInfo) { ck.log.note("trace", "resumed: %s", i.Node) },
	}
}

// panicsIn is the key of a section's Panics in the ctx of its call.
type panicsIn struct{}

func panicsAt(p Position) func(zklock.TraceInfo) {
	return func(i zklock.TraceInfo) {
		if i.Context.Value(panicsIn{}) == p {
			panic(errPanic)
		}
	}
}

// errPanic is what a function of the trace panics with.
var errPanic = errors.New("the trace panics")

func (l *lock) addMutex(s *zklock.Session, path string, opts []zklock.Option) error {
	one, err := zklock.New(s, path, opts...)
	l.mutexes = append(l.mutexes, one)
	return err
}

// facade is the side of the lock that s takes, for its goroutine.
func (l *lock) facade(s Section) facade {
	switch {
	case l.several != nil:
		return l.several
	case l.mutexes != nil:
		return l.mutexes[0]
	case s.Read:
		return reader{l.rw}
	}
	return l.rw
}

// handles is the side of the lock that s takes, as a handle.
func (l *lock) handles(s Section) handles {
	switch {
	case l.mutexes != nil:
		return l.mutexes[0]
	case l.permits != nil:
		return some{l.permits, s.Permits}
	case s.Read:
		return reader{l.rw}
	}
	return l.rw
}

// covers reports whether a node belongs to the lock, or may do so.
func (l *lock) covers(path string) bool {
	return l.several != nil || strings.HasPrefix(path, l.spec.Path+"/")
}

// held returns what the calling goroutine holds by the side that s takes.
func (l *lock) held(s Section) []*zklock.Hold {
	switch {
	case l.rw != nil && s.Read:
		return []*zklock.Hold{l.rw.RHeld()}
	case l.rw != nil:
		return []*zklock.Hold{l.rw.Held()}
	}
	var holds []*zklock.Hold
	for _, one := range l.mutexes {
		holds = append(holds, one.Held())
	}
	return holds
}

// reader is the reading side of an RWLocker.
type reader struct{ rw *zklock.RWLocker }

func (r reader) Lock()                                   { r.rw.RLocker().Lock() }
func (r reader) Unlock()                                 { r.rw.RLocker().Unlock() }
func (r reader) TryLock() bool                           { return r.rw.TryRLock() }
func (r reader) Lost() <-chan struct{}                   { return r.rw.RLost() }
func (r reader) LockContext(ctx context.Context) error   { return r.rw.RLockContext(ctx) }
func (r reader) UnlockContext(ctx context.Context) error { return r.rw.RUnlockContext(ctx) }

func (r reader) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	return r.rw.TryRLockFor(ctx, d)
}

func (r reader) Acquire(ctx context.Context) (*zklock.Hold, error)    { return r.rw.RAcquire(ctx) }
func (r reader) TryAcquire(ctx context.Context) (*zklock.Hold, error) { return r.rw.TryRAcquire(ctx) }

// some are permits of a Semaphore.
type some struct {
	of *zklock.Semaphore
	n  int
}

func (s some) Acquire(ctx context.Context) (*zklock.Hold, error) { return s.of.Acquire(ctx, s.n) }

func (s some) TryAcquire(ctx context.Context) (*zklock.Hold, error) { return s.of.TryAcquire(ctx, s.n) }
