# SPDX-License-Identifier: Apache-2.0
"""Options, log and clock; and schedules, which need no database."""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import NULL, Handle, call, text_of
from waypost._text import integer, name_text


LogFunction = Callable[[int, str, str], None]
users: Dict[int, Any] = {}  # what C holds a `void *` to, by address


def keep(user: Any) -> Any:
    handle = ffi.new_handle(user)
    users[int(ffi.cast("intptr_t", handle))] = handle
    return handle


@ffi.def_extern()  # type: ignore[misc]
def wpy_on_destroy(user: Any) -> None:
    users.pop(int(ffi.cast("intptr_t", user)), None)


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
            keep(function),
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
        number = integer("count", count)
        if not 0 <= number <= lib.WP_PREVIEW_MAX:
            raise errors.RangeError(f"count is not from 0 to {lib.WP_PREVIEW_MAX}")
        out = ffi.new("int64_t[]", number + 1)
        found = ffi.new("size_t *")
        call(lib.wp_schedule_preview, out, found, self.pointer, after_us, number)
        return [int(us) for us in out[0 : found[0]]]
