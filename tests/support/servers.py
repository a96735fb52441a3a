# SPDX-License-Identifier: Apache-2.0
"""The servers of tests that are scripts: tools/with_servers.sh starts them."""
from __future__ import annotations

import contextlib
import os
import socket
import threading
import unittest
import uuid
from typing import List

#: What names the server's URL.
SERVERS = {"Postgresql": "WAYPOST_TEST_POSTGRESQL", "Mariadb": "WAYPOST_TEST_MARIADB"}


def url_of(test: unittest.TestCase, variable: str) -> str:
    """The server's URL. Where there is none the test fails, or is skipped by whoever types it without WAYPOST_TEST_REQUIRE."""
    url = os.environ.get(variable)
    if url:
        return url
    if os.environ.get("WAYPOST_TEST_REQUIRE"):
        test.fail(f"{variable} is not set: run the tests by tools/with_servers.sh")
    test.skipTest(f"{variable} is not set: tools/with_servers.sh starts a server")


def database(test: unittest.TestCase, variable: str) -> str:
    """The URL of a new database on the server, which goes when the test ends."""
    url = url_of(test, variable)
    name = f"t{uuid.uuid4().hex[:12]}"
    if url.startswith("odbc:"):
        import pyodbc

        connection = pyodbc.connect(url[len("odbc:") :], autocommit=True)
        drop, new = f"DROP DATABASE {name}", f"{url};Database={name}"
    else:
        import psycopg

        connection = psycopg.connect(url, autocommit=True)
        drop, new = f"DROP DATABASE {name} WITH (FORCE)", f"{url.rsplit('/', 1)[0]}/{name}"
    test.addCleanup(connection.close)
    connection.execute(f"CREATE DATABASE {name}")
    test.addCleanup(connection.execute, drop)
    return new


class Network:
    """What lies between a program and a server on this machine: it can be cut, or swallow all that is sent."""

    def __init__(self, port: int) -> None:
        self.to = ("127.0.0.1", port)
        self.silent = False
        self.ends: List[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self._serve()

    def _serve(self) -> None:
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                self.ends.append(client)
                if self.silent:
                    continue
                server = socket.create_connection(self.to)
                self.ends.append(server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not self.silent:
                    target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        """Nobody is there: those that are connected hear of it, and others are refused."""
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._end()

    def swallow(self) -> None:
        """From now on nothing gets through, and nobody hears of it."""
        self.silent = True

    def mend(self) -> None:
        self.silent = False
        self._end()  # of those that sent something into the hole nothing is left
        if self.listener.fileno() < 0:
            self.listener = socket.create_server(("127.0.0.1", self.port))
            self._serve()

    def _end(self) -> None:
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self.ends.clear()
