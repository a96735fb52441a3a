# SPDX-License-Identifier: Apache-2.0
"""One run of a worker: its threads and its event loop; and drain() and step()."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import inspect
import os
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Awaitable, Callable, Dict, List, Optional, Set, Tuple, Type

from waypost import _handle, errors
from waypost._handler import Handler
from waypost._log import LOGGER
from waypost._outcome import finish
from waypost._runner import Runner
from waypost._signals import StopOnSignal
from waypost._trace import forget
from waypost.delivery import Delivery

if TYPE_CHECKING:
    from waypost.worker import Worker

# The longest wait inside the core: signals are seen, and the core's log is written, in between.
WAIT_MS = 200
_WAIT_LONG_MS = 10_000
_EXIT_SECONDS = 2.0

#: The worker whose handler is running in this context.
inside: contextvars.ContextVar[Optional[Worker]] = contextvars.ContextVar(
    "waypost_worker", default=None
)


class Run:
    """One run of a worker, from its start to its stop: threads, loop, and a core worker."""

    def __init__(
        self,
        worker: Worker,
        core: _handle.Worker[Delivery],
        loop: Optional[asyncio.AbstractEventLoop],
    ) -> None:
        self.worker = worker
        self.core = core
        self.functions: Dict[Tuple[int, str], Handler] = {
            (handler.queue.value, handler.topic): handler for handler in worker._handlers
        }
        self.context = contextvars.copy_context()
        self.context.run(inside.set, worker)
        self.context.run(forget)
        self.loop = loop
        self.runner: Optional[Runner] = None
        self.threads: List[threading.Thread] = []
        self.signals: Optional[StopOnSignal] = None  # those that stop it
        self.ended = threading.Event()  # stopped, with all that belongs to it
        self._lock = threading.Lock()
        self._then: List[Callable[[], None]] = []

    # ---- threads ----------------------------------------------------------------------------

    def start(self, threads: int) -> None:
        with_async = any(handler.is_async for handler in self.functions.values())
        if with_async:
            self.async_runner()
        for number in range(threads):
            wait_ms = WAIT_MS if number == 0 else _WAIT_LONG_MS
            self._thread(f"waypost-{number}", self._pull_on_thread, wait_ms)

    def _thread(self, name: str, function: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
        thread.start()
        self.threads.append(thread)  # now that it can be joined

    def _pull_on_thread(self, wait_ms: int) -> None:
        try:
            self.pull(wait_ms)
        except BaseException as error:
            LOGGER.exception("the worker stops: one of its threads failed")
            self.fail(error)

    def pull(self, wait_ms: int) -> None:
        """Handle deliveries on this thread until the worker is stopped."""
        functions = self.functions
        context = self.context
        puller = self.core.puller()
        next_delivery, done = puller.next, puller.done
        try:
            while True:
                delivery = next_delivery(wait_ms)
                if isinstance(delivery, int):
                    if delivery == _handle.STOPPED:
                        return
                    continue
                handler = functions.get((delivery._source, delivery.topic))
                if handler is None or handler.function is None:
                    self.finish(delivery, None, errors.Retry("no handler for the topic"))
                elif handler.is_async:
                    self.async_runner().post(delivery, handler.function)
                else:
                    try:
                        result = context.copy().run(handler.function, delivery)
                    except BaseException as error:
                        self.finish(delivery, None, error)
                        del error
                    else:
                        if result is None:
                            done(delivery)
                        elif inspect.isawaitable(result):
                            self.async_runner().post(delivery, handler.function, result)
                        else:
                            self.finish(delivery, result, None)
                        del result
                del delivery
        finally:
            puller.close()

    # ---- outcomes ---------------------------------------------------------------------------

    def finish(self, delivery: Delivery, result: object, error: Optional[BaseException]) -> None:
        """Finish a delivery: what its handler returned, or raised."""
        fatal = None if isinstance(error, (Exception, asyncio.CancelledError)) else error
        if fatal is not None:
            self.worker._note_fatal(fatal)  # first: a stop() may wait for this delivery alone
        try:
            finish(delivery, result, error)
        except Exception:  # dropped unfinished, it is tried again
            LOGGER.exception("topic %r: the outcome was not understood", delivery.topic)
        if fatal is not None:
            self.fail(fatal)

    def fail(self, error: BaseException) -> None:
        """Stop the worker, and have run() or stop() raise this."""
        self.worker._note_fatal(error)
        again = isinstance(error, KeyboardInterrupt) and self.signals and self.signals.came
        self.worker._stop_soon(self, 0.0 if again else None)

    # ---- async ------------------------------------------------------------------------------

    def async_runner(self) -> Runner:
        """Made when the first async handler needs it."""
        runner = self.runner
        if runner is None:
            with self._lock:
                if self.runner is None:
                    loop = self.loop or self.worker._private_loop()
                    self.runner = Runner(loop, self.context, self.finish)
                    self._thread("waypost-cancel", self._watch, self.runner)
                runner = self.runner
        return runner

    def _watch(self, runner: Runner) -> None:
        """Pass cancellations on to tasks, and notice a loop that was closed."""
        while True:
            status, key = self.core.next_cancelled(WAIT_MS)
            if status == _handle.STOPPED:
                return
            if runner.closed:
                runner.give_back()
                LOGGER.error("the event loop was closed while the worker ran: it stops")
                self.worker._stop_soon(self)
                return
            if status == _handle.OK:
                runner.cancel(key)
            elif status != _handle.TIMEOUT:
                time.sleep(WAIT_MS / 1000)

    # ---- the end ----------------------------------------------------------------------------

    def stop(self, seconds: float) -> int:
        """Stop by the deadline; returns how many deliveries were abandoned."""
        timer = self._cancel_in_time(seconds)
        try:
            abandoned = self.core.stop(round(seconds * 1000))  # if this is refused, nothing has ended
        finally:
            if timer is not None:
                timer.cancel()
        try:
            if self.runner is not None:
                self.runner.cancel_all()
            self._join(1.0 if abandoned == 0 else 0.1)
        finally:
            self._end()
        return abandoned

    def _cancel_in_time(self, seconds: float) -> Optional[threading.Timer]:
        """Tasks that do not end by themselves are cancelled early enough to clean up."""
        runner = self.runner
        if runner is None:
            return None
        if runner.closed:
            runner.give_back()
            return None
        timer = threading.Timer(seconds * 0.8, runner.cancel_all)
        timer.daemon = True
        timer.start()
        return timer

    def _join(self, seconds: float) -> None:
        """Wait for threads that are about to end; those in a handler that goes on are left."""
        deadline = time.monotonic() + seconds
        for thread in list(self.threads):
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))

    def _end(self) -> None:
        self.worker._ended(self)
        with self._lock:
            then, self._then = self._then, []
            self.ended.set()
        for function in then:
            function()

    def when_ended(self, function: Callable[[], None]) -> None:
        """Call the function on some thread once the run has ended."""
        with self._lock:
            if not self.ended.is_set():
                self._then.append(function)
                return
        function()


runs: Set[Run] = set()  # under way


@atexit.register
def _stop_at_exit() -> None:
    """Threads must not run into the interpreter's end."""
    for run in list(runs):
        if run.core.pid == os.getpid():
            try:
                run.stop(min(run.worker._stop_seconds, _EXIT_SECONDS))
            except errors.Error:
                pass


class Manual:
    """drain() and step(): the core calls handlers on the thread that asked for it."""

    _current: contextvars.ContextVar[Manual] = contextvars.ContextVar("waypost_manual")

    def __init__(self, worker: Worker, loop: Optional[asyncio.AbstractEventLoop]) -> None:
        self._worker = worker
        self._loop = loop
        self._context = contextvars.copy_context()
        self._fatal: Optional[BaseException] = None

    def __enter__(self) -> _handle.Worker[Delivery]:
        self._worker._check_process()
        self._worker._register_jobs()
        with self._worker._lock:
            if self._worker._run is not None:
                raise errors.StateError("drain and step are for a worker that is not running")
            core = self._worker._prepared_core()
        self._token = self._current.set(self)
        self._context.run(inside.set, self._worker)
        self._context.run(forget)
        return core

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._current.reset(self._token)
        if self._fatal is not None:
            raise self._fatal

    @staticmethod
    def dispatch(handler: Handler, delivery: Delivery) -> int:
        """Called by the core, inside drain() or step() of this thread."""
        return Manual._current.get()._handle(handler, delivery)

    def _handle(self, handler: Handler, delivery: Delivery) -> int:
        result: object = None
        error: Optional[BaseException] = None
        try:
            if self._fatal is not None:
                raise errors.Retry("drain() was interrupted", delay=1.0)
            result = self._context.copy().run(self._call, handler, delivery)
        except BaseException as raised:
            error = raised
            if not isinstance(raised, (Exception, asyncio.CancelledError)):
                self._fatal = raised
        outcome = finish(delivery, result, error)
        return int(_handle.DEFERRED) if outcome is None else outcome

    def _call(self, handler: Handler, delivery: Delivery) -> object:
        assert handler.function is not None
        result = handler.function(delivery)
        if not inspect.isawaitable(result):
            return result

        async def wait(result: Awaitable[object] = result) -> object:
            return await result

        loop = self._loop or self._worker._private_loop()
        try:
            return asyncio.run_coroutine_threadsafe(wait(), loop).result()
        except concurrent.futures.CancelledError:
            raise asyncio.CancelledError from None
