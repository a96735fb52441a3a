# SPDX-License-Identifier: Apache-2.0
"""Jobs and their runs, as values."""
from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Optional

from waypost._text import Duration, Payload


class Overlap(enum.Enum):
    """What happens to an occurrence while another run of the job is unfinished."""

    #: It waits: runs are one at a time, in order.
    QUEUE = 0
    #: It is noted as skipped.
    SKIP = 1
    #: It runs beside the other.
    ALLOW = 2


class Misfire(enum.Enum):
    """What happens to occurrences that were missed for longer than the threshold."""

    #: One run for all of them, at once, for the latest.
    FIRE = 0
    #: None; the latest is noted as skipped.
    SKIP = 1
    #: A run for each, but only of the latest `catch_up`.
    CATCH_UP = 2


@dataclass(frozen=True)
class Job:
    """A job: recurring with `cron`, or for one time with `at`. docs/cron.md has the expressions."""

    #: Up to 255 UTF-16 code units, compared byte for byte.
    name: str
    #: Of the handler; None: the name.
    topic: Optional[str] = None
    payload: Payload = ""
    #: When it runs, in the time zone `tz`.
    cron: Optional[str] = None
    tz: str = "UTC"
    #: Run once, at this instant.
    at: Optional[datetime] = None
    overlap: Overlap = Overlap.QUEUE
    misfire: Misfire = Misfire.FIRE
    #: How late an occurrence may be before it counts as missed. One-time jobs always fire.
    misfire_threshold: Duration = 60.0
    #: 1 to 1000.
    catch_up: int = 1
    #: How long a run may take, by default as the worker says; then its handler is told to stop.
    timeout: Optional[Duration] = None
    #: How its runs are tried again, by default as the worker says.
    max_attempts: Optional[int] = None
    backoff_base: Optional[Duration] = None
    backoff_max: Optional[Duration] = None


class RunStatus(enum.Enum):
    """Where a run stands."""

    #: Waiting: for a worker, its next attempt or another run.
    PENDING = 0
    RUNNING = 1
    SUCCEEDED = 2
    #: Given up.
    FAILED = 3
    #: Given up, as its last attempt took too long.
    TIMED_OUT = 5
    CANCELLED = 6
    #: Never run: overlap or misfire.
    SKIPPED = 7


@dataclass(frozen=True)
class JobInfo:
    """A job in a store, and its last run to start."""

    name: str
    topic: str
    payload: str = field(repr=False)
    #: The expression that is in force, and its zone; None: a one-time job.
    cron: Optional[str]
    tz: Optional[str]
    #: Who registered it; None: it was put.
    registrar: Optional[str]
    #: False if an operator disabled it, or its code does not have it any more.
    enabled: bool
    #: The program that registered it has it no more: it may have no handler.
    vanished: bool
    #: None: never.
    next_due: Optional[datetime]
    last_due: Optional[datetime]
    last_started: Optional[datetime]
    #: None: it has not ended.
    last_duration: Optional[timedelta]
    last_status: Optional[RunStatus]
    overlap: Overlap
    misfire: Misfire
    misfire_threshold: timedelta
    #: 0 unless with Misfire.CATCH_UP.
    catch_up: int
    #: None each: as the worker says.
    timeout: Optional[timedelta]
    max_attempts: Optional[int]
    backoff_base: Optional[timedelta]
    backoff_max: Optional[timedelta]


@dataclass(frozen=True)
class JobRun:
    """A run of a job."""

    id: uuid.UUID
    #: The job's name.
    job: str
    status: RunStatus
    #: The instant that it was scheduled for.
    due: datetime
    #: False: it was triggered by hand.
    scheduled: bool
    #: When its last attempt began.
    started: Optional[datetime]
    ended: Optional[datetime]
    #: How many attempts ended without success.
    attempt: int
    #: What its handler returned.
    output: Optional[str] = field(repr=False)
    #: The reason of the last failure or of the skip.
    error: Optional[str]
