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

import functools
import inspect
import sqlite3
import sys
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)

from waypost._handle import PARAMSTYLES, Operation, Value
from waypost.errors import ArgumentError, StateError

Parameters = Union[Sequence[Value], Mapping[str, Value]]
Rows = Iterable[Iterable[object]]
T = TypeVar("T")


class Driver:
    """Executes statements on connections of one kind."""

    #: How parameters are written, and come: as a sequence for "qmark" (`?`), "format" (`%s`) and
    #: "numeric_dollar" (`$1`), as a mapping for "named" (`:name`) and "pyformat" (`%(name)s`).
    paramstyle = "qmark"

    def style(self, connection: Any) -> str:
        """The paramstyle of one connection, where they differ."""
        return self.paramstyle

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        """Execute one statement and return all its rows, of plain int, str, bytes and None. Leave
        no cursor open."""
        raise NotImplementedError

    def autocommits(self, connection: Any) -> bool:
        """Whether a statement would be committed at once; False also where that cannot be told."""
        return False


class AsyncDriver:
    """The same on connections whose methods are coroutines."""

    paramstyle = "qmark"

    def style(self, connection: Any) -> str:
        return self.paramstyle

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        raise NotImplementedError

    def autocommits(self, connection: Any) -> bool:
        return False


# ---- the drivers ----------------------------------------------------------------------------


class Sqlite3(Driver):
    """sqlite3.Connection. A plain cursor of our own knows nothing of the app's row factory. The app's
    converters do not matter: no column that a statement returns has a declared type."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = sqlite3.Cursor(connection)
        try:
            cursor.execute(sql, _unadapted(parameters))
            return cursor.fetchall()
        finally:
            cursor.close()

    def autocommits(self, connection: Any) -> bool:
        return _sqlite_autocommits(connection)


def _sqlite_autocommits(connection: Any) -> bool:
    """What sqlite3 has since Python 3.12 is in `autocommit`; -1: as before."""
    mode = getattr(connection, "autocommit", -1)
    by_itself = connection.isolation_level is None if mode == -1 else bool(mode)
    return by_itself and not connection.in_transaction


class _Int(int):
    pass


class _Text(str):
    pass


class _Bytes(bytes):
    pass


class _Null(float):
    """Not a number: SQLite stores null for it."""


_PLAIN: Mapping[type, Callable[[Any], Value]] = {
    int: _Int,
    str: _Text,
    bytes: _Bytes,
    type(None): lambda _: cast(Value, _Null("nan")),
}
_PLAIN_KEYS = [(kind, sqlite3.PrepareProtocol) for kind in _PLAIN]


def _unadapted(parameters: Parameters) -> Parameters:
    """Values that sqlite3 stores as they are, also where the app has had adapters registered for
    their types: those are for exactly these types, and not for subclasses."""
    adapters = getattr(sqlite3, "adapters", _PLAIN_KEYS)
    if not any(key in adapters for key in _PLAIN_KEYS):
        return parameters
    if isinstance(parameters, Mapping):
        return {name: _PLAIN[type(value)](value) for name, value in parameters.items()}
    return [_PLAIN[type(value)](value) for value in parameters]


class DbApi(Driver):
    """Any DB-API connection. One that says `autocommit` is True, as pyodbc's, commits by itself."""

    def __init__(self, paramstyle: str) -> None:
        self.paramstyle = paramstyle

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = connection.cursor()
        try:
            cursor.execute(sql, parameters)
            return _all_rows(cursor)
        finally:
            cursor.close()

    def autocommits(self, connection: Any) -> bool:
        return getattr(connection, "autocommit", None) is True


def _all_rows(cursor: Any) -> Rows:
    """Those of a procedure, whose error may come behind its rows, and whose rows behind a count."""
    rows = list(cursor.fetchall()) if cursor.description else []
    nextset = getattr(cursor, "nextset", None)
    try:
        while nextset is not None and nextset():
            if cursor.description:
                rows += cursor.fetchall()
    except Exception as error:
        if type(error).__name__ != "NotSupportedError":  # PEP 249: of drivers that have one result at most
            raise
    return rows


class PyMssql(DbApi):
    """pymssql's Connection. A plain cursor knows nothing of rows as dicts."""

    def __init__(self) -> None:
        super().__init__("pyformat")

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = connection.cursor(as_dict=False)
        try:
            cursor.execute(sql, parameters)
            return _all_rows(cursor)
        finally:
            cursor.close()

    def autocommits(self, connection: Any) -> bool:
        return bool(connection.autocommit_state)


class Psycopg(Driver):
    """psycopg.Connection, of psycopg 3. A cursor of our own knows nothing of the app's cursor and
    row factories, nor of how the app has values adapted and loaded."""

    paramstyle = "format"

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        psycopg = sys.modules["psycopg"]
        with psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row) as cursor:
            _adapt_plainly(cursor)
            cursor.execute(sql, parameters)
            if cursor.pgresult is not None:
                return list(cursor.fetchall()) if cursor.description else ()
            try:
                return list(cursor.fetchall())  # in a pipeline: the answer is not there yet
            except psycopg.ProgrammingError:
                if _has_failed(cursor):
                    raise
                return ()

    def autocommits(self, connection: Any) -> bool:
        return _psycopg_autocommits(connection)


class PsycopgAsync(AsyncDriver):
    """psycopg.AsyncConnection."""

    paramstyle = "format"

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        psycopg = sys.modules["psycopg"]
        async with psycopg.AsyncCursor(
            connection, row_factory=psycopg.rows.tuple_row
        ) as cursor:
            _adapt_plainly(cursor)
            await cursor.execute(sql, parameters)
            if cursor.pgresult is not None:
                return list(await cursor.fetchall()) if cursor.description else ()
            try:
                return list(await cursor.fetchall())
            except psycopg.ProgrammingError:
                if _has_failed(cursor):
                    raise
                return ()

    def autocommits(self, connection: Any) -> bool:
        return _psycopg_autocommits(connection)


def _psycopg_autocommits(connection: Any) -> bool:
    return bool(connection.autocommit) and connection.info.transaction_status == 0  # idle


def _adapt_plainly(cursor: Any) -> None:
    """Text and integers as psycopg itself sends and reads them."""
    from psycopg.types import numeric, string

    adapters = cursor.adapters
    adapters.register_dumper(str, string.StrDumper)
    adapters.register_dumper(int, numeric.IntDumper)
    adapters.register_loader("text", string.TextLoader)
    for name in ("int2", "int4", "int8"):
        adapters.register_loader(name, numeric.IntLoader)


def _has_failed(cursor: Any) -> bool:
    """Whether a fetch was refused because of an error, and not for want of rows."""
    from psycopg.pq import ExecStatus

    return cursor.pgresult is None or cursor.pgresult.status != ExecStatus.COMMAND_OK


class Psycopg2(Driver):
    """psycopg2's connection. A cursor of our own knows nothing of the app's cursor factory, and
    has casters of its own."""

    paramstyle = "format"

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        extensions = sys.modules["psycopg2.extensions"]
        if connection.async_:
            raise ArgumentError("connection is one of psycopg2's asynchronous ones")
        with extensions.cursor(connection) as cursor:
            for caster in _plain_casters(extensions):
                extensions.register_type(caster, cursor)
            cursor.execute(sql, [self._adapt(extensions, value) for value in parameters])
            return list(cursor.fetchall()) if cursor.description else ()

    def autocommits(self, connection: Any) -> bool:
        return _psycopg_autocommits(connection)

    @staticmethod
    def _adapt(extensions: Any, value: Any) -> Any:
        """As psycopg2 does it, whatever adapters the app has registered."""
        return extensions.QuotedString(value) if isinstance(value, str) else value


@functools.lru_cache(maxsize=None)
def _plain_casters(extensions: Any) -> Sequence[Any]:
    def integer(value: Optional[str], cursor: object) -> Optional[int]:
        return None if value is None else int(value)

    def text(value: Optional[str], cursor: object) -> Optional[str]:
        return value

    return (
        extensions.new_type((20, 21, 23), "WAYPOST_INTEGER", integer),
        extensions.new_type((25,), "WAYPOST_TEXT", text),
    )


class PyMysql(Driver):
    """pymysql's Connection. A plain cursor knows nothing of the app's cursor class; it reads what remains of a
    call's results when it is closed."""

    paramstyle = "format"

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        with connection.cursor(sys.modules["pymysql.cursors"].Cursor) as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall()) if cursor.description else ()

    def autocommits(self, connection: Any) -> bool:
        return _mysql_autocommits(connection)


class MysqlDb(PyMysql):
    """MySQLdb's (mysqlclient) connection. It does not tell whether a transaction is open."""

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = connection.cursor(sys.modules["MySQLdb.cursors"].Cursor)
        try:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall()) if cursor.description else ()
        finally:
            cursor.close()

    def autocommits(self, connection: Any) -> bool:
        return False


class AioMysql(AsyncDriver):
    """aiomysql's Connection."""

    paramstyle = "format"

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        async with connection.cursor(sys.modules["aiomysql.cursors"].Cursor) as cursor:
            await cursor.execute(sql, parameters)
            return list(await cursor.fetchall()) if cursor.description else ()

    def autocommits(self, connection: Any) -> bool:
        return _mysql_autocommits(connection)


def _mysql_autocommits(connection: Any) -> bool:
    in_transaction = 1  # the protocol's SERVER_STATUS_IN_TRANS
    return bool(connection.get_autocommit()) and not connection.server_status & in_transaction


class Asyncpg(AsyncDriver):
    """asyncpg.Connection, pooled or not, and what has its `await fetch(sql, *values)`."""

    paramstyle = "numeric_dollar"

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        rows: Rows = await connection.fetch(sql, *parameters)
        return rows

    def autocommits(self, connection: Any) -> bool:
        in_transaction = getattr(connection, "is_in_transaction", None)
        return in_transaction is not None and not in_transaction()


class Django(Driver):
    """django.db.connection, and each one in django.db.connections. Statements run on the driver's
    connection below it: Django would keep and log them with the payloads under DEBUG."""

    def style(self, connection: Any) -> str:
        driver, below = self._below(connection)
        return driver.style(below)

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        driver, below = self._below(connection)
        connection.validate_no_broken_transaction()
        with connection.wrap_database_errors:
            return driver.execute(below, sql, parameters)

    def autocommits(self, connection: Any) -> bool:
        driver, below = self._below(connection)
        return driver.autocommits(below)

    @staticmethod
    def _below(connection: Any) -> Tuple[Driver, Any]:
        with connection.cursor():  # connects, and refuses another thread
            below = connection.connection
        driver = find(below)
        if not isinstance(driver, Driver):
            raise ArgumentError("connection: Waypost does not know Django's driver below it")
        return driver, below


class SqlAlchemy(Driver):
    """sqlalchemy.engine.Connection."""

    def style(self, connection: Any) -> str:
        return str(connection.dialect.paramstyle)

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        result = connection.exec_driver_sql(sql, _for_sqlalchemy(connection, parameters))
        try:
            if not result.returns_rows:
                return ()
            return _results_behind(result, connection, sql) if _has_procedures(connection) else list(result)
        finally:
            result.close()

    def autocommits(self, connection: Any) -> bool:
        try:
            driver, below = _resolve(connection.connection.dbapi_connection)
        except ArgumentError:  # SQLAlchemy's adapter of an async driver
            return _asked_to_autocommit(connection)
        return driver.autocommits(below)


def _has_procedures(connection: Any) -> bool:
    """Whether the store's statements are calls of procedures, whose error may come behind their rows."""
    return connection.dialect.name in ("mssql", "mysql", "mariadb")


def _results_behind(result: Any, connection: Any, sql: str) -> Rows:
    """All rows of a procedure, and the error behind them: SQLAlchemy reads the first result alone. A connection
    that is lost between them it does not give out again."""
    kinds = connection.dialect.dbapi.Error
    try:
        return _all_rows(result.cursor)
    except kinds as error:
        below = None if connection.invalidated else connection.connection.dbapi_connection
        lost = bool(connection.dialect.is_disconnect(error, below, result.cursor))
        if lost and not connection.invalidated:
            connection.invalidate(error)
        raise sys.modules["sqlalchemy.exc"].DBAPIError.instance(
            sql,
            None,
            error,
            kinds,
            hide_parameters=True,
            connection_invalidated=lost,
            dialect=connection.dialect,
        ) from error


class SqlAlchemySession(SqlAlchemy):
    """sqlalchemy.orm.Session: the connection of its current transaction."""

    def style(self, connection: Any) -> str:
        return super().style(connection.connection())

    def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        return super().execute(connection.connection(), sql, parameters)

    def autocommits(self, connection: Any) -> bool:
        return super().autocommits(connection.connection())


class SqlAlchemyAsync(AsyncDriver):
    """sqlalchemy.ext.asyncio.AsyncConnection."""

    def style(self, connection: Any) -> str:
        return str(connection.dialect.paramstyle)

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        if _has_procedures(connection):  # further results are read by the plain cursor
            rows: Rows = await connection.run_sync(SqlAlchemy().execute, sql, parameters)
            return rows
        result = await connection.exec_driver_sql(sql, _for_sqlalchemy(connection, parameters))
        try:
            return list(result) if result.returns_rows else ()
        finally:
            result.close()

    def autocommits(self, connection: Any) -> bool:
        return _asked_to_autocommit(connection.sync_connection)


class SqlAlchemyAsyncSession(SqlAlchemyAsync):
    """sqlalchemy.ext.asyncio.AsyncSession."""

    def style(self, connection: Any) -> str:
        return super().style(connection.get_bind())

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        return await super().execute(await connection.connection(), sql, parameters)

    def autocommits(self, connection: Any) -> bool:
        return _asked_to_autocommit(connection.get_bind())


def _asked_to_autocommit(connection: Any) -> bool:
    """What SQLAlchemy was told, of the connection or of its engine, where the driver cannot be asked."""
    if connection is None:
        return False
    dialect = connection.dialect
    before_2 = getattr(dialect, "isolation_level", None)
    of_engine = getattr(dialect, "_on_connect_isolation_level", before_2)
    level = connection.get_execution_options().get("isolation_level", of_engine)
    return str(level).upper() == "AUTOCOMMIT"


def _for_sqlalchemy(connection: Any, parameters: Parameters) -> Any:
    """A list would be many rows of parameters."""
    if connection.dialect.name == "sqlite":
        parameters = _unadapted(parameters)
    return parameters if isinstance(parameters, Mapping) else tuple(parameters)


class AioSqlite(AsyncDriver):
    """aiosqlite.Connection, and what looks like it: `await connection.cursor()`, a cursor with
    coroutines execute, fetchall and close."""

    async def execute(self, connection: Any, sql: str, parameters: Parameters) -> Rows:
        cursor = await connection.cursor()
        try:
            _plain_rows(cursor)
            await cursor.execute(sql, _unadapted(parameters))
            return [_columns(row) for row in await cursor.fetchall()]
        finally:
            await cursor.close()

    def autocommits(self, connection: Any) -> bool:
        return hasattr(connection, "in_transaction") and _sqlite_autocommits(connection)


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


class StandIn:
    """What stands for the connection that one of its attributes is, such as a cursor: its own
    result set stays as it is."""

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute


_by_name: Dict[str, Union[AnyDriver, StandIn]] = {
    "sqlite3.Connection": Sqlite3(),
    "sqlite3.Cursor": StandIn("connection"),
    "psycopg.Connection": Psycopg(),
    "psycopg.Cursor": StandIn("connection"),
    "psycopg.AsyncConnection": PsycopgAsync(),
    "psycopg.AsyncCursor": StandIn("connection"),
    "psycopg2.extensions.connection": Psycopg2(),
    "psycopg2.extensions.cursor": StandIn("connection"),
    "pymysql.connections.Connection": PyMysql(),
    "pymysql.cursors.Cursor": StandIn("connection"),
    "MySQLdb.connections.Connection": MysqlDb(),
    "MySQLdb.cursors.BaseCursor": StandIn("connection"),
    "aiomysql.connection.Connection": AioMysql(),
    "aiomysql.cursors.Cursor": StandIn("connection"),
    "pyodbc.Connection": DbApi("qmark"),
    "pyodbc.Cursor": StandIn("connection"),
    "pymssql._pymssql.Connection": PyMssql(),
    "pymssql._pymssql.Cursor": StandIn("connection"),
    "asyncpg.connection.Connection": Asyncpg(),
    "asyncpg.pool.PoolConnectionProxy": Asyncpg(),
    "django.db.backends.base.base.BaseDatabaseWrapper": Django(),
    "django.utils.connection.ConnectionProxy": Django(),
    "django.db.DefaultConnectionProxy": Django(),
    "django.db.backends.utils.CursorWrapper": StandIn("db"),
    "sqlalchemy.pool.base._ConnectionFairy": StandIn("dbapi_connection"),
    "sqlalchemy.engine.base.Connection": SqlAlchemy(),
    "sqlalchemy.orm.session.Session": SqlAlchemySession(),
    "sqlalchemy.orm.scoping.scoped_session": SqlAlchemySession(),
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": SqlAlchemyAsync(),
    "sqlalchemy.ext.asyncio.session.AsyncSession": SqlAlchemyAsyncSession(),
    "sqlalchemy.ext.asyncio.scoping.async_scoped_session": SqlAlchemyAsyncSession(),
    "aiosqlite.core.Connection": AioSqlite(),
}
_by_type: Dict[type, Union[AnyDriver, StandIn]] = {}


def register(kind: Union[type, str], driver: AnyDriver) -> None:
    """Use `driver` for connections of a class and its subclasses. The class may be named by its
    full name, "package.module.Class", so that it need not be imported."""
    if not isinstance(driver, (Driver, AsyncDriver)):
        raise ArgumentError("driver must be a Driver or an AsyncDriver")
    name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    _by_name[name] = driver
    _by_type.clear()


def find(connection: object) -> AnyDriver:
    """The driver for a connection, or for the one that a cursor stands for."""
    return _resolve(connection)[0]


def _resolve(connection: object) -> Tuple[AnyDriver, object]:
    """The driver, and the connection to run it on."""
    kind = type(connection)
    driver = _by_type.get(kind)
    if driver is None:
        driver = _by_type[kind] = _choose(kind)
    if not isinstance(driver, StandIn):
        return driver, connection
    return _resolve(getattr(connection, driver.attribute))


def _choose(kind: type) -> Union[AnyDriver, StandIn]:
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
        if style is not None:
            return str(style)
        name = name.rpartition(".")[0]
    raise ArgumentError(
        f"connection: no DB-API paramstyle is known for {kind.__module__}.{kind.__qualname__}"
    )


def need_transaction(connection: object) -> None:
    """StateError: a statement would be committed at once, as far as that can be told."""
    driver, target = _resolve(connection)
    if driver.autocommits(target):
        raise StateError("connection: no transaction is open on it: begin one")


# ---- running an operation -------------------------------------------------------------------

Begin = Callable[[str], Operation]


def _operation(begin: Begin, driver: AnyDriver, connection: object) -> Tuple[Operation, bool]:
    """The operation, and whether its parameters go by name."""
    style = driver.style(connection)
    if style not in PARAMSTYLES:
        raise ArgumentError(f"connection: the paramstyle {style!r} is not supported")
    return begin(style), style in ("named", "pyformat")


def _parameters(operation: Operation, named: bool) -> Parameters:
    values = operation.parameters()
    return dict(zip(operation.parameter_names(), values)) if named else values


def run(connection: object, begin: Begin, result: Callable[[Operation], T]) -> T:
    """Run an operation on a connection of the app's."""
    driver, target = _resolve(connection)
    if not isinstance(driver, Driver):
        raise ArgumentError("connection is async: use the async form of this call")
    operation, named = _operation(begin, driver, target)
    try:
        while operation.next():
            operation.feed(driver.execute(target, operation.sql, _parameters(operation, named)))
        return result(operation)
    finally:
        operation.free()


async def run_async(connection: object, begin: Begin, result: Callable[[Operation], T]) -> T:
    """The same on an async connection."""
    driver, target = _resolve(connection)
    if not isinstance(driver, AsyncDriver):
        raise ArgumentError("connection is not async: use the plain form of this call")
    operation, named = _operation(begin, driver, target)
    try:
        while operation.next():
            parameters = _parameters(operation, named)
            operation.feed(await driver.execute(target, operation.sql, parameters))
        return result(operation)
    finally:
        operation.free()
