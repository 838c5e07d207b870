package zklockotel_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklock/zklock"
	"github.com/zklock/zklock/zklockotel"
	"github.com/zklock/zklock/zktest"
)

const path = "/locks/ledger"

// bench is a lock with a tracer, in a bubble of virtual time.
type bench struct {
	*testing.T
	server  *zktest.Server
	session *zklock.Session
	lock    *zklock.Locker
	tracer  *zklockotel.Tracer
	spans   *tracetest.SpanRecorder
	parent  trace.Span
	ctx     context.Context // carries parent
}

func inBubble(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, server: zktest.NewServer(t), spans: tracetest.NewSpanRecorder()}
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.spans))
		b.tracer = zklockotel.New(provider)
		b.ctx, b.parent = provider.Tracer("test").Start(t.Context(), "request")
		var err error
		b.session, err = zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 4*time.Second, zklock.WithDialer(b.server.Dial))
		require.NoError(t, err)
		t.Cleanup(func() { b.session.Close() })
		b.lock, err = zklock.New(b.session, path, zklock.WithTrace(b.tracer.Trace()))
		require.NoError(t, err)
		test(b)
	})
}

// ended returns the spans of that name that have ended, after checking that they
// are children of the request.
func (b *bench) ended(name string) (spans []sdktrace.ReadOnlySpan) {
	b.Helper()
	synctest.Wait()
	for _, s := range b.spans.Ended() {
		if s.Name() == name {
			require.Equal(b, b.parent.SpanContext().SpanID(), s.Parent().SpanID())
			spans = append(spans, s)
		}
	}
	return spans
}

func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	values := make(map[string]string)
	for _, a := range s.Attributes() {
		values[string(a.Key)] = a.Value.AsString()
	}
	return values
}

func TestAWaitAndAHoldAreSpans(t *testing.T) {
	inBubble(t, func(b *bench) {
		first, err := b.tracer.Acquire(b.ctx, path, b.lock.Acquire)
		require.NoError(t, err)
		second := make(chan *zklock.Hold)
		go func() {
			h, err := b.tracer.Acquire(b.ctx, path, b.lock.Acquire)
			require.NoError(t, err)
			second <- h
		}()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		require.Len(t, b.ended("zklock.wait"), 1)
		require.Empty(t, b.ended("zklock.hold"))
		require.NoError(t, first.Release(b.ctx))
		h := <-second

		waits, holds := b.ended("zklock.wait"), b.ended("zklock.hold")
		require.Len(t, waits, 2)
		require.Equal(t, map[string]string{"zklock.path": path, "zklock.node": h.Node()}, attributes(waits[1]))
		require.GreaterOrEqual(t, waits[1].EndTime().Sub(waits[1].StartTime()), 3*time.Second)
		require.Len(t, holds, 1)
		require.Equal(t, map[string]string{"zklock.path": path, "zklock.node": first.Node()}, attributes(holds[0]))
		require.GreaterOrEqual(t, holds[0].EndTime().Sub(holds[0].StartTime()), 3*time.Second)
		require.Equal(t, codes.Unset, holds[0].Status().Code)
		require.NoError(t, h.Release(b.ctx))
	})
}

func TestAWaitThatFailsIsAnError(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.lock.Lock()
		defer b.lock.Unlock()
		_, err := b.tracer.Acquire(b.ctx, path, b.lock.TryAcquire)
		require.ErrorIs(t, err, zklock.ErrLocked)
		waits := b.ended("zklock.wait")
		require.Len(t, waits, 1)
		require.Equal(t, codes.Error, waits[0].Status().Code)
		require.Contains(t, waits[0].Status().Description, "lock is held by another")
	})
}

func TestALossIsAnErrorOfTheHold(t *testing.T) {
	inBubble(t, func(b *bench) {
		err := b.tracer.Do(b.ctx, path, b.lock.Acquire, func(ctx context.Context) error {
			b.server.ExpireSession(b.session.ID())
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
			return nil
		})
		require.ErrorIs(t, err, zklock.ErrLost)
		holds := b.ended("zklock.hold")
		require.Len(t, holds, 1)
		require.Equal(t, codes.Error, holds[0].Status().Code)
	})
}

func TestALostConnectionIsAnEventOfTheHold(t *testing.T) {
	inBubble(t, func(b *bench) {
		h, err := b.tracer.Acquire(b.ctx, path, b.lock.Acquire)
		require.NoError(t, err)
		b.server.CutSession(b.session.ID())
		time.Sleep(2 * time.Second)
		require.NoError(t, h.Release(b.ctx))
		var events []string
		for _, e := range b.ended("zklock.hold")[0].Events() {
			events = append(events, e.Name)
		}
		require.Equal(t, []string{"zklock.suspended", "zklock.resumed"}, events)
	})
}
