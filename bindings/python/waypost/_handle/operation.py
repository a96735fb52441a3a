# SPDX-License-Identifier: Apache-2.0
"""Operations: statements out, rows in."""
from __future__ import annotations

import uuid
from typing import Any, Dict, Iterable, List, Tuple

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import Value, call, id_of, text_of
from waypost.message import Arrival, InboxState


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

    @property
    def pointer(self) -> Any:
        return self._pointer

    def results(self) -> List[Tuple[uuid.UUID, bool]]:
        out = ffi.new("wp_id *")
        made = []
        for index in range(self.result_count()):
            call(lib.wp_op_result_id, out, self._pointer, index)
            made.append((id_of(out), bool(lib.wp_op_result_duplicate(self._pointer, index))))
        return made

    def arrivals(self) -> List[Arrival]:
        """What became of messages in the inbox."""
        return [
            Arrival(
                InboxState(lib.wp_op_result_found(self._pointer, index)),
                bool(lib.wp_op_result_mismatch(self._pointer, index)),
                id,
            )
            for index, (id, _) in enumerate(self.results())
        ]

    def arrival(self) -> Arrival:
        """The same of a check, which has no count."""
        return Arrival(
            InboxState(lib.wp_op_result_found(self._pointer, 0)),
            bool(lib.wp_op_result_mismatch(self._pointer, 0)),
        )
