# SPDX-License-Identifier: Apache-2.0
"""Messages: on their way in, and as they come out."""
from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union, overload

from waypost._text import Duration, Payload


@dataclass(frozen=True)
class Message:
    """A message to enqueue.

    topic, correlation_id, ordering_key and unique_key hold up to 255 UTF-16 code units. The
    payload is text: str, or bytes that are UTF-8 without NUL; for binary see encode_base64().
    Datetimes must have a time zone.
    """

    topic: str
    payload: Payload
    correlation_id: Optional[str] = None
    #: Hide it until this instant ...
    due: Optional[datetime] = None
    #: ... or for this time from the enqueue on, by the database's clock.
    delay: Optional[Duration] = None
    #: Fail it with the reason "expired" instead of dispatching it from this instant on.
    expires: Optional[datetime] = None
    #: Messages with the same key run one at a time, in the order of their enqueue.
    ordering_key: Optional[str] = None
    #: While an unfinished message with this key is in the outbox, an enqueue is a duplicate.
    unique_key: Optional[str] = None
    headers: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class Enqueued:
    """What became of an enqueue."""

    #: The new message's id, or the first one's if it is a duplicate.
    id: uuid.UUID
    #: Nothing was stored, because of the unique key.
    duplicate: bool = False


@dataclass(frozen=True)
class Received:
    """A message as the outbox holds it."""

    id: uuid.UUID
    topic: str
    payload: str = field(repr=False)
    correlation_id: Optional[str]
    ordering_key: Optional[str]
    headers: Dict[str, str] = field(hash=False)
    #: How many attempts ended without success before this one.
    attempt: int
    #: The number of this claim of this message: a fencing token, it rises with every claim.
    claim_number: int
    created: datetime
    due: datetime
    expires: Optional[datetime]


@dataclass(frozen=True)
class Claim(Sequence[Received]):
    """A batch of claimed messages, and who holds them."""

    owner: uuid.UUID
    messages: Tuple[Received, ...]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Received]:
        return iter(self.messages)

    @overload
    def __getitem__(self, index: int) -> Received:
        ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Received]:
        ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Received, Sequence[Received]]:
        return self.messages[index]


class Status(enum.Enum):
    """Where a message stands."""

    READY = 0
    IN_PROGRESS = 1
    DONE = 2
    FAILED = 3
    #: Waits for an earlier message with the same ordering key.
    BLOCKED = 4


@dataclass(frozen=True)
class Info:
    """One message and where it stands."""

    status: Status
    message: Received
    #: When it is tried next, if it is unfinished.
    next_attempt: Optional[datetime]
    locked_until: Optional[datetime]
    finished: Optional[datetime]
    finished_by: Optional[str]
    last_error: Optional[str]


@dataclass(frozen=True)
class Stats:
    """Counts of messages."""

    ready: int = 0
    scheduled: int = 0
    in_progress: int = 0
    blocked: int = 0
    done: int = 0
    failed: int = 0
    #: Age of the oldest claimable message, in seconds.
    oldest_ready_age: float = 0.0


@dataclass(frozen=True)
class OutboxStats:
    """What the outbox holds, by topic and in all. A snapshot."""

    topics: Mapping[str, Stats]
    total: Stats
