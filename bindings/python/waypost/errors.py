# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as exceptions by kind; and what a handler raises to say how it went."""
from __future__ import annotations

import builtins
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    from waypost.message import LeaseInfo


class Error(Exception):
    """The base of all errors that Waypost reports."""

    #: The stable number of the kind, as in the C API.
    code: int = 13
    #: The five-character SQLSTATE, or "".
    sqlstate: str = ""
    #: The engine's own code (SQLite: the extended result code), or 0.
    native_code: int = 0
    #: Whether the same call may well succeed later.
    retriable: bool = False
    #: Whether a commit was sent and its outcome is unknown.
    outcome_unknown: bool = False


class ArgumentError(Error, ValueError):
    """An argument is missing, empty, malformed or too long."""

    code = 1


class RangeError(Error, ValueError):
    """A number is outside its range."""

    code = 2


class StateError(Error):
    """The call does not fit the object's state: closed, forked, finished."""

    code = 3


class NotFoundError(Error, LookupError):
    """What was asked for does not exist."""

    code = 4


class LeaseLostError(Error):
    """The claim is no longer held; nothing was changed."""

    code = 5


class UnavailableError(Error):
    """The database cannot be reached, or stayed busy; try again."""

    code = 6
    retriable = True


class DatabaseError(Error):
    """Any other database error; see `sqlstate` and `native_code`."""

    code = 7


class SchemaError(Error):
    """The schema is missing, or older than this library needs."""

    code = 8


class ConfigError(Error, ValueError):
    """An unknown or bad configuration key or value."""

    code = 9


class NoMemoryError(Error, MemoryError):
    """The core is out of memory."""

    code = 10


class TimeoutError(Error, builtins.TimeoutError):
    """The given time passed before anything happened."""

    code = 11
    #: Where a lease was refused: the database's time, and when the lease of its holder ends.
    now: Optional[datetime] = None
    held_until: Optional[datetime] = None
    #: Likewise: a LeaseInfo of whoever has it; of a semaphore its `limit` and `holders`.
    holder: Optional[LeaseInfo] = None


class StoppedError(Error):
    """The worker is stopped."""

    code = 12


class InternalError(Error):
    """A fault of the library itself; please report it."""

    code = 13


BY_CODE = {
    kind.code: kind
    for kind in (
        ArgumentError,
        RangeError,
        StateError,
        NotFoundError,
        LeaseLostError,
        UnavailableError,
        DatabaseError,
        SchemaError,
        ConfigError,
        NoMemoryError,
        TimeoutError,
        StoppedError,
        InternalError,
    )
}


class Retry(Exception):
    """Raise in a handler: it failed; try again after `delay` (a timedelta or seconds), by default
    the backoff. Past the limit of attempts the message becomes a dead letter. The reason is a text,
    or an exception, whose text it is."""

    def __init__(
        self, reason: object = "", *, delay: Optional[Union[timedelta, float]] = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.delay = delay


class Reject(Exception):
    """Raise in a handler: it will never work; make the message a dead letter at once. The reason is
    as for Retry."""

    def __init__(self, reason: object = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Release(Exception):
    """Raise in a handler: give the message back at once as if it had never been started. Its attempt
    stays as it was, and it may come again in the next moment; to wait, raise Retry with a delay."""


class Cancelled(Exception):
    """Raised by Delivery.raise_if_cancelled(): the handler should stop."""
