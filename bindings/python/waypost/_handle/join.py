# SPDX-License-Identifier: Apache-2.0
"""Joins."""
from __future__ import annotations

import uuid
from typing import Any, Optional, Sequence

from waypost._ffi import ffi, lib
from waypost._handle.base import NULL, Handle, call, id_of, id_pointer, optional_text, text_of
from waypost._handle.message import Messages, optional_time
from waypost._handle.operation import Operation
from waypost._handle.queue import Ids, Page, or_null
from waypost._handle.store import Store
from waypost._text import from_us
from waypost.join import JoinInfo, JoinMember, JoinStatus, MemberStatus
from waypost.message import Message

WAIT_TOPIC = text_of(lib.WP_JOIN_WAIT_TOPIC)


class NewJoin(Handle):
    """A wp_join: one to start."""

    def __init__(
        self,
        expected: int,
        grouping_key: Optional[bytes],
        metadata: Optional[bytes],
        fail_if_any: bool,
        success: Optional[Message],
        failure: Optional[Message],
    ) -> None:
        out = ffi.new("wp_join **")
        call(lib.wp_join_new, out, expected)
        super().__init__(out[0], lib.wp_join_free)
        call(lib.wp_join_set_grouping_key, out[0], or_null(grouping_key))
        call(lib.wp_join_set_metadata, out[0], or_null(metadata))
        call(lib.wp_join_set_fail_if_any, out[0], int(fail_if_any))
        self._set_message(lib.wp_join_set_success, success)
        self._set_message(lib.wp_join_set_failure, failure)

    def _set_message(self, setter: Any, message: Optional[Message]) -> None:
        if message is not None:
            with Messages((message,)) as made:
                call(setter, self.pointer, made.pointers[0])

    def set_deadline(self, deadline_us: int) -> None:
        call(lib.wp_join_set_deadline_us, self.pointer, deadline_us)

    def set_timeout(self, timeout_ms: int) -> None:
        call(lib.wp_join_set_timeout_ms, self.pointer, timeout_ms)


def _operation(function: Any, store: Store, paramstyle: str, *arguments: Any) -> Operation:
    out = ffi.new("wp_op **")
    call(function, out, store.pointer, *arguments)
    return Operation(out[0], paramstyle)


def start(store: Store, join: NewJoin) -> uuid.UUID:
    out = ffi.new("wp_id *")
    call(lib.wp_join_start, out, store.pointer, NULL, join.pointer)
    return id_of(out)


def start_op(store: Store, join: NewJoin, paramstyle: str) -> Operation:
    return _operation(lib.wp_join_start_op, store, paramstyle, join.pointer)


# ---- members --------------------------------------------------------------------------------


class MembersCall:
    """wp_join_attach or _report, and their operations: `rest` is what follows the count."""

    def __init__(
        self, store: Store, verb: str, join: uuid.UUID, messages: Sequence[uuid.UUID], *rest: int
    ) -> None:
        self._store = store
        self._verb = verb
        ids = Ids(messages)
        self._arguments = (id_pointer("join", join), ids.ids, ids.count, *rest)

    def run(self) -> int:
        changed = ffi.new("size_t *")
        function = getattr(lib, "wp_join_" + self._verb)
        call(function, changed, self._store.pointer, NULL, *self._arguments)
        return int(changed[0])

    def operation(self, paramstyle: str) -> Operation:
        function = getattr(lib, f"wp_join_{self._verb}_op")
        return _operation(function, self._store, paramstyle, *self._arguments)


class Members(Page[JoinMember]):
    """A wp_join_members."""

    __slots__ = ()

    def __init__(self, pointer: Any) -> None:
        Handle.__init__(self, pointer, lib.wp_join_members_free)
        self.items = [
            JoinMember(
                id_of(lib.wp_join_members_id(pointer, index)),
                MemberStatus(lib.wp_join_members_status(pointer, index)),
            )
            for index in range(lib.wp_join_members_count(pointer))
        ]
        self.last = pointer  # the next page is asked for with this one


def members(
    store: Store, join: uuid.UUID, after: Optional[Page[JoinMember]], limit: int
) -> Page[JoinMember]:
    out = ffi.new("wp_join_members **")
    before = NULL if after is None else after.last
    call(lib.wp_join_members_list, out, store.pointer, id_pointer("join", join), before, limit)
    return Members(out[0])


# ---- end it otherwise -----------------------------------------------------------------------


def cancel(store: Store, id: uuid.UUID) -> bool:
    cancelled = ffi.new("int *")
    call(lib.wp_join_cancel, cancelled, store.pointer, NULL, id_pointer("id", id))
    return bool(cancelled[0])


def cancel_op(store: Store, id: uuid.UUID, paramstyle: str) -> Operation:
    return _operation(lib.wp_join_cancel_op, store, paramstyle, id_pointer("id", id))


def reap(store: Store) -> int:
    failed = ffi.new("size_t *")
    call(lib.wp_join_reap, failed, store.pointer)
    return int(failed[0])


def cleanup(store: Store, older_than_ms: int) -> int:
    removed = ffi.new("size_t *")
    call(lib.wp_join_cleanup, removed, store.pointer, older_than_ms)
    return int(removed[0])


# ---- looking --------------------------------------------------------------------------------


def _info_of(info: Any) -> JoinInfo:
    continuation = lib.wp_join_info_continuation(info)
    return JoinInfo(
        id=id_of(lib.wp_join_info_id(info)),
        status=JoinStatus(lib.wp_join_info_status(info)),
        expected=lib.wp_join_info_expected(info),
        completed=lib.wp_join_info_completed(info),
        failed=lib.wp_join_info_failed(info),
        fail_if_any=bool(lib.wp_join_info_fail_if_any(info)),
        grouping_key=optional_text(lib.wp_join_info_grouping_key(info)),
        metadata=optional_text(lib.wp_join_info_metadata(info)),
        created=from_us(lib.wp_join_info_created_us(info)),
        deadline=optional_time(lib.wp_join_info_deadline_us(info)),
        ended=optional_time(lib.wp_join_info_ended_us(info)),
        reason=optional_text(lib.wp_join_info_reason(info)),
        continuation=None if continuation == NULL else id_of(continuation),
    )


def get(store: Store, id: uuid.UUID) -> JoinInfo:
    out = ffi.new("wp_join_info **")
    call(lib.wp_join_get, out, store.pointer, id_pointer("id", id))
    try:
        return _info_of(out[0])
    finally:
        lib.wp_join_info_free(out[0])


def listed(
    store: Store, grouping_key: Optional[bytes], after: Optional[Page[JoinInfo]], limit: int
) -> Page[JoinInfo]:
    out = ffi.new("wp_joins **")
    last = NULL if after is None else after.last
    call(lib.wp_join_list, out, store.pointer, or_null(grouping_key), last, limit)
    return Page(out[0], "wp_joins", _info_of)
