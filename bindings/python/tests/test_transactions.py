# SPDX-License-Identifier: Apache-2.0
"""Enqueue on the connections that apps have: every kind, every way to begin and to end."""
from __future__ import annotations

import asyncio
import sqlite3
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List

import pytest
from conftest import App

import waypost
from waypost import Message

aiosqlite = pytest.importorskip("aiosqlite")
sqlalchemy = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")
sa_asyncio = pytest.importorskip("sqlalchemy.ext.asyncio")

pytestmark = pytest.mark.engines("sqlite")

INSERT = "INSERT INTO orders (name) VALUES ('x')"


class Rolled(Exception):
    """Makes a transaction roll back."""


# ---- sqlite3 --------------------------------------------------------------------------------


class Odd(sqlite3.Connection):
    """A connection whose cursors are not what one expects."""

    def cursor(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the app's own cursors are not for Waypost")


def dict_row(cursor: Any, row: Any) -> Dict[str, Any]:
    return {column[0]: value for column, value in zip(cursor.description, row)}


def plain_row(connection: sqlite3.Connection) -> sqlite3.Connection:
    return connection


def with_sqlite_row(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = sqlite3.Row
    return connection


def with_dict_row(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.row_factory = dict_row
    return connection


def with_bytes(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.text_factory = bytes
    return connection


CONNECTIONS: Dict[str, Dict[str, Any]] = {
    "legacy": {},
    "immediate": {"isolation_level": "IMMEDIATE"},
    "exclusive": {"isolation_level": "EXCLUSIVE"},
    "autocommit": {"isolation_level": None},
    "subclass": {"factory": Odd},
    "detect types": {"detect_types": sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES},
    "no statement cache": {"cached_statements": 0},
}
FACTORIES: List[Callable[[sqlite3.Connection], sqlite3.Connection]] = [
    plain_row,
    with_sqlite_row,
    with_dict_row,
    with_bytes,
]


def enqueue_both(app: App, connection: object) -> None:
    """One message with a unique key (its statement returns rows) and one without."""
    app.outbox.enqueue("unique", "\U0001f600", connection=connection, unique_key="k")
    again = app.outbox.enqueue("unique", "2", connection=connection, unique_key="k")
    assert again.duplicate
    app.outbox.enqueue("plain", "1", connection=connection)


# proves: OBX-001, OBX-003, BND-002
@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("kind", CONNECTIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_enqueue_belongs_to_the_transaction_of_a_connection(
    app: App, kind: str, factory: Any, commit: bool
) -> None:
    connection = factory(app.connect(**CONNECTIONS[kind]))
    if connection.isolation_level is None:
        sqlite3.Cursor(connection).execute("BEGIN")
    sqlite3.Cursor(connection).execute(INSERT)
    enqueue_both(app, connection)
    assert connection.in_transaction and app.count() == 0 == app.orders()
    connection.commit() if commit else connection.rollback()
    assert app.topics() == (["plain", "unique"] if commit else [])
    assert app.orders() == (1 if commit else 0)


def test_enqueue_begins_the_implicit_transaction_like_the_apps_own_insert(app: App) -> None:
    connection = app.connect()
    assert not connection.in_transaction
    app.outbox.enqueue("a", "1", connection=connection)
    assert connection.in_transaction, "legacy mode begins before an INSERT"
    connection.rollback()
    assert app.count() == 0
    app.outbox.enqueue("a", "1", connection=connection, unique_key="k")
    assert connection.in_transaction
    connection.rollback()
    assert app.count() == 0


# proves: BND-002
def test_enqueue_on_a_connection_that_counts_changes(app: App) -> None:
    connection = app.connect()
    connection.execute("PRAGMA count_changes = 1")
    enqueue_both(app, connection)
    connection.commit()
    assert app.topics() == ["plain", "unique"]


def test_enqueue_in_autocommit_is_committed_like_the_apps_own_insert(app: App) -> None:
    connection = app.connect(autocommit=True)
    app.outbox.enqueue("a", "1", connection=connection)
    assert not connection.in_transaction and app.topics() == ["a"]


def test_enqueue_in_an_outermost_savepoint(app: App) -> None:
    connection = app.connect(autocommit=True)
    for end, count in (("ROLLBACK TO s", 0), ("RELEASE s", 1)):
        connection.execute("SAVEPOINT s")
        app.outbox.enqueue("a", "1", connection=connection)
        assert app.count() == 0
        connection.execute(end)
        if end != "RELEASE s":
            connection.execute("RELEASE s")
        assert app.count() == count


def test_enqueue_in_nested_savepoints(app: App) -> None:
    connection = app.connect(autocommit=True)
    connection.execute("BEGIN IMMEDIATE")
    for name in ("one", "two", "three"):
        connection.execute(f"SAVEPOINT {name}")
        app.outbox.enqueue(name, "1", connection=connection)
    connection.execute("ROLLBACK TO two")
    connection.execute("RELEASE one")
    app.outbox.enqueue("four", "1", connection=connection)
    connection.execute("COMMIT")
    assert app.topics() == ["four", "one"]


def test_closing_without_commit_is_a_rollback(app: App) -> None:
    connection = app.connect()
    app.outbox.enqueue("a", "1", connection=connection)
    connection.close()
    assert app.count() == 0


def test_context_manager_of_the_connection(app: App) -> None:
    connection = app.connect()
    with connection:
        app.outbox.enqueue("a", "1", connection=connection)
    with pytest.raises(Rolled), connection:
        app.outbox.enqueue("b", "1", connection=connection)
        raise Rolled
    assert app.topics() == ["a"]


# scenario: OUT-003
# proves: OBX-001
def test_sequences_on_one_pooled_connection(app: App) -> None:
    """Case 10: nothing that is tied to the connection survives its transaction."""
    connection = app.connect(autocommit=True)
    connection.execute("BEGIN")
    app.outbox.enqueue("x", "1", connection=connection)
    connection.execute("ROLLBACK")
    connection.execute("BEGIN")
    app.outbox.enqueue("y", "1", connection=connection)
    connection.execute("SAVEPOINT s")
    app.outbox.enqueue("w", "1", connection=connection)
    connection.execute("ROLLBACK TO s")
    connection.execute("COMMIT")
    app.outbox.enqueue("z", "1", connection=connection)
    handled: List[str] = []
    worker = app.store.worker()
    for topic in "wxyz":
        worker.add_handler(topic, lambda delivery: handled.append(delivery.topic))
    worker.drain()
    assert sorted(handled) == ["y", "z"]


def test_cursor_stands_for_its_connection_and_keeps_its_rows(app: App) -> None:
    connection = app.connect()
    connection.execute(INSERT)
    cursor = connection.execute("SELECT 1 UNION SELECT 2")
    app.outbox.enqueue("a", "1", connection=cursor)
    assert cursor.fetchall() == [(1,), (2,)]
    connection.rollback()
    assert app.count() == 0


def test_failed_statement_leaves_the_transaction_as_the_engine_does(app: App) -> None:
    blocker = app.connect(autocommit=True)
    blocker.execute("BEGIN IMMEDIATE")
    connection = app.connect(timeout=0.0)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.outbox.enqueue("a", "1", connection=connection)
    blocker.execute("ROLLBACK")
    app.outbox.enqueue("a", "2", connection=connection)
    connection.commit()
    assert [message.payload for message in app.claim()] == ["2"]


def test_bad_argument_leaves_the_transaction_open_and_usable(app: App) -> None:
    connection = app.connect()
    connection.execute(INSERT)
    with pytest.raises(waypost.ArgumentError):
        app.outbox.enqueue("", "1", connection=connection)
    assert connection.in_transaction
    app.outbox.enqueue("a", "1", connection=connection)
    connection.commit()
    assert app.orders() == 1 and app.topics() == ["a"]


def test_unknown_kinds_of_connection_are_refused(app: App) -> None:
    class Named:
        def cursor(self) -> None:
            raise AssertionError

    engine = sqlalchemy.create_engine("sqlite://")
    for connection in (1, "sqlite:x", object(), engine, Named()):
        with pytest.raises(waypost.ArgumentError, match="connection"):
            app.outbox.enqueue("a", "1", connection=connection)


# proves: BND-002
def test_a_driver_of_the_apps_own(app: App) -> None:
    class Wrapped:
        def __init__(self, inner: sqlite3.Connection) -> None:
            self.inner = inner

    class WrappedDriver(waypost.drivers.Driver):
        paramstyle = "named"

        def execute(self, connection: Any, sql: str, parameters: Any) -> Any:
            return connection.inner.execute(sql, parameters).fetchall()

    waypost.drivers.register(Wrapped, WrappedDriver())
    connection = app.connect()
    enqueue_both(app, Wrapped(connection))
    assert app.count() == 0
    connection.commit()
    assert app.topics() == ["plain", "unique"]
    with pytest.raises(waypost.ArgumentError, match="driver"):
        waypost.drivers.register(Wrapped, object())  # type: ignore[arg-type]


# ---- SQLAlchemy -----------------------------------------------------------------------------


@contextmanager
def sa_engine(app: App, **options: Any) -> Iterator[Any]:
    engine = sqlalchemy.create_engine(f"sqlite:///{app.store.location}", **options)
    try:
        yield engine
    finally:
        engine.dispose()


# proves: OBX-001, OBX-003, BND-002
@pytest.mark.parametrize("future", [True, False])
@pytest.mark.parametrize("commit", [True, False])
def test_enqueue_on_a_sqlalchemy_connection(app: App, commit: bool, future: bool) -> None:
    with sa_engine(app, future=future) as engine, engine.connect() as connection:
        transaction = connection.begin()
        connection.execute(sqlalchemy.text(INSERT))
        enqueue_both(app, connection)
        assert app.count() == 0 and transaction.is_active
        transaction.commit() if commit else transaction.rollback()
    assert app.topics() == (["plain", "unique"] if commit else [])
    assert app.orders() == (1 if commit else 0)


def test_enqueue_on_a_sqlalchemy_connection_closed_without_commit(app: App) -> None:
    with sa_engine(app, future=True) as engine:
        with engine.connect() as connection:
            app.outbox.enqueue("a", "1", connection=connection)
        with engine.begin() as connection:
            app.outbox.enqueue("b", "1", connection=connection)
    assert app.topics() == ["b"]


# proves: OBX-001, OBX-003, BND-002
@pytest.mark.parametrize("scoped", [True, False])
@pytest.mark.parametrize("commit", [True, False])
def test_enqueue_on_a_sqlalchemy_session(app: App, commit: bool, scoped: bool) -> None:
    base = orm.declarative_base()

    class Order(base):  # type: ignore[misc, valid-type]
        __tablename__ = "orders"
        id = sqlalchemy.Column(sqlalchemy.Integer, primary_key=True)
        name = sqlalchemy.Column(sqlalchemy.String)

    with sa_engine(app, future=True) as engine:
        session = orm.Session(engine)
        if scoped:
            session = orm.scoped_session(orm.sessionmaker(engine))
        session.add(Order(name="x"))
        enqueue_both(app, session)
        assert app.count() == 0
        session.flush()
        session.commit() if commit else session.rollback()
        session.close()
    assert app.topics() == (["plain", "unique"] if commit else [])
    assert app.orders() == (1 if commit else 0)


def test_enqueue_in_a_nested_transaction_of_a_session(app: App) -> None:
    with sa_engine(app, future=True) as engine, orm.Session(engine) as session:
        app.outbox.enqueue("kept", "1", connection=session)
        nested = session.begin_nested()
        app.outbox.enqueue("gone", "1", connection=session)
        nested.rollback()
        session.commit()
    assert app.topics() == ["kept"]


# ---- async ----------------------------------------------------------------------------------


async def enqueue_both_async(app: App, connection: object) -> None:
    enqueue = app.outbox.enqueue_async
    await enqueue("unique", "\U0001f600", connection=connection, unique_key="k")
    again = await enqueue("unique", "2", connection=connection, unique_key="k")
    assert again.duplicate
    made = await app.outbox.enqueue_many_async(
        [Message("plain", "1"), Message("plain", "2")], connection=connection
    )
    assert len(made) == 2


# proves: OBX-001, OBX-003, BND-002
@pytest.mark.parametrize("factory", [None, sqlite3.Row, dict_row])
@pytest.mark.parametrize("isolation_level", ["", None])
@pytest.mark.parametrize("commit", [True, False])
def test_enqueue_on_aiosqlite(
    app: App, factory: Any, isolation_level: Any, commit: bool
) -> None:
    async def main() -> None:
        location = app.store.location
        async with aiosqlite.connect(location, isolation_level=isolation_level) as connection:
            connection.row_factory = factory
            if isolation_level is None:
                await connection.execute("BEGIN")
            await connection.execute(INSERT)
            await enqueue_both_async(app, connection)
            assert connection.in_transaction and app.count() == 0
            await (connection.commit() if commit else connection.rollback())

    asyncio.run(main())
    assert app.topics() == (["plain", "unique"] if commit else [])
    assert app.orders() == (1 if commit else 0)


# proves: BND-002
@pytest.mark.parametrize("kind", ["connection", "session"])
@pytest.mark.parametrize("commit", [True, False])
def test_enqueue_on_async_sqlalchemy(app: App, kind: str, commit: bool) -> None:
    async def main() -> None:
        url = f"sqlite+aiosqlite:///{app.store.location}"
        engine = sa_asyncio.create_async_engine(url)
        connection = engine.connect() if kind == "connection" else sa_asyncio.AsyncSession(engine)
        async with connection:
            await connection.execute(sqlalchemy.text(INSERT))
            await enqueue_both_async(app, connection)
            assert app.count() == 0
            await (connection.commit() if commit else connection.rollback())
        await engine.dispose()

    asyncio.run(main())
    assert app.topics() == (["plain", "unique"] if commit else [])
    assert app.orders() == (1 if commit else 0)


def test_sync_and_async_connections_are_not_mixed_up(app: App) -> None:
    async def main() -> None:
        async with aiosqlite.connect(app.store.location) as connection:
            with pytest.raises(waypost.ArgumentError, match="async"):
                app.outbox.enqueue("a", "1", connection=connection)
        with pytest.raises(waypost.ArgumentError, match="async"):
            await app.outbox.enqueue_async("a", "1", connection=app.connect())

    asyncio.run(main())


def test_enqueue_async_without_connection_is_durable_at_once(app: App) -> None:
    asyncio.run(app.outbox.enqueue_async("a", "1"))
    assert app.topics() == ["a"]


# proves: OBX-113, BND-002
def test_ack_on_an_async_connection(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    claim = app.outbox.claim(owner)

    async def main() -> None:
        async with aiosqlite.connect(app.store.location) as connection:
            assert await app.outbox.ack_async(owner, claim, connection=connection) == 1
            await connection.rollback()
            assert app.outbox.get(made.id).status is waypost.Status.IN_PROGRESS
            assert await app.outbox.ack_async(owner, claim, connection=connection) == 1
            await connection.commit()

    asyncio.run(main())
    assert app.outbox.get(made.id).status is waypost.Status.DONE


# ---- adapters and converters of the whole process --------------------------------------------


@pytest.fixture
def adapted() -> Iterator[None]:
    """The app has had the plainest types adapted on their way in and converted on their way out."""
    kinds = (int, str, bytes, type(None))
    names = ("BLOB", "INTEGER", "TEXT")
    for kind in kinds:
        sqlite3.register_adapter(kind, lambda value: "adapted")
    for name in names:
        sqlite3.register_converter(name, lambda value: [value])
    yield
    for kind in kinds:
        del sqlite3.adapters[kind, sqlite3.PrepareProtocol]  # type: ignore[attr-defined]
    for name in names:
        del sqlite3.converters[name]  # type: ignore[attr-defined]


DETECT = sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES


def is_intact(app: App) -> None:
    """What enqueue_both() or enqueue_both_async() stored can be read."""
    claim = app.claim()
    stored = {(message.topic, message.payload) for message in claim.messages}
    assert stored - {("plain", "2")} == {("plain", "1"), ("unique", "\U0001f600")}
    assert all(message.correlation_id is None for message in claim.messages)


# proves: OBX-001, OBX-113, BND-002
def test_adapters_and_converters_of_the_app_do_not_matter(app: App, adapted: None) -> None:
    connection = app.connect(detect_types=DETECT)
    enqueue_both(app, connection)
    connection.commit()
    is_intact(app)
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    assert len(app.outbox.claim(owner).messages) == 1
    assert app.outbox.ack(owner, [made.id], connection=connection) == 1
    connection.commit()
    assert app.outbox.stats().total.done == 1


# proves: BND-002
def test_adapters_and_converters_do_not_matter_on_sqlalchemy(app: App, adapted: None) -> None:
    options = {"connect_args": {"detect_types": DETECT}, "native_datetime": True}
    with sa_engine(app, **options) as engine, engine.begin() as connection:
        enqueue_both(app, connection)
    is_intact(app)


# proves: BND-002
@pytest.mark.parametrize("kind", ["aiosqlite", "sqlalchemy"])
def test_adapters_and_converters_do_not_matter_on_async_connections(
    app: App, kind: str, adapted: None
) -> None:
    async def on_aiosqlite() -> None:
        async with aiosqlite.connect(app.store.location, detect_types=DETECT) as connection:
            await enqueue_both_async(app, connection)
            await connection.commit()

    async def on_sqlalchemy() -> None:
        url = f"sqlite+aiosqlite:///{app.store.location}"
        engine = sa_asyncio.create_async_engine(url, connect_args={"detect_types": DETECT})
        async with engine.connect() as connection:
            await enqueue_both_async(app, connection)
            await connection.commit()
        await engine.dispose()

    asyncio.run(on_aiosqlite() if kind == "aiosqlite" else on_sqlalchemy())
    is_intact(app)


# A driver of the app's own hands parameters over as it likes.
# proves: WRK-002
def test_what_an_adapter_has_spoilt_is_refused(app: App) -> None:
    class Spoiling(waypost.drivers.Driver):
        def execute(self, connection: Any, sql: str, parameters: Any) -> Any:
            values = [v.decode("latin-1") if isinstance(v, bytes) else v for v in parameters]
            return connection.wrapped.execute(sql, values).fetchall()

    class Spoilt:
        def __init__(self, wrapped: sqlite3.Connection) -> None:
            self.wrapped = wrapped

    waypost.drivers.register(Spoilt, Spoiling())
    with pytest.raises(sqlite3.IntegrityError, match="id"):
        app.outbox.enqueue("a", "1", connection=Spoilt(app.connect()))
    assert app.count() == 0
