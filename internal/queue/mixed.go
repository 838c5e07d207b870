package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/recipe"
)

// A lock and a semaphore on one path do not see each other's nodes, and a lock in one of the
// two queues of a semaphore passes for a contender there. Who comes to such a path while the
// other is in use is refused. It is noticed by what is listed anyway; who lists nothing, since
// the lock was handed over inside the process, notices nothing.
const errMixed = client.Final("each needs a path of its own")

// mixed returns an error if a semaphore is in use where q's lock is, whose children are names, or what
// never waits for it.
func (q *Queue) mixed(ctx context.Context, names []string) error {
	if q.ofSemaphore() {
		return nil
	}
	if err := q.peers(names); err != nil {
		return err
	}
	base, permits := recipe.Base(q.path), ""
	var err error
	switch {
	case slices.Contains(names, recipe.Permits):
		permits = recipe.Join(q.path, recipe.Permits)
		names, err = q.names(ctx, permits)
	case base == recipe.Permits:
		permits = q.path
	case base == recipe.Turns && !q.looked.Load():
		permits = recipe.Join(recipe.Parent(q.path), recipe.Permits)
		names, err = q.names(ctx, permits)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, recipe.IsPermit) {
		return fmt.Errorf("%s is used by a semaphore, whose permits are in %s: %w", q.path, permits, errMixed)
	}
	q.looked.Store(true)
	return nil
}

// names lists dir to look for what should not be there: that it may not be read is no reason to
// fail.
func (q *Queue) names(ctx context.Context, dir string) (names []string, err error) {
	c := q.session.client
	err = c.Persist(ctx, func() error {
		list, err := c.JoinList(dir).Wait(ctx)
		switch {
		case err == nil:
			names = list.Names
		case client.Refused(err):
			return nil
		}
		return err
	})
	return names, err
}

// mixed returns an error if a lock is in use on the semaphore's path, or among the permits that
// are out. The path is looked at once, since that is a request more.
func (s *Semaphore) mixed(ctx context.Context, out []string) error {
	if isLock(out) {
		return fmt.Errorf("a lock is in use at %s, among the permits: %w", s.permits.dir, errMixed)
	}
	if s.permits.looked.Load() {
		return nil
	}
	names, err := s.permits.names(ctx, s.permits.path)
	if err != nil {
		return err
	}
	if isLock(names) {
		return fmt.Errorf("a lock is in use at %s: %w", s.permits.path, errMixed)
	}
	s.permits.looked.Store(true)
	return nil
}

// isLock reports whether one of names is that of a lock's node. A foreign one may be anything.
func isLock(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		n, ok := recipe.Parse(name)
		return ok && !n.Foreign
	})
}

// Some locks of other libraries do not wait for this one, though this one waits for them: both would be held
// when the other comes second. Who comes to such a queue tells the log, once for each path and kind of
// lock, or is refused where nothing helps.
const errNeverWaits = client.Final("it does not wait for this lock")

// peers looks for such locks among the children of the queue.
func (q *Queue) peers(names []string) error {
	if q.options.OneSided {
		return nil
	}
	for _, name := range names {
		p, ok := recipe.PeerOf(name, q.kind)
		if !ok {
			continue
		}
		node := recipe.Join(q.dir, name)
		if p.Never {
			return fmt.Errorf("%s is in use at %s: %s: %w", p.Lock, node, p.Cure, errNeverWaits)
		}
		q.session.warnOnce("zklock: another client in the queue may not wait for this lock", node, 0, p.Lock+" does not see its nodes: "+p.Cure)
	}
	return nil
}
