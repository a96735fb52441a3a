# SPDX-License-Identifier: Apache-2.0
"""Messages: on their way in, and as they come out."""
from __future__ import annotations

import functools
import json
from datetime import datetime
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import (
    NULL, OK, call, error_from, id_of, id_pointer, optional_text, text_of,
)
from waypost._trace import Trace, current_trace
from waypost._text import encode, from_us, name_text, to_ms, to_us
from waypost.message import Info, Message, QueueKind, QueueStats, Received, Stats, Status


def _message_new(message: Message) -> Any:
    if not isinstance(message, Message):
        raise errors.ArgumentError(f"message must be a Message, not {type(message).__name__}")
    payload = encode("payload", message.payload)
    out = ffi.new("wp_message **")
    err = ffi.new("wp_error **")
    status = lib.wp_message_new(out, name_text("topic", message.topic), payload, len(payload), err)
    if status != OK:
        raise error_from(status, err)
    try:
        _message_fill(out[0], message)
    except BaseException:
        lib.wp_message_free(out[0])
        raise
    return out[0]


def _message_fill(pointer: Any, message: Message) -> None:
    if message.correlation_id is not None:
        correlation_id = name_text("correlation_id", message.correlation_id)
        call(lib.wp_message_set_correlation_id, pointer, correlation_id)
    if message.ordering_key is not None:
        ordering_key = name_text("ordering_key", message.ordering_key)
        call(lib.wp_message_set_ordering_key, pointer, ordering_key)
    if message.unique_key is not None:
        unique_key = name_text("unique_key", message.unique_key)
        call(lib.wp_message_set_unique_key, pointer, unique_key)
    if message.due is not None and message.delay is not None:
        raise errors.ArgumentError("due and delay exclude each other")
    if message.due is not None:
        call(lib.wp_message_set_due_us, pointer, to_us("due", message.due))
    if message.delay is not None:
        call(lib.wp_message_set_delay_ms, pointer, to_ms("delay", message.delay))
    if message.expires is not None:
        call(lib.wp_message_set_expires_us, pointer, to_us("expires", message.expires))
    if message.headers is not None:
        if not isinstance(message.headers, Mapping):
            raise errors.ArgumentError(
                f"headers must be a mapping, not {type(message.headers).__name__}"
            )
        for name, value in message.headers.items():
            header = name_text("header name", name)
            call(lib.wp_message_set_header, pointer, header, name_text(f"header {name}", value))
    trace = current_trace()
    if trace is not None:
        parent, state = name_text("traceparent", trace.parent), name_text("tracestate", trace.state)
        call(lib.wp_message_set_trace, pointer, parent, state)
    if not isinstance(message.joins, Sequence) or isinstance(message.joins, (str, bytes)):
        raise errors.ArgumentError(
            f"joins must be a sequence of UUID, not {type(message.joins).__name__}"
        )
    for join in message.joins:
        call(lib.wp_message_add_join, pointer, id_pointer("join", join))


class Messages:
    """wp_message objects, freed at the end of the block."""

    __slots__ = ("pointers",)

    def __init__(self, messages: Iterable[Message]) -> None:
        self.pointers: List[Any] = []
        try:
            for message in messages:
                self.pointers.append(_message_new(message))
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> Messages:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def array(self) -> Any:
        return ffi.new("wp_message *[]", self.pointers or [NULL])

    def free(self) -> None:
        for pointer in self.pointers:
            lib.wp_message_free(pointer)
        self.pointers = []


def parse_headers(text: str) -> Dict[str, str]:
    parsed: Dict[str, str] = json.loads(text)
    return parsed


def trace_of(headers: Any) -> Optional[Trace]:
    """The trace context in headers of the core's, or None."""
    texts = ffi.new("char *[2]")
    call(lib.wp_trace_read, texts, texts + 1, headers)
    try:
        parent = optional_text(texts[0])
        return None if parent is None else Trace(parent, text_of(texts[1]))
    finally:
        lib.wp_text_free(texts[0])
        lib.wp_text_free(texts[1])


def optional_time(us: int) -> Optional[datetime]:
    return from_us(us) if us else None


def hash_of(message: Any) -> Optional[bytes]:
    length = ffi.new("size_t *")
    data = lib.wp_received_hash(length, message)
    return None if data == NULL else bytes(ffi.buffer(data, length[0]))


def received_of(pointer: Any) -> Received:
    length = ffi.new("size_t *")
    payload = lib.wp_received_payload(length, pointer)
    return Received(
        id=id_of(lib.wp_received_id(pointer)),
        topic=text_of(lib.wp_received_topic(pointer)),
        payload=ffi.unpack(payload, length[0]).decode() if length[0] else "",
        correlation_id=optional_text(lib.wp_received_correlation_id(pointer)),
        ordering_key=optional_text(lib.wp_received_ordering_key(pointer)),
        headers=parse_headers(text_of(lib.wp_received_headers(pointer))),
        attempt=lib.wp_received_attempt(pointer),
        claim_number=lib.wp_received_claim_number(pointer),
        created=from_us(lib.wp_received_created_us(pointer)),
        due=from_us(lib.wp_received_due_us(pointer)),
        expires=optional_time(lib.wp_received_expires_us(pointer)),
        source=optional_text(lib.wp_received_source(pointer)),
        message_id=optional_text(lib.wp_received_message_id(pointer)),
        consumer=optional_text(lib.wp_received_consumer(pointer)),
        hash=hash_of(pointer),
        hash_algorithm=optional_text(lib.wp_received_hash_algorithm(pointer)),
        last_seen=optional_time(lib.wp_received_last_seen_us(pointer)),
        job=optional_text(lib.wp_received_job(pointer)),
        last_error=optional_text(lib.wp_received_last_error(pointer)),
    )


def info_of(info: Any) -> Info:
    return Info(
        status=Status(lib.wp_outbox_info_status(info)),
        message=received_of(lib.wp_outbox_info_message(info)),
        next_attempt=optional_time(lib.wp_outbox_info_next_attempt_us(info)),
        locked_until=optional_time(lib.wp_outbox_info_locked_until_us(info)),
        finished=optional_time(lib.wp_outbox_info_finished_us(info)),
        finished_by=optional_text(lib.wp_outbox_info_finished_by(info)),
        last_error=optional_text(lib.wp_outbox_info_last_error(info)),
        queue=QueueKind(lib.wp_outbox_info_source(info)),
    )


def stats_of(stats: Any) -> QueueStats:
    return QueueStats(
        topics={
            text_of(lib.wp_outbox_stats_topic(stats, index)): _stats(
                functools.partial(lib.wp_outbox_stats_value, stats, index)
            )
            for index in range(lib.wp_outbox_stats_count(stats))
        },
        total=_stats(functools.partial(lib.wp_outbox_stats_total, stats)),
    )


def _stats(read: Callable[[int], int]) -> Stats:
    return Stats(
        ready=read(lib.WP_STAT_READY),
        scheduled=read(lib.WP_STAT_SCHEDULED),
        in_progress=read(lib.WP_STAT_IN_PROGRESS),
        blocked=read(lib.WP_STAT_BLOCKED),
        done=read(lib.WP_STAT_DONE),
        failed=read(lib.WP_STAT_FAILED),
        oldest_ready_age=read(lib.WP_STAT_OLDEST_READY_AGE_US) / 1e6,
        lease_expired=read(lib.WP_STAT_LEASE_EXPIRED),
        paused=read(lib.WP_STAT_PAUSED),
    )
