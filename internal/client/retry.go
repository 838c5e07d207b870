package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zklock/zklock/internal/backoff"
)

// Retry calls f until it succeeds, with pauses. It gives up when ctx ends, when another try
// does not fare better, and when f says so by Permanent. Errors of our own that are to end it are Final.
func (c *Client) Retry(ctx context.Context, f func() error) error {
	for try := 0; ; try++ {
		failure := f()
		if p, is := failure.(permanent); is {
			return p.error
		}
		switch {
		case failure == nil, !Transient(failure):
			return failure
		case ctx.Err() != nil:
			return after(failure, Ended(ctx))
		}
		FailedTry(ctx, failure)
		if err := c.Sleep(ctx, backoff.Before(try)); err != nil {
			return after(failure, err)
		}
	}
}

// after is why there is no other try, with the text of what the last one failed with.
func after(failure, err error) error { return fmt.Errorf("%w (after %v)", err, failure) }

// Permanent is an error that Retry returns at once, nil of nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

type permanent struct{ error }

// Persevere calls f, with pauses of a second at first and a minute at most, until it is done or
// the client is closed.
func (c *Client) Persevere(f func() (done bool)) {
	for pause := time.Second; c.Sleep(c.ctx, pause) == nil && !f(); pause = min(2*pause, time.Minute) {
	}
}

// Persist is Retry on a connection.
func (c *Client) Persist(ctx context.Context, f func() error) error {
	return c.Retry(ctx, func() error {
		if _, err := c.Await(ctx, AnySession); err != nil {
			return err
		}
		return f()
	})
}

// Transient reports whether err leaves hope that the same request fares better next time: it is
// neither a refusal nor our own reason to give the request up. What is not known does, such as the
// error of a socket: who gives up on it leaves nodes behind. Thousands of calls may have to know at
// once that their ctx has ended.
func Transient(err error) bool {
	if LooksEnded(err) || errors.Is(err, ErrClosed) {
		return false
	}
	final := Final("")
	return !errors.As(err, &final) && !Refused(err)
}

// Sleep waits for d, or for the end of ctx or the session, of which it returns the reason.
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
