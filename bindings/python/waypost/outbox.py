# SPDX-License-Identifier: Apache-2.0
"""The outbox: messages written in the app's transaction, claimed and finished afterwards."""
from __future__ import annotations

import uuid
from datetime import datetime
from typing import Iterable, List, Mapping, Optional, Sequence

from waypost import _handle
from waypost._text import Duration, Payload
from waypost.message import Enqueued, Message, QueueKind
from waypost.queue import MessageQueue, enqueue


class Outbox(MessageQueue):
    """Reached as `store.outbox`. Thread-safe."""

    def __init__(self, store: _handle.Store, owner: object) -> None:
        queue = _handle.MessageQueue(store, "outbox", QueueKind.OUTBOX, "enqueue")
        super().__init__(queue, owner)
        self._messages = queue

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
        joins: Sequence[uuid.UUID] = (),
    ) -> Enqueued:
        """Enqueue a message.

        With `connection` (a DB-API connection or cursor, a SQLAlchemy connection or session, or
        anything with a driver in waypost.drivers) the message belongs to the app's transaction on
        it, which stays the app's to commit or roll back. Errors of the statement are those of the
        app's driver. Without, the message is committed when this returns.

        joins   the joins that it is a member of, up to 16. NotFoundError: there is no such join;
                StateError: it is over
        """
        message = Message(
            topic,
            payload,
            correlation_id,
            due,
            delay,
            expires,
            ordering_key,
            unique_key,
            headers,
            joins,
        )
        return self.enqueue_many((message,), connection=connection)[0]

    def enqueue_many(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """Enqueue messages in order, up to 10,000; without `connection` in one transaction."""
        return enqueue(self._messages, messages).run(connection)

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
        joins: Sequence[uuid.UUID] = (),
    ) -> Enqueued:
        """enqueue() on an async connection (aiosqlite, SQLAlchemy's AsyncConnection and
        AsyncSession); without one, on a thread so that the event loop goes on. If that call is
        cancelled, the message may be stored all the same."""
        message = Message(
            topic,
            payload,
            correlation_id,
            due,
            delay,
            expires,
            ordering_key,
            unique_key,
            headers,
            joins,
        )
        return (await self.enqueue_many_async((message,), connection=connection))[0]

    async def enqueue_many_async(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """enqueue_many() on an async connection."""
        return await enqueue(self._messages, messages).run_async(connection)
