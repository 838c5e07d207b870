package cli

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/zklock/zklock/cmd/zklock/internal/job"
)

// interruptible returns a context that ends with the first of the signals to end. stop
// gives the signals back to the caller, and returns the one that came, as an error.
func interruptible(ctx context.Context, signals <-chan os.Signal) (_ context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case sig := <-signals:
				if job.Ends(sig) {
					cancel(&job.Interrupted{Signal: sig.(syscall.Signal)})
					return
				}
			case <-over:
				return
			}
		}
	}()
	return ctx, func() error {
		close(over)
		<-ended
		defer cancel(nil)
		return context.Cause(ctx)
	}
}

// ctxWriter writes for as long as ctx lives: whoever reads it may have stopped reading.
type ctxWriter struct {
	ctx context.Context
	to  io.Writer
}

func (w ctxWriter) Write(p []byte) (int, error) {
	p = bytes.Clone(p) // ours for as long as it takes
	return await(w.ctx, func() (int, error) { return w.to.Write(p) })
}

// await returns what f does, or ctx's cause if that ends first: a pipe waits for whoever has its
// other end.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// untilSignal runs f under a context that ends with a signal to end.
func untilSignal(ctx context.Context, f func(context.Context) error) error {
	signals := make(chan os.Signal, 16)
	job.Catch(signals, job.Ending)
	defer signal.Stop(signals)
	ctx, stop := interruptible(ctx, signals)
	err := f(ctx)
	return cmp.Or(stop(), err)
}
