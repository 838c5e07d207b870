package zklock

import (
	"context"
	"sync"

	"github.com/zklock/zklock/internal/goid"
	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
)

// Locker is a sync.Locker that holds across machines. It is owned by the goroutine that locked
// it, which may lock it again and unlocks it as often (Java's ReentrantLock), unless
// [WithoutOwner] says otherwise. All Lockers of one path, in any process, exclude each other,
// and so do Curator's InterProcessMutex and zk.Lock.
//
// A hold that was lost stays lost until its owner's outermost Unlock, and until then no other
// goroutine gets the lock through this Locker, so that two goroutines of a process never both
// believe that they own it. One that waits for that Unlock may have the lock in ZooKeeper
// already, and other processes wait with it: an owner has to stop when Lost closes. Acquire and
// TryAcquire may have the lock before that Unlock, unless [WithLossGrace] leaves the node, or
// stand behind one that waits for it: an owner that has lost the lock unlocks before it asks. The
// goroutines that an owner starts are not owners, and an owner that ends without Unlock keeps the
// lock.
type Locker struct {
	side
	ownership
}

var _ sync.Locker = (*Locker)(nil)

// New returns a lock on path, which it does not create yet. Its errors name the bad argument: a
// nil or closed session, a path that ZooKeeper would refuse, the root or one below /zookeeper,
// an option's value, an option that is not for this kind of lock.
//
// A lock may be below another one's path, but not under a name that ends as those of lock nodes
// do, in -lock- and ten digits for instance: the other one would wait for it.
func New(s *Session, path string, opts ...Option) (*Locker, error) {
	q, o, err := newQueue(s, path, recipe.Exclusive, opts)
	if err != nil {
		return nil, err
	}
	return newLocker(q, o), nil
}

func newLocker(q *queue.Queue, o *options) *Locker {
	l := &Locker{side: side{gate: gate{q, q, o.trace, newShares(), allShares}}}
	l.owners, l.ownerless = l, o.ownerless
	if o.handoff > 1 || o.retention > 0 { // which checkKind refuses of an RWLocker
		l.from = queue.NewHandoff(q, o.handoff, o.retention)
	}
	return l
}

// Path returns the lock's path, with the session's chroot if there is one: see [Connect].
func (l *Locker) Path() string {
	must(l.exclusive().made("path"))
	return l.queue.Path()
}

// exclusive returns the side that the lock is, nil of none.
func (l *Locker) exclusive() *side {
	if l == nil {
		return nil
	}
	return &l.side
}

// Lock takes the lock and waits for as long as that takes, over lost connections and
// expired sessions too. It never returns without holding the lock, and panics if it can never
// succeed: the session is closed, or being shut down (also while Lock waits; use
// [Locker.LockContext] for a graceful end), the server refuses the path, or the caller owns the
// lock already and its hold has ended: it was lost, or released by [Hold.Release] and not by
// Unlock.
//
// If it does not get as far as the queue for 10 s, or for the session timeout if that is
// longer, it says so in the session's log at Warn, once, with what it waits for; so does any
// call without a deadline. Of the calls for one lock, and without a connection of all, one does
// for the others.
func (l *Locker) Lock() {
	// A re-entry is inline down to the two loads that it needs.
	if l != nil && l.ownedBy(goid.Fast()) && l.hold.Load().hold.IsHeld() {
		l.depth++
		return
	}
	l.lockSlow()
}

func (l *Locker) lockSlow() { must(l.LockContext(context.Background())) }

// Unlock gives back what one Lock took. With the outermost one the lock is free for the next:
// Unlock returns when its delete has been sent. It leaves the delete to the background while
// disconnected, and when the lock goes on to a caller of the same session. So for a moment
// others may still see the lock as taken. A process that exits at once should use
// [Locker.UnlockContext] instead, or close its session.
//
// It panics if the calling goroutine does not own the lock, and leaves the lock as it is then.
// After a loss it does not wait for the network and does not panic: [Locker.Lost] and
// UnlockContext tell of the loss.
func (l *Locker) Unlock() {
	if l != nil && l.ownedBy(goid.Fast()) && l.depth > 1 {
		l.depth--
		return
	}
	l.exclusive().unlock(context.Background())
}

// Acquire takes the lock for whoever has the [Hold] that it returns. It waits as
// [Locker.LockContext] does, and under a ctx that carries a hold of the same lock it returns
// [ErrDeadlock]. Handles are not reentrant, and may be passed to other goroutines.
func (l *Locker) Acquire(ctx context.Context) (*Hold, error) {
	return l.exclusive().handle(ctx, "acquire", (*gate).acquire)
}

// TryAcquire is Acquire without the wait: it returns [ErrLocked] if somebody else holds the
// lock or waits for it, which costs no write unless it lost a race. While there is no
// connection it waits for one, as long as ctx lives.
func (l *Locker) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.exclusive().handle(ctx, "try", (*gate).try)
}
