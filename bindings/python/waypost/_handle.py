# SPDX-License-Identifier: Apache-2.0
"""The handle layer: the only file that touches pointers.

A handle is a cdata with a destructor. A call holds a reference to it while it runs, so that a
close in another thread waits for it. In a forked child, and while the interpreter ends, nothing is
freed: what it stands for belongs to the parent, or is about to vanish anyway.
"""
from __future__ import annotations

import functools
import json
import os
import sys
import uuid
from datetime import datetime
from sys import getrefcount
from typing import (
    Any,
    Callable,
    Dict,
    Generic,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._text import encode, from_us, name_text, to_ms, to_us
from waypost.message import Info, Message, OutboxStats, Received, Stats, Status

#: A value that goes to a statement or comes from it.
Value = Union[None, int, str, bytes]

OK = 0
NULL = ffi.NULL
STOPPED = lib.WP_E_STOPPED
TIMEOUT = lib.WP_E_TIMEOUT
FAILED = lib.WP_OUTCOME_NONE
DONE = lib.WP_OUTCOME_DONE
RETRY = lib.WP_OUTCOME_RETRY
REJECT = lib.WP_OUTCOME_REJECT
DEFERRED = lib.WP_OUTCOME_DEFERRED
RELEASE = lib.WP_OUTCOME_RELEASE
DELAY_MS_MAX: int = lib.WP_DELAY_MS_MAX


# ---- errors ---------------------------------------------------------------------------------


def text_of(pointer: Any) -> str:
    return optional_text(pointer) or ""


def optional_text(pointer: Any) -> Optional[str]:
    return None if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")


def error_from(status: int, err: Any) -> errors.Error:
    """The exception for a status, with what `err` (wp_error **) holds, which is freed."""
    kind = errors.BY_CODE.get(status, errors.InternalError)
    pointer = err[0]
    if pointer == NULL:
        return kind(text_of(lib.wp_status_name(status)))
    err[0] = NULL
    try:
        made = kind(text_of(lib.wp_error_message(pointer)))
        made.code = status
        made.sqlstate = text_of(lib.wp_error_sqlstate(pointer))
        made.native_code = lib.wp_error_native_code(pointer)
        made.retriable = bool(lib.wp_error_retriable(pointer))
        made.outcome_unknown = bool(lib.wp_error_outcome_unknown(pointer))
        return made
    finally:
        lib.wp_error_free(pointer)


def call(function: Any, *arguments: Any) -> None:
    """Call a function of the API whose last parameter is `wp_error **`."""
    err = ffi.new("wp_error **")
    try:
        status = function(*arguments, err)
    except OverflowError as error:
        raise errors.RangeError(str(error)) from None
    if status != OK:
        raise error_from(status, err)


class Handle:
    """Owns what a pointer stands for.

    Finalizers of a collected cycle run in any order, so that somebody's may still come here after
    the pointer was freed: that is an error, not an access to freed memory.
    """

    __slots__ = ("_owned", "_alive", "pid")

    def __init__(self, pointer: Any, free: Any) -> None:
        alive = [True]
        pid = os.getpid()

        def destroy(p: Any, getpid: Any = os.getpid, sys: Any = sys) -> None:
            alive[0] = False
            if getpid() == pid and not sys.is_finalizing():
                free(p)

        self._owned: Any = ffi.gc(pointer, destroy)
        self._alive = alive
        self.pid = pid

    @property
    def pointer(self) -> Any:
        pointer = self._owned
        if pointer is None or not self._alive[0]:
            raise errors.StateError(f"the {type(self).__name__.lower()} is closed")
        return pointer

    @property
    def closed(self) -> bool:
        return self._owned is None

    def close(self) -> None:
        self._owned = None  # freed when the last call that uses it is over


# ---- ids ------------------------------------------------------------------------------------


def id_pointer(name: str, value: object) -> Any:
    if not isinstance(value, uuid.UUID):
        raise errors.ArgumentError(f"{name} must be a uuid.UUID, not {type(value).__name__}")
    out = ffi.new("wp_id *")
    ffi.memmove(out, value.bytes, 16)
    return out


def id_of(pointer: Any) -> uuid.UUID:
    return uuid.UUID(bytes=bytes(ffi.buffer(pointer, 16)))


def new_id() -> uuid.UUID:
    """A fresh version 7 id."""
    out = ffi.new("wp_id *")
    lib.wp_id_new(out)
    return id_of(out)


# ---- leases ---------------------------------------------------------------------------------


class Lease(Handle):
    """A wp_lease."""

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer, lib.wp_lease_free)
        self.key = int(ffi.cast("intptr_t", pointer))
        self.fence = int(lib.wp_lease_fence(pointer))
        self.owner = text_of(lib.wp_lease_owner(pointer))

    def check(self) -> None:
        call(lib.wp_lease_check, self.pointer)

    def held(self) -> bool:
        return bool(lib.wp_lease_check(self.pointer, NULL) == OK)

    def remaining_ms(self) -> int:
        return int(lib.wp_lease_remaining_ms(self.pointer))

    def renew(self) -> None:
        call(lib.wp_lease_renew_now, self.pointer)

    def end(self) -> None:
        call(lib.wp_lease_end, self.pointer)


# ---- configuration --------------------------------------------------------------------------

LogFunction = Callable[[int, str, str], None]
_users: Dict[int, Any] = {}  # what C holds a `void *` to, by address


def _keep(user: Any) -> Any:
    handle = ffi.new_handle(user)
    _users[int(ffi.cast("intptr_t", handle))] = handle
    return handle


@ffi.def_extern()  # type: ignore[misc]
def wpy_on_destroy(user: Any) -> None:
    _users.pop(int(ffi.cast("intptr_t", user)), None)


@ffi.def_extern()  # type: ignore[misc]
def wpy_on_log(user: Any, level: int, message: Any, fields: Any) -> None:
    try:
        ffi.from_handle(user)(level, text_of(message), text_of(fields))
    except Exception:
        pass  # a log that fails must not fail the call that it is about


class Clock(Handle):
    """A manual clock."""

    def __init__(self, utc_us: int) -> None:
        out = ffi.new("wp_clock **")
        call(lib.wp_clock_new_manual, out, utc_us)
        super().__init__(out[0], lib.wp_clock_free)

    def advance_us(self, us: int) -> None:
        call(lib.wp_clock_advance_us, self.pointer, us)

    def jump_us(self, us: int) -> None:
        call(lib.wp_clock_jump_us, self.pointer, us)

    def utc_us(self) -> int:
        return int(lib.wp_clock_utc_us(self.pointer))


class Config(Handle):
    """A wp_config."""

    def __init__(self) -> None:
        out = ffi.new("wp_config **")
        call(lib.wp_config_new, out)
        super().__init__(out[0], lib.wp_config_free)

    def set(self, key: str, value: str) -> None:
        call(lib.wp_config_set, self.pointer, name_text("key", key), name_text(key, value))

    def get(self, key: str) -> str:
        out = ffi.new("char **")
        call(lib.wp_config_get, out, self.pointer, name_text("key", key))
        try:
            return text_of(out[0])
        finally:
            lib.wp_text_free(out[0])

    def load_json(self, text: str) -> None:
        call(lib.wp_config_load_json, self.pointer, name_text("json", text))

    def load_env(self) -> None:
        call(lib.wp_config_load_env, self.pointer)

    def set_log(self, function: Optional[LogFunction]) -> None:
        if function is None:
            call(lib.wp_config_set_log, self.pointer, NULL, NULL, NULL)
            return
        call(
            lib.wp_config_set_log,
            self.pointer,
            lib.wpy_on_log,
            _keep(function),
            lib.wpy_on_destroy,
        )

    def set_clock(self, clock: Optional[Clock]) -> None:
        call(lib.wp_config_set_clock, self.pointer, clock.pointer if clock else NULL)


def describe_config() -> str:
    out = ffi.new("char **")
    call(lib.wp_config_describe, out)
    try:
        return text_of(out[0])
    finally:
        lib.wp_text_free(out[0])


def deploy(config: Config) -> None:
    call(lib.wp_schema_deploy, config.pointer)


# ---- schedules ------------------------------------------------------------------------------


class Schedule(Handle):
    """A wp_schedule."""

    def __init__(self, expression: str, zone: str, config: Config) -> None:
        out = ffi.new("wp_schedule **")
        call(
            lib.wp_schedule_new,
            out,
            name_text("expression", expression),
            name_text("zone", zone),
            config.pointer,
        )
        super().__init__(out[0], lib.wp_schedule_free)

    def next_us(self, after_us: int) -> int:
        out = ffi.new("int64_t *")
        call(lib.wp_schedule_next, out, self.pointer, after_us)
        return int(out[0])

    def preview_us(self, after_us: int, count: object) -> List[int]:
        if isinstance(count, bool) or not isinstance(count, int):
            raise errors.ArgumentError(f"count must be an int, not {type(count).__name__}")
        if not 0 <= count <= lib.WP_PREVIEW_MAX:
            raise errors.RangeError(f"count is not from 0 to {lib.WP_PREVIEW_MAX}")
        out = ffi.new("int64_t[]", count + 1)
        found = ffi.new("size_t *")
        call(lib.wp_schedule_preview, out, found, self.pointer, after_us, count)
        return [int(us) for us in out[0 : found[0]]]


# ---- messages -------------------------------------------------------------------------------


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

    def free(self) -> None:
        for pointer in self.pointers:
            lib.wp_message_free(pointer)
        self.pointers = []


def _parse_headers(text: str) -> Dict[str, str]:
    parsed: Dict[str, str] = json.loads(text)
    return parsed


def _received(pointer: Any) -> Received:
    length = ffi.new("size_t *")
    payload = lib.wp_received_payload(length, pointer)
    expires = lib.wp_received_expires_us(pointer)
    return Received(
        id=id_of(lib.wp_received_id(pointer)),
        topic=text_of(lib.wp_received_topic(pointer)),
        payload=ffi.unpack(payload, length[0]).decode() if length[0] else "",
        correlation_id=optional_text(lib.wp_received_correlation_id(pointer)),
        ordering_key=optional_text(lib.wp_received_ordering_key(pointer)),
        headers=_parse_headers(text_of(lib.wp_received_headers(pointer))),
        attempt=lib.wp_received_attempt(pointer),
        claim_number=lib.wp_received_claim_number(pointer),
        created=from_us(lib.wp_received_created_us(pointer)),
        due=from_us(lib.wp_received_due_us(pointer)),
        expires=from_us(expires) if expires else None,
    )


# ---- operations -----------------------------------------------------------------------------

_PARAM_ROOM = 32
#: How parameters may be written, by the names that the DB-API and SQLAlchemy have for them.
PARAMSTYLES: Dict[str, int] = {
    "qmark": lib.WP_PARAM_QMARK,
    "named": lib.WP_PARAM_NAMED,
    "numeric_dollar": lib.WP_PARAM_NUMERIC,
    "format": lib.WP_PARAM_FORMAT,
    "pyformat": lib.WP_PARAM_PYFORMAT,
}


class Operation:
    """A wp_op under way on a connection of the app's: see waypost.drivers."""

    __slots__ = ("_pointer", "_room", "_more")

    def __init__(self, pointer: Any, paramstyle: str) -> None:
        self._pointer = pointer
        self._room = ffi.new("wpy_param[]", _PARAM_ROOM)
        self._more = ffi.new("int *")
        call(lib.wp_op_set_paramstyle, pointer, PARAMSTYLES[paramstyle])

    def free(self) -> None:
        pointer, self._pointer = self._pointer, None
        if pointer is not None:
            lib.wp_op_free(pointer)

    def next(self) -> bool:
        """Go to the next statement; False: there is none."""
        call(lib.wp_op_next, self._more, self._pointer)
        return bool(self._more[0])

    @property
    def sql(self) -> str:
        return text_of(lib.wp_op_sql(self._pointer))

    @property
    def returns_rows(self) -> bool:
        return bool(lib.wp_op_returns_rows(self._pointer))

    def parameters(self) -> List[Value]:
        room = self._room
        count = lib.wpy_op_params(room, len(room), self._pointer)
        if count > len(room):
            self._room = room = ffi.new("wpy_param[]", count)
            lib.wpy_op_params(room, count, self._pointer)
        return [self._value(room[i]) for i in range(count)]

    @staticmethod
    def _value(param: Any) -> Value:
        kind = param.type
        if kind == lib.WP_VALUE_NULL:
            return None
        if kind == lib.WP_VALUE_INT64:
            return int(param.i)
        data: bytes = ffi.unpack(param.data, param.len) if param.len else b""
        return data.decode() if kind == lib.WP_VALUE_TEXT else data

    def parameter_names(self) -> List[str]:
        count = lib.wp_op_param_count(self._pointer)
        return [text_of(lib.wp_op_param_name(self._pointer, i)) for i in range(count)]

    def feed(self, rows: Iterable[Iterable[object]]) -> None:
        for row in rows:
            if not self.returns_rows:  # SQLite's `PRAGMA count_changes`
                return
            for value in row:
                self._feed_value(value)
            call(lib.wp_op_row, self._pointer)

    def _feed_value(self, value: object) -> None:
        if value is None:
            call(lib.wp_op_feed_null, self._pointer)
        elif isinstance(value, int):
            call(lib.wp_op_feed_int64, self._pointer, value)
        elif isinstance(value, str):
            data = value.encode()
            call(lib.wp_op_feed_text, self._pointer, data, len(data))
        elif isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            call(lib.wp_op_feed_bytes, self._pointer, data, len(data))
        else:
            raise errors.ArgumentError(
                f"the connection's driver gave a {type(value).__name__} for a column"
            )

    def result_count(self) -> int:
        return int(lib.wp_op_result_count(self._pointer))

    def results(self) -> List[Tuple[uuid.UUID, bool]]:
        out = ffi.new("wp_id *")
        made = []
        for index in range(self.result_count()):
            call(lib.wp_op_result_id, out, self._pointer, index)
            made.append((id_of(out), bool(lib.wp_op_result_duplicate(self._pointer, index))))
        return made


# ---- stores ---------------------------------------------------------------------------------


class _Ids:
    """Ids and claim numbers as C arrays."""

    __slots__ = ("ids", "claims", "count")

    def __init__(self, ids: Sequence[uuid.UUID], claims: Optional[Sequence[int]]) -> None:
        self.count = len(ids)
        self.ids = ffi.new("wp_id[]", max(self.count, 1))
        ffi.memmove(self.ids, b"".join(id.bytes for id in ids), 16 * self.count)
        self.claims = NULL if claims is None else ffi.new("int64_t[]", list(claims) or [0])


class Store(Handle):
    """A wp_store."""

    def __init__(self, config: Config) -> None:
        out = ffi.new("wp_store **")
        call(lib.wp_store_open, out, config.pointer)
        super().__init__(out[0], lib.wp_store_close)
        self._describe(out[0])

    @classmethod
    def of(cls, pointer: Any) -> Store:
        """One that is open already, with the reference that comes with the pointer."""
        store = cls.__new__(cls)
        Handle.__init__(store, pointer, lib.wp_store_close)
        store._describe(pointer)
        return store

    def _describe(self, pointer: Any) -> None:
        self.id = text_of(lib.wp_store_id(pointer))
        self.location = text_of(lib.wp_store_location(pointer))

    def hold(
        self, shared: bool, name: str, owner: Optional[str], duration_ms: int, wait_ms: int
    ) -> Lease:
        """Acquire and keep. TimeoutError, with `now_us` and `until_us`, where it is held."""
        out = ffi.new("wp_lease **")
        refused = ffi.new("wp_lease_info **")
        try:
            call(
                lib.wp_lease_hold,
                out,
                refused,
                self.pointer,
                lib.WP_LEASE_SHARED if shared else lib.WP_LEASE_EXCLUSIVE,
                name_text("name", name),
                NULL if owner is None else name_text("owner", owner),
                duration_ms,
                wait_ms,
            )
        except errors.TimeoutError as error:
            error.now = from_us(lib.wp_lease_info_now_us(refused[0]))
            error.held_until = from_us(lib.wp_lease_info_until_us(refused[0]))
            raise
        finally:
            lib.wp_lease_info_free(refused[0])
        return Lease(out[0])

    def set_limit(self, name: str, limit: int) -> None:
        call(lib.wp_semaphore_set_limit, self.pointer, NULL, name_text("name", name), limit)

    def watching(self) -> Store:
        """A further reference, for a thread that waits for losses."""
        return Store.of(lib.wp_store_ref(self.pointer))

    def next_lost(self, timeout_ms: int) -> Tuple[int, int]:
        """The status, and the key of the next lease that was lost."""
        out = ffi.new("wp_lease **")
        status = lib.wp_lease_next_lost(out, self.pointer, timeout_ms, NULL)
        key = int(ffi.cast("intptr_t", out[0]))
        if status == OK:
            lib.wp_lease_free(out[0])  # the app's own reference keeps it
        return status, key

    def enqueue(self, messages: Iterable[Message]) -> List[Tuple[uuid.UUID, bool]]:
        store = self.pointer
        with Messages(messages) as made:
            count = len(made.pointers)
            ids = ffi.new("wp_id[]", max(count, 1))
            duplicates = ffi.new("int[]", max(count, 1))
            if count == 1:
                call(lib.wp_outbox_enqueue, ids, duplicates, store, NULL, made.pointers[0])
            else:
                array = ffi.new("wp_message *[]", made.pointers or [NULL])
                call(lib.wp_outbox_enqueue_many, ids, duplicates, store, NULL, array, count)
        raw = bytes(ffi.buffer(ids))
        return [
            (uuid.UUID(bytes=raw[16 * i : 16 * i + 16]), bool(duplicates[i]))
            for i in range(count)
        ]

    def enqueue_op(self, messages: Iterable[Message], paramstyle: str) -> Operation:
        store = self.pointer
        out = ffi.new("wp_op **")
        with Messages(messages) as made:
            array = ffi.new("wp_message *[]", made.pointers or [NULL])
            call(lib.wp_outbox_enqueue_op, out, store, array, len(made.pointers))
        return Operation(out[0], paramstyle)

    def claim(
        self, owner: uuid.UUID, topics: Optional[Sequence[str]], batch: int, lease_ms: int
    ) -> List[Received]:
        store = self.pointer
        names = [ffi.from_buffer(name_text("topics", topic)) for topic in topics or ()]
        array = NULL if topics is None else ffi.new("const char *[]", names or [NULL])
        out = ffi.new("wp_claim **")
        call(
            lib.wp_outbox_claim,
            out,
            store,
            id_pointer("owner", owner),
            array,
            len(names),
            batch,
            lease_ms,
        )
        claim = out[0]
        try:
            return [_received(lib.wp_claim_at(claim, i)) for i in range(lib.wp_claim_count(claim))]
        finally:
            lib.wp_claim_free(claim)

    def finish(
        self,
        function: str,
        owner: uuid.UUID,
        ids: Sequence[uuid.UUID],
        claims: Optional[Sequence[int]],
        *rest: Any,
    ) -> int:
        """wp_outbox_ack and its like, by name; `rest` is what follows the count."""
        store = self.pointer
        changed = ffi.new("size_t *")
        array = _Ids(ids, claims)
        arguments = [NULL if value is None else value for value in rest]
        call(
            getattr(lib, "wp_outbox_" + function),
            changed,
            store,
            NULL,
            id_pointer("owner", owner),
            array.ids,
            array.claims,
            array.count,
            *arguments,
        )
        return int(changed[0])

    def ack_op(
        self,
        owner: uuid.UUID,
        ids: Sequence[uuid.UUID],
        claims: Optional[Sequence[int]],
        worker: Optional[bytes],
        paramstyle: str,
    ) -> Operation:
        store = self.pointer
        array = _Ids(ids, claims)
        out = ffi.new("wp_op **")
        call(
            lib.wp_outbox_ack_op,
            out,
            store,
            id_pointer("owner", owner),
            array.ids,
            array.claims,
            array.count,
            NULL if worker is None else worker,
        )
        return Operation(out[0], paramstyle)

    def reap(self) -> int:
        changed = ffi.new("size_t *")
        call(lib.wp_outbox_reap, changed, self.pointer)
        return int(changed[0])

    def get(self, id: uuid.UUID) -> Info:
        out = ffi.new("wp_outbox_info **")
        call(lib.wp_outbox_get, out, self.pointer, id_pointer("id", id))
        info = out[0]
        try:
            next_attempt = lib.wp_outbox_info_next_attempt_us(info)
            locked_until = lib.wp_outbox_info_locked_until_us(info)
            finished = lib.wp_outbox_info_finished_us(info)
            return Info(
                status=Status(lib.wp_outbox_info_status(info)),
                message=_received(lib.wp_outbox_info_message(info)),
                next_attempt=from_us(next_attempt) if next_attempt else None,
                locked_until=from_us(locked_until) if locked_until else None,
                finished=from_us(finished) if finished else None,
                finished_by=optional_text(lib.wp_outbox_info_finished_by(info)),
                last_error=optional_text(lib.wp_outbox_info_last_error(info)),
            )
        finally:
            lib.wp_outbox_info_free(info)

    def stats(self, finished: bool) -> OutboxStats:
        out = ffi.new("wp_outbox_stats **")
        call(lib.wp_outbox_stats_read, out, self.pointer, int(finished))
        stats = out[0]
        try:
            topics = {
                text_of(lib.wp_outbox_stats_topic(stats, index)): _stats(
                    functools.partial(lib.wp_outbox_stats_value, stats, index)
                )
                for index in range(lib.wp_outbox_stats_count(stats))
            }
            total = _stats(functools.partial(lib.wp_outbox_stats_total, stats))
            return OutboxStats(topics=topics, total=total)
        finally:
            lib.wp_outbox_stats_free(stats)


class Router(Handle):
    """A wp_router."""

    def __init__(self) -> None:
        out = ffi.new("wp_router **")
        call(lib.wp_router_new, out)
        super().__init__(out[0], lib.wp_router_free)

    def set(self, stores: Sequence[Config]) -> None:
        array = ffi.new("wp_config *[]", [config.pointer for config in stores])
        call(lib.wp_router_set, self.pointer, array, len(stores))

    def get(self, key: str) -> Store:
        out = ffi.new("wp_store **")
        call(lib.wp_router_get, out, self.pointer, name_text("key", key))
        return Store.of(out[0])

    def count(self) -> int:
        return int(lib.wp_router_count(self.pointer))


def _stats(read: Callable[[int], int]) -> Stats:
    return Stats(
        ready=read(lib.WP_STAT_READY),
        scheduled=read(lib.WP_STAT_SCHEDULED),
        in_progress=read(lib.WP_STAT_IN_PROGRESS),
        blocked=read(lib.WP_STAT_BLOCKED),
        done=read(lib.WP_STAT_DONE),
        failed=read(lib.WP_STAT_FAILED),
        oldest_ready_age=read(lib.WP_STAT_OLDEST_READY_AGE_US) / 1e6,
    )


# ---- deliveries -----------------------------------------------------------------------------


class Delivery:
    """A reference to a wp_delivery. Values are read when they are asked for."""

    __slots__ = ("_pointer", "_pid", "topic", "__weakref__")

    def __init__(self, pointer: Any, pid: int, topic: str) -> None:
        self._pointer = pointer
        self._pid = pid
        #: The topic.
        self.topic = topic

    def __del__(self, getpid: Any = os.getpid, is_finalizing: Any = sys.is_finalizing) -> None:
        pointer = self._give()  # in a collected cycle, another finalizer may still come here
        if pointer is not None and self._pid == getpid() and not is_finalizing():
            lib.wp_delivery_free(pointer)

    def _give(self) -> Any:
        """Give the reference away; the object is dead after that."""
        pointer, self._pointer = self._pointer, None
        return pointer

    @property
    def _key(self) -> Any:
        return self._pointer  # cdata compare and hash by address

    @property
    def payload_bytes(self) -> bytes:
        """The payload as UTF-8."""
        length = ffi.new("size_t *")
        data = lib.wpy_payload(length, self._pointer)
        return bytes(ffi.buffer(data, length[0]))

    @property
    def payload(self) -> str:
        """The payload."""
        return self.payload_bytes.decode()

    @property
    def id(self) -> uuid.UUID:
        """The message's id."""
        return id_of(lib.wp_received_id(lib.wp_delivery_message(self._pointer)))

    @property
    def correlation_id(self) -> Optional[str]:
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_correlation_id(message))

    @property
    def ordering_key(self) -> Optional[str]:
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_ordering_key(message))

    @property
    def headers(self) -> Dict[str, str]:
        """The headers: a fresh dict at each access."""
        message = lib.wp_delivery_message(self._pointer)
        return _parse_headers(text_of(lib.wp_received_headers(message)))

    @property
    def store_id(self) -> str:
        """The id of the store that it came from."""
        return text_of(lib.wp_delivery_store_id(self._pointer))

    @property
    def attempt(self) -> int:
        """How many attempts ended without success before this one; 0 at first."""
        return int(lib.wp_received_attempt(lib.wp_delivery_message(self._pointer)))

    @property
    def claim_number(self) -> int:
        """The number of this claim of this message: a fencing token, it rises with each claim."""
        return int(lib.wp_received_claim_number(lib.wp_delivery_message(self._pointer)))

    @property
    def created(self) -> datetime:
        """When it was enqueued, by the database's clock."""
        return from_us(lib.wp_received_created_us(lib.wp_delivery_message(self._pointer)))

    @property
    def due(self) -> datetime:
        """When it was due."""
        return from_us(lib.wp_received_due_us(lib.wp_delivery_message(self._pointer)))

    @property
    def expires(self) -> Optional[datetime]:
        """When it expires."""
        us = lib.wp_received_expires_us(lib.wp_delivery_message(self._pointer))
        return from_us(us) if us else None

    @property
    def message(self) -> Received:
        """All of it, as a value that outlives the delivery."""
        return _received(lib.wp_delivery_message(self._pointer))

    def _cancelled(self) -> int:
        return int(lib.wp_delivery_cancelled(self._pointer))

    def _finish(self, outcome: int, reason: Optional[str], delay_ms: int) -> None:
        pointer = self._pointer
        if pointer is None:
            raise errors.StateError("the delivery was freed")
        text = NULL if reason is None else _reason(reason)
        call(lib.wp_delivery_finish, pointer, outcome, text, delay_ms)

    def _settle(self, timeout_ms: int) -> None:
        call(lib.wp_delivery_settle, self._pointer, timeout_ms)

    def _complete_op(self, paramstyle: str) -> Operation:
        out = ffi.new("wp_op **")
        call(lib.wp_delivery_complete_op, out, self._pointer)
        return Operation(out[0], paramstyle)


def _reason(reason: str) -> bytes:
    return reason.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")


DeliveryT = TypeVar("DeliveryT", bound=Delivery)


# ---- workers --------------------------------------------------------------------------------

#: Handles a delivery inside drain() and step(), and answers with an outcome.
Dispatch = Callable[[Any], int]
COUNTERS = {
    "claimed": lib.WP_COUNTER_CLAIMED,
    "acked": lib.WP_COUNTER_ACKED,
    "abandoned": lib.WP_COUNTER_ABANDONED,
    "failed": lib.WP_COUNTER_FAILED,
    "released": lib.WP_COUNTER_RELEASED,
    "reaped": lib.WP_COUNTER_REAPED,
    "leases_lost": lib.WP_COUNTER_LEASES_LOST,
    "renewed": lib.WP_COUNTER_RENEWED,
    "polls": lib.WP_COUNTER_POLLS,
    "wakes": lib.WP_COUNTER_WAKES,
    "errors": lib.WP_COUNTER_ERRORS,
}


@ffi.def_extern(error=lib.WP_OUTCOME_RETRY)  # type: ignore[misc]
def wpy_on_delivery(delivery: Any, user: Any) -> int:
    dispatch: Dispatch = ffi.from_handle(user)
    return dispatch(lib.wp_delivery_ref(delivery))


#: Chooses among stores, each given by its id, how many messages of it wait, and how many run: an index.
Select = Callable[[List[Tuple[str, int, int]]], int]


@ffi.def_extern(error=ffi.cast("size_t", -1))  # type: ignore[misc]
def wpy_on_select(candidates: Any, user: Any) -> int:
    select: Select = ffi.from_handle(user)
    return select(
        [
            (
                text_of(lib.wp_candidates_store_id(candidates, index)),
                lib.wp_candidates_ready(candidates, index),
                lib.wp_candidates_running(candidates, index),
            )
            for index in range(lib.wp_candidates_count(candidates))
        ]
    )


class Worker(Handle, Generic[DeliveryT]):
    """A wp_worker whose deliveries are objects of the type `kind`."""

    def __init__(
        self, store: Union[Store, Router], config: Config, kind: Type[DeliveryT]
    ) -> None:
        out = ffi.new("wp_worker **")
        new = lib.wp_worker_new_on_router if isinstance(store, Router) else lib.wp_worker_new
        call(new, out, store.pointer, config.pointer)
        super().__init__(out[0], lib.wp_worker_free)
        self._kind = kind

    def handle(self, topic: str, dispatch: Optional[Callable[[DeliveryT], int]]) -> None:
        """Register a topic; without `dispatch` it is only pulled."""
        name = name_text("topic", topic)
        if dispatch is None:
            call(
                lib.wp_worker_handle,
                self.pointer,
                lib.WP_SOURCE_OUTBOX,
                name,
                NULL,
                NULL,
                NULL,
            )
            return
        kind, pid, answer = self._kind, self.pid, dispatch

        def run(pointer: Any) -> int:
            return answer(kind(pointer, pid, topic))

        call(
            lib.wp_worker_handle,
            self.pointer,
            lib.WP_SOURCE_OUTBOX,
            name,
            lib.wpy_on_delivery,
            _keep(run),
            lib.wpy_on_destroy,
        )

    def topic_set(self, topic: str, key: str, value: str) -> None:
        call(
            lib.wp_worker_topic_set,
            self.pointer,
            lib.WP_SOURCE_OUTBOX,
            name_text("topic", topic),
            name_text("key", key),
            name_text(key, value),
        )

    def puller(self) -> Puller[DeliveryT]:
        return Puller(self, self._kind)

    def next_cancelled(self, timeout_ms: int) -> Tuple[int, Any]:
        """The status, and the key of the next delivery whose handler should stop."""
        out = ffi.new("wp_delivery **")
        status = lib.wp_worker_next_cancelled(out, self.pointer, timeout_ms, NULL)
        key = out[0]
        if status == OK:
            lib.wp_delivery_free(key)  # the handler's own reference keeps it
        return status, key

    def stop(self, deadline_ms: int) -> int:
        abandoned = ffi.new("size_t *")
        call(lib.wp_worker_stop, abandoned, self.pointer, deadline_ms)
        return int(abandoned[0])

    def add_store(self, store: Store, id: Optional[str]) -> None:
        name = NULL if id is None else name_text("id", id)
        call(lib.wp_worker_add_store, self.pointer, store.pointer, name)

    def remove_store(self, id: str, deadline_ms: int) -> int:
        abandoned = ffi.new("size_t *")
        name = name_text("id", id)
        call(lib.wp_worker_remove_store, abandoned, self.pointer, name, deadline_ms)
        return int(abandoned[0])

    def set_selector(self, select: Select) -> None:
        call(
            lib.wp_worker_set_selector,
            self.pointer,
            lib.wpy_on_select,
            _keep(select),
            lib.wpy_on_destroy,
        )

    def store_counters(self, id: str) -> Dict[str, int]:
        name = name_text("id", id)
        return {
            key: lib.wp_worker_store_counter(self.pointer, name, number)
            for key, number in COUNTERS.items()
        }

    def wake(self) -> None:
        lib.wp_worker_wake(self.pointer)

    def drain(self, timeout_ms: int) -> int:
        handled = ffi.new("size_t *")
        call(lib.wp_worker_drain, handled, self.pointer, timeout_ms)
        return int(handled[0])

    def step(self) -> int:
        handled = ffi.new("size_t *")
        call(lib.wp_worker_step, handled, self.pointer)
        return int(handled[0])

    def counters(self) -> Dict[str, int]:
        return {
            name: lib.wp_worker_counter(self.pointer, number) for name, number in COUNTERS.items()
        }


class Puller(Generic[DeliveryT]):
    """Takes deliveries on one thread."""

    __slots__ = ("_worker", "_pointer", "_slot", "_err", "_kind", "_pid")

    def __init__(self, worker: Worker[DeliveryT], kind: Type[DeliveryT]) -> None:
        self._worker = worker
        self._pointer = worker.pointer
        self._slot = ffi.new("wp_delivery **")
        self._err = ffi.new("wp_error **")
        self._kind = kind
        self._pid = worker.pid

    def next(self, timeout_ms: int) -> Union[DeliveryT, int]:
        """The next delivery, or WP_E_TIMEOUT or WP_E_STOPPED. Finishes the one before if it was
        handed to done()."""
        slot = self._slot
        status = lib.wpy_cycle(slot, self._pointer, timeout_ms, self._err)
        if status == OK:
            pointer = slot[0]
            slot[0] = NULL
            return self._kind(pointer, self._pid, ffi.string(lib.wpy_topic(pointer)).decode())
        error = error_from(status, self._err)
        if status == TIMEOUT or status == STOPPED:
            return int(status)
        raise error

    def done(self, delivery: DeliveryT) -> None:
        """Finish a delivery with success at the next call of next(), which comes at once."""
        if getrefcount(delivery) <= _ONLY_OURS:
            self._slot[0] = delivery._give()
        else:  # somebody kept it, and may still read it
            try:
                delivery._finish(DONE, None, 0)
            except errors.Error:
                pass  # lost or stopped: the core has counted and logged it

    def close(self) -> None:
        """Finish what waits in done()."""
        pointer = self._slot[0]
        self._slot[0] = NULL
        if pointer != NULL:
            lib.wp_delivery_finish(pointer, DONE, NULL, 0, NULL)
            lib.wp_delivery_free(pointer)


def _count_references() -> int:
    """What getrefcount() says, inside Puller.done(), of a delivery that nobody kept."""

    class Probe:
        def done(self, delivery: object) -> int:
            return getrefcount(delivery)

    done = Probe().done
    delivery = object()
    return done(delivery)


_ONLY_OURS = _count_references()
