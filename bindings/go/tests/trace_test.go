// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"strings"
	"testing"
	"time"

	"waypost"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// scenario: TRC-101
// proves: TRC-001
func TestTraceOfWhoeverEnqueuesIsTheHandlersInEveryQueue(t *testing.T) {
	b := newBed(t)
	b.needEscapes()
	trace := waypost.Trace{Parent: traceparent, State: "a=1"}
	traced := waypost.WithTrace(ctx, trace)
	seen := map[string]waypost.Trace{}
	w := b.worker(b.store, waypost.WithConcurrency(1))
	handler := func(hctx context.Context, d delivery) error {
		equal(t, waypost.TraceOf(hctx), d.Trace())
		seen[string(d.Payload)] = d.Trace()
		if string(d.Payload) != "outbox" {
			return nil
		}
		_, err := b.outbox.Enqueue(hctx, nil, message("t", "from a handler"))
		return err
	}
	for _, handle := range []func(string, waypost.Handler, ...waypost.Option) error{
		w.Handle, w.HandleInbox, w.HandleTimer} {
		_ = must(0, handle("t", handler))
	}
	_ = must(b.outbox.Enqueue(traced, nil, message("t", "outbox")))
	_ = must(b.store.Inbox().Enqueue(traced, nil, waypost.InboxKey{Source: "s", MessageID: "1"},
		message("t", "inbox")))
	_ = must(b.store.Timers().Schedule(traced, nil, message("t", "timer")))
	member := message("t", "none")
	member.Joins = []waypost.ID{must(b.store.Joins().Start(traced, nil,
		waypost.NewJoin(1, waypost.OnSuccess(message("t", "join")))))}
	_ = must(b.outbox.Enqueue(ctx, nil, member))
	own := message("t", "own")
	own.Headers = map[string]string{"traceparent": strings.Replace(traceparent, "4bf", "abc", 1)}
	_ = must(b.outbox.Enqueue(traced, nil, own))
	b.drain(w)
	for _, payload := range []string{"outbox", "inbox", "timer", "join", "from a handler"} {
		equal(t, seen[payload], trace)
	}
	equal(t, seen["none"], waypost.Trace{})
	equal(t, seen["own"], waypost.Trace{Parent: own.Headers["traceparent"]})
}

// proves: TRC-001
func TestSpanOfAHandlerIsTheParentOfWhatItEnqueues(t *testing.T) {
	b := newBed(t)
	type spanKey struct{}
	span := waypost.Trace{Parent: traceparent}.Child()
	store := b.open(waypost.WithClock(b.clock), waypost.WithTraces(func(ctx context.Context) waypost.Trace {
		of, _ := ctx.Value(spanKey{}).(waypost.Trace)
		return of
	}))
	seen := map[string]waypost.Trace{}
	w := b.worker(store, waypost.WithConcurrency(1))
	_ = must(0, w.Handle("t", func(hctx context.Context, d delivery) error {
		spanned := context.WithValue(hctx, spanKey{}, span)
		_ = must(store.Outbox().Enqueue(hctx, nil, message("next", "plain")))
		_ = must(store.Outbox().Enqueue(spanned, nil, message("next", "in a span")))
		_, err := store.Outbox().Enqueue(waypost.WithTrace(spanned, waypost.Trace{Parent: traceparent}), nil,
			message("next", "as was said"))
		return err
	}))
	_ = must(0, w.Handle("next", func(hctx context.Context, d delivery) error {
		seen[string(d.Payload)] = d.Trace()
		return nil
	}))
	given := waypost.Trace{Parent: strings.Replace(traceparent, "4bf", "abc", 1)}
	_ = must(store.Outbox().Enqueue(waypost.WithTrace(ctx, given), nil, message("t", "x")))
	_ = must(store.Outbox().Enqueue(ctx, nil, message("none", "x")))
	_ = must(0, w.Handle("none", func(hctx context.Context, d delivery) error {
		_, err := store.Outbox().Enqueue(hctx, nil, message("next", "of none"))
		return err
	}))
	startup := waypost.Trace{Parent: strings.Replace(traceparent, "4bf", "def", 1)}
	_ = must(w.Drain(context.WithValue(ctx, spanKey{}, startup)))
	equal(t, seen, map[string]waypost.Trace{"plain": given, "in a span": span, "of none": {},
		"as was said": {Parent: traceparent}})
}

// proves: TRC-001
func TestTraceThatIsNoneIsRefusedAndASourceOfTracesIsAsked(t *testing.T) {
	b := newBed(t)
	_, err := b.outbox.Enqueue(waypost.WithTrace(ctx, waypost.Trace{Parent: "00-x"}), nil, message("t", "x"))
	fails(t, err, waypost.ErrArgument)
	child := waypost.Trace{Parent: traceparent}.Child()
	equal(t, child.Parent[:36], traceparent[:36])
	equal(t, child.Parent != traceparent && len(child.Parent) == len(traceparent), true)
	equal(t, waypost.Trace{}.Child(), waypost.Trace{})
	store := b.open(waypost.WithClock(b.clock),
		waypost.WithTraces(func(context.Context) waypost.Trace { return child }))
	_ = must(store.Outbox().Enqueue(ctx, nil, message("t", "x")))
	got := must(b.outbox.Claim(ctx, waypost.NewID(), nil, 1, time.Minute))
	equal(t, got[0].Trace(), child)
	equal(t, got[0].Headers["traceparent"], child.Parent)
}
