package zklock

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/owner"
	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
)

// Option changes how a lock works. All who use the same path may use different ones.
type Option func(*options)

type options struct {
	queue.Options

	trace     *Trace
	ownerless bool
	handoff   int
	retention time.Duration
	keyed     bool // they are a Keyed's
	striped   bool // WithStripes
	stripes   int
}

func newOptions(path string, kind recipe.Kind, opts []Option) (*options, error) {
	o := &options{Options: queue.Options{ACL: zk.WorldACL(zk.PermAll), Data: []byte(owner.Ourselves().String())}, handoff: 1}
	if err := client.Apply(o, opts); err != nil {
		return nil, err
	}
	if len(o.ACL) == 0 {
		return nil, errors.New("WithACL: the list is empty: nobody could use the lock")
	}
	if o.handoff < 1 {
		return nil, fmt.Errorf("WithHandoff(%d): it must be at least 1", o.handoff)
	}
	if o.retention < 0 {
		return nil, fmt.Errorf("WithRetention(%v): it must not be negative", o.retention)
	}
	if o.MinHold < 0 {
		return nil, fmt.Errorf("WithMinHold(%v): it must not be negative", o.MinHold)
	}
	if o.MaxHold < 0 {
		return nil, fmt.Errorf("WithMaxHold(%v): it must not be negative", o.MaxHold)
	}
	if o.MaxHold > 0 && o.MaxHold <= o.MinHold {
		return nil, fmt.Errorf("WithMaxHold(%v): it must be more than WithMinHold, which is %v", o.MaxHold, o.MinHold)
	}
	if o.LossGrace < 0 {
		return nil, fmt.Errorf("WithLossGrace(%v): it must not be negative", o.LossGrace)
	}
	if err := o.checkKind(kind); err != nil {
		return nil, err
	}
	if o.MinHold > 0 && (o.handoff > 1 || o.retention > 0) {
		return nil, errors.New("WithMinHold keeps the lock from everybody, also in this process: " +
			"it does not go with WithHandoff or WithRetention, which hand it on here")
	}
	if _, asks := recipe.Revocation(o.Data); asks {
		return nil, fmt.Errorf("WithData(%q): this is what asks a holder for its lock back: see Revoke", o.Data)
	}
	return o, o.checkCreate(path)
}

// checkKind returns an error if an option has no effect on what a lock of that kind gives.
func (o *options) checkKind(kind recipe.Kind) error {
	const locker = "it is for a Locker alone: no other lock goes from one owner to the next inside a process"
	if o.keyed {
		return o.checkKeyed()
	}
	switch {
	case o.striped:
		return fmt.Errorf("WithStripes(%d): it is for a Keyed alone: any other lock has no keys", o.stripes)
	case kind != recipe.Exclusive && o.handoff > 1:
		return fmt.Errorf("WithHandoff(%d): %s", o.handoff, locker)
	case kind != recipe.Exclusive && o.retention > 0:
		return fmt.Errorf("WithRetention(%v): %s", o.retention, locker)
	case kind == recipe.Permit && o.ownerless:
		return errors.New("WithoutOwner: it is for a Locker or an RWLocker: a Semaphore's permits have no owner in any case")
	}
	return nil
}

// queue returns what the queue of a lock on path has to know.
func (o *options) queue(path string) queue.Options {
	made := o.Options
	if o.trace != nil {
		made.NewHistory = func(node string, token int64) queue.History { return newHistory(o.trace, path, node, token) }
	}
	return made
}

// checkCreate returns an error if the create of a node below dir is too long a request.
func (o *options) checkCreate(dir string) error {
	if err := client.CheckCreate(dir, o.Data, o.ACL); err != nil {
		return fmt.Errorf("WithData, WithACL: %w", err)
	}
	return nil
}

// WithOneSided accepts that other clients use the lock's path which do not wait for this library's nodes, though it
// waits for theirs, or have been told to, which their nodes do not show. Without it a call that finds
// such a node says so in the log, at Warn and once for each path, and what to change; and a call
// that finds Curator's LeaderLatch, which waits for no lock, fails.
// See https://github.com/zklock/zklock/blob/main/docs/comparison.md#who-keeps-whom-out.
func WithOneSided() Option { return func(o *options) { o.OneSided = true } }

// WithACL sets the access list of the lock's nodes and, if it has to be created, of its path.
// What is missing above that has the same list, and everybody may create others there. The
// default lets everybody do everything. Whoever uses the lock needs to read its path, to create
// and delete children there, and to read those; of a semaphore, also to write <path>/leases.
// A list of a missing path that does not let the session itself create the lock's node and read
// its path, or that the servers refuse, is an error, and nothing is created.
func WithACL(acl []zk.ACL) Option {
	return func(o *options) { o.ACL = slices.Clone(acl) }
}

// WithData sets what the lock's nodes say about their owner, instead of its host, process id
// and start time.
func WithData(data []byte) Option {
	return func(o *options) { o.Data = slices.Clone(data) }
}

// WithTrace has trace's functions called when something happens to the lock.
func WithTrace(trace *Trace) Option {
	return func(o *options) { o.trace = trace }
}

// WithHandoff lets up to n owners of one [Locker], one after the other, share a turn: the lock
// goes between goroutines of the process without ZooKeeper, at the speed of memory, before it
// is the others' turn. While nobody else queues there is no limit. So up to n-1 owners of this
// process may be served ahead of others that asked before them, besides those that are served
// before the process has heard of the others: for as long as a message takes, or it is without
// a connection. The place in the queue of a caller that gives up goes to the next one that
// waits, so that it may be n.
//
// Each owner has a [Hold] of its own. When the node goes on to the next, UnlockContext and Release
// need no confirmation of ZooKeeper, and return nil under a context that has ended, too. One that
// asked for its Token or Check does not share its node with those after it. It is for a Locker: with
// n above 1 it is an error of any other lock.
func WithHandoff(n int) Option {
	return func(o *options) { o.handoff = n }
}

// WithRetention keeps the lock's node for up to d after the last Unlock, until somebody else
// queues, as far as this process has heard: see [WithHandoff]. Once it has heard of somebody
// behind a node, that node is not kept, though they may have given up since. So taking the lock
// again costs no round trip. For that time the TryLock of any other Locker may see the lock as taken,
// and a crash then blocks the others until the session ends. While the node is kept it is proved
// as if it were held.
//
// As with [WithHandoff], UnlockContext and Release need no confirmation while the node is kept, and
// an owner that asked for its Token or Check does not leave its node to the next one. It is for a
// Locker: with d above 0 it is an error of any other lock.
func WithRetention(d time.Duration) Option {
	return func(o *options) { o.retention = d }
}

// WithMinHold keeps the lock from everybody for d after each grant at least, however short the
// hold. It is for work that is to be done once although several ask for the lock at about the
// same time: a job that the clocks of several machines start, and that takes less time than
// those differ. Who does not wait then (TryLock) finds the lock taken. The time counts from when
// the call has all that it waits for: all the locks of a MultiLocker, and the Unlock of an owner
// in this process that has lost the lock.
//
// A hold ends as without it. Unlock, UnlockContext and Release return at once, and the node is
// deleted in the background when d is over, by the monotonic clock; until then nobody has the
// lock, neither its last owner, who has to wait as any other, nor anybody else of this process;
// but a reader's node keeps no other readers out. Those calls return nil under a context that
// has ended, too. Meanwhile [Inspect] shows the node as the holder's, a Check that was asked for
// during the hold succeeds, and [Revoke] marks the node, which nobody heeds. A hold that was lost
// leaves its node, if that is there, for as long. A call that fails, and a MultiLocker that
// cannot have all its locks, leave nothing.
//
// The session has to live that long: [Session.Shutdown] waits for it, also if somebody else has deleted
// the node after the end of the hold, of which this process does not hear. [Session.Close] ends it early,
// and so does the end of the session when the process has ended. It is for every kind of lock, and
// an error together with WithHandoff above 1 or WithRetention.
func WithMinHold(d time.Duration) Option {
	return func(o *options) { o.MinHold = d }
}

// WithMaxHold is a help against locks that were forgotten. When a hold has lasted for d, its owner is
// asked for it: [Hold.Revoked] closes, and the session's log says so. A session timeout later the hold
// is lost: Lost closes first, then the node goes, or stays for [WithLossGrace]. An owner that
// listens to neither believes that it has the lock while others have it, as after any loss; in this
// process they wait for its Unlock, unless they ask by Acquire.
//
// Each hold counts by itself, from its grant, or from when its call had all that it waits for, as with
// WithMinHold: re-entries are part of the first one's, a downgraded read lock begins anew, and of a
// [MultiLocker] each lock has its own option. With [WithHandoff] each owner has d; the node of one that
// takes longer goes. Several permits are one hold. d must be more than WithMinHold has, and is counted
// by the monotonic clock. It is for each kind of lock.
func WithMaxHold(d time.Duration) Option {
	return func(o *options) { o.MaxHold = d }
}

// WithLossGrace leaves the node of a hold that was lost for d, or until its owner gives it back,
// while its session lives and nobody else deletes it. It is for an owner that needs that long to
// stop what it does. A hold may be lost for want of an answer though the session lives on: without
// this option its node is deleted when there is a connection again, and the lock is the next one's.
// It promises no more: the servers decide how long the session lasts after a loss, and the node goes
// with it.
//
// Until that is over, this process has to wait for the lock as any other, and a call whose context
// carries the lost hold is told [ErrDeadlock]: also if somebody else has deleted the node after the
// loss, of which this process does not hear. Meanwhile [Inspect] shows the node as a holder's, and
// [Revoke] marks it. d is counted by the monotonic clock.
// [Session.Shutdown] waits for it, [Session.Close] ends it early.
func WithLossGrace(d time.Duration) Option {
	return func(o *options) { o.LossGrace = d }
}

// WithoutOwner gives a [Locker] the rules of sync.Mutex instead of those of Java's
// ReentrantLock: it is not reentrant, so that a goroutine that locks it twice waits for ever,
// and any goroutine may unlock it. Held, Lost and HoldCount answer any goroutine as they would
// the owner. An [RWLocker] gets the rules of sync.RWMutex. It is an error of a [Semaphore], whose
// permits no goroutine owns.
func WithoutOwner() Option {
	return func(o *options) { o.ownerless = true }
}
