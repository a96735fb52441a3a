# SPDX-License-Identifier: Apache-2.0
"""How Waypost's statements run on a connection that the app already has.

An operation says which statement comes next and takes its rows; a driver executes one statement
on one kind of connection. So the binding holds no SQL, and a kind that is missing here is a class
of a few lines away:

    class MyDriver(waypost.drivers.Driver):
        def execute(self, connection, sql, parameters):
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                return cursor.fetchall() if cursor.description else ()

    waypost.drivers.register("mypackage.Connection", MyDriver())

A driver never begins, commits or rolls back: the statement belongs to the transaction that the
connection is in, or begins one as the driver does for the app's own statements.
"""
from __future__ import annotations

import inspect
import sqlite3
import sys
from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Sequence, TypeVar, Union

from waypost._handle import Operation, Value
from waypost.errors import ArgumentError

Parameters = Union[Sequence[Value], Mapping[str, Value]]
Rows = Iterable[Iterable[object]]
T = TypeVar("T")


class Driver:
    """Executes statements on connections of one kind."""

    #: "qmark" (`?`, a sequence) or "named" (`:name`, a mapping).
    paramstyle = "qmark"

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        """Execute one statement and return all its rows, of plain int, str, bytes and None. Leave
        no cursor open."""
        raise NotImplementedError


class AsyncDriver:
    """The same on connections whose methods are coroutines."""

    paramstyle = "qmark"

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        raise NotImplementedError


# ---- the drivers ----------------------------------------------------------------------------


class Sqlite3(Driver):
    """sqlite3.Connection. A plain cursor of our own knows nothing of the app's row factory."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = sqlite3.Cursor(connection)
        try:
            cursor.execute(sql, parameters)
            return cursor.fetchall()
        finally:
            cursor.close()


class Cursor(Driver):
    """A DB-API cursor stands for its connection; its own result set stays as it is."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        real = connection.connection
        driver = find(real)
        if not isinstance(driver, Driver):
            raise ArgumentError("connection is a cursor of an async connection")
        return driver.execute(real, sql, parameters)


class DbApi(Driver):
    """Any DB-API connection whose module has the paramstyle `qmark` or `named`."""

    def __init__(self, paramstyle: str) -> None:
        self.paramstyle = paramstyle

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = connection.cursor()
        try:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall()) if cursor.description else ()
        finally:
            cursor.close()


class SqlAlchemy(Driver):
    """sqlalchemy.engine.Connection."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        result = connection.exec_driver_sql(sql, tuple(parameters))
        try:
            return list(result) if result.returns_rows else ()
        finally:
            result.close()


class SqlAlchemySession(SqlAlchemy):
    """sqlalchemy.orm.Session: the connection of its current transaction."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        return super().execute(connection.connection(), sql, parameters)


class SqlAlchemyAsync(AsyncDriver):
    """sqlalchemy.ext.asyncio.AsyncConnection."""

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        result = await connection.exec_driver_sql(sql, tuple(parameters))
        try:
            return list(result) if result.returns_rows else ()
        finally:
            result.close()


class SqlAlchemyAsyncSession(SqlAlchemyAsync):
    """sqlalchemy.ext.asyncio.AsyncSession."""

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        return await super().execute(await connection.connection(), sql, parameters)


class AioSqlite(AsyncDriver):
    """aiosqlite.Connection, and what looks like it: `await connection.cursor()`, a cursor with
    coroutines execute, fetchall and close."""

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = await connection.cursor()
        try:
            _plain_rows(cursor)
            await cursor.execute(sql, parameters)
            return [_columns(row) for row in await cursor.fetchall()]
        finally:
            await cursor.close()


def _plain_rows(cursor: Any) -> None:
    """Undo the app's row factory on a cursor of ours."""
    for candidate in (cursor, getattr(cursor, "_cursor", None)):
        if hasattr(candidate, "row_factory"):
            candidate.row_factory = None
            return


def _columns(row: Any) -> Sequence[object]:
    return tuple(row.values() if isinstance(row, Mapping) else row)


# ---- which driver for which connection ------------------------------------------------------

AnyDriver = Union[Driver, AsyncDriver]

_by_name: Dict[str, AnyDriver] = {
    "sqlite3.Connection": Sqlite3(),
    "sqlite3.Cursor": Cursor(),
    "sqlalchemy.engine.base.Connection": SqlAlchemy(),
    "sqlalchemy.orm.session.Session": SqlAlchemySession(),
    "sqlalchemy.orm.scoping.scoped_session": SqlAlchemySession(),
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": SqlAlchemyAsync(),
    "sqlalchemy.ext.asyncio.session.AsyncSession": SqlAlchemyAsyncSession(),
    "sqlalchemy.ext.asyncio.scoping.async_scoped_session": SqlAlchemyAsyncSession(),
    "aiosqlite.core.Connection": AioSqlite(),
}
_by_type: Dict[type, AnyDriver] = {}


def register(kind: Union[type, str], driver: AnyDriver) -> None:
    """Use `driver` for connections of a class and its subclasses. The class may be named by its
    full name, "package.module.Class", so that it need not be imported."""
    if not isinstance(driver, (Driver, AsyncDriver)):
        raise ArgumentError("driver must be a Driver or an AsyncDriver")
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    _by_name[name] = driver
    _by_type.clear()


def find(connection: object) -> AnyDriver:
    """The driver for a connection."""
    kind = type(connection)
    driver = _by_type.get(kind)
    if driver is None:
        driver = _by_type[kind] = _choose(kind)
    return driver


def _choose(kind: type) -> AnyDriver:
    for base in kind.__mro__:
        driver = _by_name.get(f"{base.__module__}.{base.__qualname__}")
        if driver is not None:
            return driver
    if not callable(getattr(kind, "cursor", None)):
        raise ArgumentError(
            f"connection is a {kind.__module__}.{kind.__qualname__}, which is not a kind of"
            " connection that Waypost knows; see waypost.drivers.register()"
        )
    if inspect.iscoroutinefunction(getattr(kind, "execute", None)):
        return AioSqlite()
    return DbApi(_paramstyle(kind))


def _paramstyle(kind: type) -> str:
    """What the connection's module, or the package around it, says."""
    name = kind.__module__
    while name:
        style = getattr(sys.modules.get(name), "paramstyle", None)
        if style in ("qmark", "named"):
            return str(style)
        if style is not None:
            raise ArgumentError(f"connection: the paramstyle {style!r} of {name} is not supported")
        name = name.rpartition(".")[0]
    raise ArgumentError(
        f"connection: no DB-API paramstyle is known for {kind.__module__}.{kind.__qualname__}"
    )


# ---- running an operation -------------------------------------------------------------------

Begin = Callable[[str], Operation]


def _parameters(operation: Operation, driver: AnyDriver) -> Parameters:
    values = operation.parameters()
    if driver.paramstyle == "named":
        return dict(zip(operation.parameter_names(), values))
    return values


def run(connection: object, begin: Begin, result: Callable[[Operation], T]) -> T:
    """Run an operation on a connection of the app's."""
    driver = find(connection)
    if not isinstance(driver, Driver):
        raise ArgumentError("connection is async: use the async form of this call")
    operation = begin(driver.paramstyle)
    try:
        while operation.next():
            rows = driver.execute(connection, operation.sql, _parameters(operation, driver))
            operation.feed(rows)
        return result(operation)
    finally:
        operation.free()


async def run_async(connection: object, begin: Begin, result: Callable[[Operation], T]) -> T:
    """The same on an async connection."""
    driver = find(connection)
    if not isinstance(driver, AsyncDriver):
        raise ArgumentError("connection is not async: use the plain form of this call")
    operation = begin(driver.paramstyle)
    try:
        while operation.next():
            rows = await driver.execute(connection, operation.sql, _parameters(operation, driver))
            operation.feed(rows)
        return result(operation)
    finally:
        operation.free()
