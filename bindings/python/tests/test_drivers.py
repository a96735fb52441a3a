# SPDX-License-Identifier: Apache-2.0
"""What drivers make of what DB-API cursors give, without a server."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

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
        return None if self.now is None else [("a",)]

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


class Results(Cursor):
    """A cursor as SQLAlchemy's result of it, too."""

    returns_rows = True

    @property
    def cursor(self) -> Cursor:
        return self


class SqlAlchemys:
    """What of SQLAlchemy's connection to SQL Server its driver needs."""

    class dialect:
        name, paramstyle = "mssql", "qmark"
        dbapi_exception_translation_map: Dict[str, str] = {}

        class dbapi:
            Error = Trouble

    def __init__(self, *results: Any) -> None:
        self.results = results

    def exec_driver_sql(self, sql: str, parameters: object) -> Results:
        result = Results(self.results)
        result.execute(sql, parameters)
        return result


def test_sqlalchemys_results_are_all_read_and_the_error_is_its_own() -> None:
    exc = pytest.importorskip("sqlalchemy.exc")
    driver = drivers.SqlAlchemy()
    assert list(driver.execute(SqlAlchemys([(1,)], None, [(2,)]), "EXEC a", ())) == [(1,), (2,)]
    with pytest.raises(exc.DBAPIError, match="at the end") as raised:
        driver.execute(SqlAlchemys([(1,)], Trouble("at the end of the procedure")), "EXEC a", ())
    assert isinstance(raised.value.orig, Trouble)
