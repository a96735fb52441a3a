# SPDX-License-Identifier: Apache-2.0
"""The inbox: messages from elsewhere, each known by its source, its id and its consumer, so that one
that is delivered again is not processed again."""
from __future__ import annotations

import functools
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Iterable, List, Mapping, Optional, Tuple, Union

from waypost import _handle, drivers
from waypost._text import Duration, Payload, optional_name
from waypost._trace import sending
from waypost.errors import ArgumentError
from waypost.message import Arrival, InboxKey, Info, Message
from waypost.queue import Call, MessageQueue, item_list


@dataclass(frozen=True)
class InboxCounters:
    """What a store has counted since it was opened."""

    #: Calls of check() and once().
    checked: int = 0
    #: Enqueued, and not known before, or only seen.
    enqueued: int = 0
    #: Checked or enqueued, and known as processing, done or dead.
    duplicates: int = 0
    #: Known by another hash.
    mismatches: int = 0


class Inbox(MessageQueue):
    """Reached as `store.inbox`. Thread-safe.

    Three ways to use it: enqueue() what arrives and let a worker run its handler; process it in
    the app's own transaction, once(); or check() whether it was processed, and mark_processed()
    afterwards.

    With `connection` (as for Outbox.enqueue()) a call belongs to the app's transaction; without, what
    it stores is committed when it returns. A transaction that is storing the same message is waited
    for, as the engine waits for locks.
    """

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._inbox = _handle.Inbox(store)
        super().__init__(self._inbox, owner)

    # ---- arrival ----------------------------------------------------------------------------

    def check(self, key: InboxKey, *, connection: Optional[object] = None) -> Arrival:
        """Note that a message has arrived, and learn in which state it was found: it was processed if
        that is DONE. A new one is NEW, and SEEN from now on. The first hash is kept."""
        return self._check(key).run(connection)

    async def check_async(
        self, key: InboxKey, *, connection: Optional[object] = None
    ) -> Arrival:
        """check() on an async connection; without one, on a thread."""
        return await self._check(key).run_async(connection)

    def _check(self, key: InboxKey) -> Call[Arrival]:
        return Call(
            lambda: self._inbox.check(key),
            lambda style: self._inbox.key_op("check", key, style),
            _handle.Operation.arrival,
        )

    def once(self, key: InboxKey, *, connection: object) -> Arrival:
        """Process a message in the app's transaction, once.

        If `proceed` is true it is the app's to process: make the writes and commit, which makes it
        done together with them; after a rollback it is as before. If not, `state` says why: DONE, DEAD,
        or PROCESSING, which is also said of one that another transaction is processing at this moment:
        try again later.

        A transaction must be open, or be opened by the app's driver with the statement; StateError: the
        connection commits by itself, as far as that can be told. In a transaction of
        REPEATABLE READ or SERIALIZABLE the loser of a race may get a serialisation failure: roll back
        and begin anew. On SQLite it waits for other writers as the app's busy timeout says.
        """
        return self._once(key, connection).run(connection)

    async def once_async(self, key: InboxKey, *, connection: object) -> Arrival:
        """once() on an async connection."""
        return await self._once(key, connection).run_async(connection)

    def _once(self, key: InboxKey, connection: Optional[object]) -> Call[Arrival]:
        if connection is None:
            raise ArgumentError("connection is None: once() needs the app's transaction")
        drivers.need_transaction(connection)
        return Call(
            lambda: self._inbox.check(key),  # never: there is a connection
            lambda style: self._inbox.key_op("once", key, style),
            _handle.Operation.arrival,
        )

    def enqueue(
        self,
        key: InboxKey,
        topic: str,
        payload: Payload,
        *,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Arrival:
        """Enqueue a message for a worker's inbox handler, whatever was found of it.

        One that was only seen becomes ready. An unfinished one takes the new topic, payload, headers,
        correlation id, hash, due time and expiry, and keeps its attempts and its ordering key. A dead
        one takes them, too, and stays dead, unless the option `inbox.revive_dead` is on. One that is done
        stays as it is.
        """
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, None, headers
        )
        return self.enqueue_many(((key, message),), connection=connection)[0]

    async def enqueue_async(
        self,
        key: InboxKey,
        topic: str,
        payload: Payload,
        *,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Arrival:
        """enqueue() on an async connection; without one, on a thread."""
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, None, headers
        )
        return (await self.enqueue_many_async(((key, message),), connection=connection))[0]

    def enqueue_many(
        self,
        messages: Iterable[Tuple[InboxKey, Message]],
        *,
        connection: Optional[object] = None,
    ) -> List[Arrival]:
        """Enqueue messages, each with its key, up to 10,000; without `connection` in one transaction.
        A message has no unique key: that is what the inbox's key is."""
        return self._enqueue(messages).run(connection)

    async def enqueue_many_async(
        self,
        messages: Iterable[Tuple[InboxKey, Message]],
        *,
        connection: Optional[object] = None,
    ) -> List[Arrival]:
        """enqueue_many() on an async connection; without one, on a thread."""
        return await self._enqueue(messages).run_async(connection)

    def _enqueue(self, messages: Iterable[Tuple[InboxKey, Message]]) -> Call[List[Arrival]]:
        pairs = item_list("messages", "(InboxKey, Message)", messages)
        for pair in pairs:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ArgumentError("messages must be pairs of an InboxKey and a Message")
        keys = [key for key, _ in pairs]
        batch = [message for _, message in pairs]
        return Call(
            lambda: self._inbox.enqueue(keys, batch),
            lambda style: self._inbox.enqueue_op(keys, batch, style),
            _handle.Operation.arrivals,
            functools.partial(sending, "inbox", batch),
        )

    # ---- states by key ----------------------------------------------------------------------

    def mark_processing(self, key: InboxKey, *, connection: Optional[object] = None) -> None:
        """The app processes a seen message itself: others find it PROCESSING. There is no lease: if the
        app dies, it stays so until it is marked. NotFoundError; StateError: it is done or dead."""
        self._mark("mark_processing", key).run(connection)

    async def mark_processing_async(
        self, key: InboxKey, *, connection: Optional[object] = None
    ) -> None:
        """mark_processing() on an async connection; without one, on a thread."""
        await self._mark("mark_processing", key).run_async(connection)

    def mark_processed(self, key: InboxKey, *, connection: Optional[object] = None) -> None:
        """A message was processed, whatever it was before. A claim of it is lost. NotFoundError."""
        self._mark("mark_processed", key).run(connection)

    async def mark_processed_async(
        self, key: InboxKey, *, connection: Optional[object] = None
    ) -> None:
        """mark_processed() on an async connection; without one, on a thread."""
        await self._mark("mark_processed", key).run_async(connection)

    def mark_dead(
        self,
        key: InboxKey,
        *,
        reason: Optional[str] = None,
        connection: Optional[object] = None,
    ) -> None:
        """Give a message up. A claim of it is lost. NotFoundError; StateError: it is done."""
        self._mark_dead(key, reason).run(connection)

    async def mark_dead_async(
        self,
        key: InboxKey,
        *,
        reason: Optional[str] = None,
        connection: Optional[object] = None,
    ) -> None:
        """mark_dead() on an async connection; without one, on a thread."""
        await self._mark_dead(key, reason).run_async(connection)

    def _mark_dead(self, key: InboxKey, reason: Optional[str]) -> Call[None]:
        return self._mark("mark_dead", key, optional_name("reason", reason))

    def revive(self, key: InboxKey, *, connection: Optional[object] = None) -> None:
        """Make a dead message ready again, with no attempts; one that had no topic is only seen again.
        NotFoundError; StateError: it is not dead."""
        self._mark("revive", key).run(connection)

    async def revive_async(
        self, key: InboxKey, *, connection: Optional[object] = None
    ) -> None:
        """revive() on an async connection; without one, on a thread."""
        await self._mark("revive", key).run_async(connection)

    def _mark(self, verb: str, key: InboxKey, *reason: Optional[bytes]) -> Call[None]:
        return Call(
            lambda: self._inbox.mark(verb, key, *reason),
            lambda style: self._inbox.mark_op(verb, key, style, *reason),
            lambda _: None,
        )

    # ---- looking ----------------------------------------------------------------------------

    def get(self, id: Union[uuid.UUID, InboxKey]) -> Info:
        """Look one message up, by its key or by its id; NotFoundError. One that was only seen is SEEN,
        with empty texts for topic and payload; one that the app marked as processing is IN_PROGRESS,
        and has no lease."""
        return self._inbox.get_by_key(id) if isinstance(id, InboxKey) else self._inbox.get(id)

    @property
    def counters(self) -> InboxCounters:
        """What this store has counted since it was opened."""
        return InboxCounters(**self._inbox.counters())
