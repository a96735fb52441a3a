# SPDX-License-Identifier: Apache-2.0
"""When cron expressions fire. No database, no clock: what comes after an instant is asked for."""
from __future__ import annotations

from datetime import datetime
from typing import List, Optional

from waypost import _handle
from waypost._text import from_us, instance, to_us
from waypost.config import Config
from waypost.errors import NotFoundError


class Schedule:
    """A cron expression in a time zone; docs/cron.md has the syntax and the rules.

        schedule = Schedule("30 9 * * MON-FRI", "Europe/Vienna")
        schedule.next(datetime.now(timezone.utc))

    It never changes, any threads may use it, and it keeps the zone's rules as they were when it was
    made. ArgumentError: the expression is malformed (the message names the field and the position)
    or never fires, or the zone's name is malformed; NotFoundError: there is no such zone;
    ConfigError: the zone files (option `schedule.zone_directory`) are missing or corrupt.
    """

    def __init__(
        self, expression: str, zone: str = "UTC", *, config: Optional[Config] = None
    ) -> None:
        if config is not None:
            instance("config", config, Config)
        self._handle = _handle.Schedule(expression, zone, (config or Config())._handle)
        self._expression = expression
        self._zone = zone

    @property
    def expression(self) -> str:
        """The expression, as it was given."""
        return self._expression

    @property
    def zone(self) -> str:
        """The zone's name, as it was given."""
        return self._zone

    def next(self, after: datetime) -> Optional[datetime]:
        """The first occurrence after an instant, in UTC, always later than it; None: there is none
        by the end of the year 9999. RangeError: the instant is before 1970."""
        try:
            return from_us(self._handle.next_us(to_us("after", after)))
        except NotFoundError:
            return None

    def preview(self, count: int, after: datetime) -> List[datetime]:
        """The next occurrences after an instant, in UTC and in order: up to `count`, 10,000 at
        most; fewer where the year 9999 ends."""
        return [from_us(us) for us in self._handle.preview_us(to_us("after", after), count)]

    def __repr__(self) -> str:
        return f"Schedule({self._expression!r}, {self._zone!r})"
