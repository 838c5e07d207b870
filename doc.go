// Package zklock gives a Go program that uses sync.Mutex a lock that holds across machines,
// kept by a ZooKeeper ensemble:
//
//	session, err := zklock.Connect(ctx, servers, 10*time.Second)
//	...
//	mu, err := zklock.New(session, "/locks/ledger")
//	...
//	mu.Lock()
//	defer mu.Unlock()
//
// It is Java's Lock interface in Go's terms: [Locker.Lock], [Locker.LockContext]
// (lockInterruptibly: cancellation replaces interruption), [Locker.TryLock],
// [Locker.TryLockFor] (tryLock with a timeout) and [Locker.Unlock], which make a [Locker] a
// sync.Locker. [Locker.Acquire] gives the same lock as a handle, a [Hold], for whoever does not
// want a goroutine to own it.
//
// # What is promised
//
//   - One holder. At most one hold of a path exists at any instant, over all
//     processes; a call that returns success holds the lock at that moment.
//   - Lost before handed over. If a hold ends without its owner's release, its
//     lost channel closes before ZooKeeper can grant the lock to anyone else.
//   - First come, first served, in the order in which the lock nodes were
//     created, over all processes. A release wakes those whose turn it is, and at
//     most one waiter more; readers behind the same writer count as one.
//   - No orphan. However a call ends, its lock node does not outlive its owner's
//     interest; a crashed owner's node goes with its session.
//   - The context wins. A call with a context returns within 50 ms of its end,
//     whatever the network does, and one that has ended already never acquires.
//     Only [Connect] waits for code of your own, a dialer ([WithDialer]) or a log
//     handler ([WithLogger]).
//   - Nothing leaks. After [Session.Close] no goroutine, timer or socket is left.
//   - Loud. Lock never returns without holding; misuse panics with a clear text;
//     errors say what, where and why, and match this package's sentinels.
//
// The first two have three exceptions, in which the holder cannot know in time:
//
//   - The process was paused as a whole, so that no timer of it ran. [Hold.Valid]
//     is false on its first call after the pause.
//   - An operator deleted the lock's node.
//   - The servers' leader was paused for more than 0.4 of the session timeout,
//     and ends a session as it goes on, just after it granted that a lock; after a
//     shorter pause, only if the client's server hangs or is cut off in that very
//     moment. Only a session that held nothing else can come to that, and it is
//     noticed unless the lock was asked for in the last moments of the pause: some
//     10 ms at a timeout of 2 s, 40 ms at 10 s.
//
// The fencing token and [Hold.Check] keep a late write from doing harm in all three.
//
// # When a lock is lost
//
// A lost connection is not a lost lock: the session is carried on to another server, and the
// hold with it. It is lost when the server has ended the session, when the session cannot be
// proved alive in time, and when somebody else deletes its node. Then [Hold.Lost] closes,
// contexts made by [Locker.Do] and [Hold.Context] are cancelled with the cause [ErrLost], and
// the hold stays lost: until its owner's outermost Unlock, nested calls report ErrLost (Lock
// panics with it), and no other goroutine of the process gets the lock through the same Locker,
// except as a handle ([Locker.Acquire], [Locker.TryAcquire]).
//
// The proof of life is a committed write that changes nothing, sent each eighth of the session
// timeout while a lock is held, kept or next to be granted, and at no other time. Answered
// pings prove nothing: a server that is cut off from its leader answers them while the leader
// counts the session down. See docs/design.md for the arithmetic and its assumptions: the
// servers' tick is at most half of the session timeout, their leader pings its followers each
// half tick, none of them grants a session less than a quarter of what another has granted it,
// and clocks drift by less than 1 %.
//
// # Things to know
//
// Lock panics in goroutines that still wait when the session is closed; use LockContext for a
// graceful end. [Locker.Lost] speaks of the goroutine that calls it: take h := l.Held() before
// handing the channel to another. The goroutines that an owner starts are not owners. A
// goroutine that exits without Unlock keeps the lock. sync.Cond works with a Locker that is
// locked once. A nested Lock checks whether the hold is known to be lost, not the clock.
//
// Unlock sends its delete and does not wait for the answer: a process that exits at that moment
// may leave the node until its session ends. Close the session, or use [Locker.UnlockContext].
package zklock
