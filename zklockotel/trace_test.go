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

// bench is a lock with a trace, in a bubble of virtual time.
type bench struct {
	*testing.T
	server  *zktest.Server
	session *zklock.Session
	lock    *zklock.Locker
	spans   *tracetest.SpanRecorder
	parent  trace.Span
	ctx     context.Context // carries parent
}

func inBubble(t *testing.T, test func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, server: zktest.NewServer(t), spans: tracetest.NewSpanRecorder()}
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b.spans))
		b.ctx, b.parent = provider.Tracer("test").Start(t.Context(), "request")
		var err error
		b.session, err = zklock.Connect(t.Context(), []string{b.server.PipeAddr()}, 4*time.Second, zklock.WithDialer(b.server.Dial))
		require.NoError(t, err)
		t.Cleanup(func() { b.session.Close() })
		b.lock, err = zklock.New(b.session, path, zklock.WithTrace(zklockotel.Trace(provider)))
		require.NoError(t, err)
		test(b)
	})
}

// ended returns the spans of that name that have ended.
func (b *bench) ended(name string) (spans []sdktrace.ReadOnlySpan) {
	b.Helper()
	synctest.Wait()
	for _, s := range b.spans.Ended() {
		if s.Name() == name {
			spans = append(spans, s)
		}
	}
	return spans
}

// requireSpan checks what all spans of a call under the request have in common.
func (b *bench) requireSpan(s sdktrace.ReadOnlySpan, node string, took time.Duration, status codes.Code) {
	b.Helper()
	require.Equal(b, b.parent.SpanContext().SpanID(), s.Parent().SpanID())
	values := make(map[string]string)
	for _, a := range s.Attributes() {
		values[string(a.Key)] = a.Value.AsString()
	}
	want := map[string]string{"zklock.path": path}
	if node != "" {
		want["zklock.node"] = node
	}
	require.Equal(b, want, values)
	require.Equal(b, took, s.EndTime().Sub(s.StartTime()))
	require.Equal(b, status, s.Status().Code)
}

func TestAWaitAndAHoldAreSpansOfTheRequest(t *testing.T) {
	inBubble(t, func(b *bench) {
		first, err := b.lock.Acquire(b.ctx)
		require.NoError(t, err)
		second := make(chan *zklock.Hold)
		go func() {
			h, err := b.lock.Acquire(b.ctx)
			require.NoError(t, err)
			second <- h
		}()
		synctest.Wait()
		time.Sleep(3 * time.Second)
		require.Len(t, b.ended("zklock.wait"), 1)
		require.Empty(t, b.ended("zklock.hold"))
		require.NoError(t, first.Release(b.ctx))
		h := <-second
		time.Sleep(2 * time.Second)
		require.NoError(t, h.Release(b.ctx))

		waits, holds := b.ended("zklock.wait"), b.ended("zklock.hold")
		require.Len(t, waits, 2)
		b.requireSpan(waits[0], first.Node(), 0, codes.Unset)
		b.requireSpan(waits[1], h.Node(), 3*time.Second, codes.Unset)
		require.Len(t, holds, 2)
		b.requireSpan(holds[0], first.Node(), 3*time.Second, codes.Unset)
		b.requireSpan(holds[1], h.Node(), 2*time.Second, codes.Unset)
	})
}

func TestAWaitThatFailsIsAnError(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.lock.Lock()
		defer b.lock.Unlock()
		_, err := b.lock.TryAcquire(b.ctx)
		require.ErrorIs(t, err, zklock.ErrLocked)
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		_, err = b.lock.Acquire(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		waits := b.ended("zklock.wait")
		require.Len(t, waits, 3)
		require.False(t, waits[0].Parent().IsValid(), "Lock has no context, and so no parent")
		b.requireSpan(waits[1], "", 0, codes.Error)
		require.Contains(t, waits[1].Status().Description, "lock is held by another")
		events := waits[2].Events()
		require.Len(t, events, 1)
		require.Equal(t, waits[2].EndTime(), events[0].Time)
		require.Equal(t, codes.Error, waits[2].Status().Code)
		require.Equal(t, time.Second, waits[2].EndTime().Sub(waits[2].StartTime()))
	})
}

func TestALossIsAnErrorOfTheHold(t *testing.T) {
	inBubble(t, func(b *bench) {
		var node string
		err := b.lock.Do(b.ctx, func(ctx context.Context) error {
			node = zklock.HoldFrom(ctx).Node()
			time.Sleep(time.Second)
			b.server.ExpireSession(b.session.ID())
			<-ctx.Done()
			return nil
		})
		require.ErrorIs(t, err, zklock.ErrLost)
		holds := b.ended("zklock.hold")
		require.Len(t, holds, 1)
		b.requireSpan(holds[0], node, time.Second, codes.Error)
		require.Empty(t, b.ended("zklock.suspended"))
	})
}

func TestASuspensionIsASpan(t *testing.T) {
	inBubble(t, func(b *bench) {
		h, err := b.lock.Acquire(b.ctx)
		require.NoError(t, err)
		b.server.Refuse(true)
		b.server.CutSession(b.session.ID())
		time.Sleep(time.Second)
		b.server.Refuse(false)
		time.Sleep(time.Second)
		require.NoError(t, h.Release(b.ctx))
		suspensions, holds := b.ended("zklock.suspended"), b.ended("zklock.hold")
		require.Len(t, suspensions, 1)
		took := suspensions[0].EndTime().Sub(suspensions[0].StartTime())
		require.GreaterOrEqual(t, took, time.Second)
		b.requireSpan(suspensions[0], h.Node(), took, codes.Unset)
		require.Len(t, holds, 1)
		b.requireSpan(holds[0], h.Node(), 2*time.Second, codes.Unset)
	})
}
