# SPDX-License-Identifier: Apache-2.0
"""Workers: claim what is due, hand it to handlers, finish it."""
from __future__ import annotations

import asyncio
import functools
import os
import signal
import threading
import time
from dataclasses import dataclass, fields
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    Awaitable,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from waypost import _handle, errors
from waypost._handler import Handler, check_handler, program_of
from waypost._run import WAIT_MS, Manual, Run, inside, runs
from waypost._runner import LoopThread
from waypost._select import Selector, select_by
from waypost._signals import StopOnSignal
from waypost._text import Duration, instance, integer, name_text, to_ms
from waypost.config import Config
from waypost.delivery import Deferred, Delivery
from waypost.health import Health, health_of
from waypost.job import Job
from waypost.message import QueueKind
from waypost.metrics import Metrics, metrics_of

if TYPE_CHECKING:
    from waypost.router import Router
    from waypost.store import Store

Result = Optional[Deferred]
#: Handles a delivery: a function or an `async def` function. To return None is success.
HandlerFunction = Callable[[Delivery], Union[Result, Awaitable[Result]]]
F = TypeVar("F", bound=HandlerFunction)
#: Handles a run of a job; what it returns is the run's output.
J = TypeVar("J", bound=Callable[[Delivery], object])

_STOP_MS_MAX = 86_400_000  # the core's longest wait for handlers


def _wait_seconds(name: str, value: object) -> float:
    """How long to wait for handlers."""
    ms = to_ms(name, value)
    if not 0 <= ms <= _STOP_MS_MAX:
        raise errors.RangeError(f"{name} is {value}, not from 0 to 86400 seconds")
    return ms / 1000


@dataclass(frozen=True)
class Counters:
    """What a worker has done. Rows changed, not ids asked for."""

    claimed: int = 0
    acked: int = 0
    #: Given back for a retry.
    abandoned: int = 0
    #: Made dead letters.
    failed: int = 0
    released: int = 0
    reaped: int = 0
    leases_lost: int = 0
    renewed: int = 0
    #: Claims sent, empty ones too.
    polls: int = 0
    wakes: int = 0
    errors: int = 0
    #: Runs that were cancelled while they ran.
    cancelled: int = 0


class Worker:
    """Runs handlers for messages of a store's outbox and inbox, for its timers and for its jobs. Made
    with Store.worker().

    It can run again after it was stopped. Thread-safe.
    """

    def __init__(
        self,
        store: Union[Store, Router],
        options: Mapping[str, str],
        *,
        threads: Optional[int] = None,
        stop_timeout: Duration = 10.0,
        selector: Optional[Selector] = None,
        registrar: Optional[str] = None,
    ) -> None:
        if threads is not None and not 1 <= integer("threads", threads) <= 1024:
            raise errors.RangeError(f"threads is {threads}, not in 1..1024")
        if selector is not None and not callable(selector):
            raise errors.ArgumentError(f"selector is not callable: a {type(selector).__name__}")
        if registrar is not None:
            name_text("registrar", registrar)
        self._pid = os.getpid()
        self._store = store
        self._options = dict(options)
        self._threads = threads
        self._stop_seconds = _wait_seconds("stop_timeout", stop_timeout)
        self._handlers: List[Handler] = []
        self._jobs: List[Job] = []
        self._registrar = registrar
        self._program: Optional[str] = None  # the registrar if none was given
        self._selector = selector
        self._added: List[Tuple[Store, str]] = []
        self._lock = threading.RLock()
        self._run: Optional[Run] = None
        self._fatal: Optional[BaseException] = None  # what ended a run, and is still to be raised
        self._loop_thread: Optional[LoopThread] = None
        self._counted: Dict[str, int] = {}
        self._core: Optional[_handle.Worker[Delivery]] = self._new_core()  # refuses bad options
        self._concurrency = int(
            self._options.get("worker.concurrency") or store._option("worker.concurrency")
        )

    # ---- handlers ---------------------------------------------------------------------------

    def handler(
        self,
        topic: str,
        *,
        queue: QueueKind = QueueKind.OUTBOX,
        max_attempts: Optional[int] = None,
        timeout: Optional[Duration] = None,
        concurrency: Optional[int] = None,
        batch_size: Optional[int] = None,
        lease: Optional[Duration] = None,
        backoff_base: Optional[Duration] = None,
        backoff_max: Optional[Duration] = None,
        poll_min: Optional[Duration] = None,
        poll_max: Optional[Duration] = None,
    ) -> Callable[[F], F]:
        """Decorate the handler of a topic, a function or an `async def` function:

            @worker.handler("orders.created", max_attempts=5)
            def created(delivery: waypost.Delivery) -> None:
                ...

        To return None is success. Retry, Reject and Release say otherwise; any other exception is a retry
        with its text. DEFERRED keeps the delivery to finish it later.
        """
        name_text("topic", topic)  # @worker.handler without parentheses gives the function here
        options = {
            "max_attempts": max_attempts,
            "timeout_ms": timeout,
            "concurrency": concurrency,
            "batch_size": batch_size,
            "lease_ms": lease,
            "backoff_base_ms": backoff_base,
            "backoff_max_ms": backoff_max,
            "poll_min_ms": poll_min,
            "poll_max_ms": poll_max,
        }

        def register(function: F) -> F:
            self._add(queue, topic, function, options)
            return function

        return register

    def inbox(self, topic: str, **options: Any) -> Callable[[F], F]:
        """Decorate the handler of a topic of the inbox. Options as for handler()."""
        return self.handler(topic, queue=QueueKind.INBOX, **options)

    def timer(self, topic: str, **options: Any) -> Callable[[F], F]:
        """Decorate the handler of a topic of the timers. Options as for handler()."""
        return self.handler(topic, queue=QueueKind.TIMERS, **options)

    def job(
        self,
        name: str,
        *,
        cron: Optional[str] = None,
        tz: str = "UTC",
        topic: Optional[str] = None,
        **policy: Any,
    ) -> Callable[[J], J]:
        """Decorate the handler of a job:

            @worker.job("nightly report", cron="0 3 * * *", tz="Europe/Berlin", timeout=600)
            def report(delivery: waypost.Delivery) -> str:
                ...

        With `cron` the job itself is stored when the worker starts; Job has the further options: payload,
        overlap, misfire, timeout, max_attempts and so on. Jobs that the program had and has no more are
        switched off then: see `registrar` of Store.worker(). Without `cron` it is the handler of jobs that
        are stored otherwise: Jobs.put(), Jobs.once(). `topic` is the name by default.

        What the handler returns is the run's output: text as it is, anything else as JSON; cut to 64 KiB,
        or left out if it has no such form, with a warning in the log.
        The occurrence is `delivery.due`. A handler is told to stop (Delivery.cancelled, or by cancellation
        of its task) when the run takes too long, is cancelled, or its lease is lost, a plain one also at
        a stop.
        """
        name_text("name", name)
        if cron is None and policy:
            raise errors.ArgumentError(f"without cron, {next(iter(policy))} is not for this call")
        job = None if cron is None else Job(name, topic, cron=cron, tz=tz, **policy)
        if job is not None:
            self._check_jobs()

        def register(function: J) -> J:
            self._add(QueueKind.JOBS, name if topic is None else topic, function, {})
            if job is not None:
                self._program = self._program or program_of(function)
                self._jobs.append(job)
            return function

        return register

    def add_job(self, job: Job) -> None:
        """Have a job stored when the worker starts, as job() does."""
        if not isinstance(job, Job):
            raise errors.ArgumentError(f"job must be a Job, not {type(job).__name__}")
        self._check_jobs()
        self._jobs.append(job)

    def _check_jobs(self) -> None:
        from waypost.store import Store

        if not isinstance(self._store, Store):
            raise errors.StateError(
                "the worker is on a router: register its jobs with router.store(key).jobs.register()"
            )

    def add_handler(self, topic: str, function: HandlerFunction, **options: Any) -> None:
        """handler() without the decorator."""
        self.handler(topic, **options)(function)

    def subscribe(self, topic: str, queue: QueueKind = QueueKind.OUTBOX) -> None:
        """Claim a topic whose deliveries are taken with next()."""
        self._add(queue, topic, None, {})

    def _add(
        self,
        queue: QueueKind,
        topic: str,
        function: Optional[Callable[[Delivery], Any]],
        options: Mapping[str, Optional[Union[int, Duration]]],
    ) -> None:
        from waypost.store import worker_option

        if not isinstance(queue, QueueKind):
            raise errors.ArgumentError(f"queue must be a QueueKind, not {type(queue).__name__}")
        if function is not None:
            check_handler(topic, function)
        given = {
            key: worker_option(key, value) for key, value in options.items() if value is not None
        }
        Config({f"worker.{key}": value for key, value in given.items()})  # refuses bad ones
        handler = Handler(queue, topic, function, given)
        self._check_process()
        with self._lock:
            if self._run is not None:
                raise errors.StateError("the worker is running: add handlers before")
            self._register(self._prepared_core(), handler)
            self._handlers.append(handler)

    # ---- stores -----------------------------------------------------------------------------

    def add_store(self, store: Store, id: Optional[str] = None) -> None:
        """Serve a further store, also while the worker runs. Its handlers are for all stores, and so is
        its concurrency. `id` names it, by default Store.id. StateError: it has one of that id."""
        from waypost.store import Store

        instance("store", store, Store)
        self._check_process()
        with self._lock:
            core = self._run.core if self._run else self._prepared_core()
            core.add_store(store._handle, id)
            self._added.append((store, store.id if id is None else id))

    def remove_store(self, id: str, timeout: Optional[Duration] = None) -> int:
        """Let go of a store that was added, also while the worker runs: what was not started goes back,
        running handlers finish. Returns how many were still running after the timeout, by default the
        worker's stop_timeout. NotFoundError: it has no such store."""
        self._check_process()
        with self._lock:
            core = self._run.core if self._run else self._prepared_core()
        abandoned = core.remove_store(id, int(self._timeout(timeout) * 1000))
        with self._lock:
            self._added = [(store, name) for store, name in self._added if name != id]
        return abandoned

    def store_counters(self, id: str) -> Counters:
        """What it has done for one store in its present run, or in the last one."""
        with self._lock:
            core = self._run.core if self._run else self._core
            return Counters(**core.store_counters(id)) if core else Counters()

    # ---- running ----------------------------------------------------------------------------

    def run(self) -> None:
        """Run handlers, on this thread and on others, until stop(), SIGTERM or Ctrl-C; then stop
        as stop() does, and return.

        A second Ctrl-C does not wait for handlers: it raises KeyboardInterrupt. A signal for which
        the app has set a handler of its own is left to it, as are all if this is not the main
        thread.
        """
        self._register_jobs()
        run = self._begin(None)
        stop = functools.partial(run.stop, self._stop_seconds)
        with StopOnSignal(stop, signal.SIGTERM, signal.SIGINT) as signals:
            run.signals = signals
            try:
                run.start(self._thread_count() - 1)
                run.pull(WAIT_MS)
                while not run.ended.wait(1.0):
                    pass
            except BaseException as error:
                self._note_fatal(error)
                self._stop(run, 0.0 if signals.came else self._stop_seconds)
        self._raise_fatal()

    def start(self) -> None:
        """Run handlers in the background until stop(), or the end of the program."""
        self._register_jobs()
        run = self._begin(None)
        run.start(self._thread_count())

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()

    async def run_async(self) -> None:
        """Run handlers until stop(), SIGTERM or cancellation: `async def` ones on this event loop,
        plain ones on threads.

        SIGTERM is left to the app if that has a handler for it. Ctrl-C is asyncio.run()'s: it
        cancels the main task, and raises KeyboardInterrupt once the worker has stopped.
        """
        await asyncio.to_thread(self._register_jobs)
        run = self._begin(asyncio.get_running_loop())
        ended = self._ended_future(run)
        stop = functools.partial(run.stop, self._stop_seconds)
        with StopOnSignal(stop, signal.SIGTERM):
            await self._run_on_loop(run, ended)
        self._raise_fatal()

    async def _run_on_loop(self, run: Run, ended: asyncio.Future[None]) -> None:
        try:
            run.start(self._thread_count())
            await asyncio.shield(ended)
        except GeneratorExit:  # dropped with its loop
            if not run.ended.is_set():
                self._stop_soon(run, 0.0)
            raise
        except BaseException as error:
            if not isinstance(error, asyncio.CancelledError):
                self._note_fatal(error)
            await self._stop_patiently(run, ended)
            if isinstance(error, asyncio.CancelledError):
                raise

    async def __aenter__(self) -> Worker:
        await asyncio.to_thread(self._register_jobs)
        run = self._begin(asyncio.get_running_loop())
        run.start(self._thread_count())
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.stop_async()

    def stop(self, timeout: Optional[Duration] = None) -> int:
        """Stop: claim no more, give unstarted work back, let running handlers finish, write their
        outcomes. Returns by the deadline (by default the worker's stop_timeout), with the number
        of deliveries that were still running. Async ones among them are cancelled.

        Idempotent, and may be called from any thread. From a handler, which it cannot wait for,
        it returns at once. If the worker was ended by an error, such as the SystemExit of a handler,
        this is raised, once. RangeError: the timeout is not from 0 to 86400 s.
        """
        seconds = self._timeout(timeout)
        run = self._run
        if run is None or self._pid != os.getpid():
            return self._stopped_already()
        if self._must_not_wait(run):
            self._stop_soon(run, seconds)
            return 0
        abandoned = self._stop(run, seconds)
        self._raise_fatal()
        return abandoned

    async def stop_async(self, timeout: Optional[Duration] = None) -> int:
        """stop() without blocking the event loop."""
        seconds = self._timeout(timeout)
        run = self._run
        if run is None or self._pid != os.getpid():
            return self._stopped_already()
        if inside.get() is self:
            self._stop_soon(run, seconds)
            return 0
        result: List[int] = []
        ended = self._ended_future(run)
        self._stop_soon(run, seconds, result)
        await asyncio.shield(ended)
        self._raise_fatal()
        return result[0] if result else 0

    def wake(self) -> None:
        """Look for work now instead of at the next poll. A hint."""
        run = self._run
        if run is not None:
            run.core.wake()

    @property
    def running(self) -> bool:
        return self._run is not None

    @property
    def counters(self) -> Counters:
        """What it has done, over all its runs."""
        with self._lock:
            core = self._run.core if self._run else self._core
            now = core.counters() if core else {}
            names = [field.name for field in fields(Counters)]
            return Counters(**{n: self._counted.get(n, 0) + now.get(n, 0) for n in names})

    def metrics(self, *, limit: Optional[Duration] = None) -> Metrics:
        """What it has done and holds. limit: how long to wait for the database (the option
        `health.timeout_ms`); what it has not told by then is left out."""
        self._check_process()
        with self._lock:
            core = self._run.core if self._run else self._prepared_core()
        return metrics_of(core.metrics, limit)

    def health(
        self,
        *,
        scheduler: bool = False,
        max_age: Optional[Duration] = None,
        limit: Optional[Duration] = None,
    ) -> Health:
        """Whether it does its work, in all its stores: see docs/operations.md.

        scheduler: only timers, jobs and their runs count; max_age: for how long a message may be ready
        (the option `health.overdue_ms`), 0: for ever; limit: how long to wait for the database (the
        option `health.timeout_ms`).
        """
        self._check_process()
        with self._lock:
            core = self._run.core if self._run else self._prepared_core()
        return health_of(core.health, scheduler, max_age, limit)

    # ---- one by one, and for tests ----------------------------------------------------------

    def next(self, timeout: Optional[Duration] = None) -> Optional[Delivery]:
        """Take the next delivery of the topics that were subscribed to, and finish it with its
        methods done(), retry() or reject(). None: nothing came in time, or the worker was
        stopped."""
        self._check_process()
        with self._lock:
            run = self._run or self._begin_pulled()
        if run.threads:
            raise errors.StateError("the worker runs handlers: next() is for one that does not")
        deadline = None if timeout is None else time.monotonic() + to_ms("timeout", timeout) / 1000
        puller = run.core.puller()
        while True:
            wait_ms = WAIT_MS
            if deadline is not None:
                wait_ms = min(wait_ms, max(0, round((deadline - time.monotonic()) * 1000)))
            delivery = puller.next(wait_ms)
            if not isinstance(delivery, int):
                return delivery
            if delivery == _handle.STOPPED or (
                deadline is not None and time.monotonic() >= deadline
            ):
                return None

    def drain(self, timeout: Duration = 60.0) -> int:
        """Run handlers on this thread until nothing is due and all is finished; returns how many
        deliveries were handled. Messages that are due later are left. For tests."""
        with self._manual(None) as core:
            return core.drain(to_ms("timeout", timeout))

    def step(self) -> int:
        """Claim and handle at most one message on this thread; returns 1 or 0. For tests."""
        with self._manual(None) as core:
            return core.step()

    async def drain_async(self, timeout: Duration = 60.0) -> int:
        """drain() with `async def` handlers on this event loop."""
        manual = self._manual(asyncio.get_running_loop())

        def drain() -> int:
            with manual as core:
                return core.drain(to_ms("timeout", timeout))

        return await asyncio.to_thread(drain)

    # ---- inside -----------------------------------------------------------------------------

    def _check_process(self) -> None:
        """Refuse a use in a forked child before any lock is touched."""
        if self._pid != os.getpid():
            raise errors.StateError(
                f"the worker was made by process {self._pid}: a forked process must make its own"
            )

    def _new_core(self) -> _handle.Worker[Delivery]:
        core = self._store._new_worker(self._options, Delivery)
        if self._selector is not None:
            core.set_selector(select_by(self._selector))
        for store, id in self._added:
            core.add_store(store._handle, id)
        for handler in self._handlers:
            self._register(core, handler)
        return core

    def _register(self, core: _handle.Worker[Delivery], handler: Handler) -> None:
        dispatch = None
        if handler.function is not None:
            dispatch = functools.partial(Manual.dispatch, handler)
        core.handle(handler.queue, handler.topic, dispatch)
        for key, value in handler.options.items():
            core.topic_set(handler.queue, handler.topic, key, value)

    def _register_jobs(self) -> None:
        """Before each start; what else it refuses is _begin()'s to say."""
        from waypost.store import Store

        self._check_process()
        if self._run is None and (self._jobs or self._registrar is not None):
            if isinstance(self._store, Store):
                name = self._registrar or self._program or program_of()
                self._store._registered.register(self._store, name, self, self._jobs)

    def _prepared_core(self) -> _handle.Worker[Delivery]:
        """The core worker that has not run yet."""
        core = self._core
        if core is None:
            core = self._core = self._new_core()
        return core

    def _begin(
        self, loop: Optional[asyncio.AbstractEventLoop], pulled: bool = False
    ) -> Run:
        self._check_process()
        with self._lock:
            if self._run is not None:
                raise errors.StateError("the worker is running already")
            if not self._handlers:
                raise errors.StateError(
                    "the worker has no topics: register handlers with @worker.handler(topic)"
                    " before it runs, or subscribe() to topics before next()"
                )
            for handler in self._handlers:
                if handler.function is None and not pulled:
                    raise errors.StateError(
                        f"topic {handler.topic!r} has no handler: it is for next()"
                    )
            run = Run(self, self._prepared_core(), loop)
            self._core = None
            self._fatal = None
            self._run = run
            runs.add(run)
            return run

    def _begin_pulled(self) -> Run:
        self._register_jobs()
        return self._begin(None, pulled=True)

    def _ended(self, run: Run) -> None:
        """Called once or more when a run has ended."""
        runs.discard(run)
        with self._lock:
            if self._run is not run:
                return
            for name, value in run.core.counters().items():
                self._counted[name] = self._counted.get(name, 0) + value
            self._run = None
        self._close_loop()

    def _thread_count(self) -> int:
        if all(handler.is_async for handler in self._handlers):
            return 1
        return self._threads or self._concurrency

    def _timeout(self, timeout: Optional[Duration]) -> float:
        return self._stop_seconds if timeout is None else _wait_seconds("timeout", timeout)

    def _private_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop_thread is None:
                self._loop_thread = LoopThread()
            return self._loop_thread.loop

    def _stopped_already(self) -> int:
        """Nothing runs; in a forked child what runs is the parent's."""
        if self._pid == os.getpid() and inside.get() is not self:
            self._close_loop()
            self._raise_fatal()
        return 0

    def _note_fatal(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error

    def _raise_fatal(self) -> None:
        fatal, self._fatal = self._fatal, None
        if fatal is not None:
            raise fatal

    def _close_loop(self) -> None:
        with self._lock:
            thread, self._loop_thread = self._loop_thread, None
        if thread is not None:
            thread.close()

    def _must_not_wait(self, run: Run) -> bool:
        """Inside a handler, or on the loop that handlers need to finish."""
        if inside.get() is self:
            return True
        try:
            return run.loop is not None and asyncio.get_running_loop() is run.loop
        except RuntimeError:
            return False

    def _stop(self, run: Run, seconds: float) -> int:
        """Stop on a thread of its own, so that a signal can be seen meanwhile."""
        result: List[int] = []
        thread = self._stop_soon(run, seconds, result)
        while thread.is_alive():
            thread.join(0.2)
        return result[0] if result else 0

    def _stop_soon(
        self, run: Run, seconds: Optional[float] = None, result: Optional[List[int]] = None
    ) -> threading.Thread:
        def stop() -> None:
            abandoned = run.stop(self._stop_seconds if seconds is None else seconds)
            if result is not None:
                result.append(abandoned)

        thread = threading.Thread(target=stop, name="waypost-stop", daemon=True)
        thread.start()
        return thread

    @staticmethod
    def _ended_future(run: Run) -> asyncio.Future[None]:
        """A future on the running loop for the end of a run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()

        def end() -> None:
            if not future.done():
                future.set_result(None)

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(end)
            except RuntimeError:
                pass  # the loop is closed: nobody waits

        run.when_ended(tell)
        return future

    async def _stop_patiently(self, run: Run, ended: asyncio.Future[None]) -> None:
        """Stop although the task was cancelled; hurry if it is cancelled again."""
        self._stop_soon(run)
        while not ended.done():
            try:
                await asyncio.shield(ended)
            except asyncio.CancelledError:
                self._stop_soon(run, 0.0)

    def _manual(self, loop: Optional[asyncio.AbstractEventLoop]) -> Manual:
        return Manual(self, loop)

    def __del__(self, getpid: Any = os.getpid) -> None:
        thread: Optional[LoopThread] = getattr(self, "_loop_thread", None)
        if thread is not None and self._pid == getpid():
            thread.close(0.0)

    def __repr__(self) -> str:
        state = "running" if self.running else "not running"
        return f"<waypost.Worker on {self._store!r}, {state}>"
