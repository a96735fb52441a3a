# SPDX-License-Identifier: Apache-2.0
"""The calls that all queues have, by the names that they have in C; and their dead letters."""
from __future__ import annotations

import uuid
from typing import Any, Callable, Generic, Iterable, List, Optional, Sequence, Tuple, TypeVar

from waypost._ffi import ffi, lib
from waypost._handle.base import (
    NULL, Handle, call, id_of, id_pointer, optional_text, text_of,
)
from waypost._handle.message import Messages, info_of, received_of, stats_of
from waypost._handle.operation import Operation
from waypost._handle.store import Store
from waypost._text import from_us, name_text
from waypost.message import Info, Message, PausedTopic, QueueKind, QueueStats, Received

T = TypeVar("T")


class Ids:
    """Ids and claim numbers as C arrays."""

    __slots__ = ("ids", "claims", "count")

    def __init__(self, ids: Sequence[uuid.UUID], claims: Optional[Sequence[int]] = None) -> None:
        self.count = len(ids)
        self.ids = ffi.new("wp_id[]", max(self.count, 1))
        ffi.memmove(self.ids, b"".join(id.bytes for id in ids), 16 * self.count)
        self.claims = NULL if claims is None else ffi.new("int64_t[]", list(claims) or [0])


def or_null(value: Any) -> Any:
    return NULL if value is None else value


class Page(Handle, Generic[T]):
    """A list of the core's, which the next page is asked for with. `prefix` is that of its functions."""

    __slots__ = ("items", "last")

    def __init__(self, pointer: Any, prefix: str, read: Callable[[Any], T]) -> None:
        super().__init__(pointer, getattr(lib, prefix + "_free"))
        at = getattr(lib, prefix + "_at")
        count: int = getattr(lib, prefix + "_count")(pointer)
        self.items: List[T] = [read(at(pointer, index)) for index in range(count)]
        #: Borrowed; NULL if there is none.
        self.last: Any = at(pointer, count - 1) if count else NULL


class DeadFilter(Handle):
    """A wp_dead_filter."""

    def __init__(
        self,
        topic: Optional[str],
        reason: Optional[str],
        times_us: Optional[Tuple[int, int]],
        ids: Optional[Sequence[uuid.UUID]],
    ) -> None:
        out = ffi.new("wp_dead_filter **")
        call(lib.wp_dead_filter_new, out)
        super().__init__(out[0], lib.wp_dead_filter_free)
        if topic is not None:
            call(lib.wp_dead_filter_set_topic, out[0], name_text("topic", topic))
        if reason is not None:
            call(lib.wp_dead_filter_set_reason, out[0], name_text("reason", reason))
        if times_us is not None:
            call(lib.wp_dead_filter_set_time_us, out[0], *times_us)
        if ids is not None:
            array = Ids(ids)
            call(lib.wp_dead_filter_set_ids, out[0], array.ids, array.count)


class Queue:
    """One queue of a store. `name` is how its functions are called: wp_<name>_claim and so on. Without a kind
    it is all of them, for what is done to all."""

    __slots__ = ("store", "name", "kind")

    def __init__(self, store: Store, name: str, kind: Optional[QueueKind]) -> None:
        self.store = store
        self.name = name
        self.kind = kind

    @property
    def source(self) -> int:
        return 0 if self.kind is None else int(self.kind.value)  # 0: WP_SOURCE_ALL

    def function(self, verb: str) -> Any:
        return getattr(lib, f"wp_{self.name}_{verb}")

    def operation(self, verb: str, paramstyle: str, *arguments: Any) -> Operation:
        out = ffi.new("wp_op **")
        call(self.function(verb), out, self.store.pointer, *arguments)
        return Operation(out[0], paramstyle)

    # ---- claim and finish -------------------------------------------------------------------

    def claim(
        self, owner: uuid.UUID, topics: Optional[Sequence[str]], batch: int, lease_ms: int
    ) -> List[Received]:
        names = [ffi.from_buffer(name_text("topics", topic)) for topic in topics or ()]
        array = NULL if topics is None else ffi.new("const char *[]", names or [NULL])
        out = ffi.new("wp_claim **")
        call(
            self.function("claim"),
            out,
            self.store.pointer,
            id_pointer("owner", owner),
            array,
            len(names),
            batch,
            lease_ms,
        )
        claim = out[0]
        try:
            return [
                received_of(lib.wp_claim_at(claim, i)) for i in range(lib.wp_claim_count(claim))
            ]
        finally:
            lib.wp_claim_free(claim)

    def finish(
        self,
        verb: str,
        owner: uuid.UUID,
        ids: Sequence[uuid.UUID],
        claims: Optional[Sequence[int]],
        *rest: Any,
    ) -> int:
        """wp_..._ack and its like; `rest` is what follows the count."""
        changed = ffi.new("size_t *")
        array = Ids(ids, claims)
        call(
            self.function(verb),
            changed,
            self.store.pointer,
            NULL,
            id_pointer("owner", owner),
            array.ids,
            array.claims,
            array.count,
            *map(or_null, rest),
        )
        return int(changed[0])

    def finish_op(
        self,
        verb: str,
        owner: uuid.UUID,
        ids: Sequence[uuid.UUID],
        claims: Optional[Sequence[int]],
        paramstyle: str,
        *rest: Any,
    ) -> Operation:
        array = Ids(ids, claims)
        return self.operation(
            verb + "_op",
            paramstyle,
            id_pointer("owner", owner),
            array.ids,
            array.claims,
            array.count,
            *map(or_null, rest),
        )

    def reap(self) -> int:
        changed = ffi.new("size_t *")
        call(self.function("reap"), changed, self.store.pointer)
        return int(changed[0])

    # ---- looking ----------------------------------------------------------------------------

    def get(self, id: uuid.UUID, verb: str = "get") -> Info:
        return self.info(verb, id_pointer("id", id))

    def info(self, verb: str, key: Any) -> Info:
        out = ffi.new("wp_outbox_info **")
        call(self.function(verb), out, self.store.pointer, key)
        try:
            return info_of(out[0])
        finally:
            lib.wp_outbox_info_free(out[0])

    def stats(self, finished: bool) -> QueueStats:
        out = ffi.new("wp_outbox_stats **")
        call(self.function("stats_read"), out, self.store.pointer, int(finished))
        try:
            return stats_of(out[0])
        finally:
            lib.wp_outbox_stats_free(out[0])

    # ---- paused topics ----------------------------------------------------------------------

    def pause(self, verb: str, topic: bytes, by: Optional[bytes]) -> bool:
        """wp_topic_pause and wp_topic_resume."""
        changed = ffi.new("int *")
        function = getattr(lib, f"wp_topic_{verb}")
        call(function, changed, self.store.pointer, NULL, self.source, topic, or_null(by))
        return bool(changed[0])

    def pause_op(
        self, verb: str, topic: bytes, by: Optional[bytes], paramstyle: str
    ) -> Operation:
        out = ffi.new("wp_op **")
        function = getattr(lib, f"wp_topic_{verb}_op")
        call(function, out, self.store.pointer, self.source, topic, or_null(by))
        return Operation(out[0], paramstyle)

    def paused(self) -> List[PausedTopic]:
        out = ffi.new("wp_pauses **")
        call(lib.wp_pauses_read, out, self.store.pointer)
        pauses = out[0]
        try:
            return [
                PausedTopic(
                    text_of(lib.wp_pauses_topic(pauses, i)),
                    from_us(lib.wp_pauses_since_us(pauses, i)),
                    optional_text(lib.wp_pauses_by(pauses, i)),
                )
                for i in range(lib.wp_pauses_count(pauses))
                if lib.wp_pauses_source(pauses, i) == self.source
            ]
        finally:
            lib.wp_pauses_free(pauses)

    # ---- dead letters and cleanup -----------------------------------------------------------

    def dead(
        self, filter: DeadFilter, after: Optional[Page[Info]], limit: int
    ) -> Page[Info]:
        out = ffi.new("wp_dead_list **")
        before = NULL if after is None else after.pointer
        store = self.store.pointer
        call(lib.wp_dead_list_read, out, store, self.source, filter.pointer, before, limit)
        return Page(out[0], "wp_dead_list", info_of)

    def replay(
        self, filter: DeadFilter, limit: int, per_second: int, by: Optional[bytes]
    ) -> int:
        return self._count(
            lib.wp_dead_replay, filter.pointer, limit, per_second, or_null(by)
        )

    def purge(self, filter: DeadFilter, limit: int, by: Optional[bytes]) -> int:
        return self._count(lib.wp_dead_purge_by, filter.pointer, limit, or_null(by))

    def edit(self, id: uuid.UUID, payload: bytes, by: Optional[bytes]) -> bool:
        edited = ffi.new("int *")
        store, key = self.store.pointer, id_pointer("id", id)
        call(
            lib.wp_dead_edit, edited, store, self.source, key, payload, len(payload), or_null(by)
        )
        return bool(edited[0])

    def cleanup(self, older_than_ms: int) -> int:
        return self._count(lib.wp_cleanup, older_than_ms)

    def _count(self, function: Any, *arguments: Any) -> int:
        count = ffi.new("size_t *")
        call(function, count, self.store.pointer, self.source, *arguments)
        return int(count[0])


class MessageQueue(Queue):
    """The outbox or the timers: `verb` is what brings a message in."""

    __slots__ = ("verb",)

    def __init__(self, store: Store, name: str, kind: QueueKind, verb: str) -> None:
        super().__init__(store, name, kind)
        self.verb = verb

    def enqueue(self, messages: Iterable[Message]) -> List[Tuple[uuid.UUID, bool]]:
        store = self.store.pointer
        with Messages(messages) as made:
            count = len(made.pointers)
            ids = ffi.new("wp_id[]", max(count, 1))
            duplicates = ffi.new("int[]", max(count, 1))
            if count == 1:
                call(self.function(self.verb), ids, duplicates, store, NULL, made.pointers[0])
            else:
                many = self.function(self.verb + "_many")
                call(many, ids, duplicates, store, NULL, made.array(), count)
        return [(id_of(ffi.addressof(ids, i)), bool(duplicates[i])) for i in range(count)]

    def enqueue_op(self, messages: Iterable[Message], paramstyle: str) -> Operation:
        with Messages(messages) as made:
            array, count = made.array(), len(made.pointers)
            return self.operation(self.verb + "_op", paramstyle, array, count)


class Timers(MessageQueue):
    """The timers of a store."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "timer", QueueKind.TIMERS, "schedule")

    def change(self, verb: str, id: uuid.UUID, *rest: int) -> bool:
        changed = ffi.new("int *")
        call(self.function(verb), changed, self.store.pointer, NULL, id_pointer("id", id), *rest)
        return bool(changed[0])

    def change_op(self, verb: str, id: uuid.UUID, paramstyle: str, *rest: int) -> Operation:
        return self.operation(verb + "_op", paramstyle, id_pointer("id", id), *rest)

    def list(
        self, correlation_id: Optional[bytes], after: Optional[Page[Info]], limit: int
    ) -> Page[Info]:
        out = ffi.new("wp_timers **")
        last = NULL if after is None else after.last
        call(lib.wp_timer_list, out, self.store.pointer, or_null(correlation_id), last, limit)
        return Page(out[0], "wp_timers", info_of)
