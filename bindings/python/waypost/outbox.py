# SPDX-License-Identifier: Apache-2.0
"""The outbox: messages written in the app's transaction, claimed and finished afterwards."""
from __future__ import annotations

import asyncio
import uuid
from datetime import datetime
from typing import Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from waypost import _handle, drivers
from waypost._text import Duration, Payload, name_text, to_ms
from waypost.errors import ArgumentError
from waypost.message import Claim, Enqueued, Info, Message, OutboxStats, Received

#: Which messages to finish: received ones (guarded by their claim numbers too), or bare ids.
Claimed = Union[Iterable[Received], Iterable[uuid.UUID]]


def _enqueued(results: Iterable[Tuple[uuid.UUID, bool]]) -> List[Enqueued]:
    return [Enqueued(id, duplicate) for id, duplicate in results]


def _results(operation: _handle.Operation) -> List[Enqueued]:
    return _enqueued(operation.results())


def _messages(messages: object) -> Sequence[Message]:
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Iterable):
        raise ArgumentError(
            f"messages must be an iterable of Message, not {type(messages).__name__}"
        )
    return list(messages)


def _integer(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{name} must be an int, not {type(value).__name__}")
    return value


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


def _optional_name(name: str, value: Optional[str]) -> Optional[bytes]:
    return None if value is None else name_text(name, value)


class Outbox:
    """Reached as `store.outbox`. Thread-safe."""

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._store = store
        self._owner = owner  # the Store, whose end would close `store`

    # ---- enqueue ----------------------------------------------------------------------------

    def enqueue(
        self,
        topic: str,
        payload: Payload,
        *,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        unique_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Enqueued:
        """Enqueue a message.

        With `connection` (a DB-API connection or cursor, a SQLAlchemy connection or session, or
        anything with a driver in waypost.drivers) the message belongs to the app's transaction on
        it, which stays the app's to commit or roll back. Errors of the statement are those of the
        app's driver. Without, the message is committed when this returns.
        """
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, unique_key, headers
        )
        return self.enqueue_many((message,), connection=connection)[0]

    def enqueue_many(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """Enqueue messages in order, up to 10,000; without `connection` in one transaction."""
        batch = _messages(messages)
        if connection is None:
            return _enqueued(self._store.enqueue(batch))
        return drivers.run(
            connection, lambda style: self._store.enqueue_op(batch, style), _results
        )

    async def enqueue_async(
        self,
        topic: str,
        payload: Payload,
        *,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        unique_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Enqueued:
        """enqueue() on an async connection (aiosqlite, SQLAlchemy's AsyncConnection and
        AsyncSession); without one, on a thread so that the event loop goes on."""
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, unique_key, headers
        )
        return (await self.enqueue_many_async((message,), connection=connection))[0]

    async def enqueue_many_async(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """enqueue_many() on an async connection."""
        batch = _messages(messages)
        if connection is None:
            return _enqueued(await asyncio.to_thread(self._store.enqueue, batch))
        return await drivers.run_async(
            connection, lambda style: self._store.enqueue_op(batch, style), _results
        )

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
        if isinstance(topics, str):
            raise ArgumentError("topics must be an iterable of str, not a str")
        names = None if topics is None else list(topics)
        messages = self._store.claim(
            owner, names, _integer("batch", batch), to_ms("lease", lease)
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
        ids, claims = _claimed(messages)
        name = _optional_name("worker", worker)
        if connection is None:
            return self._store.finish("ack", owner, ids, claims, name)
        return drivers.run(
            connection,
            lambda style: self._store.ack_op(owner, ids, claims, name, style),
            _handle.Operation.result_count,
        )

    async def ack_async(
        self,
        owner: uuid.UUID,
        messages: Claimed,
        *,
        connection: object,
        worker: Optional[str] = None,
    ) -> int:
        """ack() on an async connection."""
        ids, claims = _claimed(messages)
        name = _optional_name("worker", worker)
        return await drivers.run_async(
            connection,
            lambda style: self._store.ack_op(owner, ids, claims, name, style),
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
        ids, claims = _claimed(messages)
        text = _optional_name("reason", reason)
        return self._store.finish("abandon", owner, ids, claims, delay_ms, text)

    def fail(
        self, owner: uuid.UUID, messages: Claimed, *, reason: Optional[str] = None
    ) -> int:
        """Finish messages as failed, for ever; returns how many changed."""
        ids, claims = _claimed(messages)
        return self._store.finish("fail", owner, ids, claims, _optional_name("reason", reason))

    def release(self, owner: uuid.UUID, messages: Claimed) -> int:
        """Give messages back that were never started; returns how many changed."""
        ids, claims = _claimed(messages)
        return self._store.finish("release", owner, ids, claims)

    def renew(self, owner: uuid.UUID, messages: Claimed, *, lease: Duration) -> int:
        """Extend leases, from now on; returns how many changed."""
        ids, claims = _claimed(messages)
        return self._store.finish("renew", owner, ids, claims, to_ms("lease", lease))

    def reap(self) -> int:
        """Recover every expired lease, and fail expired messages; returns how many changed."""
        return self._store.reap()

    # ---- looking ----------------------------------------------------------------------------

    def get(self, id: uuid.UUID) -> Info:
        """Look one message up; NotFoundError."""
        return self._store.get(id)

    def stats(self, *, finished: bool = True) -> OutboxStats:
        """Count by topic; without `finished`, done and failed messages are left out (they are
        counted row by row)."""
        return self._store.stats(finished)
