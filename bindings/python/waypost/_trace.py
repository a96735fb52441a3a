# SPDX-License-Identifier: Apache-2.0
"""Trace contexts: of whoever enqueues, along with the message, to its handler; and spans, where the app
uses OpenTelemetry. Nothing here imports that: an app without it has no spans."""
from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import inspect
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, Iterator, Optional, Sequence

from waypost import errors

if TYPE_CHECKING:
    from waypost.delivery import Delivery


@dataclass(frozen=True)
class Trace:
    """A trace context as W3C writes it."""

    #: traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.
    parent: str
    #: tracestate.
    state: str = ""


_given: contextvars.ContextVar[Optional[Trace]] = contextvars.ContextVar("waypost_trace", default=None)


def _opentelemetry() -> Any:
    """Its module `trace`, if the app has imported it."""
    return sys.modules.get("opentelemetry.trace")


def current_trace() -> Optional[Trace]:
    """The trace context that messages get which are enqueued now, unless they have a header
    `traceparent`: that of use_trace(), in a handler that of its message, or that of OpenTelemetry's current
    span."""
    given = _given.get()
    otel = _opentelemetry() if given is None else None
    if otel is None:
        return given
    span = otel.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    parent = f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"
    return Trace(parent, span.trace_state.to_header() if span.trace_state else "")


@contextlib.contextmanager
def use_trace(trace: Optional[Trace]) -> Iterator[None]:
    """Enqueue with a trace context inside a `with` block; None: with OpenTelemetry's, if there is one. One that is
    not as W3C says makes an enqueue an ArgumentError."""
    token = _given.set(trace)
    try:
        yield
    finally:
        _given.reset(token)


def forget() -> None:
    """In the context of handlers: what started the worker did not cause their messages."""
    _given.set(None)


QUEUES = {1: "outbox", 2: "inbox", 3: "timers", 4: "job runs"}


# ---- spans ----------------------------------------------------------------------------------


def _attributes(operation: str, queue: str, topic: Optional[str]) -> Dict[str, Any]:
    named = {"messaging.destination.name": topic} if topic is not None else {}
    return {
        "messaging.system": "waypost",
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "waypost.queue": queue,
        **named,
    }


@contextlib.contextmanager
def sending(queue: str, messages: Sequence[Any]) -> Iterator[None]:
    """A span around an enqueue."""
    otel = _opentelemetry()
    if otel is None or _given.get() is not None:
        yield
        return
    topics = [getattr(message, "topic", None) for message in messages]
    topic = topics[0] if topics and all(t == topics[0] for t in topics) else None
    attributes = _attributes("send", queue, topic)
    if len(topics) != 1:
        attributes["messaging.batch.message_count"] = len(topics)
    with otel.get_tracer("waypost").start_as_current_span(
        f"send {topic or queue}", kind=otel.SpanKind.PRODUCER, attributes=attributes
    ):
        yield


class _Handling:
    """A handler's call: inside the message's trace, in a span if the app has them. What a plain handler gives
    to be awaited is part of it."""

    def __init__(self, delivery: Delivery) -> None:
        self._trace = delivery.trace
        self._otel = _opentelemetry()
        if self._otel is None:
            return
        empty = importlib.import_module("opentelemetry.context").Context()
        propagation = importlib.import_module("opentelemetry.trace.propagation.tracecontext")
        trace = self._trace
        carrier = {} if trace is None else {"traceparent": trace.parent, "tracestate": trace.state}
        parent = propagation.TraceContextTextMapPropagator().extract(carrier, empty)
        attributes = _attributes("process", QUEUES[delivery._source], delivery.topic)
        attributes["messaging.message.id"] = str(delivery.id)
        attributes["waypost.attempt"] = delivery.attempt
        attributes["waypost.store"] = delivery.store_id
        if delivery.correlation_id is not None:
            attributes["messaging.message.conversation_id"] = delivery.correlation_id
        self._span = self._otel.get_tracer("waypost").start_span(
            f"process {delivery.topic}", context=parent, kind=self._otel.SpanKind.CONSUMER, attributes=attributes
        )

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """May be entered again, in another task, until it has failed or end() was called."""
        try:
            with self._current():
                yield
        except errors.Release:
            self.end()
            raise
        except BaseException as error:
            self._fail(error)
            self.end()
            raise

    @contextlib.contextmanager
    def _current(self) -> Iterator[None]:
        trace = self._trace
        if self._otel is None:
            with use_trace(trace) if trace is not None else contextlib.nullcontext():
                yield
            return
        # Without an SDK there is no span to hold the trace.
        held = self._span.get_span_context().is_valid or trace is None
        with self._otel.use_span(self._span, record_exception=False, set_status_on_exception=False):
            with contextlib.nullcontext() if held else use_trace(trace):
                yield

    def _fail(self, error: BaseException) -> None:
        if self._otel is None:
            return
        self._span.set_attribute("error.type", type(error).__qualname__)
        if not isinstance(error, (errors.Retry, errors.Reject)):
            self._span.record_exception(error)
        self._span.set_status(self._otel.StatusCode.ERROR, type(error).__qualname__)

    def end(self) -> None:
        if self._otel is not None:
            self._span.end()


def traced(function: Callable[[Delivery], Any]) -> Callable[[Delivery], Any]:
    """A handler inside its message's trace."""

    @functools.wraps(function)
    def call(delivery: Delivery) -> Any:
        if not delivery._has_headers() and _opentelemetry() is None:
            return function(delivery)
        handling = _Handling(delivery)
        with handling.inside():
            result = function(delivery)
        if inspect.isawaitable(result):
            return _awaited(handling, result)
        handling.end()
        return result

    return call


async def _awaited(handling: _Handling, result: Awaitable[Any]) -> Any:
    with handling.inside():
        answer = await result
    handling.end()
    return answer


def traced_async(function: Callable[[Delivery], Any]) -> Callable[[Delivery], Any]:
    """The same of a coroutine function."""

    @functools.wraps(function)
    async def call(delivery: Delivery) -> Any:
        handling = _Handling(delivery)
        with handling.inside():
            result = await function(delivery)
        handling.end()
        return result

    return call
