# SPDX-License-Identifier: Apache-2.0
"""Who is told of a store's leases: of losses those who hold them, of releases those who wait."""
from __future__ import annotations

import os
import threading
import time
import weakref
from types import TracebackType
from typing import Callable, Dict, List, Optional, Tuple, Type

from waypost import _handle
from waypost.errors import LeaseLostError, StateError

_SLICE_MS = 200  # how long the watcher waits in the core at a time

Name = Tuple[bool, str]  # whether of a semaphore


class Turns:
    """Those of this process who wait for a name. Each release wakes one, who waits longest."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: Dict[Name, List[Turn]] = {}

    def next(self, name: Name) -> None:
        """One was released."""
        with self._mutex:
            queue = self._waiting.get(name)
            turn = queue.pop(0) if queue else None
            if queue is not None and not queue:
                del self._waiting[name]
        if turn is not None:
            try:
                turn.wake()
            except RuntimeError:  # its loop was closed
                self.next(name)

    def add(self, turn: Turn) -> None:
        with self._mutex:
            queue = self._waiting.setdefault(turn.name, [])
            if turn not in queue:
                queue.append(turn)

    def remove(self, turn: Turn) -> bool:
        """False: it was woken."""
        with self._mutex:
            queue = self._waiting.get(turn.name, [])
            waits = turn in queue
            if waits:
                queue.remove(turn)
                if not queue:
                    del self._waiting[turn.name]
            return waits


class Turn:
    """The place of one who waits, taken anew before each attempt: so no release goes unheard. At the end it
    is given up, and a release that was not made use of goes to the next one."""

    def __init__(self, turns: Turns, name: Name, wake: Callable[[], object]) -> None:
        self._turns = turns
        self._taken = False
        self.name = name
        self.wake = wake

    def take(self) -> None:
        self._taken = True
        self._turns.add(self)

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._taken and not self._turns.remove(self):
            self._turns.next(self.name)


class Watcher:
    """One thread for each core store, while leases are held: calls back for those that are lost."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._tells: Dict[int, Callable[[], None]] = {}
        self._running = False
        self.turns = Turns()

    @staticmethod
    def of(store: _handle.Store) -> Watcher:
        """The one of a core store, which tells each loss once, to one caller. All that may hold leases
        on the store keeps it. A later store at the same address may get it, too: it is idle then."""
        with _watchers_mutex:
            watcher = _watchers.get(store.key)
            if watcher is None:
                watcher = _watchers[store.key] = Watcher()
            return watcher

    def add(
        self, handle: _handle.Lease, store: _handle.Store, tell: Callable[[], None]
    ) -> None:
        with self._mutex:
            self._tells[handle.key] = tell
            if not self._running:
                self._running = True
                self._start("waypost-lost", self._watch, _handle.lease.watching(store))
        try:
            handle.check()
        except LeaseLostError:  # perhaps before it was known here, so that nobody was told
            if self.remove(handle) is not None:
                self._start("waypost-lost-early", tell)
        except StateError:  # another thread has released it since
            self.remove(handle)

    def remove(self, handle: _handle.Lease) -> Optional[Callable[[], None]]:
        with self._mutex:
            return self._tells.pop(handle.key, None)

    @staticmethod
    def _start(name: str, target: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=target, args=arguments, name=name, daemon=True).start()

    def _watch(self, store: _handle.Store) -> None:
        while True:
            status, lost = _handle.lease.next_lost(store, _SLICE_MS)
            if lost is not None:
                tell = self.remove(lost)
                lost.close()
                if tell is not None:
                    tell()
            elif status != _handle.TIMEOUT:
                with self._mutex:
                    if not self._tells:
                        self._running = False
                        break
                time.sleep(0.005)  # one is about to be released
        store.close()


_watchers_mutex = threading.Lock()
_watchers: weakref.WeakValueDictionary[int, Watcher] = weakref.WeakValueDictionary()


def _forget_watchers() -> None:
    """In a forked child: their threads are the parent's."""
    global _watchers_mutex, _watchers
    _watchers_mutex, _watchers = threading.Lock(), weakref.WeakValueDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_watchers)
