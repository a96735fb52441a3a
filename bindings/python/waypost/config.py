# SPDX-License-Identifier: Apache-2.0
"""Options as keys and values. The core's table knows them all: Config.describe()."""
from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import Mapping, Optional, Union

from waypost import _handle, _log
from waypost.clock import ManualClock
from waypost._text import instance, to_ms
from waypost.errors import ArgumentError

#: The value of an option. Durations may be timedeltas where the key ends in `_ms`, and
#: `job.cron_overrides` a dict of names to expressions.
OptionValue = Union[str, int, float, bool, timedelta, Mapping[str, str]]


def option_text(key: str, value: object) -> str:
    """An option's value as the core reads it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return str(to_ms(key, value))
    if isinstance(value, (int, float, str)):
        return str(value)
    if isinstance(value, Mapping):
        return _json_object(key, value)
    raise ArgumentError(
        f"{key} must be a str, number, bool, timedelta or mapping, not {type(value).__name__}"
    )


def _json_object(key: str, value: Mapping[str, str]) -> str:
    for name, item in value.items():
        if not isinstance(name, str) or not isinstance(item, str):
            raise ArgumentError(f"{key} must map str to str: {name!r} to {item!r}")
    return json.dumps(value if isinstance(value, dict) else dict(value))


class Config:
    """A set of options, such as `config["worker.lease_ms"] = 60_000`."""

    def __init__(self, options: Optional[Mapping[str, OptionValue]] = None) -> None:
        self._handle = _handle.Config()
        for key, value in (options or {}).items():
            self[key] = value

    @classmethod
    def from_json(cls, text: str) -> Config:
        """From a JSON object; nested objects join their keys with a dot."""
        config = cls()
        config._handle.load_json(text)
        return config

    @classmethod
    def from_env(cls) -> Config:
        """From the environment: WAYPOST_WORKER_LEASE_MS is `worker.lease_ms`. ConfigError: a
        variable WAYPOST_... that is no option; it says which was meant if one is close. Those that
        start with WAYPOST_TEST_ are left alone."""
        config = cls()
        config.load_env()
        return config

    def load_env(self) -> None:
        """Add what the environment says, as from_env() does; all or nothing."""
        self._handle.load_env()

    def __setitem__(self, key: str, value: OptionValue) -> None:
        self._handle.set(key, option_text(key, value))

    def __getitem__(self, key: str) -> str:
        return self._handle.get(key)

    def set_clock(self, clock: Optional[ManualClock]) -> None:
        """Use a clock in place of the system's."""
        if clock is not None:
            instance("clock", clock, ManualClock)
        self._handle.set_clock(clock._handle if clock is not None else None)

    def set_logger(self, logger: Optional[logging.Logger]) -> None:
        """Send the core's log to a logger; None: JSON lines on the standard error stream."""
        self._handle.set_log(_log.sink(logger) if logger else None)

    @staticmethod
    def describe() -> str:
        """The table of all options, as Markdown."""
        return _handle.describe_config()
