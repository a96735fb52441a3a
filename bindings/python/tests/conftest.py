# SPDX-License-Identifier: Apache-2.0
"""What the tests share. The engine's quirks are in one place: a further engine is one more."""
from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

import waypost

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
PATIENCE = 60.0  # how long a condition may take before the test fails


def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.001)


def wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "the event did not come"


@dataclass
class App:
    """A store on a manual clock, and the app's way to the same database."""

    url: str
    clock: waypost.ManualClock
    store: waypost.Store
    opened: List[Any] = field(default_factory=list)

    def connect(self, **options: Any) -> sqlite3.Connection:
        """A connection of the app's, with its own table `orders`."""
        connection = sqlite3.connect(self.store.location, **options)
        self.opened.append(connection)
        return connection

    def open(self, **options: Any) -> waypost.Store:
        """A further store on the same database."""
        store = waypost.Store.open(self.url, **{"clock": self.clock, **options})
        self.opened.append(store)
        return store

    @property
    def outbox(self) -> waypost.Outbox:
        return self.store.outbox

    def claim(self, **options: Any) -> waypost.Claim:
        return self.outbox.claim(waypost.new_id(), **options)

    def topics(self) -> List[str]:
        """The topics of what is committed and not finished."""
        return sorted(self.outbox.stats(finished=False).topics)

    def count(self) -> int:
        """How many messages are committed."""
        total = self.outbox.stats().total
        unfinished = total.ready + total.scheduled + total.in_progress + total.blocked
        return unfinished + total.done + total.failed

    def orders(self) -> int:
        with closing(sqlite3.connect(self.store.location)) as connection:
            return int(connection.execute("SELECT count(*) FROM orders").fetchone()[0])


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"{request.param}:{tmp_path / 'app.db'}"


@pytest.fixture
def app(url: str) -> Iterator[App]:
    clock = waypost.ManualClock(NOW)
    store = waypost.Store.open(url, deploy=True, clock=clock)
    app = App(url, clock, store)
    with closing(sqlite3.connect(store.location)) as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, name TEXT)")
        connection.commit()
    yield app
    for opened in reversed(app.opened):
        opened.close()
    store.close()


@pytest.fixture
def live(app: App) -> Iterator[waypost.Store]:
    """A store on the system's clock, on the same database."""
    store = waypost.Store.open(app.url)
    yield store
    store.close()
