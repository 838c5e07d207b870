package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/plain"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Semaphore is Curator's InterProcessSemaphoreV2: a queue for the turn to take permits, whose
// holder alone looks at those that are out, each of which has a node.
type Semaphore struct {
	size    int
	turns   *Queue // whose head may take permits
	permits *Queue // whose nodes do not line up: each has its permit
}

// errSizes says that contenders disagree about a semaphore's size.
const errSizes = client.Final("the sizes differ")

// NewSemaphore returns the semaphore of that size on path. Of the turns nothing is told, and
// they last no longer than it takes.
func NewSemaphore(s *Session, path string, size int, o Options) *Semaphore {
	permits := New(s, path, recipe.Permit, o)
	permits.dir = recipe.Join(path, recipe.Permits)
	o.NewHistory, o.MinHold, o.MaxHold, o.LossGrace = nil, 0, 0, 0
	turns := New(s, path, recipe.Exclusive, o)
	turns.dir = recipe.Join(path, recipe.Turns)
	sem := &Semaphore{size: size, turns: turns, permits: permits}
	permits.options.Says = []byte(sem.says())
	return sem
}

// ofSemaphore reports whether q is a semaphore's own: who has the turn in it may have to wait for
// permits for long.
func (q *Queue) ofSemaphore() bool { return q.dir != q.path }

// isTurns reports whether q is where the turns of a semaphore are.
func (q *Queue) isTurns() bool { return q.ofSemaphore() && recipe.Base(q.dir) == recipe.Turns }

// Client returns the client of the semaphore's session.
func (s *Semaphore) Client() *client.Client { return s.turns.Client() }

// Acquire takes n permits, all or none, and waits until they are free and everybody who asked
// before has theirs.
func (s *Semaphore) Acquire(ctx context.Context, n int, call Call) (*Hold, error) {
	return s.acquire(ctx, n, call, s.turns.Acquire, s.wait)
}

// Try is Acquire without the wait: it returns ErrLocked if the permits are not free, or if
// somebody else is in line for permits.
func (s *Semaphore) Try(ctx context.Context, n int, call Call) (*Hold, error) {
	again, session := 0, s.permits.session
	return s.acquire(ctx, n, call, s.turns.Try, func(ctx context.Context, _ *Hold, out *client.Watch) error {
		if again++; again > mostTries || len(session.wanted(out.Names))+n > s.size {
			return s.confirmTaken(ctx, out)
		}
		return session.client.Sleep(ctx, backoff.Before(again))
	})
}

func (s *Semaphore) acquire(
	ctx context.Context, n int, call Call,
	enter func(context.Context, Call) (*Hold, error),
	wait func(context.Context, *Hold, *client.Watch) error,
) (*Hold, error) {
	var h *Hold
	err := s.turns.session.client.Retry(ctx, func() error {
		turn, err := enter(ctx, call)
		if err != nil {
			return client.Permanent(err)
		}
		switch h, err = s.take(ctx, turn, n, wait); {
		case errors.Is(err, ErrLocked):
			return client.Permanent(err)
		case err == nil && !h.Valid(): // the turn's delete took longer to be written than the lease ran
			h.ReleaseUnused(nil)
			return client.ErrStale
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	acquired(call, h)
	return h, nil
}

// take takes n permits while turn is held, as soon as they are free, and gives the turn back.
// After a fault it tries again in the same turn: a new one would be behind those who asked later.
func (s *Semaphore) take(
	ctx context.Context, turn *Hold, n int, wait func(context.Context, *Hold, *client.Watch) error,
) (h *Hold, err error) {
	released := false
	defer func() {
		if !released && h != nil { // a context of the user's has panicked
			h.ReleaseUnused(nil)
		}
	}()
	defer func() {
		turn.SendRelease(ctx, nil)
		released = true
	}()
	ctx, stalls := s.permits.session.client.LogStalls(ctx, s.permits.path)
	defer stalls.End()
	above := s.permits.parents()
	defer func() {
		if err != nil && turn.contender.waited {
			err = TimedOut(ctx, err)
		}
	}()
	err = s.permits.session.client.Retry(ctx, func() (err error) {
		if err := s.awaitRoom(ctx, turn, n, above, wait); err != nil {
			return client.Permanent(err)
		}
		if h, err = s.permits.convert(ctx, turn, entry{nodes: n, above: *above}); turn.Err() != nil {
			return client.Permanent(err)
		}
		if client.Answers(err, zk.ErrNoNode) {
			_ = turn.contender.prove(ctx) // it may be the turn's node that is gone
		}
		above.Learn(err)
		return err
	})
	return h, err
}

// awaitRoom returns when n more permits may be out.
func (s *Semaphore) awaitRoom(
	ctx context.Context, turn *Hold, n int, above *client.Parents, wait func(context.Context, *Hold, *client.Watch) error,
) error {
	for {
		out, err := s.out(ctx, turn, above)
		if err != nil || len(out.Names)+n <= s.size {
			return err
		}
		turn.contender.waited = true
		if err := wait(ctx, turn, out); err != nil {
			return err
		}
	}
}

// confirmTaken returns ErrLocked, or a wire.Stale if one of the permits is out at this server alone, as
// Queue's does.
func (s *Semaphore) confirmTaken(ctx context.Context, out *client.Watch) error {
	c, dir := s.permits.session.client, s.permits.dir
	if !c.DueToConfirm(dir) {
		return ErrLocked
	}
	return cmp.Or(c.ConfirmUnder(ctx, func() error { return c.ConfirmAll(out.Shown(dir)) }), ErrLocked)
}

// wait returns when the permits that are out have changed, or may have.
func (s *Semaphore) wait(ctx context.Context, turn *Hold, out *client.Watch) error {
	client.Queues(ctx, true)
	defer client.Queues(ctx, false)
	select {
	case <-out.Fired:
		return nil
	case <-turn.Lost():
		return ErrLost
	case <-s.turns.session.admission.Done():
		return client.ErrClosed
	case <-ctx.Done():
		return client.Ended(ctx)
	}
}

// out reads and watches the permits that are out, of which turn's holder is the only one to add
// any, and makes sure that all mean the same size. There are none if the leases' node is missing.
func (s *Semaphore) out(ctx context.Context, turn *Hold, above *client.Parents) (w *client.Watch, err error) {
	err = s.permits.session.client.Retry(ctx, func() error {
		if err := turn.contender.awaitConnection(ctx); err != nil {
			return client.Permanent(err)
		}
		w, err = s.look(ctx, turn)
		missing := client.Answers(err, zk.ErrNoNode) && turn.Err() == nil
		if above.Lacks(missing); missing {
			if w, err = new(client.Watch), above.Confirm(ctx); err == nil {
				err = s.mixed(ctx, nil)
			}
		}
		if err != nil && ctx.Err() == nil && turn.Err() != nil {
			return client.Permanent(ErrLost)
		}
		return err
	})
	return w, err
}

// look is one try of out.
func (s *Semaphore) look(ctx context.Context, turn *Hold) (*client.Watch, error) {
	session, dir := s.permits.session, s.permits.dir
	client.WaitsFor(ctx, "a list of the permits")
	size := client.Read(dir)
	session.client.SendRecent(dir, size)
	key := client.WatchKey{Path: dir, Children: true}
	w := session.client.Watch(key)
	select {
	case <-w.Armed:
	case <-ctx.Done():
		return nil, client.Ended(ctx)
	}
	said, err := s.sizeSaid(ctx, size)
	if err == nil {
		err = w.Err
	}
	if err != nil {
		return nil, err
	}
	if client.GenerationOf(w.Stat).Before(client.GenerationOf(said.Stat)) { // of which ZooKeeper may not have told: see trust
		session.client.EndWatch(key, w)
		return nil, client.ErrStale
	}
	session.sweep(w.Link, dir, w.Names)
	if err := s.mixed(ctx, w.Names); err != nil {
		return nil, err
	}
	return w, s.agree(ctx, turn, said, len(w.Names))
}

// sizeSaid returns what the leases' node says, by a read that was sent.
func (s *Semaphore) sizeSaid(ctx context.Context, read *wire.Request) (client.Content, error) {
	err := client.Wait(ctx, read)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		err = fmt.Errorf("the ACL of %s does not let this session read it: %w", s.permits.dir, err)
	case err == nil:
		_, err = s.permits.session.client.Decides(read)
	}
	if err != nil {
		return client.Content{}, err
	}
	return client.ContentOf(read)
}

// longestSize is how much is quoted of a size that is none of ours.
const longestSize = 60

// agree compares the size that the leases' node says with ours, and sets it while no permit is
// out. The node of a semaphore that Curator made says nothing.
func (s *Semaphore) agree(ctx context.Context, turn *Hold, said client.Content, out int) error {
	ours := s.says()
	switch {
	case string(said.Data) == ours:
		return nil
	case out > 0 && len(said.Data) > 0:
		return fmt.Errorf("this contender says %s, and the permits that are out were taken with %s: %w", ours, plain.Name(string(said.Data), longestSize), errSizes)
	}
	err := s.permits.session.client.Transact(ctx, // before which nobody else has the turn: it may come when ctx has ended
		turn.check(), wire.Op{Code: wire.OpSetData, Path: s.permits.dir, Data: []byte(ours), Version: said.Stat.Version})
	if client.Answers(err, zk.ErrNoAuth) {
		err = fmt.Errorf("the ACL of %s does not let this session write the semaphore's size there: %w", s.permits.dir, err)
	}
	err = client.OverQuota(err, s.permits.dir, "the semaphore's size")
	if client.Answers(err, zk.ErrNoNode) {
		_ = turn.contender.prove(ctx) // it is the turn's node that is gone, or the leases' one
	}
	return err
}

// says returns what the leases' node says of the size.
func (s *Semaphore) says() string { return fmt.Sprintf("size=%d", s.size) }
