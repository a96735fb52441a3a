#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Alerts, the dashboard and the runbooks: test_ops.py HOST CLI, under tools/promtool.sh."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Optional, Set

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import servers  # noqa: E402

HOST = CLI = ""
PATIENCE = 180
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: What PromQL itself has, and labels.
WORDS = set(
    "sum min max by rate increase histogram_quantile absent and le store queue topic instance m".split()
)


def promtool(*words: object) -> subprocess.CompletedProcess[str]:
    program = os.environ.get("PROMTOOL") or shutil.which("promtool")
    assert program, "promtool is missing: tools/promtool.sh gets it"
    return subprocess.run([program, *map(str, words)], text=True, capture_output=True)


def metrics_of_a_worker(url: str) -> Set[str]:
    """The names of all samples that a worker tells."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    environment = dict(
        os.environ, WAYPOST_STORE_URL=url, WAYPOST_STORE_DEPLOY="true", WAYPOST_LOG_LEVEL="off",
        WAYPOST_METRICS_PORT=str(port),
    )
    host = subprocess.Popen([HOST], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert host.stdout and host.stdout.readline() == "started\n"
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as connection:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
    finally:
        host.communicate(timeout=PATIENCE)
    return set(re.findall(r"^(\w+)[{ ]", text, re.M))


class Watching(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    # proves: ALR-001
    def test_rules_are_valid_and_fire_when_they_should(self) -> None:
        for words in (["check", "rules", DOCS / "ops/alerts.yml"], ["test", "rules", DOCS / "ops/alerts_test.yml"]):
            done = promtool(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # proves: ALR-001
    def test_every_alert_is_tested_and_has_its_runbook(self) -> None:
        rules = (DOCS / "ops/alerts.yml").read_text()
        names = set(re.findall(r"- alert: (\w+)", rules))
        tests = (DOCS / "ops/alerts_test.yml").read_text()
        fired = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts:\n", tests))
        self.assertEqual(names, fired)
        runbooks = re.findall(r"runbook: (\S+)", rules)
        self.assertEqual(len(runbooks), len(names))
        for runbook in runbooks:
            self.assertTrue((ROOT / runbook).exists(), runbook)

    # proves: ALR-001
    def test_alerts_and_dashboard_use_metrics_that_a_worker_tells(self) -> None:
        told = metrics_of_a_worker(f"sqlite:{self.directory / 'app.db'}")
        told |= metrics_of_a_worker(servers.database(self, servers.SERVERS["Postgresql"]))
        dashboard = json.loads((DOCS / "ops/dashboard.json").read_text())
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
        self.assertGreater(len(expressions), 20)
        rules = re.findall(r"expr: (?:\|\n((?:          .*\n)+)|(.*)\n)", (DOCS / "ops/alerts.yml").read_text())
        alerts = [many or one for many, one in rules]
        for expression in expressions + alerts:
            plain = re.sub(r'"[^"]*"|\$\w+', "", expression)
            names = set(re.findall(r"[a-z_]\w*", plain)) - WORDS
            self.assertTrue(names, expression)
            self.assertLessEqual(names, told, expression)
        lines = ["groups: [{name: dashboard, rules: ["]
        for number, expression in enumerate(expressions):
            plain = expression.replace("$__rate_interval", "5m").replace("$store", ".*")
            lines.append(f"{{record: 'r{number}', expr: {json.dumps(plain)}}},")
        (self.directory / "rules.yml").write_text("\n".join(lines) + "]}]\n")
        done = promtool("check", "rules", self.directory / "rules.yml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Runbooks(unittest.TestCase):
    """Each fault is made; then the runbook's own commands are typed."""

    server: Optional[str] = None  # the variable with its URL; None: SQLite
    prefix = "infra_"  # before the names of tables

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        (self.directory / "bin").mkdir()
        (self.directory / "bin/waypost").symlink_to(CLI)
        self.url = f"sqlite:{self.directory / 'app.db'}"
        if self.server:
            self.url = servers.database(self, self.server)
        self.environment = {
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "WAYPOST_STORE_URL": self.url,
            **{key: value for key, value in os.environ.items() if "SAN_OPTIONS" in key},
        }
        self.retry_after(1)
        self.handler("exit 0")

    def retry_after(self, ms: int) -> None:
        for option in ("BASE", "MAX"):
            self.environment[f"WAYPOST_WORKER_BACKOFF_{option}_MS"] = str(ms)

    def shell(self, line: str, code: int = 0) -> str:
        done = subprocess.run(
            ["bash", "-c", line], capture_output=True, text=True, timeout=PATIENCE, cwd=self.directory,
            env=self.environment,
        )
        self.assertEqual(done.returncode, code, f"{line}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def handler(self, script: str) -> None:
        """The program that handles messages."""
        path = self.directory / "handle"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def deployed(self, *payloads: str, options: str = "") -> None:
        self.shell("waypost deploy")
        for payload in payloads:
            self.shell(f"waypost enqueue order.created {payload} {options}")

    def sql(self, text: str) -> None:
        """Done to the store's tables, by their names."""
        with contextlib.closing(self.connect()) as connection:
            connection.execute(text.format(at=self.prefix))
            connection.commit()

    def connect(self) -> Any:
        return sqlite3.connect(self.directory / "app.db", timeout=PATIENCE)

    def follow(self, runbook: str, section: str, code: int = 0) -> str:
        """Type the commands of a section; gives what they wrote. `waypost health` and `verify` end with the code."""
        text = (DOCS / "runbooks" / f"{runbook}.md").read_text()
        body = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
        lines = [line for block in re.findall(r"```sh\n(.*?)```", body, re.S) for line in block.splitlines()]
        asks = re.compile(r"waypost (health|verify)\b")
        return "".join(self.shell(line, code if asks.match(line) else 0) for line in lines)

    def until(self, condition: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def kill_a_worker_at_work(self) -> None:
        """Its message is held by a lease that is over."""
        self.handler("touch begun; exec sleep 600")
        worker = subprocess.Popen(
            [CLI, "--set", "worker.lease_ms=300", "worker", "order.created", "--", "./handle"],
            cwd=self.directory, env=self.environment, stderr=subprocess.DEVNULL,
        )
        self.until((self.directory / "begun").exists)
        worker.send_signal(signal.SIGKILL)
        worker.wait(PATIENCE)
        self.until(lambda: "leases that are over" in self.shell("waypost health; true"))

    # proves: RUN-001
    def test_dead_letters(self) -> None:
        self.deployed("1", "2")
        self.handler("echo 'no such customer' >&2; exit 65")
        self.shell("waypost worker order.created --drain -- ./handle")
        self.assertIn("no such customer", self.follow("dead-letters", "See"))
        self.handler("exit 0")
        self.follow("dead-letters", "Do")
        self.shell("waypost worker order.created --drain -- ./handle")
        self.assertNotIn("order.created", self.follow("dead-letters", "Over"))

    # proves: RUN-001
    def test_messages_wait(self) -> None:
        self.deployed("1")
        self.sql("UPDATE {at}outbox_work SET next_attempt_at = next_attempt_at - 600000000")
        self.assertIn("order.created", self.follow("messages-wait", "See", 4))
        self.follow("messages-wait", "Do")
        self.follow("messages-wait", "Over")

    # proves: RUN-001
    def test_stale_leases(self) -> None:
        self.deployed("1")
        self.kill_a_worker_at_work()
        self.assertIn("leases that are over", self.follow("stale-leases", "See", 4))
        self.handler("exit 0")
        self.follow("stale-leases", "Do")
        self.follow("stale-leases", "Over")

    # proves: RUN-001
    def test_schema_older(self) -> None:
        self.sql("CREATE TABLE app (n INTEGER)")
        self.assertIn("schema", self.follow("schema-older", "See", 1))
        self.follow("schema-older", "Do")
        self.follow("schema-older", "Over")

    # proves: RUN-001
    def test_database_unreachable(self) -> None:
        self.deployed("1")
        self.shell("mkdir away && mv app.db* away")
        self.follow("database-unreachable", "See", 5)
        self.shell("mv away/* .")
        self.follow("database-unreachable", "Over")
        self.assertIn("order.created", self.shell("waypost peek"))  # nothing is lost

    # proves: RUN-001
    def test_handlers_hang(self) -> None:
        self.deployed("1")
        self.kill_a_worker_at_work()
        seen = json.loads(self.shell("waypost --json stats --unfinished"))
        self.assertIn("order.created", self.follow("handlers-hang", "See"))
        self.assertTrue(seen)
        self.follow("handlers-hang", "Do")
        self.assertIn("timeout", self.follow("handlers-hang", "Over"))

    # proves: RUN-001
    def test_blocked_key(self) -> None:
        self.deployed("bad", "good", options="--ordering-key customer-7")
        self.retry_after(60000)
        self.handler("grep -q good")
        self.shell("waypost worker order.created --drain -- ./handle")
        seen = json.loads(self.shell("waypost --json stats --unfinished"))
        self.assertEqual(sum(row["blocked"] for row in seen), 1)
        self.assertIn("order.created", self.follow("blocked-key", "See"))
        self.sql("UPDATE {at}outbox_work SET next_attempt_at = 0 WHERE attempt > 0")  # its time comes
        self.follow("blocked-key", "Do")
        self.assertNotIn("order.created", self.follow("blocked-key", "Over"))
        self.assertEqual(len(json.loads(self.shell("waypost --json dead list"))), 1)

    # proves: RUN-001
    def test_job_does_not_run(self) -> None:
        self.deployed()
        self.shell("waypost jobs put nightly '0 3 * * *' --topic report && waypost jobs pause nightly")
        self.assertIn("nightly", self.follow("job-does-not-run", "See"))
        self.assertEqual(json.loads(self.shell("waypost --json runs list --job nightly")), [])
        self.follow("job-does-not-run", "Do")
        self.assertIn("nightly", self.follow("job-does-not-run", "Over"))

    # proves: RUN-001
    def test_job_late(self) -> None:
        self.deployed()
        self.shell("waypost jobs put hourly '0 * * * *' --topic report")
        self.sql("UPDATE {at}job SET next_due_at = next_due_at - 86400000000")
        self.assertIn("its run is not made", self.follow("job-late", "See", 4))
        self.follow("job-late", "Do")
        self.follow("job-late", "Over")

    # proves: RUN-001
    def test_wal_grows(self) -> None:
        self.deployed()
        with contextlib.closing(sqlite3.connect(self.directory / "app.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM infra_outbox").fetchall()
            with contextlib.closing(sqlite3.connect(self.directory / "app.db")) as writer:
                writer.execute("CREATE TABLE filler (bytes BLOB)")
                writer.execute("INSERT INTO filler VALUES (zeroblob(3000000))")
                writer.commit()
            self.assertIn("write-ahead log", self.follow("wal-grows", "See", 4))
        self.follow("wal-grows", "Do")
        self.follow("wal-grows", "Over")

    # proves: RUN-001
    def test_every_runbook_is_rehearsed(self) -> None:
        there = {path.stem.replace("-", "_") for path in (DOCS / "runbooks").glob("*.md")}
        cases = (Runbooks, RunbooksOnPostgresql, RunbooksOnMariadb)
        rehearsed = {name for name in there if any(getattr(case, f"test_{name}", None) for case in cases)}
        self.assertEqual(there - rehearsed, set())
        self.assertGreaterEqual(len(there), 11)


class OnServer(Runbooks):
    test_wal_grows = test_every_runbook_is_rehearsed = None  # type: ignore[assignment]

    # proves: RUN-001
    def test_database_unreachable(self) -> None:
        """The network to the server is cut, then it swallows all; a worker that runs meanwhile goes on by itself."""
        parts = re.match(r"(.*(?:@127\.0\.0\.1:|;Port=))(\d+)(.*)", self.url)
        assert parts
        network = servers.Network(int(parts[2]))
        self.addCleanup(network.cut)
        self.environment["WAYPOST_STORE_URL"] = f"{parts[1]}{network.port}{parts[3]}"
        self.deployed()
        self.handler("cat >> handled; echo >> handled")
        log = (self.directory / "log").open("w")
        self.addCleanup(log.close)
        worker = subprocess.Popen(
            [CLI, "worker", "order.created", "--", "./handle"], cwd=self.directory, env=self.environment, stderr=log
        )
        self.addCleanup(worker.wait, PATIENCE)
        self.addCleanup(worker.kill)
        for number, fault in enumerate((network.cut, network.swallow)):
            self.shell(f"waypost enqueue order.created {number}")
            self.until(lambda: f"{number}\n" in self.handled())
            fault()
            self.assertRegex(self.follow("database-unreachable", "See", 5), "unhealthy: .*(connect|did not answer)")
            network.mend()
            self.follow("database-unreachable", "Over")
        self.shell("waypost enqueue order.created last")
        self.until(lambda: "last\n" in self.handled())
        self.assertIsNone(worker.poll())

    def handled(self) -> str:
        path = self.directory / "handled"
        return path.read_text() if path.exists() else ""


class RunbooksOnPostgresql(OnServer):
    server = servers.SERVERS["Postgresql"]
    prefix = "infra."

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.url)

    # proves: RUN-001
    def test_old_snapshot(self) -> None:
        self.deployed()
        with contextlib.closing(self.connect()) as reader:
            reader.execute("SET application_name = 'report'")
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM infra.outbox")
            self.until(lambda: "snapshot" in self.shell("waypost health --set health.snapshot_ms=1; true"))
            self.environment["WAYPOST_HEALTH_SNAPSHOT_MS"] = "1"
            seen = self.follow("old-snapshot", "See", 4)
            self.assertIn("a snapshot has been held for", seen)
            self.assertIn("report", seen)
            self.environment["pid"] = str(reader.info.backend_pid)
            self.follow("old-snapshot", "Do")
        self.until(lambda: "healthy" in self.shell("waypost health; true").split())
        self.follow("old-snapshot", "Over")


class RunbooksOnMariadb(OnServer):
    server = servers.SERVERS["Mariadb"]

    def connect(self) -> Any:
        import pyodbc

        return pyodbc.connect(self.url[len("odbc:") :])


del OnServer  # has no server of its own

if __name__ == "__main__":
    CLI = os.path.abspath(sys.argv.pop(2))
    HOST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
