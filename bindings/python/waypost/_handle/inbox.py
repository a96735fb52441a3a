# SPDX-License-Identifier: Apache-2.0
"""The inbox."""
from __future__ import annotations

import uuid
from typing import Any, Dict, Iterable, List, Sequence

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import NULL, OK, call, error_from, id_of
from waypost._handle.message import Messages
from waypost._handle.operation import Operation
from waypost._handle.queue import Queue, or_null
from waypost._handle.store import Store
from waypost._text import name_text
from waypost.message import Arrival, InboxKey, InboxState, Info, Message, QueueKind

COUNTERS = {
    "checked": lib.WP_INBOX_COUNTER_CHECKED,
    "enqueued": lib.WP_INBOX_COUNTER_ENQUEUED,
    "duplicates": lib.WP_INBOX_COUNTER_DUPLICATES,
    "mismatches": lib.WP_INBOX_COUNTER_MISMATCHES,
}
MARKS = {
    "mark_processing": lib.WP_INBOX_MARK_PROCESSING,
    "mark_processed": lib.WP_INBOX_MARK_PROCESSED,
    "mark_dead": lib.WP_INBOX_MARK_DEAD,
    "revive": lib.WP_INBOX_MARK_REVIVED,
}


def _key_new(key: InboxKey) -> Any:
    if not isinstance(key, InboxKey):
        raise errors.ArgumentError(f"key must be an InboxKey, not {type(key).__name__}")
    source, message_id = name_text("source", key.source), name_text("message_id", key.message_id)
    out = ffi.new("wp_inbox_key **")
    err = ffi.new("wp_error **")
    status = lib.wp_inbox_key_new(out, source, message_id, err)
    if status != OK:
        raise error_from(status, err)
    try:
        _key_fill(out[0], key)
    except BaseException:
        lib.wp_inbox_key_free(out[0])
        raise
    return out[0]


def _key_fill(pointer: Any, key: InboxKey) -> None:
    if key.consumer is not None:
        call(lib.wp_inbox_key_set_consumer, pointer, name_text("consumer", key.consumer))
    if key.hash is None:
        if key.hash_algorithm is not None:
            raise errors.ArgumentError("hash_algorithm is given without a hash")
        return
    if not isinstance(key.hash, (bytes, bytearray, memoryview)):
        raise errors.ArgumentError(f"hash must be bytes, not {type(key.hash).__name__}")
    algorithm = NULL
    if key.hash_algorithm is not None:
        algorithm = name_text("hash_algorithm", key.hash_algorithm)
    data = bytes(key.hash)
    call(lib.wp_inbox_key_set_hash, pointer, data, len(data), algorithm)


class Keys:
    """wp_inbox_key objects, freed at the end of the block."""

    __slots__ = ("pointers",)

    def __init__(self, keys: Iterable[InboxKey]) -> None:
        self.pointers: List[Any] = []
        try:
            for key in keys:
                self.pointers.append(_key_new(key))
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> Keys:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        for pointer in self.pointers:
            lib.wp_inbox_key_free(pointer)
        self.pointers = []


class Inbox(Queue):
    """The inbox of a store."""

    __slots__ = ()

    def __init__(self, store: Store) -> None:
        super().__init__(store, "inbox", QueueKind.INBOX)

    def check(self, key: InboxKey) -> Arrival:
        found, mismatch = ffi.new("wp_inbox_state *"), ffi.new("int *")
        with Keys((key,)) as keys:
            call(lib.wp_inbox_check, found, mismatch, self.store.pointer, NULL, keys.pointers[0])
        return Arrival(InboxState(found[0]), bool(mismatch[0]))

    def key_op(self, verb: str, key: InboxKey, paramstyle: str) -> Operation:
        """wp_inbox_check_op or wp_inbox_once_op."""
        with Keys((key,)) as keys:
            return self.operation(verb + "_op", paramstyle, keys.pointers[0])

    def enqueue(self, keys: Sequence[InboxKey], messages: Sequence[Message]) -> List[Arrival]:
        count = len(keys)
        ids = ffi.new("wp_id[]", max(count, 1))
        found = ffi.new("wp_inbox_state[]", max(count, 1))
        mismatches = ffi.new("int[]", max(count, 1))
        with Keys(keys) as known, Messages(messages) as made:
            call(
                lib.wp_inbox_enqueue_many,
                ids,
                found,
                mismatches,
                self.store.pointer,
                NULL,
                ffi.new("wp_inbox_key *[]", known.pointers or [NULL]),
                made.array(),
                count,
            )
        return [
            Arrival(InboxState(found[i]), bool(mismatches[i]), id_of(ffi.addressof(ids, i)))
            for i in range(count)
        ]

    def enqueue_op(
        self, keys: Sequence[InboxKey], messages: Sequence[Message], paramstyle: str
    ) -> Operation:
        with Keys(keys) as known, Messages(messages) as made:
            array = ffi.new("wp_inbox_key *[]", known.pointers or [NULL])
            return self.operation("enqueue_op", paramstyle, array, made.array(), len(keys))

    def mark(self, verb: str, key: InboxKey, *reason: Any) -> None:
        with Keys((key,)) as keys:
            store = self.store.pointer
            call(self.function(verb), store, NULL, keys.pointers[0], *map(or_null, reason))

    def mark_op(self, verb: str, key: InboxKey, paramstyle: str, *reason: Any) -> Operation:
        with Keys((key,)) as keys:
            text = or_null(reason[0]) if reason else NULL
            return self.operation("mark_op", paramstyle, keys.pointers[0], MARKS[verb], text)

    def get_by_key(self, key: InboxKey) -> Info:
        with Keys((key,)) as keys:
            return self.info("get", keys.pointers[0])

    def get(self, id: uuid.UUID, verb: str = "get_by_id") -> Info:
        return super().get(id, verb)

    def counters(self) -> Dict[str, int]:
        store = self.store.pointer
        return {name: lib.wp_inbox_counter(store, number) for name, number in COUNTERS.items()}
