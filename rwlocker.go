package zklock

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/recipe"
)

// RWLocker is a reader/writer lock that holds across machines: any number of readers, or one
// writer. It is fair: requests are served in their order, and readers that ask after a writer
// wait for it, so that neither starves.
//
// Both sides are owned by goroutines and reentrant, as a [Locker]. The owner of the write lock
// may take the read lock too, and then drop the write lock without letting another writer in
// between (downgrade). The opposite (upgrade) would wait for itself: an owner of the read lock
// that asks for the write lock gets [ErrUpgrade], unless it is by [RWLocker.Acquire].
//
// With [WithoutOwner] it has the rules of sync.RWMutex: neither side is reentrant, any
// goroutine may unlock, and there is no downgrade. A goroutine that has one side and asks for
// the other waits for itself, for ever. RUnlock cannot know which reader calls it: it gives
// back a hold that has ended if there is one, and else the newest. RHeld and RLost answer for
// the oldest hold. When one was lost they answer for that one, until nobody reads any more.
//
// The nodes are those of Curator's InterProcessReadWriteLock, so that both exclude each other.
// A Locker, or zk.Lock, on the same path counts as a writer; Curator's InterProcessMutex does
// not see readers and writers.
type RWLocker struct {
	write   *Locker
	read    side
	readers readers
}

// NewRW returns a reader/writer lock on path, which it does not create yet. Its errors are
// those of [New].
func NewRW(s *Session, path string, opts ...Option) (*RWLocker, error) {
	writes, o, err := newQueue(s, path, recipe.Write, opts)
	if err != nil {
		return nil, err
	}
	write, reads := newLocker(writes, o), writes.Of(recipe.Read)
	l := &RWLocker{write: write, read: side{gate: gate{reads, reads, o.trace, write.shares, 1}, prefix: "read-"}}
	l.write.owners, l.read.owners = &writer{write, &l.readers}, (*rlocker)(l)
	return l, nil
}

// Path returns the lock's path, as [Locker.Path] does.
func (l *RWLocker) Path() string { return l.writes().Path() }

// writes returns the write side, nil of none.
func (l *RWLocker) writes() *Locker {
	if l == nil {
		return nil
	}
	return l.write
}

// reads returns the read side, nil of none.
func (l *RWLocker) reads() *side {
	if l == nil {
		return nil
	}
	return &l.read
}

// upgrading returns ErrUpgrade, as the error of op, if the calling goroutine may read and not
// write.
func (l *RWLocker) upgrading(op string) error {
	if l.writes() == nil {
		return nil // whose own answer says so
	}
	if l.readers.of(goid.Get()) != nil && l.write.Held() == nil {
		return l.write.fail(op, ErrUpgrade)
	}
	return nil
}

// Lock takes the lock for writing, as [Locker.Lock] does. It also panics, with [ErrUpgrade], if
// the calling goroutine holds it for reading only, or has lost it so and not unlocked it yet.
func (l *RWLocker) Lock() {
	must(l.upgrading("lock"))
	l.writes().Lock()
}

// LockContext takes the lock for writing, as [Locker.LockContext] does; [ErrUpgrade] if the
// calling goroutine holds it for reading only.
func (l *RWLocker) LockContext(ctx context.Context) error {
	if err := l.upgrading("lock"); err != nil {
		return err
	}
	return l.writes().LockContext(ctx)
}

// TryLock takes the lock for writing if it is free, as [Locker.TryLock] does; false also if the
// calling goroutine holds it for reading only.
func (l *RWLocker) TryLock() bool { return l.upgrading("try") == nil && l.writes().TryLock() }

// TryLockFor is [Locker.TryLockFor] for writing; [ErrUpgrade] if the calling goroutine holds
// the lock for reading only.
func (l *RWLocker) TryLockFor(ctx context.Context, d time.Duration) (bool, error) {
	if err := l.upgrading("try"); err != nil {
		return false, err
	}
	return l.writes().TryLockFor(ctx, d)
}

// Unlock gives back what one Lock took, as [Locker.Unlock] does. A read lock that the goroutine
// took meanwhile stays.
func (l *RWLocker) Unlock() {
	l.writes().Unlock()
}

// UnlockContext is Unlock with confirmation and errors, as [Locker.UnlockContext].
func (l *RWLocker) UnlockContext(ctx context.Context) error {
	return l.writes().UnlockContext(ctx)
}

// writer is the write lock as its owner has it.
type writer struct {
	*Locker
	readers *readers
}

// yield leaves a reader's share to an owner that goes on reading.
func (w *writer) yield() (h *Hold, outermost bool, share int64) {
	h, outermost, share = w.ownership.yield()
	if r := w.readers.of(goid.Get()); outermost && r != nil {
		r.share = 1
		share -= r.share
	}
	return h, outermost, share
}

// Lost returns the channel that closes when the calling goroutine's hold for writing is lost, for any
// other goroutine a closed one, as [Locker.Lost].
func (l *RWLocker) Lost() <-chan struct{} { return l.writes().Lost() }

// Held returns the calling goroutine's hold for writing, nil if it has none.
func (l *RWLocker) Held() *Hold { return l.writes().Held() }

// RHeld returns the calling goroutine's hold for reading, nil if it has none.
func (l *RWLocker) RHeld() *Hold {
	must(l.reads().made("held"))
	if r := l.readers.of((*rlocker)(l).self()); r != nil {
		return r.hold
	}
	return nil
}

// Acquire takes the lock for writing as a handle, as [Locker.Acquire] does. It is asked for on
// nobody's behalf, so that a goroutine that holds the lock for reading waits for itself.
func (l *RWLocker) Acquire(ctx context.Context) (*Hold, error) { return l.writes().Acquire(ctx) }

// TryAcquire is [Locker.TryAcquire] for writing.
func (l *RWLocker) TryAcquire(ctx context.Context) (*Hold, error) { return l.writes().TryAcquire(ctx) }

// RLocker returns a sync.Locker whose Lock and Unlock are RLock and RUnlock.
func (l *RWLocker) RLocker() sync.Locker { return (*rlocker)(l) }

// RLock takes the lock for reading, as [Locker.Lock] does, with the same panics.
func (l *RWLocker) RLock() { must(l.RLockContext(context.Background())) }

// RLockContext takes the lock for reading, as [Locker.LockContext] does.
func (l *RWLocker) RLockContext(ctx context.Context) error {
	return l.reads().lock(ctx)
}

// TryRLock takes the lock for reading if no writer holds it or waits for it, as
// [Locker.TryLock] does.
func (l *RWLocker) TryRLock() bool { return l.reads().tryOnce() }

// TryRLockFor is [Locker.TryLockFor] for reading.
func (l *RWLocker) TryRLockFor(ctx context.Context, d time.Duration) (bool, error) {
	return tryFor(ctx, d, l.reads())
}

// RUnlock gives back what one RLock took, as [Locker.Unlock] does. It panics if the calling
// goroutine does not hold the lock for reading.
func (l *RWLocker) RUnlock() { l.reads().unlock(context.Background()) }

// RUnlockContext is RUnlock with confirmation and errors, as [Locker.UnlockContext].
func (l *RWLocker) RUnlockContext(ctx context.Context) error { return l.reads().unlockContext(ctx) }

// RLost returns the channel that closes when the calling goroutine's hold for reading is lost, be it
// of its RLock or of the RDo whose function it runs; for any other a closed one, as [Locker.Lost].
func (l *RWLocker) RLost() <-chan struct{} {
	return lostOf(cmp.Or(l.RHeld(), l.read.doing.by(goid.Get())))
}

// RAcquire takes the lock for reading as a handle, as [Locker.Acquire] does.
func (l *RWLocker) RAcquire(ctx context.Context) (*Hold, error) {
	return l.reads().handle(ctx, "acquire", (*gate).acquire)
}

// TryRAcquire is [Locker.TryAcquire] for reading: [ErrLocked] if a writer holds the lock or
// waits for it.
func (l *RWLocker) TryRAcquire(ctx context.Context) (*Hold, error) {
	return l.reads().handle(ctx, "try", (*gate).try)
}

// rlocker is an RWLocker as its readers own it.
type rlocker RWLocker

func (r *rlocker) Lock()   { (*RWLocker)(r).RLock() }
func (r *rlocker) Unlock() { (*RWLocker)(r).RUnlock() }

// self is the identity under which the calling goroutine reads.
func (r *rlocker) self() int64 {
	if r.write.ownerless {
		return anyone
	}
	return goid.Get()
}

func (r *rlocker) reenter() (owner bool, err error) {
	self := r.self()
	mine := r.readers.of(self)
	if self == anyone || mine == nil {
		return false, nil
	}
	if err := mine.hold.hold.Err(); err != nil {
		return true, err
	}
	mine.depth++
	return true, nil
}

// own makes the calling goroutine a reader: beside its own write lock, or by take.
func (r *rlocker) own(ctx context.Context, take way) error {
	self := r.self()
	if w := r.write.Held(); w != nil && self != anyone {
		a := r.read.attempt(ctx)
		h, err := r.read.queue.Downgrade(ctx, w.hold, a)
		if err == nil && !h.Valid() { // see keep
			h.ReleaseUnused(nil)
			err = h.Err()
		}
		if err == nil {
			reads := holdOf(h)
			reads.shares = r.read.shares
			r.readers.add(self, reads, 0)
		}
		return a.failed(err)
	}
	h, err := take(&r.read, ctx)
	if err == nil {
		r.readers.add(self, h, r.read.share)
	}
	return err
}

func (r *rlocker) yield() (h *Hold, outermost bool, share int64) {
	mine, outermost := r.readers.yield(r.self())
	if mine == nil {
		return nil, false, 0
	}
	return mine.hold, outermost, mine.share
}

func (r *rlocker) misuse() error { return ErrNotHeld }

// reader is one owner's hold for reading.
type reader struct {
	hold  *Hold
	depth int
	share int64 // of the gate; none while its write lock's covers it
}

// readers are the owners of the read lock in this process. Each owner has one hold; only
// anyone, WithoutOwner, has as many as it took: a stack, whose oldest is there for as long as
// any goroutine reads.
type readers struct {
	mu     sync.Mutex // guards the fields below; nothing is locked under it
	owners map[int64][]*reader
	lost   *reader // of anyone's, that was given back while others read on: whose it was is not known
}

// of returns the owner's hold, nil if it has none: of several one that was lost, or the oldest.
func (rs *readers) of(owner int64) *reader {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	held := rs.owners[owner]
	switch i := slices.IndexFunc(held, func(r *reader) bool { return r.hold.hold.IsLost() }); {
	case len(held) == 0:
		return nil
	case owner == anyone && rs.lost != nil:
		return rs.lost
	default:
		return held[max(i, 0)]
	}
}

func (rs *readers) add(owner int64, h *Hold, share int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.owners == nil {
		rs.owners = make(map[int64][]*reader)
	}
	rs.owners[owner] = append(rs.owners[owner], &reader{hold: h, depth: 1, share: share})
}

// yield undoes one lock of the owner. It returns its hold, nil if there is none, and whether
// that was the last one on it. Of several, those that have ended go first: whoever still reads
// is to be left with one that is held, and told of the loss all the same.
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
		rs.lost = nil
		return r, true
	}
	rs.owners[owner] = held
	if r.hold.hold.IsLost() {
		rs.lost = r
	}
	return r, true
}
