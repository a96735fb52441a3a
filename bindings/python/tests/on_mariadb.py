# SPDX-License-Identifier: Apache-2.0
"""Databases of a MariaDB server for the tests, and the app's own connections to them, by PyMySQL and aiomysql."""
from __future__ import annotations

import os
import sys
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List

import aiomysql
import pymysql
import pytest
from pymysql.constants import CR

TABLES = (
    "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
    " AND table_type = 'BASE TABLE'"
)
#: Of what a deployment makes, so that a test that changed it is noticed.
FINGERPRINT = (
    "SELECT (SELECT COALESCE(SUM(CRC32(CONCAT(table_name, '.', column_name, column_type))), 0)"
    " FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name <> 'orders')"
    " + (SELECT COUNT(*) FROM mysql.proc WHERE db = DATABASE())"  # by its key, not those of all databases
    " + (SELECT COUNT(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE())"
)


class Connection(pymysql.connections.Connection):  # type: ignore[misc]
    """PyMySQL's, with the execute() that other drivers' connections have."""

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        cursor = self.cursor()
        cursor.execute(sql.replace("?", "%s"), parameters)
        return cursor

    def close(self) -> None:  # a second time is no error elsewhere
        if self.open:
            super().close()


class FixtureConnection(Connection):
    """What databases are made and emptied by; each statement may be run twice."""

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        # Seen once in some thousand tests while others made and dropped databases: the server hangs up.
        for _ in range(5):
            try:
                return super().execute(sql, parameters)
            except pymysql.OperationalError as error:
                if error.args[0] not in (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST):
                    raise
                print(f"MariaDB hung up: {error}\n{log()}", file=sys.stderr)
                self.ping(reconnect=True)
        return super().execute(sql, parameters)


class AsyncConnection(aiomysql.connection.Connection):  # type: ignore[misc]
    """aiomysql's, likewise."""

    async def execute(self, sql: str, parameters: Any = ()) -> Any:
        cursor = await self.cursor()
        await cursor.execute(sql.replace("?", "%s"), parameters)
        return cursor


def server() -> str:
    """The URL of a server to make databases on."""
    url = os.environ.get("WAYPOST_TEST_MARIADB")
    if not url:
        if os.environ.get("WAYPOST_TEST_REQUIRE"):
            pytest.fail("WAYPOST_TEST_MARIADB is not set, and WAYPOST_TEST_REQUIRE is")
        pytest.skip("WAYPOST_TEST_MARIADB is not set: no MariaDB server to test on")
    return url


def is_mine(url: str) -> bool:
    return url.startswith("odbc:Driver=MariaDB")


def parts(url: str) -> Dict[str, Any]:
    """What PyMySQL connects with."""
    given = dict(part.split("=", 1) for part in url[len("odbc:") :].split(";"))
    options: Dict[str, Any] = {
        "host": given["Server"], "port": int(given["Port"]), "user": given["Uid"], "charset": "utf8mb4",
    }  # fmt: skip
    if "Database" in given:
        options["database"] = given["Database"]
    return options


def log() -> str:
    """The end of what the server has logged."""
    path = Path(os.environ.get("WAYPOST_TEST_MARIADB_DIR", "")) / "log"
    return "\n".join(path.read_text(errors="replace").splitlines()[-20:]) if path.exists() else ""


def connect(url: str, autocommit: bool = False, **options: Any) -> Connection:
    return Connection(**parts(url), autocommit=autocommit, **options)


async def connect_async(url: str, autocommit: bool = False) -> AsyncConnection:
    options = parts(url)
    options["db"] = options.pop("database")
    connection = AsyncConnection(**options, autocommit=autocommit)
    await connection._connect()
    return connection


@dataclass
class Database:
    """One that tests have after each other, with a connection to it. To make one and its tables takes long."""

    name: str
    connection: Any
    fingerprint: int = 0  # of its schema, once that is deployed

    def is_as_deployed(self) -> bool:
        return bool(self.fingerprint) and self.value(FINGERPRINT) == self.fingerprint

    def value(self, query: str) -> int:
        return int(self.connection.execute(query).fetchone()[0])

    def empty(self) -> None:
        """Delete all rows but those of the journal of migrations."""
        names = [row[0] for row in self.connection.execute(TABLES).fetchall()]
        for name in names:
            if not name.endswith("migration"):
                self.connection.execute(f"DELETE FROM `{name}`")

    def cut_off(self) -> None:
        """End the connections of others that do not end by themselves: they may be just about to."""
        others = (
            "SELECT id FROM information_schema.processlist"
            " WHERE db = DATABASE() AND id <> CONNECTION_ID()"
        )
        patience = time.monotonic() + 1
        while self.connection.execute(others).fetchall() and time.monotonic() < patience:
            time.sleep(0.005)
        for (number,) in self.connection.execute(others).fetchall():
            try:
                self.connection.execute(f"KILL {number}")
            except pymysql.MySQLError:  # it has ended by itself
                pass

    def drop(self) -> None:
        self.connection.execute(f"DROP DATABASE IF EXISTS `{self.name}`")
        self.connection.close()


idle: List[Database] = []
in_use: Dict[str, Database] = {}


def made(deployed: bool) -> Database:
    for database in list(idle):
        idle.remove(database)
        if deployed and database.is_as_deployed():
            database.empty()
            return database
        database.drop()
    name = f"waypost_{uuid.uuid4().hex}"
    with FixtureConnection(**parts(server()), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4")
    mine = FixtureConnection(**parts(f"{server()};Database={name}"), autocommit=True)
    return Database(name, mine)


@contextmanager
def mariadb_database(deployed: bool = False) -> Iterator[str]:
    """The URL of a database of a test's own. If `deployed`, the test deploys the schema, and keeps it."""
    database = made(deployed)
    url = f"{server()};Database={database.name}"
    in_use[url] = database
    yield url
    del in_use[url]
    database.connection.ping(reconnect=True)  # the test may have cut us off
    database.cut_off()
    idle.append(database)


def keep_schema(url: str) -> None:
    """The next test may have it, if it is then as it is now."""
    if url in in_use and not in_use[url].fingerprint:
        in_use[url].fingerprint = in_use[url].value(FINGERPRINT)


def drop_all() -> None:
    while idle:
        idle.pop().drop()
