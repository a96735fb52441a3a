# SPDX-License-Identifier: Apache-2.0
"""Async handlers: tasks on one event loop, fed from the worker's threads."""
from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from typing import Any, Awaitable, Callable, Deque, Dict, Optional, Tuple

from waypost import errors
from waypost.delivery import Cancel, Delivery

#: Finishes a delivery: what its handler returned, or raised.
Finish = Callable[[Delivery, object, Optional[BaseException]], None]
Function = Callable[[Delivery], Any]

_TOLD = (Cancel.LEASE_LOST.value, Cancel.TIMEOUT.value, Cancel.REQUESTED.value)
LOOP_CLOSED = "the event loop was closed"


class Runner:
    """Runs handlers as tasks on a loop. Made when a worker starts, never before."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, context: contextvars.Context, finish: Finish
    ) -> None:
        self.loop = loop
        self._context = context
        self._finish = finish
        self._queue: Deque[Tuple[Delivery, Function, Optional[Awaitable[object]]]] = deque()
        self._scheduled = False
        self._tasks: Dict[Any, Tuple[asyncio.Task[None], Delivery]] = {}

    # ---- on the worker's threads ------------------------------------------------------------

    def post(
        self,
        delivery: Delivery,
        function: Function,
        started: Optional[Awaitable[object]] = None,
    ) -> None:
        """Have the loop run a handler, or go on with what it returned."""
        self._queue.append((delivery, function, started))
        if not self._scheduled:
            self._scheduled = True
            try:
                self.loop.call_soon_threadsafe(self._start_queued, context=self._context)
            except RuntimeError:
                self.give_back()

    @property
    def closed(self) -> bool:
        return self.loop.is_closed()

    def give_back(self) -> None:
        """The loop is closed: nobody else will finish what it had."""
        self._scheduled = False
        pending = [delivery for _, delivery in list(self._tasks.values())]
        self._tasks.clear()
        while self._queue:
            pending.append(self._queue.popleft()[0])
        for delivery in pending:
            try:
                delivery.retry(LOOP_CLOSED)
            except errors.Error:
                pass  # finished meanwhile, or lost

    def cancel(self, key: Any) -> None:
        self._call(self._cancel_one, key)

    def cancel_all(self) -> None:
        self._call(self._cancel_all)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self.loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            self.give_back()

    # ---- on the loop ------------------------------------------------------------------------

    def _start_queued(self) -> None:
        self._scheduled = False  # before the queue is read: what comes after, schedules again
        while self._queue:
            delivery, function, started = self._queue.popleft()
            if delivery._cancelled() in _TOLD:
                self._finish(delivery, None, asyncio.CancelledError())
                continue
            task = self.loop.create_task(self._handle(delivery, function, started))
            self._tasks[delivery._key] = (task, delivery)

    async def _handle(
        self, delivery: Delivery, function: Function, started: Optional[Awaitable[object]]
    ) -> None:
        try:
            result = await (function(delivery) if started is None else started)
        except asyncio.CancelledError as error:
            self._finish(delivery, None, error)
            raise
        except GeneratorExit:  # dropped with its loop: freed, the delivery is tried again
            raise
        except BaseException as error:
            self._finish(delivery, None, error)
        else:
            self._finish(delivery, result, None)
        finally:
            self._tasks.pop(delivery._key, None)

    def _cancel_one(self, key: Any) -> None:
        found = self._tasks.get(key)
        if found is not None and found[1]._cancelled() in _TOLD:
            found[0].cancel()

    def _cancel_all(self) -> None:
        for task, _ in list(self._tasks.values()):
            task.cancel()


class LoopThread:
    """An event loop on a thread of its own, for a worker that was started without one."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._run, name="waypost-asyncio", daemon=True
        )
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self._finish_tasks()
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()

    def _finish_tasks(self) -> None:
        """Cancel what is left, as asyncio.run() does, and give it a moment."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=1.0))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())

    def close(self, timeout: float = 2.0) -> None:
        if not self.loop.is_closed():
            try:
                self.loop.call_soon_threadsafe(self.loop.stop)
            except RuntimeError:
                return
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout)
