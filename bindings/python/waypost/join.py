# SPDX-License-Identifier: Apache-2.0
"""Joins and their members, as values."""
from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Optional


class JoinStatus(enum.Enum):
    """Where a join stands. What is over never changes again."""

    #: Waits for members.
    OPEN = 0
    #: Over: as many as expected are finished.
    COMPLETED = 1
    #: Over: the same, but one failed; or the deadline passed.
    FAILED = 2
    #: Over: it was cancelled.
    CANCELLED = 3


class MemberStatus(enum.Enum):
    """How a member of a join counted."""

    #: It did not; in a join that is over, it never will.
    WAITING = 0
    COMPLETED = 1
    FAILED = 2


@dataclass(frozen=True)
class JoinInfo:
    """A join as it was when it was looked at."""

    id: uuid.UUID
    status: JoinStatus
    #: How many members are to finish.
    expected: int
    #: How many counted as completed; never more, together with the failed ones, than are expected.
    completed: int
    #: How many counted as failed.
    failed: int
    #: It fails when a member failed.
    fail_if_any: bool
    grouping_key: Optional[str]
    metadata: Optional[str] = field(repr=False)
    #: When it was started, by the database's clock.
    created: datetime
    deadline: Optional[datetime]
    #: When it was over.
    ended: Optional[datetime]
    #: Why it failed, where that is not in its members: "timeout".
    reason: Optional[str]
    #: The message that was enqueued when it was over.
    continuation: Optional[uuid.UUID]


@dataclass(frozen=True)
class JoinMember:
    """A message that is a member of a join."""

    #: The message's id.
    id: uuid.UUID
    status: MemberStatus
