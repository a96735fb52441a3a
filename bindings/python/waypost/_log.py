# SPDX-License-Identifier: Apache-2.0
"""The core's log records, as records of Python's logging."""
from __future__ import annotations

import json
import logging
import traceback
import uuid
from typing import Any, Callable, Dict


class Log:
    """A logger for threads that must go on when a filter or handler of the app's raises."""

    def __init__(self, logger: logging.Logger) -> None:
        self.logger = logger

    def debug(self, message: str, *arguments: object) -> None:
        self._write(logging.DEBUG, message, arguments)

    def warning(self, message: str, *arguments: object) -> None:
        self._write(logging.WARNING, message, arguments)

    def error(self, message: str, *arguments: object, exc_info: Any = None) -> None:
        self._write(logging.ERROR, message, arguments, exc_info)

    def exception(self, message: str, *arguments: object) -> None:
        self._write(logging.ERROR, message, arguments, True)

    def _write(
        self, level: int, message: str, arguments: Any, exc_info: Any = None
    ) -> None:
        try:
            self.logger.log(level, message, *arguments, exc_info=exc_info, stacklevel=3)
        except Exception:
            if logging.raiseExceptions:  # as logging itself shows the failures of its handlers
                traceback.print_exc()


LOGGER = Log(logging.getLogger("waypost"))

#: What the core says of an attempt that failed, after the binding did, with a traceback.
_RETRY = "handler failed, will retry"
_LOGGED_MAX = 1000
_logged: Dict[str, None] = {}  # ids of messages, the oldest first


def logged(id: uuid.UUID) -> None:
    """The failure of a message's handler is in the log: the core's record of it is not needed."""
    _logged[str(id)] = None
    if len(_logged) > _LOGGED_MAX:
        _logged.pop(next(iter(_logged)), None)


def _known(message: str, fields: str) -> bool:
    if message != _RETRY or not _logged:
        return False
    id = json.loads(fields).get("MessageId")
    return id in _logged and _logged.pop(id, None) is None


def sink(logger: logging.Logger) -> Callable[[int, str, str], None]:
    """What the core calls with each record. Its levels are Python's."""

    def write(level: int, message: str, fields: str) -> None:
        if logger.isEnabledFor(level) and not _known(message, fields):
            extra = {"waypost_message": message, "waypost_fields": fields}
            logger.log(level, "%s %s", message, fields, extra=extra)

    return write


def level_name(logger: logging.Logger) -> str:
    """The core's level that fits what the logger lets through."""
    level = logger.getEffectiveLevel()
    for limit, name in ((10, "debug"), (20, "info"), (30, "warning"), (40, "error")):
        if level <= limit:
            return name
    return "off"
