package sim

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

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
	spec         LockerSpec
	mutex        *zklock.Locker
	rw           *zklock.RWLocker
	permits      *zklock.Semaphore
	several      *zklock.MultiLocker
	parts        []*lock      // of a MultiLocker
	begun, ended atomic.Int64 // calls for it, or for what it is a part of
}

// newLock makes the lock of a spec.
func (inc *incarnation) newLock(ck *checker, spec LockerSpec) (l *lock, err error) {
	l = &lock{spec: spec}
	s := inc.session
	if spec.Apart {
		s = inc.second
	}
	switch opts := spec.options(ck); spec.Kind {
	case Mutex:
		l.mutex, err = zklock.New(s, spec.Path, opts...)
	case ReadWrite:
		l.rw, err = zklock.NewRW(s, spec.Path, opts...)
	case Permits:
		l.permits, err = zklock.NewSemaphore(s, spec.Path, permits, opts...)
	case Several:
		var all []*zklock.Locker
		for _, i := range spec.Of {
			l.parts, all = append(l.parts, inc.locks[i]), append(all, inc.locks[i].mutex)
		}
		l.several, err = zklock.NewMulti(all...)
	}
	return l, err
}

func (l LockerSpec) options(ck *checker) []zklock.Option {
	opts := []zklock.Option{
		zklock.WithTrace(l.trace(ck)),
		zklock.WithMinHold(l.MinHold), zklock.WithLossGrace(l.LossGrace),
	}
	if l.Ownerless {
		opts = append(opts, zklock.WithoutOwner())
	}
	if l.Kind == Mutex {
		opts = append(opts, zklock.WithHandoff(max(l.Handoff, 1)), zklock.WithRetention(l.Retention))
	}
	if l.Data != "" {
		opts = append(opts, zklock.WithData([]byte(l.Data)))
	}
	if l.Guarded {
		opts = append(opts, zklock.WithACL(append(zk.DigestACL(zk.PermAll, "user", "secret"),
			zk.WorldACL(zk.PermRead|zk.PermCreate|zk.PermDelete)...)))
	}
	return opts
}

// part returns which of a MultiLocker's locks h is of; l itself if it is none.
func (l *lock) part(h *zklock.Hold) *lock {
	for _, part := range l.parts {
		if within(h.Node(), part.spec.Path) {
			return part
		}
	}
	return l
}

// trace is one that tells the checker of holds, and whose functions panic where the
// section of the call says so.
func (l LockerSpec) trace(ck *checker) *zklock.Trace {
	enqueued, acquired := panicsAt(Enqueued), panicsAt(Acquired)
	return &zklock.Trace{
		Enqueued: func(i zklock.TraceInfo) {
			if c, ok := i.Context.Value(inCall{}).(*call); ok {
				c.stands(i.Path, i.Node)
			}
			enqueued(i)
		},
		Acquired: func(i zklock.TraceInfo) {
			ck.begins(i.Node)
			if c, ok := i.Context.Value(inCall{}).(*call); ok {
				c.held = append(c.held, i.Node)
			}
			acquired(i)
		},
		Failed: panicsAt(Failed),
		Lost:   func(i zklock.TraceInfo) { ck.ends(i.Node, l.LossGrace) },

		Released: func(i zklock.TraceInfo) {
			ck.log.note("trace", "released: %s", i.Node)
			ck.released(i.Node)
		},
		Suspended: func(i zklock.TraceInfo) { ck.log.note("trace", "suspended: %s", i.Node) },
		Resumed:   func(i zklock.TraceInfo) { ck.log.note("trace", "resumed: %s", i.Node) },
	}
}

// inCall is the key of a call in its ctx.
type inCall struct{}

func panicsAt(p Position) func(zklock.TraceInfo) {
	return func(i zklock.TraceInfo) {
		if c, ok := i.Context.Value(inCall{}).(*call); ok && c.section.Panics == p {
			panic(errPanic)
		}
	}
}

// errPanic is what a function of the trace panics with.
var errPanic = errors.New("the trace panics")

// facade is the side of the lock that s takes, for its goroutine.
func (l *lock) facade(s Section) facade {
	switch {
	case l.several != nil:
		return l.several
	case l.mutex != nil:
		return l.mutex
	case s.Read:
		return reader{l.rw}
	}
	return l.rw
}

// handles is the side of the lock that s takes, as a handle.
func (l *lock) handles(s Section) handles {
	switch {
	case l.mutex != nil:
		return l.mutex
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
	case l.mutex != nil:
		return []*zklock.Hold{l.mutex.Held()}
	}
	var holds []*zklock.Hold
	for _, part := range l.parts {
		holds = append(holds, part.mutex.Held())
	}
	return holds
}

// all are the lock and those that it is made of.
func (l *lock) all() []*lock { return append([]*lock{l}, l.parts...) }

// called returns how many calls have begun for the lock, or for one that it is made of or a part
// of, and how many of them have ended.
func (l *lock) called() (begun, ended int64) {
	for _, one := range l.all() {
		begun, ended = begun+one.begun.Load(), ended+one.ended.Load()
	}
	return begun, ended
}

// acquire takes the lock in the way of s, as a handle.
func (l *lock) acquire(ctx context.Context, s Section) (release func(context.Context) error, holds []*zklock.Hold, err error) {
	if l.several != nil {
		h, err := l.several.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return h.Release, h.Holds(), nil
	}
	acquire := l.handles(s).Acquire
	if s.Take == TryAcquire {
		acquire = l.handles(s).TryAcquire
	}
	h, err := acquire(ctx)
	return h.Release, []*zklock.Hold{h}, err
}

// do is Do of the side of the lock that s takes.
func (l *lock) do(ctx context.Context, s Section, fn func(context.Context) error) error {
	switch {
	case l.several != nil:
		return l.several.Do(ctx, fn)
	case l.mutex != nil:
		return l.mutex.Do(ctx, fn)
	case l.permits != nil:
		return l.permits.Do(ctx, s.Permits, fn)
	case s.Read:
		return l.rw.RDo(ctx, fn)
	}
	return l.rw.Do(ctx, fn)
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
