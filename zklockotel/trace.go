// Package zklockotel makes OpenTelemetry spans of waiting for a lock and of holding
// it, by the lock's trace:
//
//	trace := zklockotel.Trace(otel.GetTracerProvider())
//	mu, err := zklock.New(session, "/locks/ledger", zklock.WithTrace(trace))
//
// The spans are children of the span in the context of the call that asked for the
// lock, such as LockContext, Do or Acquire; those of Lock and TryLock, which take no
// context, have no parent. There are three:
//
//	zklock.wait       from the call to the grant, or to its failure, which is an error
//	zklock.hold       from the grant to the release, or to the loss, which is an error
//	zklock.suspended  while a hold is without a connection, if it outlives that
//
// Their attributes are zklock.path, the lock's path, and zklock.node, its node.
package zklockotel

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/zklock/zklock"
)

// Trace returns a trace whose spans go to provider. One serves all locks of a
// process.
func Trace(provider trace.TracerProvider) *zklock.Trace {
	tracer := provider.Tracer("github.com/zklock/zklock/zklockotel")
	span := func(name string) func(zklock.TraceInfo) {
		return func(i zklock.TraceInfo) { record(tracer, name, i) }
	}
	return &zklock.Trace{
		Acquired: span("zklock.wait"), Failed: span("zklock.wait"),
		Released: span("zklock.hold"), Lost: span("zklock.hold"),
		Resumed: span("zklock.suspended"),
	}
}

// record makes a span of what began at i.Since and ended at i.Time.
func record(tracer trace.Tracer, name string, i zklock.TraceInfo) {
	attributes := []attribute.KeyValue{attribute.String("zklock.path", i.Path)}
	if i.Node != "" {
		attributes = append(attributes, attribute.String("zklock.node", i.Node))
	}
	_, span := tracer.Start(i.Context, name, trace.WithTimestamp(i.Since), trace.WithAttributes(attributes...))
	if i.Err != nil {
		span.RecordError(i.Err, trace.WithTimestamp(i.Time))
		span.SetStatus(codes.Error, i.Err.Error())
	}
	span.End(trace.WithTimestamp(i.Time))
}
