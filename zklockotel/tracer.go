// Package zklockotel makes OpenTelemetry spans of waiting for a lock and of holding
// it:
//
//	tracer := zklockotel.New(otel.GetTracerProvider())
//	hold, err := tracer.Acquire(ctx, "/locks/ledger", mu.Acquire)
//	if err != nil {
//		return err
//	}
//	defer hold.Release(ctx)
//
// Both spans are children of the span in ctx: zklock.wait ends with the grant or the
// error, and zklock.hold when the lock is released or lost, which is an error.
package zklockotel

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklock/zklock"
)

// Tracer makes the spans. One serves all locks of a process.
type Tracer struct {
	tracer trace.Tracer
	holds  sync.Map // node to trace.Span
}

// New returns a tracer whose spans go to provider.
func New(provider trace.TracerProvider) *Tracer {
	return &Tracer{tracer: provider.Tracer("github.com/zklock/zklock/zklockotel")}
}

// Acquire calls acquire, which is a method such as Locker.Acquire, Locker.TryAcquire
// or RWLocker.RAcquire, or a function that calls Semaphore.Acquire. The path is an
// attribute of the spans, zklock.path; zklock.node tells the lock's node.
func (t *Tracer) Acquire(
	ctx context.Context, path string, acquire func(context.Context) (*zklock.Hold, error),
) (*zklock.Hold, error) {
	attributes := trace.WithAttributes(attribute.String("zklock.path", path))
	waiting, wait := t.tracer.Start(ctx, "zklock.wait", attributes)
	defer wait.End()
	hold, err := acquire(waiting)
	if err != nil {
		fail(wait, err)
		return nil, err
	}
	node := attribute.String("zklock.node", hold.Node())
	wait.SetAttributes(node)
	_, span := t.tracer.Start(ctx, "zklock.hold", attributes, trace.WithAttributes(node))
	t.holds.Store(hold.Node(), span)
	held := hold.Context()
	context.AfterFunc(held, func() {
		t.holds.CompareAndDelete(hold.Node(), span)
		if hold.Err() == zklock.ErrLost {
			fail(span, zklock.ErrLost)
		}
		span.End()
	})
	return hold, nil
}

// Do is Locker.Do with spans: it acquires the lock as [Tracer.Acquire] does, calls fn
// with a context that carries ctx's values and ends with ctx or with the hold, and
// releases the lock. A lock that was lost makes it fail with zklock.ErrLost.
func (t *Tracer) Do(
	ctx context.Context, path string, acquire func(context.Context) (*zklock.Hold, error),
	fn func(context.Context) error,
) (err error) {
	hold, err := t.Acquire(ctx, path, acquire)
	if err != nil {
		return err
	}
	defer func() {
		if failed := hold.Release(context.WithoutCancel(ctx)); err == nil {
			err = failed
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(hold.Context(), func() { cancel(hold.Err()) })
	defer stop()
	return fn(ctx)
}

// Trace returns a trace that adds to a hold's span that its connection was lost and
// found again. Give it to the lock by zklock.WithTrace; the spans do without it.
func (t *Tracer) Trace() *zklock.Trace {
	event := func(name string) func(zklock.TraceInfo) {
		return func(i zklock.TraceInfo) {
			if span, ok := t.holds.Load(i.Node); ok {
				span.(trace.Span).AddEvent(name, trace.WithTimestamp(i.Time))
			}
		}
	}
	return &zklock.Trace{Suspended: event("zklock.suspended"), Resumed: event("zklock.resumed")}
}

func fail(span trace.Span, err error) {
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
}
