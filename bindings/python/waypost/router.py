# SPDX-License-Identifier: Apache-2.0
"""Several stores: found by their ids, discovered anew now and then, served by one worker."""
from __future__ import annotations

import logging
import os
import threading
import uuid
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Type, Union

from waypost import _handle
from waypost._log import LOGGER, Log
from waypost._text import Duration, to_ms
from waypost.clock import ManualClock
from waypost.config import Config, OptionValue, option_text
from waypost.errors import ArgumentError
from waypost.inbox import Inbox
from waypost.jobs import Jobs
from waypost.outbox import Outbox
from waypost.store import Store, make_config, worker_options
from waypost.timers import Timers
from waypost._select import Selector
from waypost.worker import Worker

#: Stores by their ids: each a URL, or options as for Store.open(), `url` among them.
Stores = Mapping[str, Union[str, Mapping[str, OptionValue]]]

_RETRY_SECONDS = 10.0  # after a discovery that failed, if the interval is not shorter


class Router:
    """Stores by their ids. Thread-safe.

        router = waypost.Router({"eu": "sqlite:eu.db", "us": "postgresql://..."}, deploy=True)
        router.outbox("eu").enqueue("orders.created", "{}")
        worker = router.worker()

    A store is opened when it is first needed: one that cannot be reached holds up none of the others.
    """

    def __init__(
        self,
        stores: Optional[Stores] = None,
        *,
        discover: Optional[Callable[[], Stores]] = None,
        interval: Optional[Duration] = None,
        deploy: bool = False,
        clock: Optional[ManualClock] = None,
        logger: Optional[logging.Logger] = None,
        **options: OptionValue,
    ) -> None:
        """Either `stores` are given once, or `discover` finds them: it is called now, and every `interval` on
        a thread of its own, by default every 5 minutes (`worker.discovery_interval_ms`). Stores that are
        the same stay as they are, changed ones are opened anew, workers let go of those that are gone.
        When it raises, all stays as it is; the first time that is the caller's to see. ArgumentError:
        both are given.

        Further options are as for Store.open(), and hold for all stores and workers.
        """
        if stores is not None and discover is not None:
            raise ArgumentError("stores and discover are both given: let discover return these stores, too")
        if discover is not None and not callable(discover):
            raise ArgumentError(f"discover is a {type(discover).__name__}, not callable")
        self._clock = clock
        self._logger = logger
        self._options: Dict[str, OptionValue] = {"deploy": deploy, **options}
        self._config = make_config(None, clock, logger, self._options)
        self._discover = discover
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._handle = _handle.Router()
        self._thread: Optional[threading.Thread] = None
        seconds = int(self._option("worker.discovery_interval_ms")) / 1000
        if interval is not None:
            seconds = to_ms("interval", interval) / 1000
        self.set(stores or {})
        if discover is not None:
            self.refresh()
            self._thread = threading.Thread(
                target=self._refresh_each, args=(seconds,), name="waypost-discover", daemon=True
            )
            self._thread.start()

    # ---- stores -----------------------------------------------------------------------------

    def set(self, stores: Stores) -> None:
        """Give the whole list of stores anew. ArgumentError, ConfigError: nothing is changed."""
        configs = [self._config_of(id, store) for id, store in stores.items()]
        self._handle.set([config._handle for config in configs])

    def refresh(self) -> None:
        """Discover now."""
        if self._discover is not None:
            self.set(self._discover())

    def store(self, key: Union[str, uuid.UUID]) -> Store:
        """The store of a key. It need not be closed. NotFoundError: no store has this id."""
        return Store._of(self._handle.get(str(key)), self._config)

    def outbox(self, key: Union[str, uuid.UUID]) -> Outbox:
        """The outbox of a key. NotFoundError: no store has this id."""
        return self.store(key).outbox

    def inbox(self, key: Union[str, uuid.UUID]) -> Inbox:
        """The inbox of a key. NotFoundError: no store has this id."""
        return self.store(key).inbox

    def timers(self, key: Union[str, uuid.UUID]) -> Timers:
        """The timers of a key. NotFoundError: no store has this id."""
        return self.store(key).timers

    def jobs(self, key: Union[str, uuid.UUID]) -> Jobs:
        """The jobs of a key. NotFoundError: no store has this id."""
        return self.store(key).jobs

    @property
    def ids(self) -> List[str]:
        """The ids of the stores that it has now, in the order in which they were given."""
        return self._handle.ids()

    def __len__(self) -> int:
        return self._handle.count()

    def __bool__(self) -> bool:
        return True  # also without stores

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, uuid.UUID)) and str(key) in self._handle.ids()

    def __iter__(self) -> Iterator[str]:
        return iter(self._handle.ids())

    # ---- workers ----------------------------------------------------------------------------

    def worker(
        self,
        *,
        threads: Optional[int] = None,
        selector: Optional[Selector] = None,
        stop_timeout: Duration = 10.0,
        **options: Any,
    ) -> Worker:
        """Make a worker on all stores, also those that come later. Options as for Store.worker(), and all
        other `worker.*` ones: those that end in `_ms` in milliseconds."""
        given = {
            f"worker.{key}": option_text(key, value)
            for key, value in options.items()
            if key not in _DURATIONS and value is not None
        }
        durations = {f"{key}_ms": options.get(key) for key in _DURATIONS}
        return Worker(
            self,
            {**given, **worker_options(**durations)},
            threads=threads,
            stop_timeout=stop_timeout,
            selector=selector,
        )

    def _new_worker(
        self, options: Mapping[str, str], kind: Type[_handle.DeliveryT]
    ) -> _handle.Worker[_handle.DeliveryT]:
        merged: Dict[str, OptionValue] = {**self._options, **options}
        config = make_config(None, self._clock, self._logger, merged)
        return _handle.Worker(self._handle, config._handle, kind)

    def _option(self, key: str) -> str:
        return self._config[key]

    # ---- inside -----------------------------------------------------------------------------

    def _config_of(self, id: str, store: Union[str, Mapping[str, OptionValue]]) -> Config:
        own: Dict[str, OptionValue] = {}
        if isinstance(store, str):
            own["url"] = store
        else:
            own.update(store)
        url = own.pop("url", None)
        options: Dict[str, OptionValue] = {**self._options, **own, "store.id": str(id)}
        return make_config(
            None if url is None else str(url), self._clock, self._logger, options
        )

    def _refresh_each(self, seconds: float) -> None:
        wait = seconds
        while not self._ended.wait(wait):
            try:
                self.refresh()
                wait = seconds
            except Exception:
                wait = min(seconds, _RETRY_SECONDS)
                log = Log(self._logger) if self._logger else LOGGER
                log.exception("discovery failed, the stores stay as they are")

    def close(self) -> None:
        """Discover no more, and let the stores go. Workers go on with those that they have."""
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._handle.close()

    def __enter__(self) -> Router:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self, getpid: Any = os.getpid) -> None:
        ended: Optional[threading.Event] = getattr(self, "_ended", None)
        if ended is not None:
            ended.set()

    def __repr__(self) -> str:
        return f"<waypost.Router, {'closed' if self._handle.closed else f'{len(self)} stores'}>"


_DURATIONS = {
    "lease",
    "timeout",
    "backoff_base",
    "backoff_max",
    "poll_min",
    "poll_max",
    "flush",
    "reap",
    "cleanup_interval",
}
