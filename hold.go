package zklock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/latch"
	"github.com/zklock/zklock/internal/queue"
)

// Hold is one possession of a lock, from the grant until it is released or lost. It belongs to
// whoever has the value and may cross goroutines; its methods may be called from several at
// once.
type Hold struct {
	hold   *queue.Hold
	shares *shares // of which its owner has some until it gives the hold back; nil of a handle

	ctx     context.Context
	ctxOnce sync.Once
}

// holdOf returns the hold of whoever has got h, nil of none.
func holdOf(h *queue.Hold) *Hold {
	if h == nil {
		return nil
	}
	return &Hold{hold: h}
}

// Lost returns a channel that is closed when the lock is lost, and never by its release. The end of
// its session by [Session.Close] is a loss. A long task waits for it, and looks at [Hold.Valid] before
// each step: when several channels are ready, select picks one at random.
func (h *Hold) Lost() <-chan struct{} { return h.must("lost").Lost() }

// Context returns a context that lives as long as the hold: it is cancelled with what
// [Hold.Err] returns as its cause. [HoldFrom] finds the hold in it.
func (h *Hold) Context() context.Context {
	must(h.made("context"))
	h.ctxOnce.Do(func() { h.ctx, _ = h.under(context.Background()) })
	return h.ctx
}

// Err returns nil while the lock is held, and then [ErrReleased], or an error that is [ErrLost]
// and says why. It is the same value each time, and costs as little as a read of the memory.
func (h *Hold) Err() error {
	if err := h.made("err"); err != nil {
		return err
	}
	return h.hold.Err()
}

// Valid reports whether the lock is held. It reads the clock, so that it is false on the first
// call after a pause of the process that was too long, before any timer has run; the hold is
// lost then. It does not ask ZooKeeper: after an operator has deleted the node it is true until
// the session has heard of that.
func (h *Hold) Valid() bool { return h.must("valid").Valid() }

// ValidFor reports whether the lock is held, and lasts for d more though nothing more should be heard
// of any server: for a step that takes so long, and cannot be stopped. As with Valid an operator may
// still delete the node. A d of more than 0.23 of the session timeout is in vain: the connection may break
// now, and a server that takes over without a word may have made the session as short as that; where
// servers grant different timeouts, as while that is changed, it may be a quarter of it. While servers
// answer, the proofs of the session renew that time again and again, up to the end by [WithMaxHold].
func (h *Hold) ValidFor(d time.Duration) bool {
	left := h.must("valid").Left()
	return left > 0 && left >= d
}

// Until returns until when, by this machine's clock, the lock is held though nothing more should be heard
// of any server; false if it is not held. It is later each time that it is asked while servers answer, up to
// the end by [WithMaxHold]: see ValidFor. A sleep of the machine is not seen by who compares it with
// time.Now: ask Valid after one.
func (h *Hold) Until() (time.Time, bool) {
	now := time.Now() // ahead of what is left: the process may stop in between
	return until(now, h.must("until").Left())
}

func until(now time.Time, left time.Duration) (time.Time, bool) {
	if left <= 0 {
		return time.Time{}, false
	}
	return now.Add(left), true
}

// Token returns the hold's fencing token, the zxid of the transaction that created its node; a
// downgraded read lock goes on with its writer's. A later hold of the same path has a larger
// one, also after the path itself was deleted and made again, as long as the servers keep their
// data; those that share the lock (readers, permits) have different ones in no particular
// order. A store outside ZooKeeper that refuses a token below the largest it has seen is safe
// from a holder that was paused and does not know yet that its lock is lost; of those that
// share the lock it refuses valid ones, too.
// Ask for it while the lock is held: with [WithHandoff] or [WithRetention] the next owner may
// have the same one otherwise.
func (h *Hold) Token() int64 { return h.must("token").Token() }

// Node returns the full path of the hold's node, with the session's chroot if there is one; of
// several permits, the first's.
func (h *Hold) Node() string { return h.must("node").Node() }

// Check returns a request that succeeds only while the hold's node exists. Put first in a Multi
// of [Session.Conn], it makes the other operations happen while that node exists or not at all.
// The node may outlast a hold that was lost for want of an answer, and a check that was asked
// for before then succeeds. That does no harm: while the node is there nobody else has the lock,
// unless an operator has deleted it and made one of its name.
// Of several permits it checks the first one's node. Asked for when the hold has ended, it
// never succeeds.
func (h *Hold) Check() *zk.CheckVersionRequest { return h.must("check").Check() }

// Release gives the lock back and returns when ZooKeeper has confirmed that its node is gone. (If a
// server has refused to delete that of another owner of this session, which the lock came from, the
// lock is free when that is gone too.) When ctx ends first, or has ended already, its error is
// returned and the delete goes on in the background until the node is gone or the session is;
// [Hold.Context]'s ends with the hold. If the session is closed meanwhile, also by [Session.Shutdown],
// Release returns nil: whether the node is gone is what [Session.Close] says. Calling Release again
// returns nil again; of a hold that was lost, also by [Session.Close], it returns [ErrLost] with its cause.
func (h *Hold) Release(ctx context.Context) error {
	if err := h.made("release"); err != nil {
		return err
	}
	client.NeedsContext(ctx)
	return wrap("release", h.hold.Path(), h.hold.Client().Explain(h.hold.Release(ctx, nil)))
}

// under returns a child of parent that carries the hold and ends with it, and what takes it out
// of parent afterwards.
func (h *Hold) under(parent context.Context) (ctx context.Context, detach func()) {
	ctx, end, leave := apart(context.WithValue(parent, holdKey{}, &carried{h, carriedBy(parent)}))
	h.hold.WhenEnded(end)
	return ctx, leave
}

// closeIfLost closes lost when the hold is lost, unless stop is called before.
func (h *Hold) closeIfLost(lost *latch.Latch) (stop func()) {
	return h.hold.WhenEnded(func(cause error) {
		if errors.Is(cause, ErrLost) {
			lost.Close()
		}
	})
}

type holdKey struct{}

// carried is a hold that a context carries, and those that its parents do.
type carried struct {
	hold  *Hold
	outer *carried
}

// carriedBy returns the innermost hold of ctx, nil if it carries none.
func carriedBy(ctx context.Context) *carried {
	c, _ := ctx.Value(holdKey{}).(*carried)
	return c
}

// HoldFrom returns the hold behind the context that [Locker.Do] gives to its function, or
// behind [Hold.Context]; of several the innermost, and nil if there is none.
func HoldFrom(ctx context.Context) *Hold {
	client.NeedsContext(ctx)
	if c := carriedBy(ctx); c != nil {
		return c.hold
	}
	return nil
}
