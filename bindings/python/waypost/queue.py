# SPDX-License-Identifier: Apache-2.0
"""What all queues have: claim and finish by hand, looking, dead letters, cleanup."""
from __future__ import annotations

import asyncio
import contextlib
import functools
import uuid
from datetime import datetime
from typing import (
    Any,
    Callable,
    ContextManager,
    Generic,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from waypost import _handle, drivers
from waypost._text import (
    TIME_US_MAX, Duration, Payload, encode, instance, integer, name_text, optional_name,
    to_ms, to_us,
)
from waypost._trace import QUEUES, sending
from waypost.errors import ArgumentError, RangeError
from waypost.message import Claim, Enqueued, Info, Message, PausedTopic, QueueStats, Received

T = TypeVar("T")

#: Which messages to finish: received ones (guarded by their claim numbers too), or bare ids.
Claimed = Union[Iterable[Received], Iterable[uuid.UUID]]

_ALL = 2**63 - 1


class Call(Generic[T]):
    """One call to the store, on a connection of its own or of the app's, plain or async."""

    def __init__(
        self,
        own: Callable[[], T],
        begin: drivers.Begin,
        result: Callable[[_handle.Operation], T],
        span: Callable[[], ContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self._own = own
        self._begin = begin
        self._result = result
        self._span = span

    def run(self, connection: Optional[object]) -> T:
        with self._span():
            if connection is None:
                return self._own()
            return drivers.run(connection, self._begin, self._result)

    async def run_async(self, connection: Optional[object]) -> T:
        """Without a connection, on a thread so that the event loop goes on."""
        with self._span():
            if connection is None:
                return await asyncio.to_thread(self._own)
            return await drivers.run_async(connection, self._begin, self._result)


# ---- arguments ------------------------------------------------------------------------------


def item_list(name: str, what: str, items: object) -> List[Any]:
    if isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        raise ArgumentError(f"{name} must be an iterable of {what}, not {type(items).__name__}")
    return list(items)


def _claimed(messages: object) -> Tuple[List[uuid.UUID], Optional[List[int]]]:
    """Ids, and the numbers of their claims where the messages have them."""
    if not isinstance(messages, Iterable):
        raise ArgumentError(
            f"messages must be an iterable of Received or UUID, not {type(messages).__name__}"
        )
    items = list(messages)
    if items and all(isinstance(item, Received) for item in items):
        return [item.id for item in items], [item.claim_number for item in items]
    if not all(isinstance(item, uuid.UUID) for item in items):
        raise ArgumentError("messages must all be Received, or all be UUID")
    return items, None


# ---- pages ----------------------------------------------------------------------------------


Read = Callable[[Optional[_handle.Page[T]], int], _handle.Page[T]]


class Page(Sequence[T]):
    """A page of a list. A snapshot; the pages after it are read when they are asked for."""

    def __init__(self, handle: Optional[_handle.Page[T]], limit: int, read: Read[T]) -> None:
        self._handle = handle
        self._items: List[T] = handle.items if handle else []
        self._limit = limit
        self._read = read

    @classmethod
    def first(cls, limit: object, read: Read[T]) -> Page[T]:
        number = integer("limit", limit)
        return cls(read(None, number), number, read)

    def next(self) -> Page[T]:
        """The page after this one; an empty one at the end."""
        if not self._items:
            return self
        return Page(self._read(self._handle, self._limit), self._limit, self._read)

    def all(self) -> Iterator[T]:
        """What is on this page and on all after it."""
        page = self
        while page:
            yield from page
            page = page.next()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    @overload
    def __getitem__(self, index: int) -> T:
        ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]:
        ...

    def __getitem__(self, index: Union[int, slice]) -> Union[T, Sequence[T]]:
        return self._items[index]

    def __repr__(self) -> str:
        return f"Page({self._items!r})"


# ---- dead letters ---------------------------------------------------------------------------


class DeadLetters:
    """Dead letters of one queue or of all, all or some of them. See dead() of the queues. Iterating goes through
    all of them, those that died first first. Thread-safe."""

    def __init__(
        self,
        queue: _handle.Queue,
        topic: Optional[str],
        reason: Optional[str],
        since: Optional[datetime],
        until: Optional[datetime],
        ids: Optional[Iterable[uuid.UUID]],
        owner: object = None,
    ) -> None:
        times: Optional[Tuple[int, int]] = None
        if since is not None or until is not None:
            times = (
                0 if since is None else to_us("since", since),
                TIME_US_MAX if until is None else to_us("until", until),
            )
            if not 0 <= times[0] <= times[1]:
                raise RangeError(f"since {since} until {until} is no range of time from 1970 on")
        chosen = None if ids is None else item_list("ids", "UUID", ids)
        for id in chosen or ():
            if not isinstance(id, uuid.UUID):
                raise ArgumentError(f"ids must hold UUIDs, not {type(id).__name__}")
        self._queue = queue
        self._owner = owner  # the Store, whose end would close it
        self._none = chosen is not None and not chosen
        self._filter = _handle.DeadFilter(topic, reason, times, chosen)

    def page(self, limit: int = 100) -> Page[Info]:
        """The first page, of 1 to 1000."""

        def read(after: Optional[_handle.Page[Info]], limit: int) -> _handle.Page[Info]:
            return self._queue.dead(self._filter, after, limit)

        return Page(None, limit, read) if self._none else Page.first(limit, read)

    def __iter__(self) -> Iterator[Info]:
        return self.page().all()

    def replay(
        self, *, limit: Optional[int] = None, per_second: int = 0, by: Optional[str] = None
    ) -> int:
        """Make them ready again, with no attempts, in the order in which they died; returns how many.
        Each replay is recorded and logged. One whose unique key another unfinished message has stays
        dead; an expiry that has passed counts no more.

        limit       at most so many
        per_second  at most so many are due in a second, from now on; 0: all at once
        by          who asked for it, up to 255 characters
        """
        count, rate = self._limit(limit), integer("per_second", per_second)
        name = optional_name("by", by)
        return 0 if self._none else self._queue.replay(self._filter, count, rate, name)

    def purge(self, *, limit: Optional[int] = None, by: Optional[str] = None) -> int:
        """Delete them for ever; returns how many. The inbox forgets that they ever arrived. `by`: who asked
        for it, for the audit."""
        count, name = self._limit(limit), optional_name("by", by)
        return 0 if self._none else self._queue.purge(self._filter, count, name)

    @staticmethod
    def _limit(limit: Optional[int]) -> int:
        return _ALL if limit is None else integer("limit", limit)


# ---- queues ---------------------------------------------------------------------------------


class AllQueues:
    """What is left in the queues: the dead letters of all in one list, and the cleanup. Of all, one queue
    is replayed or purged after the other, and the limit and the rate are those of all together.
    Thread-safe."""

    def __init__(self, handle: _handle.Queue, owner: object) -> None:
        self._handle = handle
        self._owner = owner  # the Store, whose end would close it

    def dead(
        self,
        *,
        topic: Optional[str] = None,
        reason: Optional[str] = None,
        since: Optional[datetime] = None,
        until: Optional[datetime] = None,
        ids: Optional[Iterable[uuid.UUID]] = None,
    ) -> DeadLetters:
        """Dead letters: all, or those of a topic, whose reason holds a text, that died from `since` to
        `until`, both included, with these ids. They are listed by iterating or in pages, replayed, or
        purged:

            for info in store.outbox.dead(topic="mails.send"): print(info.last_error)
            store.outbox.dead(reason="connection refused").replay(per_second=10)
        """
        return DeadLetters(self._handle, topic, reason, since, until, ids, self._owner)

    def cleanup(self, older_than: Duration) -> int:
        """Delete what was finished with success, or cancelled, so long ago or longer, in batches with a
        transaction each and short pauses; returns how many. What is unfinished or dead stays, and a
        message of the inbox also if it was only seen, or arrived again since."""
        return self._handle.cleanup(to_ms("older_than", older_than))


class Queue(AllQueues):
    """What the outbox, the inbox, the timers and the runs of jobs have in common. Thread-safe."""

    # ---- claim and finish, by hand ----------------------------------------------------------

    def claim(
        self,
        owner: uuid.UUID,
        *,
        topics: Optional[Iterable[str]] = None,
        batch: int = 100,
        lease: Duration = 30.0,
    ) -> Claim:
        """Claim due messages under a lease; of some topics, or of all. A worker does all this by
        itself.

        `owner` is the claimer's token, a fresh one for each process that claims: new_id().
        """
        names = None if topics is None else item_list("topics", "str", topics)
        messages = self._handle.claim(
            owner, names, integer("batch", batch), to_ms("lease", lease)
        )
        return Claim(owner, tuple(messages))

    def ack(
        self,
        owner: uuid.UUID,
        messages: Claimed,
        *,
        worker: Optional[str] = None,
        connection: Optional[object] = None,
    ) -> int:
        """Finish messages as done; returns how many changed. Those that `owner` does not hold
        any more do not. With `connection` it is part of the app's transaction."""
        return self._ack(owner, messages, worker).run(connection)

    async def ack_async(
        self,
        owner: uuid.UUID,
        messages: Claimed,
        *,
        worker: Optional[str] = None,
        connection: Optional[object] = None,
    ) -> int:
        """ack() on an async connection."""
        return await self._ack(owner, messages, worker).run_async(connection)

    def _ack(self, owner: uuid.UUID, messages: Claimed, worker: Optional[str]) -> Call[int]:
        queue = self._handle
        ids, claims = _claimed(messages)
        name = optional_name("worker", worker)
        return Call(
            lambda: queue.finish("ack", owner, ids, claims, name),
            lambda style: queue.finish_op("ack", owner, ids, claims, style, name),
            _handle.Operation.result_count,
        )

    def abandon(
        self,
        owner: uuid.UUID,
        messages: Claimed,
        *,
        delay: Optional[Duration] = None,
        reason: Optional[str] = None,
    ) -> int:
        """Give messages back after a failed attempt, to be tried again after the delay, by default
        the backoff; returns how many changed."""
        delay_ms = 0
        if delay is not None:
            delay_ms = to_ms("delay", delay)
            if delay_ms == 0:
                raise ArgumentError("delay is 0: give a longer one, or None for the backoff")
        text = optional_name("reason", reason)
        return self._finish("abandon", owner, messages, delay_ms, text)

    def fail(
        self, owner: uuid.UUID, messages: Claimed, *, reason: Optional[str] = None
    ) -> int:
        """Finish messages as failed, for ever; returns how many changed. The inbox wants a reason."""
        return self._finish("fail", owner, messages, optional_name("reason", reason))

    def release(self, owner: uuid.UUID, messages: Claimed) -> int:
        """Give messages back that were never started; returns how many changed."""
        return self._finish("release", owner, messages)

    def renew(self, owner: uuid.UUID, messages: Claimed, *, lease: Duration) -> int:
        """Extend leases, from now on; returns how many changed."""
        return self._finish("renew", owner, messages, to_ms("lease", lease))

    def _finish(self, verb: str, owner: uuid.UUID, messages: Claimed, *rest: Any) -> int:
        ids, claims = _claimed(messages)
        return self._handle.finish(verb, owner, ids, claims, *rest)

    def reap(self) -> int:
        """Recover every expired lease, and fail expired messages; returns how many changed."""
        return self._handle.reap()

    # ---- pausing ----------------------------------------------------------------------------

    def pause(
        self, topic: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> bool:
        """Have all workers leave a topic alone until it is resumed. Handlers that run finish; what a
        worker has not started goes back. False: it was paused already. `by`, up to 255 characters, is
        noted in the audit."""
        return self._pause("pause", topic, by).run(connection)

    async def pause_async(
        self, topic: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> bool:
        """pause() on an async connection; without one, on a thread."""
        return await self._pause("pause", topic, by).run_async(connection)

    def resume(
        self, topic: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> bool:
        """Let a topic go on. False: it was not paused."""
        return self._pause("resume", topic, by).run(connection)

    async def resume_async(
        self, topic: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> bool:
        """resume() on an async connection; without one, on a thread."""
        return await self._pause("resume", topic, by).run_async(connection)

    def _pause(self, verb: str, topic: str, by: Optional[str]) -> Call[bool]:
        queue = self._handle
        name, who = name_text("topic", topic), optional_name("by", by)
        return Call(
            lambda: queue.pause(verb, name, who),
            lambda style: queue.pause_op(verb, name, who, style),
            lambda operation: operation.result_count() == 1,
        )

    def paused(self) -> List[PausedTopic]:
        """The topics of this queue that are paused."""
        return self._handle.paused()

    # ---- dead letters -----------------------------------------------------------------------

    def edit_dead(self, id: uuid.UUID, payload: Payload, *, by: Optional[str] = None) -> bool:
        """Give a dead letter another payload, to replay it with. It stays dead, and all else stays as it is;
        the old payload is not kept. False: there is no such dead letter, or another transaction is at it.
        `by`, up to 255 characters, is noted in the audit."""
        return self._handle.edit(id, encode("payload", payload), optional_name("by", by))

    # ---- looking ----------------------------------------------------------------------------

    def stats(self, *, finished: bool = True) -> QueueStats:
        """Count by topic; without `finished`, done and failed messages are left out (they are
        counted row by row)."""
        instance("finished", finished, bool)
        return self._handle.stats(finished)


class MessageQueue(Queue):
    """A queue whose messages are looked up by id."""

    def get(self, id: uuid.UUID) -> Info:
        """Look one message up; NotFoundError."""
        return self._handle.get(id)


def _enqueued(results: Iterable[Tuple[uuid.UUID, bool]]) -> List[Enqueued]:
    return [Enqueued(id, duplicate) for id, duplicate in results]


def enqueue(queue: _handle.MessageQueue, messages: Iterable[Message]) -> Call[List[Enqueued]]:
    """Bring messages into the outbox, or schedule timers."""
    batch = item_list("messages", "Message", messages)
    return Call(
        lambda: _enqueued(queue.enqueue(batch)),
        lambda style: queue.enqueue_op(batch, style),
        lambda operation: _enqueued(operation.results()),
        functools.partial(sending, QUEUES[queue.source], batch),
    )
