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
	written := make(chan error, 1)
	go func(p []byte) {
		_, err := w.to.Write(p)
		written <- err
	}(bytes.Clone(p)) // ours for as long as it takes
	select {
	case err := <-written:
		return len(p), err
	case <-w.ctx.Done():
		return 0, context.Cause(w.ctx)
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
