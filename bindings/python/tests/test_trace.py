# SPDX-License-Identifier: Apache-2.0
"""Trace contexts, with and without OpenTelemetry. Debian has no package of that: its API is stood in for by
the few calls that are made of it."""
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import types
from typing import Any, Dict, Iterator, List, Optional

import pytest
from conftest import App

import waypost

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE = waypost.Trace(PARENT, "a=1")


# scenario: TRC-101
# proves: TRC-001
def test_trace_of_whoever_enqueues_is_the_handlers_in_every_queue(app: App) -> None:
    seen: Dict[str, Optional[waypost.Trace]] = {}
    worker = app.store.worker(concurrency=1)

    def handle(delivery: waypost.Delivery) -> None:
        assert waypost.current_trace() == delivery.trace
        seen[delivery.payload] = delivery.trace
        if delivery.payload == "outbox":
            app.store.outbox.enqueue("t", "from a handler")

    async def handle_async(delivery: waypost.Delivery) -> None:
        handle(delivery)

    worker.add_handler("t", handle)
    worker.inbox("t")(handle_async)
    worker.timer("t")(handle)
    with waypost.use_trace(TRACE):
        app.store.outbox.enqueue("t", "outbox")
        app.store.inbox.enqueue(waypost.InboxKey("s", "1"), "t", "inbox")
        app.store.timers.schedule("t", "timer")
        join = app.store.joins.start(1, success=waypost.Message("t", "join"))
        own = PARENT.replace("4bf", "abc")
        app.store.outbox.enqueue("t", "own", headers={"traceparent": own})
    app.store.outbox.enqueue("t", "none", joins=[join])
    with waypost.use_trace(TRACE):  # what runs the worker is not its cause
        worker.drain()
    for payload in ("outbox", "inbox", "timer", "join", "from a handler"):
        assert seen[payload] == TRACE, payload
    assert seen["none"] is None
    assert seen["own"] == waypost.Trace(own)
    with waypost.use_trace(waypost.Trace("00-x")), pytest.raises(waypost.ArgumentError):
        app.store.outbox.enqueue("t", "x")


# ---- OpenTelemetry --------------------------------------------------------------------------


class SpanContext:
    def __init__(self, trace_id: int, span_id: int, state: str = "") -> None:
        self.trace_id, self.span_id, self.trace_flags = trace_id, span_id, 1
        self.trace_state = types.SimpleNamespace(to_header=lambda: state) if state else None
        self.is_valid = trace_id != 0


class Span:
    def __init__(self, name: str, context: SpanContext, **more: Any) -> None:
        self.name, self.context, self.more = name, context, more
        self.attributes: Dict[str, Any] = dict(more.get("attributes") or {})
        self.status: Any = None
        self.exceptions: List[BaseException] = []
        self.ends = 0

    def end(self) -> None:
        self.ends += 1

    def get_span_context(self) -> SpanContext:
        return self.context

    def set_attribute(self, key: str, value: object) -> None:
        self.attributes[key] = value

    def record_exception(self, error: BaseException) -> None:
        self.exceptions.append(error)

    def set_status(self, status: object, description: Optional[str] = None) -> None:
        self.status = (status, description)


class Tracing:
    """Stands in for opentelemetry.trace."""

    def __init__(self) -> None:
        self.none = Span("", SpanContext(0, 0))
        self.current: contextvars.ContextVar[Span] = contextvars.ContextVar("otel", default=self.none)
        self.spans: List[Span] = []
        self.SpanKind = types.SimpleNamespace(PRODUCER="producer", CONSUMER="consumer")
        self.StatusCode = types.SimpleNamespace(ERROR="error")

    def get_current_span(self) -> Span:
        return self.current.get()

    def get_tracer(self, name: str) -> Tracing:
        assert name == "waypost"
        return self

    def start_span(self, name: str, context: Optional[Dict[str, Any]] = None, **more: Any) -> Span:
        parent = self.current.get().context if context is None else context.get("parent")
        trace_id = parent.trace_id if parent and parent.is_valid else 1000 + len(self.spans)
        span = Span(name, SpanContext(trace_id, len(self.spans) + 1), parent=parent, **more)
        self.spans.append(span)
        return span

    @contextlib.contextmanager
    def use_span(
        self, span: Span, record_exception: bool = True, set_status_on_exception: bool = True
    ) -> Iterator[Span]:
        assert span.ends == 0
        token = self.current.set(span)
        try:
            yield span
        finally:
            self.current.reset(token)

    @contextlib.contextmanager
    def start_as_current_span(self, name: str, **more: Any) -> Iterator[Span]:
        span = self.start_span(name, **more)
        with self.use_span(span):
            yield span
        span.end()


class Propagator:
    def extract(self, carrier: Dict[str, str], context: Dict[str, Any]) -> Dict[str, Any]:
        if "traceparent" not in carrier:
            return context
        _, trace_id, span_id, _ = carrier["traceparent"].split("-")
        return {"parent": SpanContext(int(trace_id, 16), int(span_id, 16), carrier["tracestate"])}


@pytest.fixture
def tracing(monkeypatch: pytest.MonkeyPatch) -> Tracing:
    stand_in = Tracing()
    modules: Dict[str, Any] = {
        "opentelemetry": types.ModuleType("opentelemetry"),
        "opentelemetry.trace": stand_in,
        "opentelemetry.context": types.SimpleNamespace(Context=dict),
        "opentelemetry.trace.propagation": types.ModuleType("propagation"),
        "opentelemetry.trace.propagation.tracecontext": types.SimpleNamespace(
            TraceContextTextMapPropagator=Propagator
        ),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return stand_in


# proves: TRC-001
@pytest.mark.engines("sqlite")
def test_span_of_an_enqueue_is_the_parent_of_the_handlers(app: App, tracing: Tracing) -> None:
    worker = app.store.worker(concurrency=1)

    @worker.handler("t", max_attempts=1)
    def handle(delivery: waypost.Delivery) -> None:
        assert tracing.get_current_span().name == "process t"
        if delivery.payload == "bad":
            raise ValueError("no")
        if delivery.payload == "rejected":
            raise waypost.Reject("no")

    root = Span("app", SpanContext(7, 70, "a=1"))
    token = tracing.current.set(root)
    app.store.outbox.enqueue("t", "good", correlation_id="c")
    tracing.current.reset(token)
    app.store.outbox.enqueue_many([waypost.Message("t", "bad"), waypost.Message("u", "x")])
    app.store.outbox.enqueue("t", "rejected")
    token = tracing.current.set(root)  # what runs the worker is not their cause
    worker.drain()
    tracing.current.reset(token)
    send, many, third, good, bad, rejected = tracing.spans
    assert [span.name for span in tracing.spans] == [
        "send t", "send outbox", "send t", "process t", "process t", "process t",
    ]
    assert (send.more["kind"], good.more["kind"]) == ("producer", "consumer")
    assert send.more["parent"] is root.context
    assert many.attributes["messaging.batch.message_count"] == 2
    parent = good.more["parent"]
    assert (parent.trace_id, parent.span_id) == (7, send.context.span_id)
    assert good.attributes["messaging.message.conversation_id"] == "c"
    assert good.attributes["messaging.destination.name"] == "t"
    assert (good.status, good.exceptions) == (None, [])
    assert bad.more["parent"].span_id == many.context.span_id
    assert bad.status == ("error", "ValueError") and bad.exceptions
    assert bad.attributes["error.type"] == "ValueError"
    assert rejected.more["parent"].span_id == third.context.span_id
    assert rejected.status == ("error", "Reject") and not rejected.exceptions
    assert [span.ends for span in tracing.spans] == [1] * 6


# proves: TRC-001
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("sdk", [False, True])
def test_what_a_plain_handler_gives_to_be_awaited_is_in_its_span(
    app: App, request: pytest.FixtureRequest, sdk: bool, fails: bool
) -> None:
    tracing: Optional[Tracing] = request.getfixturevalue("tracing") if sdk else None
    worker = app.store.worker(concurrency=1)
    seen: List[Optional[waypost.Trace]] = []

    async def work(delivery: waypost.Delivery) -> None:
        await asyncio.sleep(0)
        app.store.outbox.enqueue("next", "x")
        if fails:
            raise ValueError("no")

    worker.handler("t", max_attempts=1)(lambda delivery: work(delivery))
    worker.handler("next")(lambda delivery: seen.append(delivery.trace))
    trace = waypost.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    with waypost.use_trace(trace):
        app.store.outbox.enqueue("t", "x")
    worker.drain()
    (told,) = seen
    assert told is not None and told.parent[:36] == trace.parent[:36]
    if tracing is None:
        assert told == trace
        return
    process, send = (next(s for s in tracing.spans if s.name == name) for name in ("process t", "send next"))
    assert send.more["parent"] is process.context
    assert (process.ends, process.status) == (1, ("error", "ValueError") if fails else None)


# proves: TRC-001
@pytest.mark.engines("sqlite")
def test_trace_goes_on_without_an_sdk(app: App, tracing: Tracing, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenTelemetry's API alone, which many libraries import, has spans that are none."""

    monkeypatch.setattr(tracing, "start_span", lambda *_, **__: Span("", SpanContext(0, 0)))
    worker = app.store.worker(concurrency=1)
    seen: List[Optional[waypost.Trace]] = []

    @worker.handler("t")
    def handle(delivery: waypost.Delivery) -> None:
        app.store.outbox.enqueue("next", "x")

    @worker.handler("next")
    def after(delivery: waypost.Delivery) -> None:
        seen.append(delivery.trace)

    trace = waypost.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    with waypost.use_trace(trace):
        app.store.outbox.enqueue("t", "x")
    worker.drain()
    assert seen == [trace]
