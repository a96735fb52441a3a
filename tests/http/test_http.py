#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics and health by HTTP, as Prometheus and an orchestrator ask for them: test_http.py HOST CLI."""
from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import closing
from pathlib import Path
from typing import List, Optional, Tuple

HOST = CLI = ""
PATIENCE = 180
CONNECTIONS_MAX = 32  # ops/http.c


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Http(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "app.db"
        self.port = free_port()

    def start(self, **options: object) -> subprocess.Popen[str]:
        environment = dict(
            os.environ, WAYPOST_STORE_URL=f"sqlite:{self.path}", WAYPOST_STORE_DEPLOY="true",
            WAYPOST_LOG_LEVEL="off",
            **{f"WAYPOST_{name.upper()}": str(value) for name, value in options.items()},
        )
        host = subprocess.Popen(
            [HOST], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.addCleanup(self.end, host)
        return host

    def end(self, host: subprocess.Popen[str]) -> None:
        host.communicate(timeout=PATIENCE)

    def started(self, **options: object) -> subprocess.Popen[str]:
        host = self.start(**options)
        assert host.stdout
        self.assertEqual(host.stdout.readline(), "started\n")
        return host

    def ask(
        self, path: str, method: str = "GET", port: Optional[int] = None
    ) -> Tuple[int, http.client.HTTPMessage, str]:
        with closing(
            http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=PATIENCE)
        ) as connection:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def until(self, path: str, status: int) -> str:
        end = time.monotonic() + PATIENCE
        while (found := self.ask(path))[0] != status:
            self.assertLess(time.monotonic(), end, found)
        return found[2]

    def enqueue(self, topic: str) -> None:
        subprocess.run(
            [CLI, "--url", f"sqlite:{self.path}", "enqueue", topic, "x"], check=True,
            stdout=subprocess.DEVNULL,
        )

    # proves: MET-001
    def test_metrics_are_text_that_promtool_accepts(self) -> None:
        self.started(metrics_port=self.port)
        for topic in ['t "quoted"\\', "nobody's\nline"]:
            self.enqueue(topic)
        end = time.monotonic() + PATIENCE
        while True:
            status, headers, text = self.ask("/metrics")
            if "worker_processed_total 1\n" in text:
                break
            self.assertLess(time.monotonic(), end, text)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        self.assertIn('topic="t \\"quoted\\"\\\\"} 1\n', text)
        self.assertIn('queue_depth{store="default",queue="outbox",topic="nobody\'s\\nline"} 1\n', text)
        promtool = os.environ.get("PROMTOOL") or shutil.which("promtool")
        self.assertTrue(promtool, "promtool is missing: tools/promtool.sh gets it")
        checked = subprocess.run([str(promtool), "check", "metrics"], input=text, text=True, capture_output=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        self.assertEqual(self.ask("/health")[0], 404)  # is not asked for

    # proves: HLT-001
    def test_health_live_and_ready(self) -> None:
        host = self.started(health_port=self.port, health_overdue_ms=1000)
        text = self.until("/health", 200)
        self.assertEqual(json.loads(text)["status"], "healthy")
        self.assertEqual(self.ask("/health/live")[0], 200)
        self.assertEqual(self.ask("/health/ready")[0], 200)
        self.assertEqual(self.ask("/health/scheduler")[0], 200)  # it has a handler of timers
        self.assertEqual(self.ask("/metrics")[0], 404)
        self.enqueue("nobody's")
        with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database, database:
            database.execute("UPDATE infra_outbox_work SET next_attempt_at = next_attempt_at - 5000000")
        status, headers, text = self.ask("/health")
        self.assertEqual((status, json.loads(text)["status"]), (200, "degraded"))
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertEqual(json.loads(self.ask("/health/scheduler")[2])["status"], "healthy")
        with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database, database:
            database.execute("UPDATE infra_migration SET number = 60 WHERE number = 2")
        status, _, text = self.ask("/health/ready")
        self.assertEqual((status, json.loads(text)["status"]), (503, "unhealthy"))
        self.assertEqual(self.ask("/health/live")[0], 200)
        with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database, database:
            database.execute("UPDATE infra_migration SET number = 2 WHERE number = 60")
        host.stdin.write("stop\n")  # type: ignore[union-attr]
        host.stdin.flush()  # type: ignore[union-attr]
        self.assertEqual(host.stdout.readline(), "stopped\n")  # type: ignore[union-attr]
        with self.assertRaises(ConnectionRefusedError):
            self.ask("/health")
        self.started(health_port=self.port)  # the port is free again
        host.communicate(timeout=PATIENCE)
        self.assertEqual(host.returncode, 0)

    # proves: MET-001, HLT-001
    def test_one_port_and_two(self) -> None:
        other = free_port()
        self.started(metrics_port=self.port, health_port=other)
        self.assertEqual(self.ask("/metrics")[0], 200)
        self.assertEqual(self.ask("/health/live")[0], 404)
        self.assertEqual(self.ask("/health/live", port=other)[0], 200)
        self.port = free_port()
        self.started(metrics_port=self.port, health_port=self.port)
        for path in ["/metrics", "/health/live"]:
            self.assertEqual(self.ask(path)[0], 200)

    # proves: HLT-001
    def test_port_that_is_taken_and_address_that_is_none_are_told_at_the_start(self) -> None:
        with closing(socket.socket()) as taken:
            taken.bind(("127.0.0.1", self.port))
            taken.listen()
            _, errors = self.start(metrics_port=self.port).communicate(timeout=PATIENCE)
            self.assertIn(f"metrics.port: 127.0.0.1 port {self.port} cannot be listened on", errors)
        _, errors = self.start(metrics_port=self.port, http_address="localhost").communicate(timeout=PATIENCE)
        self.assertIn('http.address: "localhost" is no address', errors)
        _, errors = self.start(metrics_port=65536).communicate(timeout=PATIENCE)
        self.assertIn("metrics.port", errors)

    # proves: HLT-001
    def test_only_this_host_is_listened_to(self) -> None:
        self.started(health_port=self.port)
        table = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
        listening = [line.split()[1] for line in table.splitlines() if f":{self.port:04X} " in line
                     and line.split()[3] == "0A"]
        self.assertEqual(listening, [f"0100007F:{self.port:04X}"])

    # proves: HLT-001
    def test_bad_requests_are_refused_and_the_next_one_is_answered(self) -> None:
        self.started(health_port=self.port)
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "BREW"]:
            status, headers, _ = self.ask("/health/live", method)
            self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"))
        status, headers, text = self.ask("/health/live", "HEAD")
        self.assertEqual((status, text), (200, ""))
        for path in ["/", "/health/", "/health/../metrics", "/health/live/x", "//health", "/%00", "/" + "a" * 8000]:
            self.assertEqual(self.ask(path)[0], 404)
        for junk in [b"\x00\xff\x16\x03\x01 junk\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\n" + b"X: " + b"b" * 100000 + b"\r\n\r\n"]:
            with closing(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)) as raw:
                try:
                    raw.sendall(junk)
                    answer = raw.recv(64)
                except ConnectionError:  # it has heard enough
                    answer = b""
                self.assertFalse(answer.startswith(b"HTTP/1.1 200"), answer)
            self.assertEqual(self.ask("/health/live")[0], 200)

    # proves: HLT-001
    def test_clients_that_say_nothing_are_bounded_and_let_go(self) -> None:
        host = self.started(health_port=self.port)
        silent: List[socket.socket] = []
        for _ in range(2 * CONNECTIONS_MAX):
            client = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
            client.sendall(b"GET /health/live HTTP/1.1\r\n")
            silent.append(client)
        threads = len(list(Path(f"/proc/{host.pid}/task").iterdir()))
        self.assertLess(threads, 2 * CONNECTIONS_MAX)
        end = time.monotonic() + PATIENCE
        while True:  # when the first ones are let go, others are heard
            try:
                if self.ask("/health/live")[0] == 200:
                    break
            except OSError:
                pass
            self.assertLess(time.monotonic(), end)
        for client in silent:
            client.close()

    # proves: HLT-001
    def test_clients_that_drip_are_let_go_too(self) -> None:
        self.started(health_port=self.port)
        dripping = [socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
                    for _ in range(CONNECTIONS_MAX)]
        for client in dripping:
            client.sendall(b"GET /health/live HTTP/1.1\r\nX: ")
        end = time.monotonic() + PATIENCE
        over = 0
        while over < CONNECTIONS_MAX:  # never silent for long, and never done
            self.assertLess(time.monotonic(), end, "a client that drips stayed connected")
            over = 0
            for client in dripping:
                try:
                    client.sendall(b"x")
                except ConnectionError:
                    over += 1
            time.sleep(0.2)
        self.assertEqual(self.ask("/health/live")[0], 200)
        for client in dripping:
            client.close()

    # proves: HLT-001
    def test_worker_ends_with_clients_that_are_connected(self) -> None:
        host = self.started(health_port=self.port)
        with closing(socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)) as client:
            client.sendall(b"GET /health HTTP/1.1\r\n")
            host.communicate(timeout=PATIENCE)
            self.assertEqual(host.returncode, 0)


if __name__ == "__main__":
    CLI = os.path.abspath(sys.argv.pop(2))
    HOST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
