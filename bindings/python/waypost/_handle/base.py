# SPDX-License-Identifier: Apache-2.0
"""Pointers that are owned, errors, ids."""
from __future__ import annotations

import os
import re
import sys
import uuid
from typing import Any, Optional, Union

from waypost import errors
from waypost._ffi import ffi, lib

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
OUTPUT_MAX: int = lib.WP_OUTPUT_MAX


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
        message = text_of(lib.wp_error_message(pointer))
        made = kind(_of_python(message) if status in _ABOUT_ARGUMENTS else message)
        made.code = status
        made.sqlstate = text_of(lib.wp_error_sqlstate(pointer))
        made.native_code = lib.wp_error_native_code(pointer)
        made.retriable = bool(lib.wp_error_retriable(pointer))
        made.outcome_unknown = bool(lib.wp_error_outcome_unknown(pointer))
        return made
    finally:
        lib.wp_error_free(pointer)


_ABOUT_ARGUMENTS = (lib.WP_E_ARGUMENT, lib.WP_E_RANGE)
_TIME = re.compile(r"^(\w+)_(ms|us) is (-?\d+)")
_PARAMETERS = {"duration": "seconds"}  # what the core calls otherwise than we do


def _of_python(message: str) -> str:
    """A sentence about an argument of the core's, by the name that it has here: durations have no unit in theirs."""
    return _TIME.sub(lambda found: f"{_PARAMETERS.get(found[1], found[1])} is {found[3]} {found[2]}", message)


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
