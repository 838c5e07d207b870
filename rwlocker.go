package zklock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/recipe"
)

// RWLocker is a reader/writer lock that holds across machines: any number of
// readers, or one writer. It is fair: who asks first is served first, and readers
// that ask after a writer wait for it, so that neither starves.
//
// Both sides are owned by goroutines and reentrant, as a [Locker]. The owner of
// the write lock may take the read lock too, and then drop the write lock without
// letting another writer in between (downgrade). The other way round would wait
// for itself: an owner of the read lock that asks for the write lock gets
// [ErrUpgrade].
//
// With [WithoutOwner] it has the rules of sync.RWMutex: neither side is
// reentrant, any goroutine may unlock, there is no downgrade, and who asks for a
// lock that it keeps itself from getting waits for ever. Which reader it is that
// unlocks, nobody knows: RUnlock gives back what was lost first, and then the newest
// hold. RHeld and RLost speak of the oldest, be it lost or not.
//
// The nodes are those of Curator's InterProcessReadWriteLock, so that both
// exclude each other. A Locker, or zk.Lock, on the same path counts as a writer;
// Curator's InterProcessMutex does not see readers and writers.
type RWLocker struct {
	write   *Locker
	reads   tenancy
	readers readers
}

// NewRW returns a reader/writer lock on path, which it does not create yet. Its
// errors are those of [New].
func NewRW(s *Session, path string, opts ...Option) (*RWLocker, error) {
	writes, o, err := newQueue(s, path, recipe.Write, opts)
	if err != nil {
		return nil, err
	}
	reads := writes.Of(recipe.Read)
	write := newLocker(writes, o)
	return &RWLocker{write: write, reads: tenancy{reads, reads, o.trace, write.shares, 1}}, nil
}

// Path returns the lock's path.
func (l *RWLocker) Path() string { return l.write.Path() }

// upgrading returns ErrUpgrade if the calling goroutine may read and not write.
func (l *RWLocker) upgrading() error {
	if !l.write.ownerless && l.readers.of(goid.Get()) != nil && l.write.Held() == nil {
		return ErrUpgrade
	}
	return nil
}

// Lock takes the lock for writing, as [Locker.Lock] does. It also panics, with
// [ErrUpgrade], if the calling goroutine holds it for reading only.
func (l *RWLocker) Lock() {
	if err := l.upgrading(); err != nil {
		panic(wrap("lock", l.Path(), err))
	}
	l.write.Lock()
}

// LockContext takes the lock for writing, as [Locker.LockContext] does;
// [ErrUpgrade] if the calling goroutine holds it for reading only.
func (l *RWLocker) LockContext(ctx context.Context) error {
	if err := l.upgrading(); err != nil {
		return wrap("lock", l.Path(), err)
	}
	return l.write.LockContext(ctx)
}

// TryLock takes the lock for writing if it is free, as [Locker.TryLock] does;
// false also if the calling goroutine holds it for reading only.
func (l *RWLocker) TryLock() bool { return l.upgrading() == nil && l.write.TryLock() }

// TryLockFor is [Locker.TryLockFor] for writing; [ErrUpgrade] if the calling
// goroutine holds the lock for reading only.
func (l *RWLocker) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	if err := l.upgrading(); err != nil {
		return false, wrap("try", l.Path(), err)
	}
	return l.write.TryLockFor(ctx, d)
}

// Unlock gives back what one Lock took, as [Locker.Unlock] does. A read lock that
// the goroutine took meanwhile stays.
func (l *RWLocker) Unlock() {
	l.write.unlockSlow(context.Background(), l.endTenancy)
}

// UnlockContext is Unlock with confirmation and errors, as
// [Locker.UnlockContext].
func (l *RWLocker) UnlockContext(ctx context.Context) error {
	return l.write.unlock(ctx, l.endTenancy)
}

// endTenancy gives the writer's share of the tenancy back, but for one reader's
// if the owner goes on reading.
func (l *RWLocker) endTenancy() {
	if l.readers.downgraded(goid.Get()) {
		l.write.shares.Release(allShares - 1)
	} else {
		l.write.tenancy.end()
	}
}

// Lost returns the channel that closes when the calling goroutine's hold for
// writing is lost, a closed one if it has none.
func (l *RWLocker) Lost() <-chan struct{} { return l.write.Lost() }

// Held returns the calling goroutine's hold for writing, nil if it has none.
func (l *RWLocker) Held() *Hold { return l.write.Held() }

// RHeld returns the calling goroutine's hold for reading, nil if it has none.
func (l *RWLocker) RHeld() *Hold {
	if r := l.readers.of(l.reader()); r != nil {
		return r.hold
	}
	return nil
}

// Acquire takes the lock for writing as a handle, as [Locker.Acquire] does.
func (l *RWLocker) Acquire(ctx context.Context) (*Hold, error) { return l.write.Acquire(ctx) }

// TryAcquire is [Locker.TryAcquire] for writing.
func (l *RWLocker) TryAcquire(ctx context.Context) (*Hold, error) { return l.write.TryAcquire(ctx) }

// RLocker returns a sync.Locker whose Lock and Unlock are RLock and RUnlock.
func (l *RWLocker) RLocker() sync.Locker { return (*rlocker)(l) }

type rlocker RWLocker

func (r *rlocker) Lock()   { (*RWLocker)(r).RLock() }
func (r *rlocker) Unlock() { (*RWLocker)(r).RUnlock() }

// RLock takes the lock for reading, as [Locker.Lock] does, with the same panics.
func (l *RWLocker) RLock() {
	if err := l.rlock(context.Background()); err != nil {
		panic(wrap("rlock", l.Path(), err))
	}
}

// RLockContext takes the lock for reading, as [Locker.LockContext] does.
func (l *RWLocker) RLockContext(ctx context.Context) error {
	if ctx.Err() != nil {
		return wrap("rlock", l.Path(), client.Ended(ctx))
	}
	return wrap("rlock", l.Path(), l.rlock(ctx))
}

func (l *RWLocker) rlock(ctx context.Context) error {
	return l.read(ctx, l.reads.take)
}

// read makes the calling goroutine a reader: once more, beside its own write
// lock, or by the queue.
func (l *RWLocker) read(ctx context.Context, take func(context.Context) (*Hold, error)) error {
	self := l.reader()
	if self != anyone {
		if r := l.readers.of(self); r != nil {
			return r.reenter()
		}
		if w := l.write.Held(); w != nil {
			a := l.reads.attempt(ctx)
			h, err := l.reads.queue.Downgrade(ctx, &w.hold, a)
			if err == nil {
				l.readers.add(self, holdOf(h), false)
			}
			return a.failed(err)
		}
	}
	h, err := take(ctx)
	if err == nil {
		l.readers.add(self, h, true)
	}
	return err
}

// TryRLock takes the lock for reading if no writer holds it or waits for it, as
// [Locker.TryLock] does.
func (l *RWLocker) TryRLock() bool {
	c := l.reads.queue.Client()
	if c.Current() == nil && l.readers.of(goid.Get()) == nil {
		return false
	}
	ctx, cancel := context.WithDeadline(c.Context(), l.write.tryUntil())
	defer cancel()
	return l.tryRLock(ctx) == nil
}

func (l *RWLocker) tryRLock(ctx context.Context) error {
	return l.read(ctx, l.reads.tryTake)
}

// TryRLockFor is [Locker.TryLockFor] for reading.
func (l *RWLocker) TryRLockFor(ctx context.Context, d time.Duration) (bool, error) {
	ok, err := tryFor(ctx, d, l.tryRLock, l.rlock)
	return ok, wrap("rtry", l.Path(), err)
}

// RUnlock gives back what one RLock took, as [Locker.Unlock] does. It panics if
// the calling goroutine does not hold the lock for reading.
func (l *RWLocker) RUnlock() {
	r, outermost := l.readers.yield(l.reader())
	if r == nil {
		panic(wrap("runlock", l.Path(), ErrNotHeld))
	}
	if outermost {
		r.hold.hold.SendRelease(context.Background(), l.endRead(r))
	}
}

// RUnlockContext is RUnlock with confirmation and errors, as
// [Locker.UnlockContext].
func (l *RWLocker) RUnlockContext(ctx context.Context) error {
	r, outermost := l.readers.yield(l.reader())
	var err error
	switch {
	case r == nil:
		err = ErrNotHeld
	case outermost:
		err = r.hold.hold.Release(ctx, l.endRead(r))
	case errors.Is(r.hold.Err(), ErrLost):
		err = ErrLost
	}
	return wrap("runlock", l.Path(), err)
}

// endRead gives the reader's share of the tenancy back; nil if it has none.
func (l *RWLocker) endRead(r *reader) func() {
	if !r.tenant {
		return nil
	}
	return l.reads.end
}

// reader is the identity under which the calling goroutine reads.
func (l *RWLocker) reader() int64 {
	if l.write.ownerless {
		return anyone
	}
	return goid.Get()
}

// RLost returns the channel that closes when the calling goroutine's hold for
// reading is lost, a closed one if it has none.
func (l *RWLocker) RLost() <-chan struct{} {
	if h := l.RHeld(); h != nil {
		return h.Lost()
	}
	return latch.Closed
}

// RAcquire takes the lock for reading as a handle, as [Locker.Acquire] does.
func (l *RWLocker) RAcquire(ctx context.Context) (*Hold, error) {
	return l.reads.handle(ctx, "racquire", l.reads.from.Acquire)
}

// TryRAcquire is [Locker.TryAcquire] for reading: [ErrLocked] if a writer holds
// the lock or waits for it.
func (l *RWLocker) TryRAcquire(ctx context.Context) (*Hold, error) {
	return l.reads.handle(ctx, "rtry", l.reads.from.Try)
}

// reader is one owner's hold for reading.
type reader struct {
	hold   *Hold
	depth  int
	tenant bool // has a share of the tenancy of its own, not its write lock's
}

func (r *reader) reenter() error {
	if err := r.hold.hold.Reentry(); err != nil {
		return err
	}
	r.depth++
	return nil
}

// readers are the owners of the read lock in this process. Each owner has one
// hold; only anyone, WithoutOwner, has as many as it took: a stack, whose oldest is
// there for as long as any goroutine reads.
type readers struct {
	mu     sync.Mutex
	owners map[int64][]*reader
}

// of returns the owner's hold, the oldest of several, nil if it has none.
func (rs *readers) of(owner int64) *reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if held := rs.owners[owner]; len(held) > 0 {
		return held[0]
	}
	return nil
}

func (rs *readers) add(owner int64, h *Hold, tenant bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.owners == nil {
		rs.owners = make(map[int64][]*reader)
	}
	rs.owners[owner] = append(rs.owners[owner], &reader{hold: h, depth: 1, tenant: tenant})
}

// yield undoes one lock of the owner. It returns its hold, nil if there is none,
// and whether that was the last one on it. Of several, those that have ended go first:
// whoever still reads is to be left with one that is held.
func (rs *readers) yield(owner int64) (r *reader, outermost bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	held := rs.owners[owner]
	if len(held) == 0 {
		return nil, false
	}
	i := slices.IndexFunc(held, func(r *reader) bool { return r.hold.Err() != nil })
	if i < 0 {
		i = len(held) - 1
	}
	r = held[i]
	if r.depth--; r.depth > 0 {
		return r, false
	}
	if held = slices.Delete(held, i, i+1); len(held) == 0 {
		delete(rs.owners, owner)
	} else {
		rs.owners[owner] = held
	}
	return r, true
}

// downgraded gives a reader that its writer's share of the tenancy covered a
// share of its own; false if the owner does not read.
func (rs *readers) downgraded(owner int64) bool {
	r := rs.of(owner)
	if r == nil || r.tenant {
		return false
	}
	r.tenant = true
	return true
}
