# SPDX-License-Identifier: Apache-2.0
"""Enqueue, ack and the other calls on the connections to MariaDB that apps have."""
from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any, Callable, Dict, Iterator

import on_mariadb
import pytest
from conftest import App
from steps import INSERT, Rolled, check, steps

import waypost
from waypost import drivers

aiomysql = pytest.importorskip("aiomysql")
pymysql = pytest.importorskip("pymysql")
mysqldb = pytest.importorskip("MySQLdb")
mysqldb_cursors = pytest.importorskip("MySQLdb.cursors")
pyodbc = pytest.importorskip("pyodbc")
sqlalchemy = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")

pytestmark = pytest.mark.engines("mariadb")


def by_mysqldb(app: App, **options: Any) -> Any:
    return mysqldb.connect(**on_mariadb.parts(app.url), **options)


def by_pyodbc(app: App) -> Any:
    return pyodbc.connect(app.url[len("odbc:") :] + ";CHARSET=utf8mb4")


def by_sqlalchemy(app: App, driver: str) -> Any:
    parts = on_mariadb.parts(app.url)
    url = sqlalchemy.engine.URL.create(
        f"mysql+{driver}", parts["user"], None, parts["host"], parts["port"], parts["database"],
        {"charset": "utf8mb4"},
    )  # fmt: skip
    return sqlalchemy.create_engine(url, future=True)


CONNECTIONS: Dict[str, Callable[[App], Any]] = {
    "pymysql": lambda app: app.connect(),
    "pymysql, dict rows": lambda app: app.connect(cursorclass=pymysql.cursors.DictCursor),
    "pymysql, unbuffered": lambda app: app.connect(cursorclass=pymysql.cursors.SSCursor),
    "pymysql, a cursor": lambda app: app.connect().cursor(),
    "pymysql, quotes and repeatable read": lambda app: app.connect(
        init_command="SET SESSION sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES', time_zone = '+13:00'"
    ),
    "mysqlclient": by_mysqldb,
    "mysqlclient, dict rows": lambda app: by_mysqldb(app, cursorclass=mysqldb_cursors.DictCursor),
    "mysqlclient, a cursor": lambda app: by_mysqldb(app).cursor(),
    "pyodbc": by_pyodbc,
    "pyodbc, a cursor": lambda app: by_pyodbc(app).cursor(),
    "sqlalchemy, pymysql": lambda app: by_sqlalchemy(app, "pymysql").connect(),
    "sqlalchemy, mysqlclient": lambda app: by_sqlalchemy(app, "mysqldb").connect(),
    "sqlalchemy, session": lambda app: orm.Session(by_sqlalchemy(app, "pymysql")),
}


def insert(connection: Any) -> None:
    """The app's own row."""
    if hasattr(connection, "fetchall"):  # a cursor
        connection.execute(INSERT)
    elif type(connection).__module__.startswith("sqlalchemy"):
        connection.execute(sqlalchemy.text(INSERT))
    else:
        connection.cursor().execute(INSERT)


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("kind", CONNECTIONS)
@pytest.mark.parametrize("commit", [True, False])
def test_apps_connection(app: App, claim: waypost.Claim, kind: str, commit: bool) -> None:
    connection = CONNECTIONS[kind](app)
    insert(connection)
    steps(app, connection, claim)
    assert app.orders() == 0 and app.outbox.stats().total.ready == 0
    ending = getattr(connection, "connection", None) if hasattr(connection, "fetchall") else connection
    ending.commit() if commit else ending.rollback()
    insert(connection)  # nothing of ours is left open on it
    ending.rollback()
    ending.close()
    check(app, commit)


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("rows", ["Cursor", "DictCursor", "SSCursor"])
@pytest.mark.parametrize("commit", [True, False])
def test_aiomysql(app: App, rows: str, commit: bool) -> None:
    async def run() -> None:
        connection = await aiomysql.connect(
            **{("db" if name == "database" else name): value for name, value in on_mariadb.parts(app.url).items()},
            cursorclass=getattr(aiomysql.cursors, rows),
        )
        async with connection.cursor() as cursor:
            await cursor.execute(INSERT)
        made = await app.outbox.enqueue_async("a", "1", connection=connection, unique_key="k")
        again = await app.outbox.enqueue_async("a", "1", connection=connection, unique_key="k")
        assert again.duplicate and again.id == made.id
        key = waypost.InboxKey("shop", "1")
        assert (await app.store.inbox.once_async(key, connection=connection)).proceed
        await (connection.commit() if commit else connection.rollback())
        connection.close()

    asyncio.run(run())
    assert app.orders() == app.outbox.stats().total.ready == app.store.inbox.stats().total.done == int(commit)


# proves: BND-002
@pytest.mark.parametrize("driver", ["pymysql", "mysqldb"])
def test_an_error_behind_a_procedures_rows_is_sqlalchemys(app: App, driver: str) -> None:
    with closing(app.connect()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("CREATE PROCEDURE late() BEGIN SELECT 1; SIGNAL SQLSTATE '45000'; END")
    with by_sqlalchemy(app, driver).connect() as connection:
        with pytest.raises(sqlalchemy.exc.DBAPIError):
            drivers.SqlAlchemy().execute(connection, "CALL late()", ())
        connection.rollback()
        assert not connection.invalidated
        app.outbox.enqueue("a", "1", connection=connection)
        connection.commit()
    assert app.outbox.stats().total.ready == 1


@pytest.mark.parametrize("commit", [True, False])
def test_sqlalchemy_async(app: App, commit: bool) -> None:
    from sqlalchemy.ext.asyncio import create_async_engine

    async def run() -> None:
        engine = create_async_engine(by_sqlalchemy(app, "aiomysql").url)
        async with engine.connect() as connection:
            await connection.execute(sqlalchemy.text(INSERT))
            await app.outbox.enqueue_async("a", "% :a %s", connection=connection)
            arrival = await app.store.inbox.once_async(waypost.InboxKey("shop", "1"), connection=connection)
            assert arrival.proceed
            await (connection.commit() if commit else connection.rollback())
        await engine.dispose()

    asyncio.run(run())
    assert app.orders() == app.outbox.stats().total.ready == app.store.inbox.stats().total.done == int(commit)


# proves: IBX-006
def test_once_needs_a_transaction(app: App) -> None:
    key = waypost.InboxKey("shop", "1")
    connection = app.connect(autocommit=True)
    with pytest.raises(waypost.StateError, match="transaction"):
        app.store.inbox.once(key, connection=connection)
    connection.begin()
    assert app.store.inbox.once(key, connection=connection).proceed
    connection.rollback()
    connection.autocommit(False)
    assert app.store.inbox.once(key, connection=connection).proceed
    connection.commit()
    assert app.store.inbox.get(key).status is waypost.Status.DONE


def test_the_servers_errors_are_the_drivers_own(app: App) -> None:
    connection = app.connect()
    app.outbox.enqueue("a", "1", connection=connection)
    with pytest.raises(pymysql.err.ProgrammingError):
        connection.execute("SELECT * FROM missing")
    app.outbox.enqueue("b", "1", connection=connection)
    connection.commit()
    connection.close()
    with pytest.raises(pymysql.err.Error):
        app.outbox.enqueue("c", "1", connection=connection)
    assert app.topics() == ["a", "b"]


# ---- Django ---------------------------------------------------------------------------------

django = pytest.importorskip("django")


@pytest.fixture
def django_connection(app: App, django_ready: None) -> Iterator[Any]:
    from django import db

    parts = on_mariadb.parts(app.url)
    db.connections.databases["maria"] = {
        "ENGINE": "django.db.backends.mysql",
        "HOST": parts["host"], "PORT": parts["port"], "USER": parts["user"], "NAME": parts["database"],
        "OPTIONS": {"charset": "utf8mb4"},
    }  # fmt: skip
    db.connections.ensure_defaults("maria")
    db.connections.prepare_test_settings("maria")
    yield db.connections["maria"]
    db.connections["maria"].close()
    del db.connections["maria"]
    del db.connections.databases["maria"]


# proves: OBX-001, OBX-003, OBX-113, BND-002
@pytest.mark.parametrize("commit", [True, False])
def test_django_atomic(app: App, claim: waypost.Claim, django_connection: Any, commit: bool) -> None:
    from django.db import transaction

    try:
        with transaction.atomic(using="maria"):
            with django_connection.cursor() as cursor:
                cursor.execute(INSERT)
            steps(app, django_connection, claim)
            if not commit:
                raise Rolled
    except Rolled:
        pass
    check(app, commit)
