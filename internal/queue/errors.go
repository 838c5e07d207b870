package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zklock/zklock/internal/client"
)

var (
	// ErrLocked says that somebody else holds the lock, or is ahead in its queue.
	ErrLocked = errors.New("zklock: lock is held by another")

	// ErrLost says that a hold ended without its owner's release.
	ErrLost = errors.New("zklock: lock was lost")

	// ErrReleased is how a hold ends when its owner releases it.
	ErrReleased = errors.New("zklock: lock was released")

	errNodeDeleted = errors.New("the lock node was deleted, or went with its session")
	errLeaseOver   = errors.New("the lease is over: the session could not be proved alive in time")
)

// loss is how a hold ended that was lost: ErrLost, and why.
type loss struct{ cause error }

func (l *loss) Error() string {
	return ErrLost.Error() + ": " + strings.TrimPrefix(l.cause.Error(), "zklock: ")
}

func (l *loss) Unwrap() []error { return []error{ErrLost, l.cause} }

// TimedOut adds to the error of a call that had to stand in the queue that the lock is taken,
// if ctx's deadline ended it.
func TimedOut(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return err
}

// describe says what a refusal of the lock's create means.
func (q *Queue) describe(err error) error {
	dir := q.dir
	err = client.ExplainACL(err, q.options.ACL)
	switch {
	case client.Answers(err, client.ErrShutOut):
		return err
	case client.Answers(err, zk.ErrNoChildrenForEphemerals):
		return fmt.Errorf("%s or a node above it is an ephemeral node, which cannot have the children that a lock needs: %w", dir, err)
	case client.Answers(err, zk.ErrNoAuth):
		return fmt.Errorf("the ACL of %s, or of a node above it, does not let this session create a lock node there: %w", dir, err)
	}
	return client.OverQuota(err, dir, "another lock node")
}
