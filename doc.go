// Package zklock gives a Go program that uses sync.Mutex a lock that holds across machines,
// kept by a ZooKeeper ensemble:
//
//	session, err := zklock.Connect(ctx, servers, 10*time.Second)
//	...
//	mu, err := zklock.New(session, "/locks/ledger")
//	...
//	if err := mu.LockContext(ctx); err != nil {
//		return err
//	}
//	defer mu.Unlock()
//
// It is Java's Lock interface in Go's terms: [Locker.Lock], [Locker.LockContext]
// (lockInterruptibly: cancellation replaces interruption), [Locker.TryLock],
// [Locker.TryLockFor] (tryLock with a timeout) and [Locker.Unlock], which make a [Locker] a
// sync.Locker. [Locker.Acquire] returns the same lock as a value, a [Hold], which any goroutine
// may use.
//
// # What is promised
//
//   - One holder. At most one hold of a path exists at any instant, over all
//     processes; a call that returns success holds the lock at that moment.
//   - Lost before handed over. If a hold ends without its owner's release, its
//     lost channel closes before ZooKeeper can grant the lock to anyone else.
//   - First come, first served, in the order in which the lock nodes were
//     created, over all processes. A waiter starts over at the tail when its
//     session has ended; and also when no server answers in time to keep a
//     hold, if its session holds a lock or is next for one. A release wakes
//     those whose turn it is, and at most one waiter more; among readers and
//     writers at most two, and readers behind the same writer count as one.
//   - No orphans. However a call ends, its lock node is deleted as soon as nobody
//     waits with it or holds it; a crashed owner's node goes with its session.
//   - The context wins. A call with a context returns within 50 ms of its end,
//     whatever the network does, and one whose context has ended already never
//     acquires. Only [Connect] waits for code of your own, a dialer
//     ([WithDialer]), a provider ([WithAuthProvider]), a log handler
//     ([WithLogger]) or a [SessionTrace]; and a call for the functions of its
//     [Trace], [Locker.Do] for its function.
//   - Nothing leaks. After [Session.Close] no goroutine, timer or socket is left.
//     Only a function of your own that package membership calls, or a Do runs,
//     may still be running, and a lookup of a name by the C library.
//   - Loud. Lock never returns without holding; misuse panics with a clear text;
//     errors say what, where and why, and match this package's sentinels.
//
// The first two have three exceptions, in which the holder cannot know in time:
//
//   - The process was paused as a whole, so that no timer of it ran. [Hold.Valid]
//     is false on its first call after the pause.
//   - An operator deleted the lock's node or ended its session, or the servers lost their
//     data, and with them what tokens were given.
//   - The servers' leader was paused, or its way to the client's server stalled,
//     and a session that held nothing else asked for the lock in the last moments
//     of that. The README says how long these are.
//
// In all three, but for lost data, [Hold.Token] and [Hold.Check] keep a late write from doing harm;
// the check of a node that was deleted does not if somebody makes one of its name.
//
// # When a lock is lost
//
// A lost connection is not a lost lock: the session goes on at another server, and its holds
// with it. A hold is lost when (docs/lost.md has two rare cases more)
//
//   - no server has confirmed the session in time: without a server that answers
//     a hold usually ends after 0.45 to 0.6 of the session timeout, and at worst
//     after about 0.16, if servers answer quickly otherwise: see
//     docs/operations.md;
//   - the servers have ended the session;
//   - somebody else has deleted its node;
//   - it has lasted for longer than [WithMaxHold] allows;
//   - [Session.Close] was called.
//
// Then [Hold.Lost] closes, and contexts made by [Locker.Do] and [Hold.Context] are cancelled
// with the cause [ErrLost], which says why, as [Hold.Err] does. The hold stays lost. Until its
// owner's outermost Unlock, nested calls report ErrLost (Lock panics with it), and no other
// goroutine of the process gets the lock through the same Locker, except as a value
// ([Locker.Acquire], [Locker.TryAcquire]). One that waits for that Unlock may have the lock in
// ZooKeeper already, so that other processes wait too: stop when Lost closes.
//
// When Lost and another channel are ready, select picks one at random. Look at [Hold.Valid]
// before each step:
//
//	for {
//		select {
//		case <-hold.Lost():
//			return zklock.ErrLost
//		case job := <-jobs:
//			if !hold.Valid() {
//				return zklock.ErrLost
//			}
//			do(job)
//		}
//	}
//
// A session is proved alive by a committed write that changes nothing, sent each eighth of the
// session timeout while a lock is held, kept or next to be granted, and at no other time. A
// ping that is answered proves nothing: a server that is cut off from its leader answers pings
// while the leader counts the session down. This assumes that the servers' tick is at most half
// of the session timeout, that their leader pings its followers each half tick, that none of
// them grants a session less than a quarter of what another has granted it, and that clocks
// drift by less than 1 %. See docs/design.md for the arithmetic.
//
// # Things to know
//
//   - A service ends by [Session.Shutdown], which waits for those who hold a lock.
//     By [Session.Close] they lose it.
//   - Both make every goroutine that still waits in Lock panic, which ends the
//     process. Stop those goroutines first, or use LockContext, which returns
//     [ErrClosed].
//   - [Locker.Lost], [Locker.Held] and [Locker.HoldCount] answer for the goroutine
//     that calls them: Lost of a lock that it does not hold is closed. For another
//     goroutine take h := l.Held() first, or [HoldFrom] inside a Do, and hand it h.
//   - A goroutine that an owner starts is not an owner. A goroutine that exits
//     without Unlock keeps the lock.
//   - A nested Lock checks whether the hold is known to be lost; it does not look
//     at the clock, as [Hold.Valid] does.
//   - sync.Cond works with a Locker that is locked once.
//   - Unlock does not wait for the answer to its delete: if the process exits at
//     that moment, the node may stay until the session ends. Close the session,
//     or use [Locker.UnlockContext].
package zklock
