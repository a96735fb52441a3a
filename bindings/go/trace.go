// SPDX-License-Identifier: Apache-2.0

package waypost

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
)

// Trace is a trace context as W3C writes it: a message carries that of whoever enqueued it to its handler.
// Waypost makes no spans; see WithTraces for a library that does.
type Trace struct {
	Parent string // traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01; "": none
	State  string // tracestate; "": none
}

type traceKey struct{}

// carried is what a context has: by WithTrace, or of the message that its handler was called with.
type carried struct {
	Trace
	outer context.Context // the worker's, if it is of a message
}

// asksTraces: some store has WithTraces.
var asksTraces atomic.Bool

// WithTrace gives a context whose enqueues have this trace context in their messages' headers, unless
// those have a traceparent. A Parent that is not as W3C says makes them ErrArgument.
func WithTrace(ctx context.Context, trace Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, carried{Trace: trace})
}

// TraceOf is the trace context of a context: WithTrace's, or, in a handler, that of its message.
func TraceOf(ctx context.Context) Trace {
	return carriedBy(ctx).Trace
}

func carriedBy(ctx context.Context) carried {
	trace, _ := ctx.Value(traceKey{}).(carried)
	return trace
}

// Child is the same trace with a span id of its own, for what a handler calls itself; no trace has none.
func (t Trace) Child() Trace {
	if len(t.Parent) < 52 {
		return t
	}
	var id [8]byte
	for id == ([8]byte{}) {
		_, _ = rand.Read(id[:])
	}
	t.Parent = t.Parent[:36] + hex.EncodeToString(id[:]) + t.Parent[52:]
	return t
}

// WithTraces has enqueues take the trace context from a context by a function, where WithTrace gave none; what
// a handler enqueues has that of its message if the function gives none.
// With OpenTelemetry it is
//
//	func(ctx context.Context) waypost.Trace {
//		carrier := propagation.MapCarrier{}
//		propagation.TraceContext{}.Inject(ctx, carrier)
//		return waypost.Trace{Parent: carrier["traceparent"], State: carrier["tracestate"]}
//	}
//
// and a handler's span has the parent propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(d.Headers)).
func WithTraces(of func(context.Context) Trace) Option {
	return func(s *settings) error {
		s.traces = of
		if of != nil {
			asksTraces.Store(true)
		}
		return s.only(forStore, "WithTraces")
	}
}

// traced is a context with the delivery's trace, none if it has none: the worker's own is not its cause.
func (d *Delivery) traced(ctx context.Context) context.Context {
	if d.Received.trace == (Trace{}) && TraceOf(ctx) == (Trace{}) && !asksTraces.Load() {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, carried{d.Received.trace, ctx})
}

// trace is that of a context for an enqueue. What was going on when the worker was started is not its cause.
func (s *Store) trace(ctx context.Context) Trace {
	of := carriedBy(ctx)
	if s.traces != nil && (of.outer != nil || of.Parent == "") {
		trace := s.traces(ctx)
		if trace.Parent != "" && (of.outer == nil || trace.Parent != s.traces(of.outer).Parent) {
			return trace
		}
	}
	return of.Trace
}
