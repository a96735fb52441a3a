# SPDX-License-Identifier: Apache-2.0
"""Timers: messages that are due at an instant, in a queue of their own."""
from __future__ import annotations

import uuid
from datetime import datetime
from typing import Iterable, List, Mapping, Optional, Tuple

from waypost import _handle
from waypost._text import Duration, Payload, optional_name, to_ms, to_us
from waypost.errors import ArgumentError
from waypost.message import Enqueued, Info, Message
from waypost.queue import Call, MessageQueue, Page, enqueue


class Timers(MessageQueue):
    """Reached as `store.timers`. Thread-safe.

    When a timer is due, by the database's clock and never before, a worker that handles its topic
    (@worker.timer(topic)) gets it, by due time, then in the order in which they were scheduled. Until
    it is claimed for the first time it can be cancelled and rescheduled.

    With `connection` (as for Outbox.enqueue()) a call belongs to the app's transaction; without, what it
    stores is committed when it returns.
    """

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._timers = _handle.Timers(store)
        super().__init__(self._timers, owner)

    # ---- schedule ---------------------------------------------------------------------------

    def schedule(
        self,
        topic: str,
        payload: Payload,
        *,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        unique_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Enqueued:
        """Schedule a timer at an instant, or after a time from the database's now on; without either, and
        with a negative delay, it is due at once."""
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, unique_key, headers
        )
        return self.schedule_many((message,), connection=connection)[0]

    async def schedule_async(
        self,
        topic: str,
        payload: Payload,
        *,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        connection: Optional[object] = None,
        correlation_id: Optional[str] = None,
        expires: Optional[datetime] = None,
        ordering_key: Optional[str] = None,
        unique_key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Enqueued:
        """schedule() on an async connection; without one, on a thread."""
        message = Message(
            topic, payload, correlation_id, due, delay, expires, ordering_key, unique_key, headers
        )
        return (await self.schedule_many_async((message,), connection=connection))[0]

    def schedule_many(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """Schedule timers in order, up to 10,000; without `connection` in one transaction."""
        return enqueue(self._timers, messages).run(connection)

    async def schedule_many_async(
        self, messages: Iterable[Message], *, connection: Optional[object] = None
    ) -> List[Enqueued]:
        """schedule_many() on an async connection; without one, on a thread."""
        return await enqueue(self._timers, messages).run_async(connection)

    # ---- cancel and reschedule --------------------------------------------------------------

    def cancel(self, id: uuid.UUID, *, connection: Optional[object] = None) -> bool:
        """Cancel a timer that was never claimed: it will not fire. False: there is no such timer, it was
        cancelled before, or a worker has or had it; then nothing is changed."""
        return self._change("cancel", id).run(connection)

    async def cancel_async(
        self, id: uuid.UUID, *, connection: Optional[object] = None
    ) -> bool:
        """cancel() on an async connection; without one, on a thread."""
        return await self._change("cancel", id).run_async(connection)

    def reschedule(
        self,
        id: uuid.UUID,
        *,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        connection: Optional[object] = None,
    ) -> bool:
        """Give a timer that was never claimed another due time; the past means now. False as for
        cancel(). A `delay` is from the database's now on."""
        verb, when = self._when(due, delay)
        return self._change(verb, id, when).run(connection)

    async def reschedule_async(
        self,
        id: uuid.UUID,
        *,
        due: Optional[datetime] = None,
        delay: Optional[Duration] = None,
        connection: Optional[object] = None,
    ) -> bool:
        """reschedule() on an async connection; without one, on a thread."""
        verb, when = self._when(due, delay)
        return await self._change(verb, id, when).run_async(connection)

    @staticmethod
    def _when(due: Optional[datetime], delay: Optional[Duration]) -> Tuple[str, int]:
        if (due is None) == (delay is None):
            raise ArgumentError("give either due or delay")
        if due is not None:
            return "reschedule", to_us("due", due)
        return "reschedule_in", to_ms("delay", delay)

    def _change(self, verb: str, id: uuid.UUID, *when: int) -> Call[bool]:
        return Call(
            lambda: self._timers.change(verb, id, *when),
            lambda style: self._timers.change_op(verb, id, style, *when),
            lambda operation: operation.result_count() == 1,
        )

    # ---- looking ----------------------------------------------------------------------------

    def list(self, *, correlation_id: Optional[str] = None, limit: int = 100) -> Page[Info]:
        """The first page of the timers that are unfinished, or of all that have a correlation id,
        finished ones too, in the order in which they were scheduled; up to 10,000 on a page."""
        name = optional_name("correlation_id", correlation_id)

        def read(after: Optional[_handle.Page[Info]], limit: int) -> _handle.Page[Info]:
            return self._timers.list(name, after, limit)

        return Page.first(limit, read)
