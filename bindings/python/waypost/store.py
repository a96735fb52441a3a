# SPDX-License-Identifier: Apache-2.0
"""Stores: one database with Waypost's tables in it."""
from __future__ import annotations

import logging
import os
import re
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from waypost import _handle, _log
from waypost.clock import ManualClock
from waypost.config import Config, OptionValue, option_text
from waypost.errors import ArgumentError, ConfigError, Error
from waypost.health import Health, health_of
from waypost.inbox import Inbox
from waypost.jobs import Jobs
from waypost.joins import Joins
from waypost._lease_watch import Watcher
from waypost._registered import Registered
from waypost.lease import Lease, Leases, Semaphore, Semaphores
from waypost.message import AuditEntry
from waypost.metrics import Metrics, metrics_of
from waypost.outbox import Outbox
from waypost.queue import AllQueues, Page
from waypost.timers import Timers
from waypost._select import Selector
from waypost.worker import Worker
from waypost._text import Duration, instance


_PREFIXES = (
    "store", "worker", "outbox", "inbox", "timer", "job", "lease", "join", "schedule", "log", "health", "metrics", "http",
)
# The remedy that the core's errors name, and its name here.
_DEPLOY_IN_C = "the deploy call or the option store.deploy"
_DEPLOY = "waypost.deploy(url) or Store.open(url, deploy=True)"


def _option_key(name: str) -> str:
    """A keyword as an option's key: worker_lease_ms is worker.lease_ms, schema store.schema."""
    if "." in name:
        return name
    prefix, _, rest = name.partition("_")
    return f"{prefix}.{rest}" if prefix in _PREFIXES and rest != "table" else "store." + name


def _plain_url(url: str) -> str:
    """Refuses the URLs of SQLAlchemy that name a Python driver, without quoting a password."""
    found = re.match(r"(postgres|postgresql|sqlite)\+\w+:", url) if isinstance(url, str) else None
    if found:
        plain = "sqlite:PATH" if found[1] == "sqlite" else "postgresql://USER@HOST:PORT/DATABASE"
        raise ConfigError(
            f"store.url: {found[0][:-1]} names a driver of Python's; Waypost has its own: {plain}"
        )
    return url


def make_config(
    url: Optional[str],
    clock: Optional[ManualClock],
    logger: Optional[logging.Logger],
    options: Mapping[str, OptionValue],
) -> Config:
    config = Config()
    logger = logger or _log.LOGGER.logger
    config["log.level"] = _log.level_name(logger)
    config.set_logger(logger)
    if url is not None:
        config["store.url"] = _plain_url(url)
    if clock is not None:
        config.set_clock(clock)
    for name, value in options.items():
        try:
            config[_option_key(name)] = value
        except ConfigError as error:
            error.args = (f"option {name}: {error}",)
            raise
    return config


def deploy(
    url: str, *, logger: Optional[logging.Logger] = None, **options: OptionValue
) -> None:
    """Create or upgrade Waypost's tables in a database. Repeatable; safe with many processes at
    once. Options as for Store.open()."""
    _handle.deploy(make_config(url, None, logger, options)._handle)


class Store:
    """One database with Waypost's tables. Thread-safe.

    It belongs to the process that opened it: a forked child gets StateError, also when it
    opens the same SQLite file: fork first and open stores afterwards.
    """

    _routed = False
    def __init__(self, config: Config) -> None:
        """Open the store that the configuration's `store.*` options name:

            store = waypost.Store(waypost.Config.from_env())
        """
        instance("config", config, Config)
        try:
            handle = _handle.Store(config._handle)
        except Error as error:
            error.args = (str(error).replace(_DEPLOY_IN_C, _DEPLOY),)
            raise
        self._own(handle, config)

    @classmethod
    def _of(cls, handle: _handle.Store, config: Config) -> Store:
        """One of a router's: it ends by itself."""
        store = cls.__new__(cls)
        store._own(handle, config)
        store._routed = True
        return store

    def _own(self, handle: _handle.Store, config: Config) -> None:
        self._config = config
        self._config_lock = threading.Lock()
        self._watcher = Watcher.of(handle)
        self._handle = handle
        self._registered = Registered.of(self)

    @classmethod
    def open(
        cls,
        url: str,
        deploy: bool = False,
        *,
        clock: Optional[ManualClock] = None,
        logger: Optional[logging.Logger] = None,
        **options: OptionValue,
    ) -> Store:
        """Open the store at `url`: "sqlite:app.db" or "postgresql://user@host:5432/database".

        With `deploy` its tables are created or upgraded; without, they must be there. Further
        options are those of Config.describe(), with "_" for the dot: `worker_lease_ms=60_000` is
        `worker.lease_ms`; `schema="infra"` is short for `store_schema`. The log goes to `logger`,
        by default logging.getLogger("waypost"), from the level that it has now.
        """
        options["deploy"] = deploy
        return cls(make_config(url, clock, logger, options))

    @property
    def outbox(self) -> Outbox:
        """The store's outbox. It keeps the store alive."""
        return Outbox(self._handle, self)

    @property
    def inbox(self) -> Inbox:
        """The store's inbox. It keeps the store alive."""
        return Inbox(self._handle, self)

    @property
    def timers(self) -> Timers:
        """The store's timers. They keep the store alive."""
        return Timers(self._handle, self)

    @property
    def jobs(self) -> Jobs:
        """The store's jobs. They keep the store alive."""
        return Jobs(self._handle, self)

    @property
    def all_queues(self) -> AllQueues:
        """The dead letters of all queues in one list, and the cleanup of all. It keeps the store alive."""
        return AllQueues(_handle.Queue(self._handle, "", None), self)

    @property
    def joins(self) -> Joins:
        """The store's joins. They keep the store alive."""
        return Joins(self._handle, self)

    def lease(
        self,
        name: str,
        seconds: Duration = 30.0,
        *,
        wait: Optional[Duration] = 0,
        owner: Optional[str] = None,
        on_lost: Optional[Callable[[Lease], None]] = None,
    ) -> Lease:
        """A lease that is acquired by `with` or `async with`, renews itself, and is released after it:

            with store.lease("nightly", seconds=30) as lease:
                while lease.held: step(lease.fence)

        seconds   how long it lasts unless renewed: 0.1 s to a day
        wait      how long to wait for another holder, 0: not at all, None: for ever; then TimeoutError, whose
                  `holder` tells who has it, and until when
        owner     who holds it; None: this lease alone
        on_lost   called once, on a thread of Waypost's, when it is lost
        """
        return Lease(self._handle, self._watcher, False, name, seconds, wait, owner, on_lost, self)

    def semaphore(self, name: str, limit: int) -> Semaphore:
        """Make a semaphore, or set its limit: how many may hold a slot of it. Lowering it ends nobody's
        hold."""
        return Semaphore(self._handle, self._watcher, name, limit, self)

    @property
    def leases(self) -> Leases:
        """What leases are made of, also in the app's transaction: acquire, renew, release, get."""
        return Leases(self._handle, self)

    @property
    def semaphores(self) -> Semaphores:
        """The same of semaphores."""
        return Semaphores(self._handle, self)

    def audit(self, *, limit: int = 100) -> Page[AuditEntry]:
        """The first page of what was changed by hand, and by whom, the latest first: topics paused and
        resumed, dead letters replayed, purged and edited, jobs disabled, enabled and triggered. Up to 10,000
        on a page."""

        def read(before: Optional[_handle.Page[AuditEntry]], limit: int) -> _handle.Page[AuditEntry]:
            return _handle.audit.listed(self._handle, before, limit)

        return Page.first(limit, read)

    @property
    def id(self) -> str:
        """The store's name in logs and metrics: the option `store.id`."""
        return self._handle.id

    @property
    def location(self) -> str:
        """With what the app opens a connection of its own: the file's path, or a `file:` URI (for
        sqlite3.connect(..., uri=True)) if the database is in memory; on PostgreSQL the URL, with
        its password."""
        return self._handle.location

    def metrics(self, *, limit: Optional[Duration] = None) -> Metrics:
        """What it has done and holds. limit: how long to wait for the database (the option
        `health.timeout_ms`); what it has not told by then is left out."""
        return metrics_of(self._handle.metrics, limit)

    def health(
        self,
        *,
        scheduler: bool = False,
        max_age: Optional[Duration] = None,
        limit: Optional[Duration] = None,
    ) -> Health:
        """Whether it does its work: see docs/operations.md.

        scheduler: only timers, jobs and their runs count; max_age: for how long a message may be ready
        (the option `health.overdue_ms`), 0: for ever; limit: how long to wait for the database (the
        option `health.timeout_ms`).
        """
        return health_of(self._handle.health, scheduler, max_age, limit)

    @property
    def closed(self) -> bool:
        return self._handle.closed

    def worker(
        self,
        *,
        concurrency: Optional[int] = None,
        threads: Optional[int] = None,
        batch_size: Optional[int] = None,
        lease: Optional[Duration] = None,
        timeout: Optional[Duration] = None,
        max_attempts: Optional[int] = None,
        backoff_base: Optional[Duration] = None,
        backoff_max: Optional[Duration] = None,
        backoff_jitter: Optional[float] = None,
        poll_min: Optional[Duration] = None,
        poll_max: Optional[Duration] = None,
        flush: Optional[Duration] = None,
        reap: Optional[Duration] = None,
        cleanup_interval: Optional[Duration] = None,
        wakeups: Optional[bool] = None,
        all_topics: Optional[bool] = None,
        name: Optional[str] = None,
        selection: Optional[str] = None,
        turn: Optional[int] = None,
        selector: Optional[Selector] = None,
        registrar: Optional[str] = None,
        stop_timeout: Duration = 10.0,
    ) -> Worker:
        """Make a worker. What is None is as the store's `worker.*` options say. Further stores come with
        Worker.add_store().

        concurrency   the most deliveries in progress at once
        threads       the most threads that run plain handlers, by default `concurrency`
        timeout       how long a handler may take; then its delivery is cancelled and retried
        cleanup_interval  the time between looks for what was finished long ago
        selection     with several stores, "round-robin" or "drain-first"
        selector      chooses the store of the next message instead: gets Candidates, returns one of
                      their ids, or None for whichever
        registrar     names the program whose jobs @worker.job() stores, by default after the package of the
                      handlers, or the main module. Workers of one store and one registrar have their jobs
                      together. Programs with different jobs in one database need different registrars,
                      lest each switches the other's off
        stop_timeout  how long run(), `with` and the end of the program wait for handlers
        """
        given = worker_options(
            concurrency=concurrency,
            batch_size=batch_size,
            lease_ms=lease,
            timeout_ms=timeout,
            max_attempts=max_attempts,
            backoff_base_ms=backoff_base,
            backoff_max_ms=backoff_max,
            backoff_jitter=backoff_jitter,
            poll_min_ms=poll_min,
            poll_max_ms=poll_max,
            flush_ms=flush,
            reap_ms=reap,
            cleanup_interval_ms=cleanup_interval,
            wakeups=wakeups,
            all_topics=all_topics,
            name=name,
            selection=selection,
            turn=turn,
        )
        return Worker(
            self,
            given,
            threads=threads,
            stop_timeout=stop_timeout,
            selector=selector,
            registrar=registrar,
        )

    def _new_worker(
        self, options: Mapping[str, str], kind: Type[_handle.DeliveryT]
    ) -> _handle.Worker[_handle.DeliveryT]:
        """A core worker with the store's configuration and some options of its own."""
        config = self._config._handle
        with self._config_lock:
            before = {key: config.get(key) for key in options}
            try:
                for key, value in options.items():
                    config.set(key, value)
                return _handle.Worker(self._handle, config, kind)
            finally:
                for key, value in before.items():
                    config.set(key, value)

    def _option(self, key: str) -> str:
        with self._config_lock:
            return self._config[key]

    def close(self) -> None:
        """Close it. Workers and leases on it keep it alive until they have ended."""
        self._handle.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self, warn: Any = warnings.warn, getpid: Any = os.getpid) -> None:
        handle: Optional[_handle.Store] = getattr(self, "_handle", None)
        if handle is not None and not handle.closed and handle.pid == getpid():
            if not self._routed:
                warn(f'store "{handle.id}" was not closed', ResourceWarning, source=self)
            handle.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        location = re.sub(r"(://[^/@]*?:)[^/]*@", r"\1...@", self.location)
        location = re.sub(r"(?i)([?&](?:ssl)?password=)[^&]*", r"\1...", location)
        return f"<waypost.Store {self.id!r} at {location!r}, {state}>"


def worker_options(**options: Optional[Union[OptionValue, Duration]]) -> Dict[str, str]:
    """Those that are not None, as text, under their keys."""
    return {
        f"worker.{key}": worker_option(key, value)
        for key, value in options.items()
        if value is not None
    }


def worker_option(key: str, value: Union[OptionValue, Duration]) -> str:
    """A worker option as text; a duration is in seconds."""
    from waypost._text import to_ms

    if key.endswith("_ms"):
        return str(to_ms(key[: -len("_ms")], value))
    if key in ("name", "selection") and not isinstance(value, str):
        raise ArgumentError(f"{key} must be a str, not {type(value).__name__}")
    return option_text(key, value)
