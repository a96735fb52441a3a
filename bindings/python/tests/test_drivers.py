# SPDX-License-Identifier: Apache-2.0
"""What drivers make of what DB-API cursors give, without a server."""
from __future__ import annotations

import asyncio
from typing import Any, List, Optional, Sequence, Tuple

import pytest

from waypost import drivers


class Trouble(Exception):
    pass


class Cursor:
    """One that answers with results: a list is rows, None a count, an exception an error."""

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = list(results)
        self.closed = False

    def _take(self) -> bool:
        if not self.results:
            return False
        self.now: Any = self.results.pop(0)
        if isinstance(self.now, Exception):
            raise self.now
        return True

    def execute(self, sql: str, parameters: object) -> None:
        self._take()

    @property
    def description(self) -> Optional[List[Any]]:
        return None if self.now is None else [("a", None, None, None, None, None, None)]

    def fetchall(self) -> Any:
        if self.now is None:
            raise Trouble("no rows are there to fetch")
        return self.now

    def nextset(self) -> Optional[bool]:
        return self._take() or None

    def close(self) -> None:
        self.closed = True


class Connection:
    def __init__(self, *results: Any) -> None:
        self.made: List[Cursor] = []
        self.results = results

    def cursor(self, as_dict: bool = True) -> Cursor:
        self.as_dict = as_dict
        self.made.append(Cursor(self.results))
        return self.made[-1]


KINDS = [drivers.DbApi("qmark"), drivers.PyMssql()]


@pytest.mark.parametrize("driver", KINDS, ids=["DbApi", "PyMssql"])
def test_rows_behind_counts_and_between_them_are_all_given(driver: drivers.Driver) -> None:
    connection = Connection(None, [(1,), (2,)], None)
    assert list(driver.execute(connection, "EXEC a", ())) == [(1,), (2,)]
    assert list(driver.execute(Connection(None), "EXEC a", ())) == []
    assert list(driver.execute(Connection([]), "EXEC a", ())) == []
    assert connection.made[0].closed


@pytest.mark.parametrize("driver", KINDS, ids=["DbApi", "PyMssql"])
def test_an_error_behind_rows_is_raised(driver: drivers.Driver) -> None:
    connection = Connection([(1,)], Trouble("at the end of the procedure"))
    with pytest.raises(Trouble, match="at the end"):
        driver.execute(connection, "EXEC a", ())
    assert connection.made[0].closed


def test_a_cursor_without_further_results_is_fine() -> None:
    class Old(Cursor):
        nextset = None  # type: ignore[assignment]

    class OldConnection(Connection):
        def cursor(self, as_dict: bool = True) -> Cursor:
            return Old(self.results)

    assert list(drivers.DbApi("qmark").execute(OldConnection([(1,)]), "SELECT 1", ())) == [(1,)]


def test_a_driver_that_has_one_result_only_is_fine() -> None:
    class NotSupportedError(Exception):
        pass

    class Single(Cursor):
        def nextset(self) -> Optional[bool]:
            raise NotSupportedError("nextset() is not supported")

    class SingleConnection(Connection):
        def cursor(self, as_dict: bool = True) -> Cursor:
            return Single(self.results)

    assert list(drivers.DbApi("qmark").execute(SingleConnection([(1,)]), "SELECT 1", ())) == [(1,)]


def test_pymssqls_rows_are_no_dicts_and_its_autocommit_is_seen() -> None:
    connection: Any = Connection([(1,)])
    drivers.PyMssql().execute(connection, "EXEC a %(b)s", {"b": 1})
    assert connection.as_dict is False and drivers.PyMssql().paramstyle == "pyformat"
    connection.autocommit_state = True
    assert drivers.PyMssql().autocommits(connection)
    connection.autocommit_state = False
    assert not drivers.PyMssql().autocommits(connection)


def test_pymssqls_connections_and_cursors_are_known() -> None:
    pymssql = pytest.importorskip("pymssql")
    assert isinstance(drivers._choose(pymssql.Connection), drivers.PyMssql)
    assert isinstance(drivers._choose(pymssql.Cursor), drivers.StandIn)


class Lost(Trouble):
    """The connection is."""


class Module:
    """A DB-API module for SQLAlchemy, whose connections give these results."""

    paramstyle = "qmark"
    Error = Trouble

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = results
        self.made: List[Any] = []

    def connect(self, *arguments: Any, **options: Any) -> Any:
        connection: Any = Connection(*self.results)
        connection.autocommit = False
        connection.commit = connection.rollback = connection.close = lambda: None
        self.made.append(connection)
        return connection


def sqlserver_by_sqlalchemy(is_async: bool, *results: Any) -> Tuple[Module, Any]:
    """SQLAlchemy's own engine of SQL Server on such a module."""
    base: Any = pytest.importorskip("sqlalchemy.dialects.mssql.base").MSDialect
    pools = pytest.importorskip("sqlalchemy.pool")
    module = Module(results)

    class Dialect(base):  # type: ignore[misc]
        driver, supports_statement_cache, default_paramstyle = "scripted", False, "qmark"

        @classmethod
        def get_pool_class(cls, url: object) -> Any:
            return pools.AsyncAdaptedQueuePool if is_async else pools.QueuePool

        def initialize(self, connection: object) -> None:
            pass  # nobody is asked for the server's version

        def on_connect(self) -> None:
            return None

        def is_disconnect(self, error: object, connection: object, cursor: object) -> bool:
            return isinstance(error, Lost)

    Dialect.is_async = is_async
    registry = pytest.importorskip("sqlalchemy.dialects").registry
    registry.impls["mssql.scripted"] = lambda: Dialect
    make = (
        pytest.importorskip("sqlalchemy.ext.asyncio").create_async_engine
        if is_async
        else pytest.importorskip("sqlalchemy").create_engine
    )
    return module, make("mssql+scripted://app@db/shop", module=module)


def on_sqlserver(is_async: bool, *results: Any) -> Tuple[Module, Any, List[Any]]:
    """A statement on a connection of a new engine, and what came of it: rows, or an error; then another
    connection from its pool."""
    module, engine = sqlserver_by_sqlalchemy(is_async, *results)
    came: List[Any] = []

    async def run() -> None:
        for _ in range(2):
            async with engine.connect() as connection:
                try:
                    rows = await drivers.SqlAlchemyAsync().execute(connection, "EXEC a", ())
                    came.append([tuple(row) for row in rows])
                except Exception as error:
                    came.append(error)

    if is_async:
        asyncio.run(run())
    else:
        for _ in range(2):
            with engine.connect() as connection:
                try:
                    rows = drivers.SqlAlchemy().execute(connection, "EXEC a", ())
                    came.append([tuple(row) for row in rows])
                except Exception as error:
                    came.append(error)
    return module, engine, came


# proves: BND-002
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_sqlalchemys_results_are_all_read_and_the_error_is_its_own(is_async: bool) -> None:
    exc = pytest.importorskip("sqlalchemy.exc")
    module, _, came = on_sqlserver(is_async, [(1,)], None, [(2,)])
    assert came == [[(1,), (2,)]] * 2
    assert len(module.made) == 1
    module, _, came = on_sqlserver(is_async, [(1,)], Trouble("at the end of the procedure"))
    for error in came:
        assert isinstance(error, exc.DBAPIError) and "at the end" in str(error)
        assert isinstance(error.orig, Trouble) and not error.connection_invalidated
    assert len(module.made) == 1  # the pool has it again
    assert all(cursor.closed for cursor in module.made[0].made)


# proves: BND-002
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_connection_of_sqlalchemys_that_dies_between_rows_is_not_given_out_again(
    is_async: bool,
) -> None:
    exc = pytest.importorskip("sqlalchemy.exc")
    module, _, came = on_sqlserver(is_async, [(1,)], Lost("the server has gone away"))
    for error in came:
        assert isinstance(error, exc.DBAPIError) and error.connection_invalidated
        assert isinstance(error.orig, Lost)
    assert len(module.made) == 2
