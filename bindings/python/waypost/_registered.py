# SPDX-License-Identifier: Apache-2.0
"""The jobs that the workers of a core store have registered: those of one registrar together."""
from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Dict, List

from waypost.job import Job

if TYPE_CHECKING:
    from waypost.store import Store
    from waypost.worker import Worker


class Registered:
    """What the Store objects of one core store, as a router makes them, share."""

    def __init__(self) -> None:
        self._stores: weakref.WeakSet[Store] = weakref.WeakSet()
        self._mutex = threading.Lock()
        self._jobs: Dict[str, weakref.WeakKeyDictionary[Worker, List[Job]]] = {}

    @staticmethod
    def of(store: Store) -> Registered:
        """The one of its core store. One whose stores are closed is not a later store's at its address."""
        key = store._handle.key
        with _mutex:
            registered = _of_stores.get(key)
            if registered is None or all(each.closed for each in registered._stores):
                registered = _of_stores[key] = Registered()
            registered._stores.add(store)
            return registered

    def register(self, store: Store, registrar: str, worker: Worker, jobs: List[Job]) -> None:
        """Register a worker's jobs, together with those of the registrar's other workers."""
        with self._mutex:  # until the database has them: an older union must not come after it
            workers = self._jobs.setdefault(registrar, weakref.WeakKeyDictionary())
            workers[worker] = list(jobs)
            others = {job.name: job for each in list(workers.values()) for job in each}
            for job in jobs:
                others.pop(job.name, None)
            store.jobs.register(registrar, [*jobs, *others.values()])


_mutex = threading.Lock()
_of_stores: weakref.WeakValueDictionary[int, Registered] = weakref.WeakValueDictionary()


def _forget() -> None:
    """In a forked child: the lock may be held by a thread of the parent's."""
    global _mutex, _of_stores
    _mutex, _of_stores = threading.Lock(), weakref.WeakValueDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
