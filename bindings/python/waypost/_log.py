# SPDX-License-Identifier: Apache-2.0
"""The core's log records, as records of Python's logging."""
from __future__ import annotations

import logging
from typing import Callable

LOGGER = logging.getLogger("waypost")


def sink(logger: logging.Logger) -> Callable[[int, str, str], None]:
    """What the core calls with each record. Its levels are Python's."""

    def write(level: int, message: str, fields: str) -> None:
        if logger.isEnabledFor(level):
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
