# SPDX-License-Identifier: Apache-2.0
"""A clock that only moves when told to, for tests."""
from __future__ import annotations

from datetime import datetime, timedelta

from waypost import _handle
from waypost._text import from_us, to_us
from waypost.errors import ArgumentError

_MICROSECOND = timedelta(microseconds=1)


def _us(value: object) -> int:
    if not isinstance(value, timedelta):
        raise ArgumentError(f"delta must be a timedelta, not {type(value).__name__}")
    return value // _MICROSECOND


class ManualClock:
    """Give it to Store.open(clock=...). Thread-safe."""

    def __init__(self, now: datetime) -> None:
        self._handle = _handle.Clock(to_us("now", now))

    @property
    def now(self) -> datetime:
        """The clock's wall time."""
        return from_us(self._handle.utc_us())

    def advance(self, delta: timedelta) -> None:
        """Move wall clock and elapsed time forward; whatever waits for that, wakes."""
        self._handle.advance_us(_us(delta))

    def jump(self, delta: timedelta) -> None:
        """Move the wall clock alone, forward or back, as when an administrator sets it."""
        self._handle.jump_us(_us(delta))
