# SPDX-License-Identifier: Apache-2.0
"""Enqueue, ack and the other calls on the connections to SQL Server that apps have."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Mapping
from urllib.parse import quote_plus

import on_sqlserver
import pytest
from conftest import App
from steps import INSERT, check, steps

import waypost

pymssql = pytest.importorskip("pymssql")
pyodbc = pytest.importorskip("pyodbc")
sqlalchemy = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")

pytestmark = pytest.mark.engines("sqlserver")


def by_pymssql(app: App, **options: Any) -> Any:
    parts = on_sqlserver.parts(app.url)
    return pymssql.connect(
        server=parts["server"], port=parts.get("port", "1433"), user=parts["uid"], password=parts["pwd"],
        database=parts["database"], tds_version="7.3", **options,
    )  # fmt: skip


@functools.lru_cache(maxsize=None)
def sqlalchemys_way(server: str) -> Mapping[str, Any]:
    """SQLAlchemy rolls back what it has not begun, before anything of ours runs; a server that merely speaks TDS may
    refuse that, and then it is told not to."""
    url = f"mssql+pyodbc:///?odbc_connect={quote_plus(server[len('odbc:'):])}"
    try:
        sqlalchemy.create_engine(url, poolclass=sqlalchemy.pool.NullPool).connect().close()
        return {}
    except sqlalchemy.exc.DBAPIError as error:
        if "3903" not in str(error):
            raise
        return {"_initialize": False, "pool_reset_on_return": None}


def by_sqlalchemy(app: App, driver: str) -> Any:
    way = sqlalchemys_way(on_sqlserver.server())
    if driver == "pyodbc":
        url = f"mssql+pyodbc:///?odbc_connect={quote_plus(app.url[len('odbc:'):])}"
        return sqlalchemy.create_engine(url, future=True, **way)
    return sqlalchemy.create_engine("mssql+pymssql://", creator=lambda: by_pymssql(app), future=True, **way)


CONNECTIONS: Dict[str, Callable[[App], Any]] = {
    "pyodbc": lambda app: app.connect(),
    "pyodbc, a cursor": lambda app: app.connect().cursor(),
    "pymssql": by_pymssql,
    "pymssql, dict rows": lambda app: by_pymssql(app, as_dict=True),
    "pymssql, a cursor": lambda app: by_pymssql(app).cursor(),
    "sqlalchemy, pyodbc": lambda app: by_sqlalchemy(app, "pyodbc").connect(),
    "sqlalchemy, pymssql": lambda app: by_sqlalchemy(app, "pymssql").connect(),
    "sqlalchemy, session": lambda app: orm.Session(by_sqlalchemy(app, "pyodbc")),
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
    ending = connection.connection if hasattr(connection, "fetchall") else connection
    assert app.orders() == 0 and app.outbox.stats().total.ready == 0
    ending.commit() if commit else ending.rollback()
    insert(connection)  # nothing of ours is left open on it
    ending.rollback()
    ending.close()
    check(app, commit)


# proves: BND-002
@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("kind", ["pyodbc", "pymssql"])
def test_all_that_joins_a_transaction(app: App, kind: str, commit: bool) -> None:
    connection = CONNECTIONS[kind](app)
    store, key = app.store, waypost.InboxKey("shop", "1")
    assert store.inbox.once(key, connection=connection).proceed
    timer = store.timers.schedule("t", "\U0001f600", delay=60, connection=connection)
    assert store.leases.acquire("n", "me", 60, connection=connection).granted
    assert not store.leases.acquire("n", "you", 60, connection=connection).granted
    join = store.joins.start(2, connection=connection)
    made = app.outbox.enqueue("member", "1", joins=[join], connection=connection)
    assert store.joins.report_completed(join, [made], connection=connection) == 1
    connection.commit() if commit else connection.rollback()
    connection.close()
    assert store.inbox.stats().total.done == app.count() == store.timers.stats().total.scheduled == int(commit)
    assert store.leases.acquire("n", "you", 60).granted is not commit
    for get, what in ((store.timers.get, timer.id), (store.joins.get, join)):
        if commit:
            get(what)
        else:
            with pytest.raises(waypost.NotFoundError):
                get(what)


# proves: IBX-006
@pytest.mark.parametrize("kind", ["pyodbc", "pymssql"])
def test_once_needs_a_transaction(app: App, kind: str) -> None:
    key = waypost.InboxKey("shop", "1")
    if kind == "pyodbc":
        connection = app.connect(autocommit=True)
    else:
        connection = by_pymssql(app, autocommit=True)
    with pytest.raises(waypost.StateError, match="transaction"):
        app.store.inbox.once(key, connection=connection)
    if kind == "pyodbc":
        connection.autocommit = False
    else:
        connection.autocommit(False)
    assert app.store.inbox.once(key, connection=connection).proceed
    connection.commit()
    connection.close()
    assert app.store.inbox.get(key).status is waypost.Status.DONE


# proves: BND-002
@pytest.mark.parametrize("length", [3999, 4000, 4001, 100_000])
@pytest.mark.parametrize("kind", ["pyodbc", "pymssql"])
def test_texts_of_every_length_come_whole(app: App, kind: str, length: int) -> None:
    text = "\xe4" * (length - 3) + "\U0001f600 "
    connection = CONNECTIONS[kind](app)
    app.outbox.enqueue("a", text, connection=connection, unique_key="k")
    connection.commit()
    connection.close()
    assert [message.payload for message in app.claim()] == [text]


@pytest.mark.parametrize("kind", ["pyodbc", "pymssql"])
def test_the_servers_errors_are_the_drivers_own(app: App, kind: str) -> None:
    connection = CONNECTIONS[kind](app)
    app.outbox.enqueue("a", "1", connection=connection)
    with pytest.raises((pyodbc.Error, pymssql.Error)):
        connection.cursor().execute("SELECT 1 / 0")
    app.outbox.enqueue("b", "1", connection=connection)
    connection.commit()
    connection.close()
    with pytest.raises((pyodbc.Error, pymssql.Error)):
        app.outbox.enqueue("c", "1", connection=connection)
    assert app.topics() == ["a", "b"]


# proves: BND-002
@pytest.mark.parametrize("driver", ["pyodbc", "pymssql"])
def test_sqlalchemy_hands_on_every_result_and_the_error_behind_them(app: App, driver: str) -> None:
    ours = waypost.drivers.SqlAlchemy()
    with by_sqlalchemy(app, driver).connect() as connection:
        script = "SELECT 1; SELECT 2 UNION ALL SELECT 3"
        assert [tuple(row) for row in ours.execute(connection, script, ())] == [(1,), (2,), (3,)]
        with pytest.raises(Exception, match="zero|did not supply an error"):  # FreeTDS has no text for it
            ours.execute(connection, "SELECT 1; SELECT 1 / 0", ())
        connection.rollback()


# proves: SQS-001
@pytest.mark.parametrize("kind", ["inbox", "check", "unique key", "many", "lease", "semaphore", "pause"])
def test_call_that_is_cut_off_leaves_no_transaction_open(app: App, kind: str) -> None:
    """On a connection that commits by itself, a call that waits for another transaction is ended by the app's time
    limit, and its procedure with it, which cannot catch that."""
    on_sqlserver.need_locks(app.url)
    store, key = app.store, waypost.InboxKey("shop", "1")
    calls: Dict[str, Callable[[Any], object]] = {
        "inbox": lambda on: store.inbox.enqueue(key, "t", "1", connection=on),
        "check": lambda on: store.inbox.check(key, connection=on),
        "unique key": lambda on: app.outbox.enqueue("t", "1", unique_key="k", connection=on),
        "many": lambda on: app.outbox.enqueue_many([waypost.Message("t", "1", unique_key=k) for k in "kl"], connection=on),
        "lease": lambda on: store.leases.acquire("n", "me", 60, connection=on),
        "semaphore": lambda on: store.semaphores.set_limit("n", 3, connection=on),
        "pause": lambda on: app.outbox.pause("t", connection=on),
    }
    first, second = app.connect(), app.connect(autocommit=True)
    calls[kind](first)
    second.timeout = 1
    with pytest.raises(pyodbc.Error):
        calls[kind](second)
    second.timeout = 0
    assert second.execute("SELECT @@TRANCOUNT").fetchone()[0] == 0
    first.rollback()
    calls[kind](second)
    second.close()
    first.close()
