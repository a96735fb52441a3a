# SPDX-License-Identifier: Apache-2.0
"""Databases of the SQL Server that WAYPOST_TEST_MSSQL leads to, for the tests, and the app's own connections to them, by
pyodbc. That is an ODBC connection string without a database, whose login may create some."""
from __future__ import annotations

import os
import uuid
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List

import pytest

VARIABLE = "WAYPOST_TEST_MSSQL"
TABLES = (
    "SELECT QUOTENAME(s.name) + '.' + QUOTENAME(t.name) FROM sys.tables AS t"
    " JOIN sys.schemas AS s ON s.schema_id = t.schema_id WHERE t.name <> 'migration'"
)
#: Of what a deployment makes, so that a test that changed it is noticed.
FINGERPRINT = (
    "SELECT (SELECT COUNT(*) FROM sys.columns AS c JOIN sys.tables AS t ON t.object_id = c.object_id"
    " WHERE t.name <> 'orders') + 1000 * (SELECT COUNT(*) FROM sys.procedures)"
)


def is_there() -> bool:
    return bool(os.environ.get(VARIABLE))


def server() -> str:
    """The URL of the server; without one the test is skipped, and says so."""
    if not is_there():
        pytest.skip(f"SQL Server: {VARIABLE} is not set: nothing here has run on one")
    return f"odbc:{os.environ[VARIABLE]}"


def is_mine(url: str) -> bool:
    return is_there() and url.startswith(server())


def parts(url: str) -> Dict[str, str]:
    """What the connection string says, by key in lower case."""
    given = (part.split("=", 1) for part in url[len("odbc:") :].split(";") if part)
    return {key.lower(): value for key, value in given}


def connect(url: str, autocommit: bool = False, **options: Any) -> Any:
    import pyodbc

    return pyodbc.connect(url[len("odbc:") :], autocommit=autocommit, **options)


def need_brackets() -> None:
    """Skip the test on a server that merely speaks TDS and does not take every name in brackets."""
    import pyodbc

    connection = connect(server(), autocommit=True)
    try:
        connection.execute("BEGIN TRANSACTION; EXEC (N'CREATE SCHEMA [waypost ]] probe]'); ROLLBACK TRANSACTION")
    except pyodbc.Error as error:
        pytest.skip(f"SQL Server with hostile names: CREATE SCHEMA [a]]b] is not taken: {error}")
    finally:
        connection.close()


def need_json(url: str) -> None:
    """Skip the test on a server that merely speaks TDS and leaves escapes in what OPENJSON gives."""
    if is_mine(url):
        with closing(connect(url, autocommit=True)) as connection:
            probe = "SELECT COUNT(*) FROM OPENJSON(N'[\"a\\\"\"]') AS j WHERE j.value = N'a\"'"
            if connection.execute(probe).fetchone()[0] != 1:
                pytest.skip("SQL Server with escapes in JSON: OPENJSON leaves them in")


def need_locks(url: str) -> None:
    """Skip the test on a server that merely speaks TDS and heeds no hints of locks."""
    if not is_mine(url):
        return
    with closing(connect(url)) as writer, closing(connect(url)) as reader:
        writer.execute("CREATE TABLE locked (n INTEGER); INSERT INTO locked VALUES (1)")
        writer.commit()
        try:
            writer.execute("UPDATE locked SET n = 1")
            probe = "SELECT COUNT(*) FROM locked WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK)"
            if reader.execute(probe).fetchone()[0] != 0:
                pytest.skip("SQL Server where rows are locked: READPAST is not heeded")
        finally:
            reader.rollback()
            writer.rollback()
            writer.execute("DROP TABLE locked")
            writer.commit()


def is_of_mine(connection: object) -> bool:
    return type(connection).__module__ == "pyodbc"


@dataclass
class Database:
    """One that tests have after each other, with a connection to it. To make one and its tables takes long."""

    name: str
    connection: Any
    fingerprint: int = 0  # of its schema, once that is deployed
    tables: List[str] = field(default_factory=list)

    def is_as_deployed(self) -> bool:
        return bool(self.fingerprint) and self.value(FINGERPRINT) == self.fingerprint

    def value(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])

    def empty(self) -> None:
        """Delete all rows but those of the journal of migrations."""
        self.tables = self.tables or [row[0] for row in self.connection.execute(TABLES).fetchall()]
        self.connection.execute("; ".join(f"DELETE FROM {name}" for name in self.tables))

    def drop(self) -> None:
        import pyodbc

        self.connection.close()
        try:
            on_server(f"DROP DATABASE {self.name}")
        except pyodbc.Error as error:  # a test that failed has left a connection: the database stays
            print(f"{self.name} was not dropped: {error}")


def on_server(sql: str) -> None:
    connection = connect(server(), autocommit=True)
    connection.execute(sql)
    connection.close()


idle: List[Database] = []
in_use: Dict[str, Database] = {}


def made(deployed: bool) -> Database:
    for database in list(idle):
        idle.remove(database)
        if deployed and database.is_as_deployed():
            database.empty()
            return database
        database.drop()
    name = f"py_{uuid.uuid4().hex}"
    on_server(f"CREATE DATABASE {name}")
    return Database(name, connect(f"{server()};Database={name}", autocommit=True))


@contextmanager
def sqlserver_database(deployed: bool = False) -> Iterator[str]:
    """The URL of a database of a test's own. If `deployed`, the test deploys the schema, and keeps it."""
    database = made(deployed)
    url = f"{server()};Database={database.name}"
    in_use[url] = database
    yield url
    del in_use[url]
    idle.append(database)


def keep_schema(url: str) -> None:
    """The next test may have it, if it is then as it is now."""
    if url in in_use and not in_use[url].fingerprint:
        in_use[url].fingerprint = in_use[url].value(FINGERPRINT)


def drop_all() -> None:
    while idle:
        idle.pop().drop()
