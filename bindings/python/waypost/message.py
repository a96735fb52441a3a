# SPDX-License-Identifier: Apache-2.0
"""Messages: on their way in, and as they come out."""
from __future__ import annotations

import enum
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, Iterator, Mapping, Optional, Sequence, Tuple, Union, overload

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
    #: The joins that it is a member of, up to 16; the outbox's only.
    joins: Sequence[uuid.UUID] = ()


@dataclass(frozen=True)
class Enqueued:
    """What became of an enqueue."""

    #: The new message's id, or the first one's if it is a duplicate.
    id: uuid.UUID
    #: Nothing was stored, because of the unique key.
    duplicate: bool = False


@dataclass(frozen=True)
class InboxKey:
    """What a message from elsewhere is known by, compared byte for byte.

    source, message_id and consumer hold up to 255 UTF-16 code units, the hash up to 1024 bytes.
    """

    #: Where it comes from.
    source: str
    #: Its id there.
    message_id: str
    #: Who receives it: each consumer of one message processes it once.
    consumer: Optional[str] = None
    #: A cryptographic hash of its content, so that another content under the same id is noticed.
    hash: Optional[bytes] = None
    #: What made the hash, by default "sha256". Hashes of different algorithms are not compared.
    hash_algorithm: Optional[str] = None


class InboxState(enum.Enum):
    """The state in which a message was found when it arrived."""

    #: It was not known: it is the first time that it arrives.
    NEW = 1
    #: It had arrived before, and nothing was made of it.
    SEEN = 2
    #: It is enqueued, or being processed.
    PROCESSING = 3
    #: It was processed.
    DONE = 4
    #: It was given up.
    DEAD = 5


@dataclass(frozen=True)
class Arrival:
    """What the inbox knew of a message when it arrived."""

    state: InboxState
    #: It is known by another content hash. That is logged as a warning, and is no error.
    mismatch: bool = False
    #: By which claims know it, where it was enqueued.
    id: Optional[uuid.UUID] = None

    @property
    def proceed(self) -> bool:
        """Nobody has processed it, or is about to."""
        return self.state in (InboxState.NEW, InboxState.SEEN)

    def __bool__(self) -> bool:
        """TypeError: `if inbox.once(...)` would be true for whatever arrives, also what is done."""
        raise TypeError("an Arrival is neither true nor false: ask its proceed or its state")


class QueueKind(enum.Enum):
    """The queues that a worker takes messages from."""

    OUTBOX = 1
    INBOX = 2
    TIMERS = 3
    #: Runs of jobs.
    JOBS = 4


@dataclass(frozen=True)
class Received:
    """A message as a queue holds it. What other queues have is None."""

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
    #: Of the inbox: where it comes from, its id there, who receives it, and the hash of its content.
    source: Optional[str] = None
    message_id: Optional[str] = None
    consumer: Optional[str] = None
    hash: Optional[bytes] = None
    hash_algorithm: Optional[str] = None
    #: Of the inbox: when it arrived last.
    last_seen: Optional[datetime] = None
    #: Of a run: the job's name.
    job: Optional[str] = None
    #: The reason of the last attempt that ended without success.
    last_error: Optional[str] = None


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
    #: The inbox: arrived, but not enqueued.
    SEEN = 5
    #: A timer, or a run, that was cancelled.
    CANCELLED = 6


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
    #: Of which queue it is.
    queue: QueueKind


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
    #: Of those in progress, whose lease is over: nobody has reaped them yet.
    lease_expired: int = 0
    #: Would be claimable, but their topic is paused: not in `ready`.
    paused: int = 0


@dataclass(frozen=True)
class QueueStats:
    """What a queue holds, by topic and in all. A snapshot."""

    topics: Mapping[str, Stats]
    total: Stats


@dataclass(frozen=True)
class PausedTopic:
    """A topic that workers leave alone until it is resumed."""

    topic: str
    since: datetime
    by: Optional[str]


@dataclass(frozen=True)
class AuditEntry:
    """What somebody changed by hand."""

    #: Later ones have higher numbers.
    number: int
    at: datetime
    #: Who did it; None: nobody said.
    by: Optional[str]
    #: "topic.pause", "topic.resume", "dead.replay", "dead.purge", "dead.edit", "job.pause", "job.resume",
    #: "job.trigger", or what a later version knows.
    action: str
    #: In which queue; None: in none.
    queue: Optional[QueueKind]
    #: To what: a topic, a job's name, a message's id; None: to several.
    subject: Optional[str]
    #: More: how many, say; {}: there is none.
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class ListedLease:
    """A lease or a semaphore in a list, also one that nobody holds."""

    name: str
    #: Who holds the lease, or held it last; None: nobody, or it is a semaphore.
    owner: Optional[str]
    #: Until when it is held, or was; of a semaphore the first of its holders. None: it has none.
    until: Optional[datetime]
    #: How many may hold it: 1, or the semaphore's limit.
    limit: int
    #: How many hold it.
    holders: int


@dataclass(frozen=True)
class LeaseInfo:
    """What a call to a lease or a semaphore found or did."""

    #: The call acquired or renewed it; False: it was refused, or only asked.
    granted: bool
    #: The number of this acquisition: greater than that of every earlier one of the name, for ever.
    fence: int
    #: When it ends unless renewed, by the database's clock. Where it was refused: when the holder's
    #: ends, of a semaphore the first one's; not after `now`: nobody holds it.
    until: datetime
    #: The database's time of the call.
    now: datetime
    #: Who holds it, or held it last; "" if nobody, or the semaphore's holders.
    owner: str
    #: How many may hold it: 1, or the semaphore's limit; 0 after a renewal of a slot.
    limit: int
    #: How many hold it; 0 after a renewal of a slot.
    holders: int
