#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard's API by HTTP, and its page in a browser: test_dashboard.py HOST CLI SCREENSHOTS [TEST]."""
from __future__ import annotations

import http.client
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple
from urllib.parse import urlsplit

HOST = CLI = SHOTS = ""
PATIENCE = 180
TOKEN = "0123456789abcdef-token"
ROOT = Path(__file__).resolve().parents[2]
HOSTILE = '<img src=x onerror="alert(1)">'


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Base(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.url = f"sqlite:{folder.name}/app.db"
        self.port = free_port()

    def start(self, **options: object) -> None:
        environment = dict(
            os.environ, WAYPOST_STORE_URL=self.url, WAYPOST_STORE_DEPLOY="true",
            WAYPOST_LOG_LEVEL="info", WAYPOST_DASHBOARD_PORT=str(self.port),
            **{f"WAYPOST_{name.upper()}": str(value) for name, value in options.items()},
        )
        self.log = tempfile.TemporaryFile("w+")
        self.addCleanup(self.log.close)
        host = subprocess.Popen([HOST], env=environment, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=self.log)
        self.addCleanup(lambda: host.communicate(timeout=PATIENCE))
        assert host.stdout
        self.assertEqual(host.stdout.readline(), "started\n")

    def cli(self, *arguments: str) -> Any:
        done = subprocess.run([CLI, "--url", self.url, "--json", *arguments], text=True, check=True,
                              stdout=subprocess.PIPE, timeout=PATIENCE)
        return json.loads(done.stdout) if done.stdout else None

    def bury(self, topic: str, payload: str = "x", text: str = "no") -> str:
        made = self.cli("enqueue", "--", topic, payload)
        subprocess.run([CLI, "--url", self.url, "worker", "--drain", topic, "--", "sh", "-c",
                        f"cat >/dev/null; echo '{text}' >&2; exit 65"], check=True,
                       stderr=subprocess.DEVNULL, timeout=PATIENCE)
        return str(made["id"])

    def ask(self, path: str, body: Any = None, headers: Optional[Dict[str, str]] = None,
            method: Optional[str] = None) -> Tuple[int, Any, Dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(connection):
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
            response = connection.getresponse()
            text = response.read()
            kind = response.headers["Content-Type"]
            answer = json.loads(text) if kind == "application/json" else text.decode()
            return response.status, answer, dict(response.headers)

    def get(self, path: str, token: str = "") -> Any:
        status, answer, _ = self.ask(f"/api/{path}", headers=self.bearer(token))
        self.assertEqual(status, 200, answer)
        return answer

    @staticmethod
    def bearer(token: str) -> Dict[str, str]:
        return {"Authorization": f"Bearer {token}"} if token else {}

    @staticmethod
    def rights(**more: str) -> Dict[str, str]:
        return {"Authorization": f"Bearer {TOKEN}", "X-Waypost": "1",
                "Content-Type": "application/json",
                **{name.replace("_", "-"): value for name, value in more.items()}}

    def post(self, path: str, body: Any, **more: str) -> Tuple[int, Any]:
        status, answer, _ = self.ask(f"/api/{path}", body, self.rights(**more))
        return status, answer


class Api(Base):
    # ---- the files --------------------------------------------------------------------------

    # proves: DSH-001
    def test_page_comes_with_headers_that_keep_others_out(self) -> None:
        self.start()
        for path, part in (("/", "<title>Waypost"), ("/style.css", "--back"), ("/app.js", "use strict")):
            status, text, headers = self.ask(path)
            self.assertEqual(status, 200)
            self.assertIn(part, text)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Frame-Options"], "DENY")
        self.assertEqual(self.ask("/metrics")[0], 404)
        self.assertEqual(self.ask("/", method="DELETE")[0], 405)
        self.assertEqual(self.ask("/api/none")[0], 404)

    # proves: DSH-001
    def test_one_port_for_all(self) -> None:
        self.start(metrics_port=self.port, health_port=self.port)
        for path in ("/", "/metrics", "/health", "/api/overview"):
            self.assertEqual(self.ask(path)[0], 200, path)

    # ---- who may ----------------------------------------------------------------------------

    # proves: DSH-002
    def test_without_a_token_nothing_can_be_changed(self) -> None:
        self.start()
        self.assertEqual(self.get("session"), {"writable": False, "trusted": False, "payloads": False})
        status, answer = self.post("topic/pause", {"queue": "outbox", "topic": "t", "by": "me"})
        self.assertEqual(status, 403)
        self.assertIn("read-only", answer["error"])
        self.assertEqual(self.get("paused")["items"], [])

    # proves: DSH-002
    def test_changes_want_the_token_the_header_and_our_own_origin(self) -> None:
        self.start(dashboard_token=TOKEN)
        body = {"queue": "outbox", "topic": "t", "by": "me"}
        good = self.rights()
        for status, headers in (
            (401, {**good, "Authorization": ""}), (401, {**good, "Authorization": "Bearer x"}),
            (401, {**good, "Authorization": f"Bearer {TOKEN}x"}),
            (401, {**good, "Authorization": f"Bearer {TOKEN[:-1]}"}),
            (401, {**good, "Authorization": f"Basic {TOKEN}"}),
            (403, {name: value for name, value in good.items() if name != "X-Waypost"}),
            (403, {**good, "Origin": "http://evil.example"}), (403, {**good, "Origin": "null"}),
            (403, {**good, "Origin": f"http://127.0.0.1:{self.port + 1}"}),
            (403, {**good, "Sec-Fetch-Site": "cross-site"}),
            (415, {**good, "Content-Type": "text/plain"}),
            (421, {**good, "Host": f"evil.example:{self.port}"}),
            (421, {**good, "Host": "127.0.0.1.evil.example"}),
        ):
            self.assertEqual(self.ask("/api/topic/pause", body, headers)[0], status, headers)
        self.assertEqual(self.get("paused")["items"], [])
        origin = f"http://127.0.0.1:{self.port}"
        self.assertEqual(self.post("topic/pause", body, Origin=origin), (200, {"changed": 1}))
        self.assertEqual(self.ask("/api/topic/pause", headers=good)[0], 405)
        self.assertEqual(self.ask("/api/overview", {}, good)[0], 405)
        self.assertEqual(self.ask("/api/session", headers=self.bearer("wrong"))[0], 401)
        self.assertTrue(self.get("session", TOKEN)["trusted"])
        self.log.seek(0)
        self.assertNotIn(TOKEN, self.log.read())

    # proves: DSH-002
    def test_names_of_hosts_are_ours_or_refused(self) -> None:
        self.start(dashboard_hosts="ops.example, other.example")
        for host, status in (("ops.example", 200), ("OTHER.example:8080", 200), ("localhost", 200),
                             ("[::1]:80", 200), ("10.1.2.3", 200), ("example", 421), ("", 421)):
            self.assertEqual(self.ask("/api/session", headers={"Host": host})[0], status, host)

    # proves: DSH-002
    def test_short_token_is_refused_at_the_start(self) -> None:
        environment = dict(os.environ, WAYPOST_STORE_URL=self.url, WAYPOST_STORE_DEPLOY="true",
                           WAYPOST_DASHBOARD_PORT=str(self.port), WAYPOST_DASHBOARD_TOKEN="secret-15-chars")
        done = subprocess.run([HOST], env=environment, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("dashboard.token", done.stderr)
        self.assertNotIn("secret-15", done.stderr)

    # proves: DSH-002
    def test_payloads_are_for_who_has_the_token_or_by_the_option(self) -> None:
        self.start(dashboard_token=TOKEN)
        id = self.cli("enqueue", "t", "secret", "--header", "h:v")["id"]
        call = f"message?queue=outbox&id={id}"
        hidden = self.get(call)
        self.assertEqual((hidden["hidden"], hidden["payloadBytes"]), (True, 6))
        self.assertNotIn("payload", hidden)
        self.assertNotIn("headers", hidden)
        shown = self.get(call, TOKEN)
        self.assertEqual((shown["payload"], json.loads(shown["headers"])), ("secret", {"h": "v"}))
        self.port = free_port()
        self.start(dashboard_payloads="true")
        self.assertEqual(self.get(call)["payload"], "secret")

    # ---- what it does -----------------------------------------------------------------------

    # proves: DSH-003
    def test_requests_that_are_malformed_are_told_so(self) -> None:
        self.start(dashboard_token=TOKEN)
        for body in (b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"a":1,"a":2}', b"\xff\xfe", b"[" * 5000):
            self.assertEqual(self.post("topic/pause", body)[0], 400, body[:20])
        good = {"queue": "outbox", "topic": "t", "by": "me"}
        for change in ({"queue": "x"}, {"topic": ""}, {"topic": 5}, {"topic": "a" * 300}, {"by": None}):
            self.assertEqual(self.post("topic/pause", {**good, **change})[0], 400, change)
        self.assertEqual(self.post("topic/pause", {**good, "store": "none"})[0], 404)
        for path in ("unfinished?limit=0", "unfinished?limit=101", "unfinished?limit=x", "unfinished?queue=x",
                     "dead?after=1.2", "dead?after=x", "message?queue=outbox&id=x", "message?queue=outbox",
                     "runs?before=x", "audit?before=-1"):
            self.assertEqual(self.ask(f"/api/{path}")[0], 400, path)
        id = "01a226ca-38cf-7f2d-b47e-1049f70f0cb7"
        self.assertEqual(self.ask(f"/api/message?queue=outbox&id={id}")[0], 404)
        for body in ({"by": "me"}, {"ids": [], "by": "me"}, {"ids": ["x"], "by": "me"}, {"ids": [5], "by": "me"},
                     {"ids": "x", "by": "me"}, {"all": "yes", "by": "me"}, {"all": True}, {"all": True, "by": "me", "rate": -1},
                     # what would be wider than it is meant
                     {"all": True, "by": "me", "topic": 5}, {"all": True, "by": "me", "topic": ""},
                     {"all": True, "by": "me", "topics": "t"}, {"all": True, "by": "me", "queue": None},
                     {"all": True, "by": "me", "reason": ["x"]}):
            self.assertEqual(self.post("dead/discard", body)[0], 400, body)
        self.assertEqual(self.post("dead/edit", {"queue": "outbox", "id": id, "by": "me"})[0], 400)
        self.assertEqual(self.post("dead/edit", {"queue": "outbox", "id": id, "by": "me", "payload": ""}),
                         (200, {"changed": 0}))
        self.assertEqual(self.post("job/pause", {"job": "none", "by": "me"})[0], 404)
        self.assertEqual(self.get("audit")["items"], [])

    # proves: DSH-003
    def test_body_that_is_too_long_is_refused_and_a_large_payload_is_not(self) -> None:
        self.start(dashboard_token=TOKEN)
        id = self.bury("t", "before")
        edit = {"queue": "outbox", "id": id, "by": "me"}
        large = "\u2603" * 333333
        self.assertEqual(self.post("dead/edit", {**edit, "payload": large}), (200, {"changed": 1}))
        shown = self.get(f"message?queue=outbox&id={id}", TOKEN)
        self.assertTrue(shown["cut"])
        self.assertEqual(shown["payloadBytes"], 999999)
        listed = self.get("dead?queue=outbox", TOKEN)["items"][0]
        self.assertEqual(listed["payloadBytes"], 999999)
        self.assertNotIn("payload", listed)
        self.assertTrue(large.startswith(shown["payload"]) and len(shown["payload"]) > 80000)
        self.assertEqual(self.post("dead/edit", {**edit, "payload": "x" * (3 << 20)})[0], 413)

    # proves: DSH-003, DLQ-001
    def test_dead_letters_are_listed_in_pages_replayed_edited_discarded_and_noted(self) -> None:
        self.start(dashboard_token=TOKEN)
        ids = [self.bury(HOSTILE if n == 2 else f"t{n}", f"p{n}", f"reason {n}") for n in range(5)]
        seen: List[str] = []
        after = ""
        while True:
            page = self.get(f"dead?limit=2&after={after}")
            seen += [item["id"] for item in page["items"]]
            after = page["next"]
            if not after:
                break
        self.assertEqual(seen, ids)
        self.assertEqual([m["topic"] for m in self.get("dead?reason=reason+2")["items"]], [HOSTILE])
        self.assertEqual(self.get("dead?queue=inbox")["items"], [])
        by = {"by": "Ann <b>"}
        self.assertEqual(self.post("dead/edit", {"queue": "outbox", "id": ids[0], "payload": "new", **by}), (200, {"changed": 1}))
        self.assertEqual(self.post("dead/replay", {"ids": ids[:1], **by}), (200, {"changed": 1}))
        self.assertEqual(self.get(f"message?queue=outbox&id={ids[0]}", TOKEN)["payload"], "new")
        self.assertEqual(self.post("dead/discard", {"topic": HOSTILE, "all": True, **by}), (200, {"changed": 1}))
        self.assertEqual(self.post("dead/discard", {"ids": ids[:2], **by}), (200, {"changed": 1}))
        notes = self.get("audit?limit=2")
        rest = self.get(f"audit?before={notes['next']}")
        told = [(a["action"], a["by"], a["subject"]) for a in notes["items"] + rest["items"]]
        self.assertEqual(told, [("dead.purge", "Ann <b>", None), ("dead.purge", "Ann <b>", None),
                                ("dead.replay", "Ann <b>", ids[0]), ("dead.edit", "Ann <b>", ids[0])])
        self.assertEqual([a["action"] for a in self.cli("audit")], [action for action, _, _ in told])

    # proves: DSH-003
    def test_lists_of_jobs_runs_timers_leases_and_what_is_unfinished(self) -> None:
        self.start(dashboard_token=TOKEN)
        for n in range(3):
            self.cli("enqueue", "--queue", "timers", "--delay", "1h", f"timer{n}", "x")
            self.cli("jobs", "put", f"job{n}", "0 3 * * *")
            self.cli("enqueue", HOSTILE, "x")
        for path, name, values in (("timers", "topic", ["timer0", "timer1", "timer2"]),
                                   ("jobs", "name", ["job0", "job1", "job2"]),
                                   ("unfinished", "topic", [HOSTILE] * 3)):
            first = self.get(f"{path}?limit=2")
            second = self.get(f"{path}?limit=2&after={first['next']}")
            self.assertEqual([item[name] for item in first["items"] + second["items"]], values)
            self.assertIsNone(second["next"])
        for n in range(3):
            status, answer = self.post("job/trigger", {"job": "job1", "by": "me"})
            self.assertEqual(status, 200, answer)
        runs = self.get("runs?job=job1&limit=2")
        self.assertEqual(len(runs["items"] + self.get(f"runs?job=job1&before={runs['next']}")["items"]), 3)
        self.assertEqual(self.post("job/pause", {"job": "job1", "by": "me"})[0], 200)
        self.assertEqual([job["enabled"] for job in self.get("jobs")["items"]], [True, False, True])
        self.assertEqual(self.post("job/resume", {"job": "job1", "by": "me"})[0], 200)
        self.assertEqual(self.get("leases?kind=semaphores")["items"], [])
        self.assertEqual(self.get("running")["items"], [])
        topics = self.get("overview")["stores"][0]["queues"]["outbox"]["topics"]
        self.assertEqual([(t["topic"], t["ready"]) for t in topics], [(HOSTILE, 3)])

    # proves: DSH-003
    def test_many_ask_at_once_and_the_worker_goes_on(self) -> None:
        self.start(dashboard_token=TOKEN)
        failed: List[Any] = []

        def reader() -> None:
            for _ in range(10):
                for path in ("overview", "unfinished", "audit"):
                    status, answer, _ = self.ask(f"/api/{path}")
                    if status != 200:
                        failed.append((path, status, answer))

        readers = [threading.Thread(target=reader) for _ in range(6)]
        for thread in readers:
            thread.start()
        for n in range(20):
            self.assertEqual(self.post("topic/pause" if n % 2 == 0 else "topic/resume",
                                       {"queue": "outbox", "topic": "t", "by": "me"}), (200, {"changed": 1}))
        for thread in readers:
            thread.join(PATIENCE)
        self.assertEqual(failed, [])
        self.assertEqual(len(self.get("audit")["items"]), 20)

    # ---- databases that do not answer -------------------------------------------------------

    # proves: DSH-003
    def test_database_that_is_locked_costs_no_more_than_the_limit(self) -> None:
        self.start(dashboard_token=TOKEN, health_timeout_ms=500)
        with closing(sqlite3.connect(self.url[len("sqlite:"):], isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            body = {"queue": "outbox", "topic": "t", "by": "me"}
            status, answer = self.post("topic/pause", body)
            self.assertEqual(status, 504, answer)
            self.assertIn("look whether it is done", answer["error"])
            self.assertEqual(self.get("overview")["stores"][0]["up"], True)
            other.execute("ROLLBACK")

    # proves: DSH-003
    def test_server_that_is_a_black_hole_is_told_and_the_page_stays(self) -> None:
        url = urlsplit(os.environ["WAYPOST_TEST_POSTGRESQL"])
        hole = Hole((url.hostname or "", url.port or 0))
        self.addCleanup(hole.close)
        self.url = url._replace(netloc=f"{url.username}@127.0.0.1:{hole.port}").geturl()
        self.start(dashboard_token=TOKEN, health_timeout_ms=500, store_schema=f"dash{uuid.uuid4().hex[:12]}")
        self.assertEqual(self.get("unfinished")["items"], [])
        hole.swallows = True
        for _ in range(3):
            for path in ("unfinished", "audit"):
                self.assertEqual(self.ask(f"/api/{path}")[0], 504)
            store = self.get("overview")["stores"][0]
            self.assertEqual((store["up"], store["error"]), (False, "the database did not answer in time"))
        self.assertEqual(self.ask("/")[0], 200)
        self.assertEqual(self.get("running")["items"], [])
        hole.close()


class Hole:
    """A way to a server that can swallow what goes in."""

    def __init__(self, server: Tuple[str, int]) -> None:
        self.server = server
        self.swallows = False
        self.sockets: List[socket.socket] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        try:
            while True:
                client = self.listener.accept()[0]
                server = socket.create_connection(self.server)
                self.sockets += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self.pass_on, args=ends, daemon=True).start()
        except OSError:
            pass

    def pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if not self.swallows:
                    target.sendall(data)
        except OSError:
            pass

    def close(self) -> None:
        for each in [self.listener, *self.sockets]:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            each.close()


class Page(Base):
    # ---- in a browser -----------------------------------------------------------------------

    def browse(self, mode: str) -> None:
        module = ROOT / "build/browser/node_modules/playwright-core"
        folder = Path(SHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["node", str(Path(__file__).with_name("page.mjs")), f"http://127.0.0.1:{self.port}/", mode, str(folder)],
            env=dict(os.environ, PLAYWRIGHT=str(module), TOKEN=TOKEN), text=True, capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])

    # proves: DSH-004
    def test_page_of_an_empty_store(self) -> None:
        self.start()
        self.browse("empty")

    # proves: DSH-004
    def test_page_of_a_store_with_all_kinds_of_things(self) -> None:
        self.start(dashboard_token=TOKEN)
        for n in range(7):
            self.cli("enqueue", "mails.send", json.dumps({"to": f"user{n}@example.com"}))
        self.cli("enqueue", "reports.monthly-with-a-rather-long-name-that-goes-on-and-on.example.com", "x")
        self.cli("enqueue", "later", "x", "--delay", "2h")
        for n in range(3):
            self.cli("enqueue", "--queue", "timers", "--delay", f"{n + 1}h", "invoices.remind", "x", "--correlation-id", f"c-{n}")
        self.cli("jobs", "put", "nightly", "0 3 * * *", "--zone", "Europe/Berlin", "--topic", "report")
        self.cli("jobs", "put", "each-minute", "* * * * *")
        self.cli("jobs", "trigger", "nightly")
        for n in range(4):
            self.bury("orders.paid", json.dumps({"order": n}), "card declined: the bank did not say why")
        self.bury(HOSTILE, "<script>alert(1)</script>", "<b>bold</b> & broken")
        ends = {text: self.bury(f"ends.{n}", text) for n, text in enumerate(("a\r\nb\r\n", "a\nb\r\n"))}
        self.browse("full")
        told = [self.get(f"message?queue=outbox&id={id}", TOKEN)["payload"] for id in ends.values()]
        self.assertEqual(told, ["A\r\nb\r\n", "a\nb\r\n"], "ends of lines are kept, or nothing is edited")


if __name__ == "__main__":
    HOST, CLI, SHOTS = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
