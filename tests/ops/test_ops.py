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
from typing import Callable, Set

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


def metrics_of_a_worker(path: Path) -> Set[str]:
    """The names of all samples that a worker tells."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    environment = dict(
        os.environ, WAYPOST_STORE_URL=f"sqlite:{path}", WAYPOST_STORE_DEPLOY="true", WAYPOST_LOG_LEVEL="off",
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
        told = metrics_of_a_worker(self.directory / "app.db")
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

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        (self.directory / "bin").mkdir()
        (self.directory / "bin/waypost").symlink_to(CLI)
        self.environment = {
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "WAYPOST_STORE_URL": f"sqlite:{self.directory / 'app.db'}",
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
        with contextlib.closing(sqlite3.connect(self.directory / "app.db", timeout=PATIENCE)) as connection:
            connection.executescript(text)

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
        self.sql("UPDATE infra_outbox_work SET next_attempt_at = next_attempt_at - 600000000")
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
        self.sql("UPDATE infra_outbox_work SET next_attempt_at = 0 WHERE attempt > 0")  # its time comes
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
        self.sql("UPDATE infra_job SET next_due_at = next_due_at - 86400000000")
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
        self.assertEqual({name for name in there if not hasattr(self, f"test_{name}")}, set())
        self.assertGreaterEqual(len(there), 10)


if __name__ == "__main__":
    CLI = os.path.abspath(sys.argv.pop(2))
    HOST = os.path.abspath(sys.argv.pop(1))
    unittest.main()
