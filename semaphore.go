package zklock

import (
	"context"
	"fmt"

	"github.com/zklock/zklock/internal/client"
	"github.com/zklock/zklock/internal/queue"
	"github.com/zklock/zklock/internal/recipe"
)

// Semaphore is a counting semaphore that holds across machines: of its permits, at most its
// size are out at any instant. Permits are granted in the order of the requests, and come back
// when their session ends.
//
// The nodes are those of Curator's InterProcessSemaphoreV2, so that both count the same
// permits: a lock below <path>/locks, whose holder alone looks at the leases below
// <path>/leases, one for each permit that is out. Any other child there takes a permit too, as
// in Curator, and [Inspect] does not show it. Curator takes several permits one by one:
// beside an Acquire of many here, two of them can wait for each other's permits for ever.
//
// A semaphore and a lock need paths of their own. A lock is refused while permits are out where
// it stands: on the semaphore's path, or in one of the two queues below; on <path>/locks only when
// its Locker is first used. A semaphore is refused while a lock stands among its permits, and, when it
// is first used in a process, while one stands on its path. A lock that comes and goes between those
// looks, or that goes from one goroutine to the next inside a process, is not noticed.
type Semaphore struct {
	_     noCopy
	path  string
	size  int
	queue *queue.Semaphore
	trace *Trace // nil without WithTrace
	most  int    // permits that one request can create
}

// noCopy has go vet object to a copy of what it is a field of.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// maxPermits is how many nodes one transaction creates at most.
const maxPermits = 1000

// NewSemaphore returns a semaphore of size permits on path, which it does not create yet. Its
// errors are those of [New], and a size below 1.
//
// All who use the semaphore have to say the same size: see [Semaphore.Acquire].
func NewSemaphore(s *Session, path string, size int, opts ...Option) (*Semaphore, error) {
	if size < 1 {
		return nil, wrap("new", path, fmt.Errorf("size %d: it must be at least 1", size))
	}
	o, whole, err := checkNew(s, path, recipe.Permit, opts)
	if err != nil {
		return nil, err
	}
	permits := recipe.Join(whole, recipe.Permits)
	if err := o.checkCreate(permits); err != nil {
		return nil, wrap("new", path, err)
	}
	most := min(maxPermits, client.MaxFrame/client.CreateSize(permits, o.Data, o.ACL))
	return &Semaphore{path: whole, size: size, queue: queue.NewSemaphore(s.locks, whole, size, o.queue(whole)), trace: o.trace, most: most}, nil
}

// Path returns the semaphore's path, with the session's chroot if there is one.
func (s *Semaphore) Path() string {
	must(s.made("path"))
	return s.path
}

// Acquire takes n permits, all or none, and waits until they are free and everybody who asked
// before has theirs and has left the line: a moment later, or with its session if it is cut off in
// that moment. The [Hold] stands for all n: it is lost when one of them is. When ctx ends
// first, Acquire returns its error, and no permit is taken. It returns [ErrDeadlock] at once if
// ctx carries permits (see [Semaphore.Do]) that it would wait for.
//
// An n below 1, above the size, above 1,000, or above what fits a request of 1 MiB is an error,
// and so is a size that differs from that of the permits that are out. While none is out the
// size may be changed: the next Acquire sets it.
func (s *Semaphore) Acquire(ctx context.Context, n int) (*Hold, error) {
	return s.acquire(ctx, "acquire", n, (*Semaphore).wait)
}

// TryAcquire is Acquire without the wait: it returns [ErrLocked] if the permits are not free,
// or if somebody else is in line for permits, as another try is for a moment: of several together
// one may be told ErrLocked though there are permits enough. Who can wait for a moment calls
// Acquire with a deadline. While there is no connection it waits for one, as long as ctx lives.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Hold, error) {
	return s.acquire(ctx, "try", n, (*Semaphore).try)
}

// permitsBy is how permits are taken: by wait or try.
type permitsBy func(*Semaphore, context.Context, int, queue.Call) (*queue.Hold, error)

// wait waits for permits, but not for those that ctx carries: that would never end.
func (s *Semaphore) wait(ctx context.Context, n int, call queue.Call) (*queue.Hold, error) {
	carried := 0
	for c := carriedBy(ctx); c != nil; c = c.outer {
		carried += c.hold.hold.PermitsOf(s.queue)
	}
	if carried+n > s.size {
		return nil, fmt.Errorf("it carries %d of the %d permits: %w", carried, s.size, ErrDeadlock)
	}
	return s.queue.Acquire(ctx, n, call)
}

// try does not wait for anybody else's.
func (s *Semaphore) try(ctx context.Context, n int, call queue.Call) (*queue.Hold, error) {
	return s.queue.Try(ctx, n, call)
}

func (s *Semaphore) acquire(ctx context.Context, op string, n int, by permitsBy) (*Hold, error) {
	if err := s.made(op); err != nil {
		return nil, err
	}
	h, err := s.take(ctx, n, by)
	return h, wrap(op, s.path, s.queue.Client().Explain(err))
}

func (s *Semaphore) take(ctx context.Context, n int, by permitsBy) (*Hold, error) {
	switch {
	case n < 1 || n > s.size:
		return nil, fmt.Errorf("%d permits: it must be from 1 to the semaphore's size, %d", n, s.size)
	case n > s.most:
		return nil, fmt.Errorf("%d permits: one call can take %d at most, by the size of a request", n, s.most)
	case client.HasEnded(ctx):
		return nil, client.Ended(ctx)
	}
	a := newAttempt(ctx, s.trace, s.path)
	h, err := a.keep(ctx, func(ctx context.Context, a queue.Call) (*queue.Hold, error) { return by(s, ctx, n, a) })
	return holdOf(h), a.failed(err)
}
