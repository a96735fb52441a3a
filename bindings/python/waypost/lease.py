# SPDX-License-Identifier: Apache-2.0
"""Leases that renew themselves, and slots of semaphores."""
from __future__ import annotations

import asyncio
import functools
import itertools
import threading
import time
import uuid
import warnings
import weakref
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Awaitable, Callable, Optional, Tuple, Type, TypeVar, Union

from waypost import _handle
from waypost._lease_watch import Name, Turn, Watcher
from waypost._log import LOGGER
from waypost._text import Duration, callback, integer, name_text, optional_ms, to_ms
from waypost.errors import ArgumentError, Error, LeaseLostError, RangeError, StateError
from waypost.message import LeaseInfo, ListedLease
from waypost.queue import Call, Page

T = TypeVar("T")


class _Trial:
    """One attempt to acquire a lease on a thread, which the task that wanted it may give up."""

    def __init__(self, owner: str, loop: Optional[asyncio.AbstractEventLoop] = None) -> None:
        self.owner = owner
        self.loop = loop
        self.lost_task = None if loop is None else asyncio.Event()
        self.abandoned = False
        self.handle: Optional[_handle.Lease] = None


class Lease:
    """One holder's lease, or slot of a semaphore. Thread-safe. See Store.lease().

    It can be acquired again after it was released or lost, with a new fence. One that is forgotten while it
    is held is released some time after it was collected, with a ResourceWarning.
    """

    def __init__(
        self,
        store: _handle.Store,
        watcher: Watcher,
        shared: bool,
        name: str,
        seconds: Duration,
        wait: Optional[Duration],
        owner: Optional[str],
        on_lost: Optional[Callable[[Lease], None]],
        keeps: object,
    ) -> None:
        name_text("name", name)
        if owner is not None:
            name_text("owner", owner)
        if on_lost is not None:
            callback("on_lost", on_lost)
        self._store = store
        self._keeps = keeps  # the Store, whose end would close `store`
        self._watcher = watcher
        self._shared = shared
        self._duration_ms = to_ms("seconds", seconds)
        self._wait_ms = optional_ms("wait", wait)
        if self._wait_ms is not None and self._wait_ms < 0:
            raise RangeError(f"wait is {wait}: 0 or more, or None for ever")
        self._owner = owner
        self._on_lost = on_lost
        self._handle: Optional[_handle.Lease] = None
        self._last: Optional[_handle.Lease] = None  # perhaps closed
        self._forgotten: Optional[weakref.finalize] = None
        self._lost_task: Optional[asyncio.Event] = None
        self._trying = threading.Lock()
        self.name = name
        #: Set when it is lost.
        self.lost = threading.Event()

    @property
    def _held(self) -> _handle.Lease:
        handle = self._handle
        if handle is None:
            raise StateError("the lease was not acquired, or was released")
        return handle

    @property
    def _acquired(self) -> _handle.Lease:
        if self._last is None:
            raise StateError("the lease was not acquired")
        return self._last

    @property
    def fence(self) -> int:
        """The number of the last acquisition: greater than that of every earlier one of the name. Send it
        along with each write, and have the receiver refuse a smaller one than it has seen."""
        return self._acquired.fence

    @property
    def owner(self) -> str:
        """Who holds it, or has held it."""
        return self._acquired.owner

    @property
    def held(self) -> bool:
        """Whether work under it may go on. No I/O: ask before every step."""
        handle = self._handle
        try:
            return handle is not None and handle.held()
        except StateError:  # another thread has released it since
            return False

    @property
    def remaining(self) -> timedelta:
        """How long work may go on if it cannot be renewed."""
        handle = self._handle
        try:
            return timedelta(milliseconds=handle.remaining_ms() if handle else 0)
        except StateError:
            return timedelta()

    def throw_if_lost(self) -> None:
        """LeaseLostError once it is lost, StateError once it was released. No I/O."""
        self._held.check()

    def renew(self) -> None:
        """Renew it now. LeaseLostError; UnavailableError and DatabaseError: not renewed, but not lost
        yet either."""
        self._held.renew()

    def acquire(self) -> None:
        """Acquire it, waiting as long as was asked for: until another lease of the name is released in this
        process, but with longer and longer pauses up to `lease.poll_max_ms` between attempts.
        TimeoutError."""
        self._acquire(False, None)

    def _acquire(self, patient: bool, stop: Optional[threading.Event]) -> bool:
        """With patience also for errors that may pass. False: it was stopped."""
        deadline, owner = self._deadline(), self._owner_of_call()
        woken = threading.Event()
        with self._turn(woken.set) as turn:
            for attempt in itertools.count():
                if stop is not None and stop.is_set():
                    return False
                woken.clear()
                turn.take()
                pause = self._try(attempt, deadline, _Trial(owner), patient)
                if pause is None:
                    break
                woken.wait(pause)
        return True

    async def acquire_async(self) -> None:
        """The same, without blocking the event loop."""
        await self._acquire_async(False)

    async def _acquire_async(self, patient: bool) -> None:
        deadline, owner = self._deadline(), self._owner_of_call()
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self._turn(functools.partial(loop.call_soon_threadsafe, woken.set)) as turn:
            for attempt in itertools.count():
                trial = _Trial(owner, loop)
                woken.clear()
                turn.take()
                attempted = functools.partial(self._try, attempt, deadline, trial, patient)
                try:
                    pause = await _on_thread(attempted)
                except asyncio.CancelledError:
                    trial.abandoned = True
                    await _on_thread(functools.partial(self._abandon, trial))
                    raise
                if pause is None:
                    break
                timer = loop.call_later(pause, woken.set)
                try:
                    await woken.wait()
                finally:
                    timer.cancel()

    def _turn(self, wake: Callable[[], object]) -> Turn:
        return Turn(self._watcher.turns, (self._shared, self.name), wake)

    def _owner_of_call(self) -> str:
        """Who acquires, in every attempt of a call: what one acquired whose answer was lost is the next one's."""
        return str(uuid.uuid4()) if self._owner is None else self._owner

    def _deadline(self) -> Optional[float]:
        return None if self._wait_ms is None else time.monotonic() + self._wait_ms / 1000

    def _try(
        self, attempt: int, deadline: Optional[float], trial: _Trial, patient: bool
    ) -> Optional[float]:
        """Acquire it, or say after how many seconds to try again."""
        with self._trying:
            if trial.abandoned:
                return None
            if self.held:
                raise StateError("the lease is held already")
            self.release()  # one that is lost: its loss is not that of the next one
            handle = self._hold(attempt, trial.owner, patient)
            if isinstance(handle, _handle.lease.Refused):
                now = time.monotonic()
                if deadline is not None and now >= deadline:
                    raise handle.error
                pause = handle.retry_ms / 1000
                return pause if deadline is None else min(pause, deadline - now)
            self.lost = threading.Event()
            self._lost_task = trial.lost_task
            self._handle = self._last = trial.handle = handle
            key = (self._shared, self.name)
            self._forgotten = weakref.finalize(self, _forgotten, handle, self._watcher, key)
            self._forgotten.atexit = False
            tell = functools.partial(
                _tell, weakref.ref(self), self.lost, trial.loop, trial.lost_task
            )
            self._watcher.add(handle, self._store, tell)
            return None

    def _hold(
        self, attempt: int, owner: str, patient: bool
    ) -> Union[_handle.Lease, _handle.lease.Refused]:
        try:
            return _handle.lease.hold(
                self._store, self._shared, self.name, owner, self._duration_ms, attempt
            )
        except Error as error:
            if not patient or not error.retriable:
                raise
            LOGGER.warning("lease %r could not be acquired, will try again: %s", self.name, error)
            return _handle.lease.Refused(error, _handle.lease.retry_ms(attempt))

    def _abandon(self, trial: _Trial) -> None:
        """After a trial, or before it: it acquires nothing then."""
        with self._trying:
            if trial.handle is not None and trial.handle is self._handle:
                self._leave()

    def release(self) -> None:
        """Free it for others. Does nothing if it is not held, or is lost."""
        handle, self._handle = self._handle, None
        if handle is not None:
            if self._forgotten is not None:
                self._forgotten.detach()
            _release(handle, self._watcher, (self._shared, self.name))

    def _leave(self) -> None:
        """Release it where no error may take the place of what the app has done."""
        try:
            self.release()
        except Error as error:
            LOGGER.warning("lease %r could not be released, it expires: %s", self.name, error)

    async def wait_lost(self) -> None:
        """Wait until it is lost, in `async with`."""
        if self._lost_task is None:
            raise StateError("the lease was not acquired by acquire_async()")
        await self._lost_task.wait()

    def run_while_leader(
        self, work: Callable[[Lease], T], *, stop: Optional[threading.Event] = None
    ) -> Optional[T]:
        """Do `work` while nobody else does it: acquire, work, release. If it was lost by the time the work
        returned or raised LeaseLostError, acquire it again and begin anew. Errors of the database that
        may pass are waited out like a holder.

        The work looks at `held` before each step, and returns once that is false: within the guard
        interval (`lease.guard_percent` of the duration), before anyone else can lead.

        wait  that of the lease, each time: None, as a rule
        stop  once it is set, the wait ends within `lease.poll_max_ms`, and no work begins; the work
              looks at it by itself

        Returns what the work did; None: it was stopped. TimeoutError: another one leads.
        """
        callback("work", work)
        if stop is not None and not hasattr(stop, "is_set"):
            raise ArgumentError(f"stop must be a threading.Event, not {type(stop).__name__}")
        while self._acquire(True, stop):
            try:
                result = work(self)
                if not self._is_lost():
                    return result
            except LeaseLostError:
                if not self._is_lost():
                    raise
            finally:
                self._leave()
        return None

    async def run_while_leader_async(self, work: Callable[[Lease], Awaitable[T]]) -> T:
        """The same with a coroutine function, which is cancelled when the lease is lost, and when this call
        is cancelled."""
        callback("work", work)
        while True:
            await self._acquire_async(True)
            try:
                task = asyncio.ensure_future(work(self))
                await self._until_lost(task)
                if not self._is_lost() or not _was_stopped(task):
                    return task.result()
            finally:
                await _on_thread(self._leave)

    async def _until_lost(self, task: asyncio.Future[T]) -> None:
        """Until a task is done; it is cancelled when the lease is lost."""
        lost = asyncio.ensure_future(self.wait_lost())
        try:
            await asyncio.wait((task, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
            await _ended(task)

    def _is_lost(self) -> bool:
        """Not: it was released."""
        handle = self._handle
        try:
            if handle is not None:
                handle.check()
        except LeaseLostError:
            return True
        except StateError:
            pass
        return False

    def __enter__(self) -> Lease:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self._leave()

    async def __aenter__(self) -> Lease:
        await self.acquire_async()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await _on_thread(self._leave)


def _release(handle: _handle.Lease, watcher: Watcher, name: Name) -> None:
    watcher.remove(handle)
    try:
        handle.end()
    finally:
        handle.close()
        watcher.turns.next(name)


def _forgotten(handle: _handle.Lease, watcher: Watcher, name: Name) -> None:
    """Its Lease was collected; a finalizer must not wait for the database."""
    warnings.warn(f"lease {name[1]!r} was forgotten while it was held", ResourceWarning, 2)
    threading.Thread(
        target=_release_forgotten, args=(handle, watcher, name), name="waypost-forgotten", daemon=True
    ).start()


def _release_forgotten(handle: _handle.Lease, watcher: Watcher, name: Name) -> None:
    try:
        _release(handle, watcher, name)
    except Error as error:
        LOGGER.warning("lease %r could not be released, it expires: %s", name[1], error)


def _tell(
    lease: weakref.ref[Lease],
    lost: threading.Event,
    loop: Optional[asyncio.AbstractEventLoop],
    lost_task: Optional[asyncio.Event],
) -> None:
    """It is lost. Whoever waits to be told does not keep it."""
    lost.set()
    if loop is not None and lost_task is not None:
        try:
            loop.call_soon_threadsafe(lost_task.set)
        except RuntimeError:  # the loop was closed
            pass
    kept = lease()
    if kept is not None and kept._on_lost is not None:
        try:
            kept._on_lost(kept)
        except Exception:
            LOGGER.exception("the callback of a lost lease failed")


async def _on_thread(work: Callable[[], T]) -> T:
    """Work on a thread that is done to its end, also if the task is cancelled meanwhile, or was before."""
    future: asyncio.Future[T] = asyncio.get_running_loop().run_in_executor(None, work)
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # not unseen
    return await asyncio.shield(future)


async def _ended(task: asyncio.Future[T]) -> None:
    """Cancel a task and wait for its end, also if the waiting one is cancelled meanwhile."""
    cancelled: Optional[asyncio.CancelledError] = None
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    _was_stopped(task)  # so that its exception is not unseen
    if cancelled is not None:
        raise cancelled


def _was_stopped(task: asyncio.Future[T]) -> bool:
    """Whether a task may have ended because its lease was lost."""
    return task.cancelled() or isinstance(task.exception(), (type(None), LeaseLostError))


class Semaphore:
    """So many holders at a time. See Store.semaphore()."""

    def __init__(
        self, store: _handle.Store, watcher: Watcher, name: str, limit: int, keeps: object
    ) -> None:
        self._store = store
        self._keeps = keeps  # the Store, whose end would close `store`
        self._watcher = watcher
        self.name = name
        self.set_limit(limit)

    def set_limit(self, limit: int) -> None:
        """Change how many may hold a slot. Lowering it ends nobody's hold."""
        Semaphores(self._store, self).set_limit(self.name, limit)

    def slot(
        self,
        seconds: Duration = 30.0,
        *,
        wait: Optional[Duration] = 0,
        request: Optional[str] = None,
        on_lost: Optional[Callable[[Lease], None]] = None,
    ) -> Lease:
        """A slot, as Store.lease(). With `request`, an id of the app's, no request ever has two."""
        return Lease(
            self._store, self._watcher, True, self.name, seconds, wait, request, on_lost, self._keeps
        )


# ---- calls: one statement each --------------------------------------------------------------


@dataclass(frozen=True)
class LeaseCounters:
    """What a store counts of the leases that it keeps."""

    #: Now.
    held: int = 0
    #: Renewals that succeeded.
    renewed: int = 0
    lost: int = 0
    #: Renewals that failed, to be tried again.
    errors: int = 0
    #: Statements sent to renew.
    batches: int = 0


class Leases:
    """What leases are made of: `store.leases`. Thread-safe. Most programs need Store.lease().

    Names and owners hold up to 255 UTF-16 code units and are compared byte for byte; a duration is up to a day.
    With `connection` (as for Outbox.enqueue()) a call belongs to the app's transaction: the lease is
    held, and its fence final, when that commits; until then others who want the name wait for it.
    """

    _shared = False

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._store = store
        self._owner = owner  # the Store, whose end would close `store`

    def list(self, *, limit: int = 100) -> Page[ListedLease]:
        """The first page of all that there are, by name, also those that nobody holds; up to 10,000 on a
        page."""

        def read(after: Optional[_handle.Page[ListedLease]], limit: int) -> _handle.Page[ListedLease]:
            return _handle.lease.listed(self._store, self._shared, after, limit)

        return Page.first(limit, read)

    def acquire(
        self,
        name: str,
        owner: str,
        seconds: Duration = 30.0,
        *,
        connection: Optional[object] = None,
    ) -> LeaseInfo:
        """Acquire a name if it is free, expired, or `owner`'s already: LeaseInfo.granted says whether. Each
        success gives a new, greater fence, and ends the owner's earlier acquisition."""
        return self._acquire(name, owner, seconds).run(connection)

    async def acquire_async(
        self,
        name: str,
        owner: str,
        seconds: Duration = 30.0,
        *,
        connection: Optional[object] = None,
    ) -> LeaseInfo:
        """acquire() on an async connection; without one, on a thread."""
        return await self._acquire(name, owner, seconds).run_async(connection)

    def _acquire(self, name: str, owner: str, seconds: Duration) -> Call[LeaseInfo]:
        return self._call("acquire", *self._who(name, owner), to_ms("seconds", seconds))

    def renew(
        self,
        name: str,
        owner: str,
        seconds: Duration = 30.0,
        *,
        fence: Optional[int] = None,
        connection: Optional[object] = None,
    ) -> LeaseInfo:
        """Extend it from now on, if it is still held: the acquisition of a fence, or whichever one the
        owner has. LeaseLostError: expired, released, or another's; nothing was changed."""
        return self._renew(name, owner, fence, seconds).run(connection)

    async def renew_async(
        self,
        name: str,
        owner: str,
        seconds: Duration = 30.0,
        *,
        fence: Optional[int] = None,
        connection: Optional[object] = None,
    ) -> LeaseInfo:
        """renew() on an async connection; without one, on a thread."""
        return await self._renew(name, owner, fence, seconds).run_async(connection)

    def _renew(
        self, name: str, owner: str, fence: Optional[int], seconds: Duration
    ) -> Call[LeaseInfo]:
        which = self._fence(fence)
        return self._call("renew", *self._who(name, owner), which, to_ms("seconds", seconds))

    def release(
        self,
        name: str,
        owner: str,
        *,
        fence: Optional[int] = None,
        connection: Optional[object] = None,
    ) -> bool:
        """Free it at once; False: it was not held any more."""
        return self._release(name, owner, fence).run(connection)

    async def release_async(
        self,
        name: str,
        owner: str,
        *,
        fence: Optional[int] = None,
        connection: Optional[object] = None,
    ) -> bool:
        """release() on an async connection; without one, on a thread."""
        return await self._release(name, owner, fence).run_async(connection)

    def _release(self, name: str, owner: str, fence: Optional[int]) -> Call[bool]:
        handle = _handle.lease.Call(
            self._store, "release", self._shared, *self._who(name, owner), self._fence(fence)
        )
        return Call(handle.release, handle.operation, lambda op: op.result_count() == 1)

    def get(self, name: str, *, connection: Optional[object] = None) -> LeaseInfo:
        """Ask who holds it. NotFoundError: nobody has held the name lately."""
        return self._call("get", name_text("name", name)).run(connection)

    async def get_async(self, name: str, *, connection: Optional[object] = None) -> LeaseInfo:
        """get() on an async connection; without one, on a thread."""
        return await self._call("get", name_text("name", name)).run_async(connection)

    def _call(self, verb: str, *arguments: object) -> Call[LeaseInfo]:
        handle = _handle.lease.Call(self._store, verb, self._shared, *arguments)
        return Call(handle.run, handle.operation, _handle.lease.result_of)

    @staticmethod
    def _who(name: str, owner: str) -> Tuple[bytes, bytes]:
        return name_text("name", name), name_text("owner", owner)

    @staticmethod
    def _fence(fence: Optional[int]) -> int:
        """0 is the core's word for whichever."""
        if fence is None:
            return 0
        if integer("fence", fence) <= 0:
            raise RangeError(f"fence is {fence}, less than 1")
        return fence

    def cleanup(self, keep: Duration) -> int:
        """Delete what expired or was released so long ago or longer, also of semaphores; returns how many.
        Programs that hold leases do it by themselves now and then. Fences go on rising."""
        return _handle.lease.cleanup(self._store, to_ms("keep", keep))

    @property
    def counters(self) -> LeaseCounters:
        """What the store has counted since it was opened."""
        return LeaseCounters(**_handle.lease.counters(self._store))


class Semaphores(Leases):
    """The same of semaphores: `store.semaphores`. An owner is the id of a request for a slot, which never
    has two. NotFoundError: no such semaphore. Most programs need Store.semaphore()."""

    _shared = True

    def set_limit(
        self, name: str, limit: int, *, connection: Optional[object] = None
    ) -> None:
        """Make a semaphore, or change how many may hold a slot of it: 0 (nobody) to 1,000,000. Lowering it
        ends nobody's hold."""
        self._set_limit(name, limit).run(connection)

    async def set_limit_async(
        self, name: str, limit: int, *, connection: Optional[object] = None
    ) -> None:
        """set_limit() on an async connection; without one, on a thread."""
        await self._set_limit(name, limit).run_async(connection)

    def _set_limit(self, name: str, limit: int) -> Call[None]:
        text, number = name_text("name", name), integer("limit", limit)
        return Call(
            lambda: _handle.lease.set_limit(self._store, text, number),
            lambda style: _handle.lease.set_limit_op(self._store, text, number, style),
            lambda _: None,
        )
