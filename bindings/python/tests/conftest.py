# SPDX-License-Identifier: Apache-2.0
"""What the tests share. A test with the fixture `app` or `url` runs on every engine, or on those of
its marker `engines`. What differs between engines is here: a further one is one more branch."""
from __future__ import annotations

import os
import sqlite3
import threading
import time
import uuid
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

import on_mariadb
import on_sqlserver
import pytest

import waypost

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=timezone.utc)
SECOND = timedelta(seconds=1)
PATIENCE = 180.0  # how long a condition may take before the test fails
ENGINES = ("sqlite", "postgresql", "mariadb") + ("sqlserver",) * on_sqlserver.is_there()


def until(condition: Callable[[], object], what: str = "the condition") -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.001)


def wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE), "the event did not come"


# ---- engines --------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("engines")
        metafunc.parametrize("engine", marker.args if marker else ENGINES)


def postgresql_server() -> str:
    """The URL of a server to make databases on. Without one, the tests of that engine are skipped,
    or fail if all have to run."""
    url = os.environ.get("WAYPOST_TEST_POSTGRESQL")
    if not url:
        if os.environ.get("WAYPOST_TEST_REQUIRE"):
            pytest.fail("WAYPOST_TEST_POSTGRESQL is not set, and WAYPOST_TEST_REQUIRE is")
        pytest.skip("WAYPOST_TEST_POSTGRESQL is not set: no PostgreSQL server to test on")
    return url


SUPPORT = Path(__file__).parents[3] / "tests/support"
EMPTY = (SUPPORT / "empty_postgresql.sql").read_text()
CLEAN = (SUPPORT / "clean_postgresql.sql").read_text()
FINGERPRINT = (SUPPORT / "fingerprint_postgresql.sql").read_text()
OTHERS = (
    " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@dataclass
class Database:
    """One that tests have after each other, with a connection to it."""

    connection: Any
    fingerprint: str = ""  # of its schema, once that is deployed


idle: List[Database] = []  # of earlier tests; to make one takes long


def value_of(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def made_database(server: str, deployed: bool) -> Database:
    """An empty database; if `deployed`, it may have the schema of an earlier test, but no rows."""
    import psycopg

    for database in [one for one in idle if one.fingerprint] if deployed else []:
        try:
            if value_of(database.connection, FINGERPRINT) == database.fingerprint:
                database.connection.execute(CLEAN)
                idle.remove(database)
                return database
        except psycopg.Error:  # somebody is still there: see whether it can be emptied
            pass
    while idle:
        database = idle.pop()
        try:
            database.fingerprint = ""
            database.connection.execute(EMPTY)
            return database
        except psycopg.Error:  # something that cannot be undone: leave it
            database.connection.close()
    name = f"waypost_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
    url = urlsplit(server)._replace(path="/" + name).geturl()
    return Database(psycopg.connect(url, autocommit=True))


def cut_off(connection: Any) -> None:
    def gone() -> bool:  # asked again: one may be about to connect, of a store that something still refers to
        connection.execute("SELECT pg_terminate_backend(pid)" + OTHERS)
        return bool(value_of(connection, "SELECT count(*)" + OTHERS) == 0)

    until(gone, "the end of others")


@contextmanager
def postgresql_database(deployed: bool = False) -> Iterator[str]:
    """A database of a test's own. If `deployed`, the test deploys the schema, and keeps it."""
    import psycopg

    server = postgresql_server()
    database = made_database(server, deployed)
    url = urlsplit(server)._replace(path="/" + database.connection.info.dbname).geturl()
    in_use[url] = database
    yield url
    del in_use[url]
    try:
        cut_off(database.connection)
    except psycopg.OperationalError:  # the test has cut us off
        database.connection.close()
        database.connection = psycopg.connect(url, autocommit=True)
        cut_off(database.connection)
    idle.append(database)


in_use: Dict[str, Database] = {}


@pytest.fixture(scope="session", autouse=True)
def databases_of_this_run() -> Iterator[None]:
    """Dropped at its end."""
    yield
    on_mariadb.drop_all()
    on_sqlserver.drop_all()
    import psycopg

    for database in idle:
        name = database.connection.info.dbname
        database.connection.close()
        with psycopg.connect(postgresql_server(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    idle.clear()


def connect(url: str, autocommit: bool = False, **options: Any) -> Any:
    """A connection of the app's, with the engine's own driver."""
    if url.startswith("sqlite:"):
        if autocommit:
            options["isolation_level"] = None
        return sqlite3.connect(url[len("sqlite:") :], **options)
    if on_mariadb.is_mine(url):
        return on_mariadb.connect(url, autocommit, **options)
    if on_sqlserver.is_mine(url):
        return on_sqlserver.connect(url, autocommit, **options)
    import psycopg

    return psycopg.connect(url, autocommit=autocommit, **options)


@asynccontextmanager
async def connect_async(url: str, autocommit: bool = False) -> AsyncIterator[Any]:
    """The same with an async driver; closed at the end of the block, without a commit."""
    if url.startswith("sqlite:"):
        import aiosqlite

        options: Any = {"isolation_level": None} if autocommit else {}
        connection = await aiosqlite.connect(url[len("sqlite:") :], **options)
    elif on_mariadb.is_mine(url):
        connection = await on_mariadb.connect_async(url, autocommit)
    elif on_sqlserver.is_mine(url):
        pytest.skip("no async driver for SQL Server is installed")
    else:
        import psycopg

        connection = await psycopg.AsyncConnection.connect(url, autocommit=autocommit)
    try:
        yield connection
    finally:
        ended = connection.close()
        if ended is not None:  # aiomysql's is no coroutine
            await ended


def in_transaction(connection: Any) -> bool:
    if isinstance(connection, sqlite3.Connection):
        return connection.in_transaction
    if isinstance(connection, on_mariadb.Connection):
        return bool(connection.server_status & 1)
    if on_sqlserver.is_of_mine(connection):
        return bool(connection.execute("SELECT @@TRANCOUNT").fetchone()[0])
    return bool(connection.info.transaction_status)


def begin(connection: Any) -> None:
    """Begin a transaction on one that commits by itself."""
    if on_sqlserver.is_of_mine(connection):
        connection.autocommit = False  # pyodbc does not see a BEGIN TRANSACTION
    else:
        connection.execute("BEGIN")


ORDERS = {
    "sqlite": "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, name TEXT)",
    "postgresql": "CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, name text)",
    "mariadb": "CREATE TABLE IF NOT EXISTS orders (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT)",
    "sqlserver": "IF OBJECT_ID('dbo.orders') IS NULL"
    " CREATE TABLE orders (id INT IDENTITY PRIMARY KEY, name NVARCHAR(100))",
}


@dataclass
class App:
    """A store on a manual clock, and the app's way to the same database."""

    url: str
    clock: waypost.ManualClock
    store: waypost.Store
    opened: List[Any] = field(default_factory=list)

    def connect(self, **options: Any) -> Any:
        """A connection of the app's, with its own table `orders`."""
        connection = connect(self.url, **options)
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
        with closing(connect(self.url)) as connection:
            return int(connection.execute("SELECT count(*) FROM orders").fetchone()[0])


@pytest.fixture
def new_url(engine: str, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Makes empty databases; they are gone after the test."""
    made = 0
    with ExitStack() as stack:

        def make() -> str:
            nonlocal made
            made += 1
            if engine == "sqlite":
                return f"sqlite:{tmp_path / f'app{made}.db'}"
            if engine == "mariadb":
                return stack.enter_context(on_mariadb.mariadb_database())
            if engine == "sqlserver":
                return stack.enter_context(on_sqlserver.sqlserver_database())
            return stack.enter_context(postgresql_database())

        yield make


@pytest.fixture
def url(request: pytest.FixtureRequest, engine: str) -> Iterator[str]:
    """An empty database, or, for `app`, one that may have its schema already."""
    if engine == "sqlite" or "app" not in request.fixturenames:
        yield request.getfixturevalue("new_url")()
        return
    database = {
        "postgresql": postgresql_database,
        "mariadb": on_mariadb.mariadb_database,
        "sqlserver": on_sqlserver.sqlserver_database,
    }
    with database[engine](deployed=True) as made:
        yield made


@pytest.fixture
def app(engine: str, url: str) -> Iterator[App]:
    clock = waypost.ManualClock(NOW)
    store = waypost.Store.open(url, deploy=True, clock=clock)
    app = App(url, clock, store)
    with closing(connect(url)) as connection:
        connection.execute(ORDERS[engine])
        connection.commit()
    if url in in_use and not in_use[url].fingerprint:
        in_use[url].fingerprint = value_of(in_use[url].connection, FINGERPRINT)
    on_mariadb.keep_schema(url)
    on_sqlserver.keep_schema(url)
    yield app
    for opened in reversed(app.opened):
        if not getattr(opened, "closed", False):  # pyodbc's cannot be closed twice
            opened.close()
    store.close()


@pytest.fixture
def live(app: App) -> Iterator[waypost.Store]:
    """A store on the system's clock, on the same database."""
    store = waypost.Store.open(app.url)
    yield store
    store.close()


@pytest.fixture
def claim(app: App) -> waypost.Claim:
    """Of an earlier message."""
    app.outbox.enqueue("earlier", "1")
    return app.claim(topics=["earlier"])


@pytest.fixture(scope="session")
def django_ready() -> None:
    import django
    from django.conf import settings

    settings.configure(DEBUG=True, DATABASES={"default": {"ENGINE": "django.db.backends.dummy"}})
    django.setup()
