# SPDX-License-Identifier: Apache-2.0
"""Leases and semaphores."""
from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple, Union

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import NULL, OK, Handle, call, optional_text, text_of
from waypost._handle.message import optional_time
from waypost._handle.operation import Operation
from waypost._handle.queue import Page
from waypost._handle.store import Store
from waypost._text import from_us, name_text
from waypost.message import LeaseInfo, ListedLease

COUNTERS = {
    "held": lib.WP_LEASE_COUNTER_HELD,
    "renewed": lib.WP_LEASE_COUNTER_RENEWED,
    "lost": lib.WP_LEASE_COUNTER_LOST,
    "errors": lib.WP_LEASE_COUNTER_ERRORS,
    "batches": lib.WP_LEASE_COUNTER_BATCHES,
}


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


def _kind(shared: bool) -> int:
    return int(lib.WP_LEASE_SHARED if shared else lib.WP_LEASE_EXCLUSIVE)


class Refused(NamedTuple):
    """Another one holds it: the error, with `now` and `held_until`, and when to try again."""

    error: errors.Error
    retry_ms: int


def retry_ms(attempt: int) -> int:
    """When to try again after an error that may pass."""
    return int(lib.wp_lease_retry_ms(NULL, attempt))


def hold(
    store: Store, shared: bool, name: str, owner: str, duration_ms: int, attempt: int
) -> Union[Lease, Refused]:
    """Acquire and keep, without waiting, after so many attempts that were refused."""
    out = ffi.new("wp_lease **")
    refused = ffi.new("wp_lease_info **")
    try:
        call(
            lib.wp_lease_hold,
            out,
            refused,
            store.pointer,
            _kind(shared),
            name_text("name", name),
            name_text("owner", owner),
            duration_ms,
            0,
        )
    except errors.TimeoutError as error:
        error.holder = _read(refused[0])
        error.now, error.held_until = error.holder.now, error.holder.until
        return Refused(error, int(lib.wp_lease_retry_ms(refused[0], attempt)))
    finally:
        lib.wp_lease_info_free(refused[0])
    return Lease(out[0])


def watching(store: Store) -> Store:
    """A further reference, for a thread that waits for losses."""
    return Store.of(lib.wp_store_ref(store.pointer))


def next_lost(store: Store, timeout_ms: int) -> Tuple[int, Optional[Lease]]:
    """The status, and the next lease that was lost: until it is closed no other one has its key."""
    out = ffi.new("wp_lease **")
    status = lib.wp_lease_next_lost(out, store.pointer, timeout_ms, NULL)
    return status, Lease(out[0]) if status == OK else None


def counters(store: Store) -> Dict[str, int]:
    pointer = store.pointer
    return {name: lib.wp_lease_counter_read(pointer, number) for name, number in COUNTERS.items()}


# ---- calls: one statement each --------------------------------------------------------------


def _read(info: Any) -> LeaseInfo:
    return LeaseInfo(
        granted=bool(lib.wp_lease_info_granted(info)),
        fence=lib.wp_lease_info_fence(info),
        until=from_us(lib.wp_lease_info_until_us(info)),
        now=from_us(lib.wp_lease_info_now_us(info)),
        owner=text_of(lib.wp_lease_info_owner(info)),
        limit=lib.wp_lease_info_limit(info),
        holders=lib.wp_lease_info_holders(info),
    )


def _info(out: Any) -> LeaseInfo:
    try:
        return _read(out[0])
    finally:
        lib.wp_lease_info_free(out[0])


class Listed(Page[ListedLease]):
    """A wp_leases."""

    __slots__ = ()

    def __init__(self, pointer: Any) -> None:
        Handle.__init__(self, pointer, lib.wp_leases_free)
        count = lib.wp_leases_count(pointer)
        self.items = [
            ListedLease(
                name=text_of(lib.wp_leases_name(pointer, index)),
                owner=optional_text(lib.wp_leases_owner(pointer, index)),
                until=optional_time(lib.wp_leases_until_us(pointer, index)),
                limit=lib.wp_leases_limit(pointer, index),
                holders=lib.wp_leases_holders(pointer, index),
            )
            for index in range(count)
        ]
        self.last = lib.wp_leases_name(pointer, count - 1) if count else NULL


def listed(
    store: Store, shared: bool, after: Optional[Page[ListedLease]], limit: int
) -> Page[ListedLease]:
    out = ffi.new("wp_leases **")
    last = NULL if after is None else after.last
    call(lib.wp_lease_list, out, store.pointer, _kind(shared), last, limit)
    return Listed(out[0])


class Call:
    """wp_lease_acquire, _renew or _get, and their operations: what follows the kind are `arguments`."""

    def __init__(self, store: Store, verb: str, shared: bool, *arguments: Any) -> None:
        self._store = store
        self._verb = verb
        self._arguments = (_kind(shared), *arguments)

    def run(self) -> LeaseInfo:
        out = ffi.new("wp_lease_info **")
        function = getattr(lib, "wp_lease_" + self._verb)
        call(function, out, self._store.pointer, NULL, *self._arguments)
        return _info(out)

    def operation(self, paramstyle: str) -> Operation:
        out = ffi.new("wp_op **")
        function = getattr(lib, f"wp_lease_{self._verb}_op")
        call(function, out, self._store.pointer, *self._arguments)
        return Operation(out[0], paramstyle)

    def release(self) -> bool:
        released = ffi.new("int *")
        call(lib.wp_lease_release, released, self._store.pointer, NULL, *self._arguments)
        return bool(released[0])


def result_of(operation: Operation) -> LeaseInfo:
    out = ffi.new("wp_lease_info **")
    call(lib.wp_op_result_lease, out, operation.pointer)
    return _info(out)


def set_limit(store: Store, name: bytes, limit: int) -> None:
    call(lib.wp_semaphore_set_limit, store.pointer, NULL, name, limit)


def set_limit_op(store: Store, name: bytes, limit: int, paramstyle: str) -> Operation:
    out = ffi.new("wp_op **")
    call(lib.wp_semaphore_set_limit_op, out, store.pointer, name, limit)
    return Operation(out[0], paramstyle)


def cleanup(store: Store, keep_ms: int) -> int:
    removed = ffi.new("size_t *")
    call(lib.wp_lease_cleanup, removed, store.pointer, keep_ms)
    return int(removed[0])
