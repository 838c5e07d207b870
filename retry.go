package zklock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zklock/zklock/internal/backoff"
	"github.com/zklock/zklock/internal/client"
)

// persist calls f on a connection until it succeeds, is refused, or ctx ends.
func (s *Session) persist(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		_, _, err := s.await(ctx, anySession)
		if err == nil {
			err = f()
		}
		switch {
		case err == nil, !transient(err):
			return err
		case ctx.Err() != nil:
			return ended(ctx)
		}
		if err := s.sleep(ctx, backoff.Before(try)); err != nil {
			return err
		}
	}
}

// endings are our own reasons to give a request up.
var endings = []error{ErrClosed, errSizes, context.Canceled, context.DeadlineExceeded}

// transient tells whether err leaves hope that the same request fares better next
// time.
func transient(err error) bool {
	return !client.Refused(err) && !slices.ContainsFunc(endings, func(ending error) bool { return errors.Is(err, ending) })
}

// sleep waits for d, or for the end of ctx or the session, of which it returns the
// reason.
func (s *Session) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}
