package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/recipe"
	"github.com/zklock/zklock/internal/wire"
)

// Semaphore is a counting semaphore that holds across machines: of its permits,
// at most its size are out at any instant. Permits are granted in the order of
// the requests, and come back when their session ends.
//
// The nodes are those of Curator's InterProcessSemaphoreV2, so that both count
// the same permits: a lock below <path>/locks, whose holder alone looks at the
// leases below <path>/leases, one for each permit that is out. Curator takes
// several permits one by one: beside an Acquire of many here, two of them can wait
// for each other's permits for ever.
type Semaphore struct {
	path    string
	size    int
	turns   *queue // whose head may take permits
	permits *queue // whose nodes do not line up: each has its permit
	most    int    // permits that one request can create
}

// maxPermits is how many nodes one transaction creates at most.
const maxPermits = 1000

// errSizes says that contenders disagree about a semaphore's size.
var errSizes = errors.New("the sizes differ")

// NewSemaphore returns a semaphore of size permits on path, which it does not
// create yet. Its errors are those of [New], and a size below 1.
//
// All who use the semaphore have to say the same size: see [Semaphore.Acquire].
func NewSemaphore(s *Session, path string, size int, opts ...Option) (*Semaphore, error) {
	if size < 1 {
		return nil, wrap("new", path, fmt.Errorf("size %d: it must be at least 1", size))
	}
	q, o, err := newQueue(s, path, recipe.Exclusive, opts)
	if err != nil {
		return nil, err
	}
	turns, permits := *q, *q
	turns.dir, permits.dir = recipe.Join(path, recipe.Turns), recipe.Join(path, recipe.Permits)
	turns.trace = nil // the caller asked for permits, not for a turn
	if err := o.tooLong(permits.dir); err != nil {
		return nil, wrap("new", path, err)
	}
	most := min(maxPermits, maxFrame/o.createSize(permits.dir))
	return &Semaphore{path: path, size: size, turns: &turns, permits: &permits, most: most}, nil
}

// Path returns the semaphore's path.
func (s *Semaphore) Path() string { return s.path }

// Acquire takes n permits, all or none, and waits until they are free and
// everybody who asked before has theirs. The [Hold] stands for all n: it is lost
// when one of them is. When ctx ends first, Acquire returns its error, and no
// permit is taken.
//
// An n below 1, above the size, above 1,000, or above what fits a request of 1 MiB
// is an error, and so is a size that differs from that of the permits that are out.
// While none is out the size may be changed: the next Acquire sets it.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Hold, error) {
	h, err := s.acquire(ctx, n, s.turns.acquire, s.wait)
	return h, wrap("acquire", s.path, err)
}

// TryAcquire is Acquire without the wait: it returns [ErrLocked] if the permits
// are not free, or if somebody else is in line for permits. While there is no
// connection it waits for one, as long as ctx lives.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Hold, error) {
	again, session := 0, s.permits.session
	h, err := s.acquire(ctx, n, s.turns.try, func(ctx context.Context, _ *Hold, out *watch) error {
		if again++; again > mostTries || len(session.wanted(out.names))+n > s.size {
			return ErrLocked
		}
		return session.sleep(ctx, backoff.Before(again))
	})
	return h, wrap("try", s.path, err)
}

func (s *Semaphore) acquire(
	ctx context.Context, n int,
	enter func(context.Context, *attempt) (*Hold, error),
	wait func(context.Context, *Hold, *watch) error,
) (*Hold, error) {
	switch {
	case n < 1 || n > s.size:
		return nil, fmt.Errorf("%d permits: it must be from 1 to the semaphore's size, %d", n, s.size)
	case n > s.most:
		return nil, fmt.Errorf("%d permits: one call can take %d at most, by the size of a request", n, s.most)
	case ctx.Err() != nil:
		return nil, ended(ctx)
	}
	a := s.permits.attempt(ctx)
	for try := 0; ; try++ {
		turn, err := enter(ctx, a)
		if err != nil {
			return nil, a.failed(err)
		}
		h, err := s.take(ctx, turn, n, wait)
		if err == nil {
			a.acquired(h)
			return h, nil
		}
		if errors.Is(err, ErrLocked) {
			return nil, a.failed(err)
		}
		if err := s.turns.again(ctx, try, err); err != nil {
			return nil, a.failed(err)
		}
	}
}

// take takes n permits while turn is held, as soon as they are free, and gives the turn
// back. If a fault keeps it from that, it tries again in the same turn, which a place
// behind others would follow.
func (s *Semaphore) take(
	ctx context.Context, turn *Hold, n int, wait func(context.Context, *Hold, *watch) error,
) (h *Hold, err error) {
	released := false
	defer func() {
		if !released && h != nil { // a context of the user's has panicked
			h.leave(nil)
		}
	}()
	defer func() {
		turn.sendRelease(ctx, nil)
		released = true
	}()
	ctx, dog := s.permits.session.startWatchdog(ctx, s.path)
	defer dog.end()
	above := parents{session: s.permits.session, dir: s.permits.dir, version: -1}
	defer func() {
		if h == nil {
			above.leave()
		}
		if err != nil && turn.contender.behind {
			err = timedOut(ctx, err)
		}
	}()
	for try := 0; ; {
		out, err := s.out(ctx, turn, &above)
		if err != nil {
			return nil, err
		}
		if len(out.names)+n > s.size {
			turn.contender.behind = true
			if err := wait(ctx, turn, out); err != nil {
				return nil, err
			}
			continue
		}
		h, err := s.create(ctx, turn, n)
		if err == nil || turn.Err() != nil {
			return h, err
		}
		if err := s.permits.again(ctx, try, describe(s.permits.dir, err)); err != nil {
			return nil, err
		}
		try++
	}
}

// wait returns when the permits that are out have changed, or may have.
func (s *Semaphore) wait(ctx context.Context, turn *Hold, out *watch) error {
	queues(ctx, true)
	defer queues(ctx, false)
	select {
	case <-out.fired:
		return nil
	case <-turn.Lost():
		return ErrLost
	case <-s.turns.session.Done():
		return ErrClosed
	case <-ctx.Done():
		return ended(ctx)
	}
}

// out reads and watches the permits that are out, of which turn's holder is
// the only one to add any, and makes sure that all mean the same size.
func (s *Semaphore) out(ctx context.Context, turn *Hold, above *parents) (*watch, error) {
	session, dir := s.permits.session, s.permits.dir
	for try := 0; ; try++ {
		if _, _, err := session.await(ctx, turn.contender.epoch.id); err != nil {
			return nil, err
		}
		waitsFor(ctx, "a list of the permits")
		size := s.sizeSaid()
		w := session.watchChildren(dir)
		select {
		case <-w.armed:
		case <-ctx.Done():
			return nil, ended(ctx)
		}
		said, err := size.wait(ctx)
		if err == nil {
			err = w.err
		}
		if err == nil {
			session.sweep(w.link, dir, w.names)
			err = s.agree(ctx, turn, said, len(w.names))
		}
		switch {
		case err == nil:
			return w, nil
		case answers(err, zk.ErrNoNode) && turn.Err() == nil:
			err = describe(dir, above.make(ctx, s.permits.acl))
		}
		if err == nil {
			continue
		}
		if turn.Err() != nil {
			return nil, ErrLost
		}
		if err := s.permits.again(ctx, try, err); err != nil {
			return nil, err
		}
	}
}

// sizeSaid reads what the leases' node says, as new as has to be: see catchUp.
func (s *Semaphore) sizeSaid() *pending[content] {
	session, dir := s.permits.session, s.permits.dir
	return send(session, func() (content, error) {
		l, err := session.catchUp(dir)
		if err != nil {
			return content{}, err
		}
		data, stat, err := session.conn.Get(dir)
		switch {
		case errors.Is(err, zk.ErrNoAuth):
			err = fmt.Errorf("the ACL of %s does not let this session read it: %w", dir, err)
		case err == nil && session.current() != l:
			err = errStale
		}
		return content{data, stat}, err
	})
}

// agree compares the size that the leases' node says with ours, and sets it while
// no permit is out. The node of a semaphore that Curator made says nothing.
func (s *Semaphore) agree(ctx context.Context, turn *Hold, said content, out int) error {
	ours := fmt.Sprintf("size=%d", s.size)
	switch {
	case string(said.data) == ours:
		return nil
	case out > 0 && len(said.data) > 0:
		return fmt.Errorf("this contender says %s, and the permits that are out were taken with %s: %w", ours, said.data, errSizes)
	}
	_, err := send(s.permits.session, func() ([]zk.MultiResponse, error) {
		set, err := s.permits.session.conn.Multi(turn.contender.check(),
			&zk.SetDataRequest{Path: s.permits.dir, Data: []byte(ours), Version: said.stat.Version})
		if errors.Is(err, zk.ErrNoAuth) {
			err = fmt.Errorf("the ACL of %s does not let this session write the semaphore's size there: %w", s.permits.dir, err)
		}
		return set, err
	}).wait(ctx)
	return err
}

// create makes n permits in one transaction, if turn is still held.
func (s *Semaphore) create(ctx context.Context, turn *Hold, n int) (*Hold, error) {
	check := turn.contender.check()
	return s.permits.createGranted(ctx, turn.contender.epoch, func(id string) entry { return s.entry(id, check, n) })
}

func (s *Semaphore) entry(id string, check *zk.CheckVersionRequest, n int) entry {
	q := s.permits
	prefix := recipe.Join(q.dir, recipe.Stem(id, recipe.Permit))
	var ops []any
	for range n {
		ops = append(ops, &zk.CreateRequest{Path: prefix, Data: q.data, Acl: q.acl, Flags: zk.FlagEphemeralSequential})
	}
	ops = append(ops, check) // not first, where any other check of the node may be
	return entry{
		key:   wire.Request{Op: wire.OpCreate, Path: prefix},
		nodes: n,
		create: func(conn *zk.Conn) ([]string, error) {
			results, err := conn.Multi(ops...)
			if err != nil {
				return nil, err
			}
			nodes := make([]string, n)
			for i, r := range results[:n] {
				nodes[i] = r.String
			}
			return nodes, nil
		},
	}
}
