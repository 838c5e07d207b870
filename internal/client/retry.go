package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zklock/zklock/internal/backoff"
)

// Persist calls f on a connection until it succeeds, is refused, or ctx ends.
func (c *Client) Persist(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		_, err := c.Await(ctx, AnySession)
		if err == nil {
			err = f()
		}
		switch {
		case err == nil, !Transient(err):
			return err
		case ctx.Err() != nil:
			return Ended(ctx)
		}
		if err := c.Sleep(ctx, backoff.Before(try)); err != nil {
			return err
		}
	}
}

// endings are our own reasons to give a request up.
var endings = []error{ErrClosed, context.Canceled, context.DeadlineExceeded}

// Transient reports whether err leaves hope that the same request fares better next
// time.
func Transient(err error) bool {
	if final := Final(""); errors.As(err, &final) {
		return false
	}
	return !Refused(err) && !slices.ContainsFunc(endings, func(ending error) bool { return errors.Is(err, ending) })
}

// Sleep waits for d, or for the end of ctx or the session, of which it returns the
// reason.
func (c *Client) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return Ended(ctx)
	case <-c.ctx.Done():
		return ErrClosed
	}
}
