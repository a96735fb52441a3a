# SPDX-License-Identifier: Apache-2.0
"""Enqueue and ack on the connections to PostgreSQL that apps have."""
from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List
from urllib.parse import urlsplit

import pytest
from conftest import App, until
from steps import INSERT, PAYLOAD, Rolled, check, steps

import waypost
from waypost import Message

asyncpg = pytest.importorskip("asyncpg")
psycopg = pytest.importorskip("psycopg")
psycopg2 = pytest.importorskip("psycopg2")
psycopg2_extras = pytest.importorskip("psycopg2.extras")
pyodbc = pytest.importorskip("pyodbc")
sqlalchemy = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")
sa_asyncio = pytest.importorskip("sqlalchemy.ext.asyncio")

pytestmark = pytest.mark.engines("postgresql")

LEVELS = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]


# ---- psycopg 3 ------------------------------------------------------------------------------


class OddConnection(psycopg.Connection):  # type: ignore[misc, name-defined]
    def cursor(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the app's own cursors are not for Waypost")


class TextAsBytes(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
    def load(self, data: Any) -> bytes:
        return bytes(data)


class NumberAsDecimal(psycopg.adapt.Loader):  # type: ignore[misc, name-defined]
    def load(self, data: Any) -> Decimal:
        return Decimal(bytes(data).decode())


class Shouting(psycopg.adapt.Dumper):  # type: ignore[misc, name-defined]
    def dump(self, value: Any) -> bytes:
        return str(value).upper().encode() + b"!"


def adapt(context: Any) -> None:
    """Adapters that the app has for itself."""
    for name in ("int2", "int4", "int8"):
        context.register_loader(name, NumberAsDecimal)
    for name in ("text", "uuid", "json"):
        context.register_loader(name, TextAsBytes)
    for kind in (str, int):
        context.register_dumper(kind, Shouting)


def adapted(connection: Any) -> Any:
    adapt(connection.adapters)
    return connection


def with_(name: str, value: Any) -> Callable[[Any], Any]:
    def change(connection: Any) -> Any:
        setattr(connection, name, value)
        return connection

    return change


PSYCOPG: Dict[str, Callable[[Any], Any]] = {
    "plain": lambda connection: connection,
    "dict rows": with_("row_factory", psycopg.rows.dict_row),
    "tuple of names": with_("row_factory", psycopg.rows.namedtuple_row),
    "adapted": adapted,
    "prepared at once": with_("prepare_threshold", 0),
    "never prepared": with_("prepare_threshold", None),
    "client cursors": with_("cursor_factory", psycopg.ClientCursor),
}


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("kind", PSYCOPG)
@pytest.mark.parametrize("commit", [True, False])
def test_psycopg_connection(app: App, claim: waypost.Claim, kind: str, commit: bool) -> None:
    connection = PSYCOPG[kind](app.connect())
    psycopg.Cursor(connection).execute(INSERT)
    steps(app, connection, claim)
    assert app.orders() == 0 and app.outbox.stats().total.ready == 0
    assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
    connection.commit() if commit else connection.rollback()
    check(app, commit)


def test_psycopg_adapters_of_the_whole_process(app: App, claim: waypost.Claim) -> None:
    saved = psycopg.adapters
    mine = psycopg.adapt.AdaptersMap(saved)
    adapt(mine)
    with psycopg.connect(app.url, context=mine) as connection:
        steps(app, connection, claim)
        psycopg.Cursor(connection).execute(INSERT)
    check(app, True)


def test_psycopg_subclass_and_cursors(app: App) -> None:
    with OddConnection.connect(app.url) as connection:
        app.outbox.enqueue("a", "1", connection=connection)
    with app.connect() as connection:
        with connection.cursor() as cursor, connection.cursor("name") as server:
            cursor.execute("SELECT 1")
            server.execute("SELECT 2")
            app.outbox.enqueue("b", "1", connection=cursor, unique_key="b")
            app.outbox.enqueue("c", "1", connection=server)
            assert cursor.fetchall() == [(1,)] and server.fetchall() == [(2,)]
    assert app.topics() == ["a", "b", "c"]


# scenario: OUT-004
def test_psycopg_in_autocommit(app: App) -> None:
    connection = app.connect(autocommit=True)
    app.outbox.enqueue("a", "1", connection=connection)
    assert app.topics() == ["a"]
    with pytest.raises(Rolled), connection.transaction():
        app.outbox.enqueue("b", "1", connection=connection)
        raise Rolled
    with connection.transaction():
        app.outbox.enqueue("c", "1", connection=connection)
        assert app.topics() == ["a"]
    assert app.topics() == ["a", "c"]


# scenario: OUT-003
# proves: OBX-001
def test_psycopg_savepoints(app: App) -> None:
    with app.connect() as connection:
        app.outbox.enqueue("a", "1", connection=connection)
        with pytest.raises(Rolled), connection.transaction():
            app.outbox.enqueue("b", "1", connection=connection)
            with connection.transaction():
                app.outbox.enqueue("c", "1", connection=connection)
            raise Rolled
        with connection.transaction():
            app.outbox.enqueue("d", "1", connection=connection)
    assert app.topics() == ["a", "d"]


# proves: OBX-001, OBX-113
@pytest.mark.parametrize("autocommit", [True, False])
def test_psycopg_pipeline(app: App, claim: waypost.Claim, autocommit: bool) -> None:
    connection = app.connect(autocommit=autocommit)
    with connection.pipeline(), connection.transaction():
        connection.execute(INSERT)
        steps(app, connection, claim)
        assert app.orders() == 0
    connection.commit()
    check(app, True)
    with pytest.raises(psycopg.Error), connection.pipeline():
        connection.execute("SELECT 1/0")
        app.outbox.enqueue("late", "1", connection=connection)
    connection.rollback()
    assert "late" not in app.topics()


# proves: OBX-003
def test_psycopg_error_is_the_drivers_and_the_transaction_stays_aborted(app: App) -> None:
    connection = app.connect()
    connection.execute(INSERT)
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1/0")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        app.outbox.enqueue("a", "1", connection=connection)
    connection.rollback()
    with pytest.raises(waypost.ArgumentError):
        app.outbox.enqueue("", "1", connection=connection)
    app.outbox.enqueue("a", "1", connection=connection)
    connection.commit()
    assert app.topics() == ["a"] and app.orders() == 0


# proves: OBX-001, OBX-113
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("commit", [True, False])
def test_isolation_levels(app: App, claim: waypost.Claim, level: str, commit: bool) -> None:
    connection = app.connect(autocommit=True)
    connection.execute(f"BEGIN ISOLATION LEVEL {level}")
    connection.execute(INSERT)
    steps(app, connection, claim)
    connection.execute("COMMIT" if commit else "ROLLBACK")
    check(app, commit)


def test_serialization_failure_is_the_drivers(app: App) -> None:
    one, two = app.connect(autocommit=True), app.connect(autocommit=True)
    owner = waypost.new_id()
    app.outbox.enqueue("a", "1")
    claim = app.outbox.claim(owner)
    for connection in (one, two):
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT count(*) FROM orders")
    assert app.outbox.ack(owner, claim, connection=one) == 1
    one.execute("COMMIT")
    with pytest.raises(psycopg.errors.SerializationFailure):
        app.outbox.ack(owner, claim, connection=two)
    two.execute("ROLLBACK")
    assert app.outbox.ack(owner, claim, connection=two) == 0


def test_psycopg_closed_without_a_commit(app: App) -> None:
    connection = app.connect()
    app.outbox.enqueue("a", "1", connection=connection)
    connection.close()
    assert app.count() == 0
    with pytest.raises(psycopg.OperationalError):
        app.outbox.enqueue("a", "1", connection=connection)


# ---- psycopg2 -------------------------------------------------------------------------------


@contextmanager
def connect2(app: App, **options: Any) -> Iterator[Any]:
    connection = psycopg2.connect(app.url, **options)
    try:
        yield connection
    finally:
        connection.close()


class OddCursor(psycopg2.extensions.cursor):  # type: ignore[misc, name-defined]
    def execute(self, *_: Any) -> None:
        raise AssertionError("the app's own cursors are not for Waypost")


PSYCOPG2: Dict[str, Dict[str, Any]] = {
    "plain": {},
    "dicts": {"cursor_factory": psycopg2_extras.RealDictCursor},
    "named tuples": {"cursor_factory": psycopg2_extras.NamedTupleCursor},
    "odd": {"cursor_factory": OddCursor},
    "logging": {"connection_factory": psycopg2_extras.LoggingConnection},
}


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("kind", PSYCOPG2)
@pytest.mark.parametrize("commit", [True, False])
def test_psycopg2_connection(app: App, claim: waypost.Claim, kind: str, commit: bool) -> None:
    with connect2(app, **PSYCOPG2[kind]) as connection:
        psycopg2.extensions.cursor(connection).execute(INSERT)
        steps(app, connection, claim)
        assert app.orders() == 0 and app.outbox.stats().total.ready == 0
        connection.commit() if commit else connection.rollback()
    check(app, commit)


@pytest.fixture
def own_casters() -> Iterator[None]:
    """Casters and adapters that the app has for the whole process."""
    extensions = psycopg2.extensions
    extensions.register_type(extensions.new_type((20, 21, 23), "N", lambda v, c: v and Decimal(v)))
    extensions.register_type(extensions.new_type((25, 2950), "T", lambda v, c: v and v.encode()))
    extensions.register_adapter(str, lambda text: extensions.QuotedString(text.upper()))
    yield
    extensions.register_type(extensions.LONGINTEGER)
    extensions.register_type(extensions.INTEGER)
    extensions.register_type(extensions.UNICODE)
    extensions.string_types.pop(2950, None)
    extensions.register_adapter(str, extensions.QuotedString)


def test_psycopg2_casters_of_the_app_do_not_matter(
    app: App, claim: waypost.Claim, own_casters: None
) -> None:
    with connect2(app) as connection:
        connection.cursor().execute(INSERT)
        steps(app, connection, claim)
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1::bigint, 'a'::text")
            assert cursor.fetchone() == (Decimal(1), b"a"), "they are as they were"
        connection.commit()
    check(app, True)


def test_psycopg2_cursors_autocommit_and_savepoints(app: App) -> None:
    with connect2(app) as connection:
        with connection, connection.cursor() as cursor, connection.cursor("name") as server:
            cursor.execute("SELECT 1")
            server.execute("SELECT 2")
            app.outbox.enqueue("a", "1", connection=cursor, unique_key="a")
            app.outbox.enqueue("b", "1", connection=server)
            assert cursor.fetchall() == [(1,)] and server.fetchall() == [(2,)]
        with pytest.raises(Rolled), connection:
            app.outbox.enqueue("c", "1", connection=connection)
            raise Rolled
        with connection, connection.cursor() as cursor:
            cursor.execute("SAVEPOINT s")
            app.outbox.enqueue("d", "1", connection=cursor)
            cursor.execute("ROLLBACK TO s")
        connection.autocommit = True
        app.outbox.enqueue("e", "1", connection=connection)
        assert app.topics() == ["a", "b", "e"]


def test_psycopg2_errors(app: App) -> None:
    with connect2(app) as connection, connection.cursor() as cursor:
        with pytest.raises(psycopg2.errors.DivisionByZero):
            cursor.execute("SELECT 1/0")
        with pytest.raises(psycopg2.errors.InFailedSqlTransaction):
            app.outbox.enqueue("a", "1", connection=connection)
        connection.rollback()
        app.outbox.enqueue("a", "1", connection=connection)
        connection.commit()
    with pytest.raises(psycopg2.InterfaceError):
        app.outbox.enqueue("b", "1", connection=connection)
    assert app.topics() == ["a"]
    connection = psycopg2.connect(app.url, async_=True)
    with pytest.raises(waypost.ArgumentError, match="async"):
        app.outbox.enqueue("a", "1", connection=connection)
    connection.close()


# ---- pyodbc ---------------------------------------------------------------------------------


def odbc_string(url: str) -> str:
    parts = urlsplit(url)
    return (
        f"Driver=PostgreSQL Unicode;Server={parts.hostname};Port={parts.port or 5432};"
        f"Database={parts.path[1:]};Uid={parts.username};Pwd={parts.password or ''}"
    )


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("commit", [True, False])
def test_pyodbc_connection(app: App, claim: waypost.Claim, commit: bool) -> None:
    connection = pyodbc.connect(odbc_string(app.url))
    connection.execute(INSERT)
    steps(app, connection, claim)
    assert app.orders() == 0 and app.outbox.stats().total.ready == 0
    connection.commit() if commit else connection.rollback()
    connection.close()
    check(app, commit)


def test_pyodbc_cursors_autocommit_long_payloads_and_errors(app: App) -> None:
    connection = pyodbc.connect(odbc_string(app.url), autocommit=True)
    cursor = connection.execute("SELECT 1")
    with pytest.raises(waypost.StateError, match="transaction"):
        app.store.inbox.once(waypost.InboxKey("shop", "1"), connection=connection)
    long = "\U0001f600x" * 200_000
    app.outbox.enqueue("a", long, connection=cursor)
    assert cursor.fetchone()[0] == 1
    assert app.claim(topics=["a"])[0].payload == long
    connection.autocommit = False
    app.outbox.enqueue("b", "1", connection=connection)
    with pytest.raises(pyodbc.Error):
        connection.execute("SELECT 1/0")
    connection.rollback()
    connection.close()
    with pytest.raises(pyodbc.ProgrammingError):
        app.outbox.enqueue("b", "1", connection=connection)
    assert app.topics() == ["a"]


# ---- SQLAlchemy -----------------------------------------------------------------------------


def sa_url(url: str, driver: str) -> str:
    return url.replace("postgresql:", f"postgresql+{driver}:", 1)


def has_dialect(driver: str) -> bool:
    try:
        sqlalchemy.create_engine(f"postgresql+{driver}://")
    except sqlalchemy.exc.NoSuchModuleError:
        return False
    return True


SYNC_DIALECTS = [name for name in ("psycopg2", "psycopg") if has_dialect(name)]
ASYNC_DIALECTS = [name for name in ("asyncpg", "psycopg") if has_dialect(name)]


@contextmanager
def sa_engine(app: App, driver: str, **options: Any) -> Iterator[Any]:
    engine = sqlalchemy.create_engine(sa_url(app.url, driver), **options)
    try:
        yield engine
    finally:
        engine.dispose()


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("driver", SYNC_DIALECTS)
@pytest.mark.parametrize("kind", ["connection", "session", "scoped", "raw", "other style"])
@pytest.mark.parametrize("commit", [True, False])
def test_sqlalchemy(app: App, claim: waypost.Claim, driver: str, kind: str, commit: bool) -> None:
    options = {"paramstyle": "format"} if kind == "other style" else {}
    if kind == "session":
        options["isolation_level"] = "SERIALIZABLE"
    with sa_engine(app, driver, future=True, **options) as engine:
        if kind in ("connection", "other style"):
            connection = engine.connect()
        elif kind == "raw":
            connection = engine.raw_connection()
        elif kind == "session":
            connection = orm.Session(engine)
        else:
            connection = orm.scoped_session(orm.sessionmaker(engine))
        if kind == "raw":
            connection.cursor().execute(INSERT)
        else:
            connection.execute(sqlalchemy.text(INSERT))
        steps(app, connection, claim)
        assert app.orders() == 0 and app.outbox.stats().total.ready == 0
        connection.commit() if commit else connection.rollback()
        connection.close()
    check(app, commit)


def test_sqlalchemy_savepoint_and_error(app: App) -> None:
    with sa_engine(app, "psycopg2", future=True) as engine, orm.Session(engine) as session:
        app.outbox.enqueue("kept", "1", connection=session)
        nested = session.begin_nested()
        app.outbox.enqueue("gone", "1", connection=session)
        nested.rollback()
        session.commit()
        with pytest.raises(sqlalchemy.exc.DataError):
            session.execute(sqlalchemy.text("SELECT 1/0"))
        with pytest.raises(sqlalchemy.exc.SQLAlchemyError):
            app.outbox.enqueue("late", "1", connection=session)
        session.rollback()
        app.outbox.enqueue("again", "1", connection=session)
        session.commit()
    assert app.topics() == ["again", "kept"]


# ---- Django ---------------------------------------------------------------------------------

django = pytest.importorskip("django")


@pytest.fixture
def django_db(app: App, django_ready: None) -> Iterator[Any]:
    """django.db, with the test's database as `default` and as `other`."""
    from django import db

    parts = urlsplit(app.url)
    settings = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": parts.hostname,
        "PORT": parts.port or "",
        "USER": parts.username,
        "PASSWORD": parts.password or "",
        "NAME": parts.path[1:],
    }
    for alias in ("default", "other"):
        db.connections.databases[alias] = dict(settings)
        db.connections.ensure_defaults(alias)
        db.connections.prepare_test_settings(alias)
        if hasattr(db.connections._connections, alias):
            del db.connections[alias]
    yield db
    for connection in db.connections.all():
        connection.close()


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("alias", ["default", "other", "proxy"])
@pytest.mark.parametrize("commit", [True, False])
def test_django_atomic(
    app: App, claim: waypost.Claim, django_db: Any, alias: str, commit: bool
) -> None:
    from django.db import transaction

    connection = django_db.connection if alias == "proxy" else django_db.connections[alias]
    try:
        with transaction.atomic(using=connection.alias):
            with connection.cursor() as cursor:
                cursor.execute(INSERT)
            steps(app, connection, claim)
            assert app.orders() == 0 and app.outbox.stats().total.ready == 0
            if not commit:
                raise Rolled
    except Rolled:
        pass
    check(app, commit)


# proves: OBX-001, OBX-088
def test_django_savepoints_autocommit_errors_and_query_log(
    app: App, django_db: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from django.db import DataError, transaction

    caplog.set_level(logging.DEBUG)
    connection = django_db.connection
    app.outbox.enqueue("first", "secret", connection=connection)
    assert app.topics() == ["first"], "Django's default is autocommit"
    with transaction.atomic():
        app.outbox.enqueue("kept", "secret", connection=connection)
        with pytest.raises(Rolled), transaction.atomic():
            app.outbox.enqueue("gone", "secret", connection=connection)
            raise Rolled
        with connection.cursor() as cursor:
            app.outbox.enqueue("cursor", "secret", connection=cursor)
    with pytest.raises(transaction.TransactionManagementError), transaction.atomic():
        with pytest.raises(Rolled), transaction.atomic(savepoint=False):
            raise Rolled
        app.outbox.enqueue("broken", "secret", connection=connection)
    with pytest.raises(django_db.InternalError), transaction.atomic():
        with pytest.raises(DataError), connection.cursor() as cursor:
            cursor.execute("SELECT 1/0")
        app.outbox.enqueue("aborted", "secret", connection=connection)
    assert app.topics() == ["cursor", "first", "kept"]
    assert "secret" not in caplog.text + str(connection.queries)
    assert "SELECT 1/0" in str(connection.queries), "there is such a log"


# ---- async ----------------------------------------------------------------------------------


async def steps_async(app: App, connection: object, claim: waypost.Claim) -> None:
    """steps(), on an async connection."""
    enqueue = app.outbox.enqueue_async
    made = await enqueue("unique", PAYLOAD, connection=connection, unique_key="k")
    again = await enqueue("unique", "2", connection=connection, unique_key="k")
    assert again.duplicate and again.id == made.id
    await enqueue("plain", PAYLOAD, connection=connection, headers={"a": PAYLOAD})
    batch = [Message("many", PAYLOAD), Message("many", "2", unique_key="m")] * 2
    results = await app.outbox.enqueue_many_async(batch, connection=connection)
    assert [one.duplicate for one in results] == [False, False, False, True]
    assert await app.outbox.ack_async(claim.owner, claim, connection=connection) == 1


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("kind", PSYCOPG)
@pytest.mark.parametrize("commit", [True, False])
def test_async_psycopg_connection(app: App, claim: waypost.Claim, kind: str, commit: bool) -> None:
    async def main() -> None:
        connection = await psycopg.AsyncConnection.connect(app.url)
        if kind == "client cursors":
            connection.cursor_factory = psycopg.AsyncClientCursor
        else:
            PSYCOPG[kind](connection)
        cursor = psycopg.AsyncCursor(connection)
        await cursor.execute(INSERT)
        await steps_async(app, cursor if kind == "plain" else connection, claim)
        assert app.orders() == 0 and app.outbox.stats().total.ready == 0
        await (connection.commit() if commit else connection.rollback())
        await connection.close()

    asyncio.run(main())
    check(app, commit)


def test_async_psycopg_pipeline_savepoints_and_errors(app: App, claim: waypost.Claim) -> None:
    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(app.url) as connection:
            async with connection.pipeline():
                await connection.execute(INSERT)
                await steps_async(app, connection, claim)
            await connection.commit()
            with pytest.raises(Rolled):
                async with connection.transaction():
                    await app.outbox.enqueue_async("gone", "1", connection=connection)
                    raise Rolled
            with pytest.raises(psycopg.errors.DivisionByZero):
                await connection.execute("SELECT 1/0")
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                await app.outbox.enqueue_async("late", "1", connection=connection)
            await connection.rollback()
            with pytest.raises(waypost.ArgumentError, match="async"):
                app.outbox.enqueue("a", "1", connection=connection)

    asyncio.run(main())
    check(app, True)


@asynccontextmanager
async def sa_async(app: App, driver: str, kind: str) -> AsyncIterator[Any]:
    engine = sa_asyncio.create_async_engine(sa_url(app.url, driver))
    if kind == "connection":
        connection = engine.connect()
    elif kind == "session":
        connection = sa_asyncio.AsyncSession(engine)
    else:
        factory = orm.sessionmaker(engine, class_=sa_asyncio.AsyncSession)
        connection = sa_asyncio.async_scoped_session(factory, asyncio.current_task)()
    async with connection:
        yield connection
    await engine.dispose()


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("driver", ASYNC_DIALECTS)
@pytest.mark.parametrize("kind", ["connection", "session", "scoped"])
@pytest.mark.parametrize("commit", [True, False])
def test_async_sqlalchemy(
    app: App, claim: waypost.Claim, driver: str, kind: str, commit: bool
) -> None:
    async def main() -> None:
        async with sa_async(app, driver, kind) as connection:
            await connection.execute(sqlalchemy.text(INSERT))
            await steps_async(app, connection, claim)
            assert app.orders() == 0 and app.outbox.stats().total.ready == 0
            await (connection.commit() if commit else connection.rollback())

    asyncio.run(main())
    check(app, commit)


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("kind", ["connection", "pool", "json codec"])
@pytest.mark.parametrize("commit", [True, False])
def test_asyncpg(app: App, claim: waypost.Claim, kind: str, commit: bool) -> None:
    async def use(connection: Any) -> None:
        if kind == "json codec":
            await connection.set_type_codec(
                "json", encoder=json.dumps, decoder=json.loads, schema="pg_catalog"
            )
        transaction = connection.transaction(isolation="repeatable_read")
        await transaction.start()
        await connection.execute(INSERT)
        with pytest.raises(Rolled):
            async with connection.transaction():
                await app.outbox.enqueue_async("gone", "1", connection=connection)
                raise Rolled
        await steps_async(app, connection, claim)
        assert app.orders() == 0 and app.outbox.stats().total.ready == 0
        await (transaction.commit() if commit else transaction.rollback())

    async def main() -> None:
        if kind == "pool":
            async with asyncpg.create_pool(app.url, min_size=1, max_size=1) as pool:
                async with pool.acquire() as connection:
                    await use(connection)
        else:
            connection = await asyncpg.connect(app.url)
            await use(connection)
            await connection.close()

    asyncio.run(main())
    check(app, commit)


def test_asyncpg_autocommit_and_errors(app: App) -> None:
    async def main() -> None:
        connection = await asyncpg.connect(app.url)
        await app.outbox.enqueue_async("a", "1", connection=connection)
        assert app.topics() == ["a"]
        transaction = connection.transaction()
        await transaction.start()
        with pytest.raises(asyncpg.DivisionByZeroError):
            await connection.execute("SELECT 1/0")
        with pytest.raises(asyncpg.InFailedSQLTransactionError):
            await app.outbox.enqueue_async("b", "1", connection=connection)
        await transaction.rollback()
        await connection.close()

    asyncio.run(main())
    assert app.topics() == ["a"]


# proves: BND-002
def test_connection_that_looks_like_asyncpgs(app: App) -> None:
    class Own:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        async def fetch(self, sql: str, *values: Any) -> List[Any]:
            rows: List[Any] = await self.inner.fetch(sql, *values)
            return rows

    async def main() -> None:
        connection = await asyncpg.connect(app.url)
        await app.outbox.enqueue_async("a", "1", connection=Own(connection), unique_key="k")
        await connection.close()

    waypost.drivers.register(Own, waypost.drivers.Asyncpg())
    asyncio.run(main())
    assert app.topics() == ["a"]


# ---- stores and workers ---------------------------------------------------------------------


# proves: BND-004
@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "postgres+asyncpg", "sqlite+aiosqlite"])
def test_url_of_sqlalchemys_is_answered_with_what_to_write(scheme: str) -> None:
    with pytest.raises(waypost.ConfigError, match="postgresql://USER|sqlite:PATH") as caught:
        waypost.Store.open(f"{scheme}://me:secret@localhost/db")
    assert "secret" not in str(caught.value)


def test_location_opens_a_connection_and_the_repr_has_no_password(app: App) -> None:
    parts = urlsplit(app.url)
    url = parts._replace(netloc=f"{parts.username}:secret@{parts.hostname}:{parts.port}").geturl()
    for given in (url, f"{app.url}?password=secret&application_name=x"):
        with waypost.Store.open(given) as store:
            assert store.location == given
            psycopg.connect(store.location).close()
            assert "secret" not in repr(store) and str(parts.hostname) in repr(store)


# proves: BND-003
@pytest.mark.parametrize("is_async", [True, False])
def test_worker_goes_on_after_its_connections_were_cut(
    app: App, live: waypost.Store, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")
    handled: List[str] = []
    worker = live.worker(poll_max=0.05, poll_min=0.01)

    async def handle_async(delivery: waypost.Delivery) -> None:
        handled.append(delivery.payload)

    worker.add_handler(
        "a", handle_async if is_async else lambda delivery: handled.append(delivery.payload)
    )
    connection = app.connect(autocommit=True)
    with worker:
        for number in range(5):
            app.outbox.enqueue("a", str(number), connection=connection)
            until(lambda: str(number) in handled)
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        until(lambda: live.outbox.stats().total.done == 5)
    assert set(handled) == set("01234")
