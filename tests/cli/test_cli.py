#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `waypost`, as an operator types it: test_cli.py PROGRAM."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import uuid
from pathlib import Path
from typing import Any, Dict, List, Optional

PROGRAM = ""
NONE = str(uuid.UUID(int=7))


class Cli(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.environment = {"PATH": os.environ["PATH"], "WAYPOST_STORE_URL": f"sqlite:{self.directory / 'app.db'}"}
        self.environment.update({key: value for key, value in os.environ.items() if "SAN_OPTIONS" in key})

    def run_cli(
        self, *words: str, code: int = 0, stdin: str = "", environment: Optional[Dict[str, str]] = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [PROGRAM, *words], input=stdin, capture_output=True, text=True, timeout=60, cwd=self.directory,
            env=environment or self.environment,
        )
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        if code == 0:
            self.assertEqual(done.stderr, "")
        else:
            self.assertTrue(done.stderr.startswith("waypost: ") or code == 4, done.stderr)
        return done

    def read(self, *words: str, **options: Any) -> Any:
        return json.loads(self.run_cli("--json", *words, **options).stdout)

    def sql(self, text: str) -> None:
        with contextlib.closing(sqlite3.connect(self.directory / "app.db")) as connection:
            connection.executescript(text)



class Schema(Cli):
    # proves: CLI-001
    def test_deploy_then_verify(self) -> None:
        self.assertIn("unavailable", self.run_cli("verify", code=1).stderr)
        self.run_cli("deploy")
        self.run_cli("deploy")
        self.assertEqual(self.read("verify")["engine"], "sqlite")
        self.assertEqual(self.run_cli("--version").stdout.strip(), self.read("verify")["version"])

    def test_url_and_options_on_the_command_line_win(self) -> None:
        self.run_cli("--url", f"sqlite:{self.directory / 'other.db'}", "deploy")
        self.assertTrue((self.directory / "other.db").exists())
        self.assertFalse((self.directory / "app.db").exists())
        self.run_cli("deploy", "--set", "store.id=mine")
        self.assertEqual(self.read("verify", "--set=store.id=mine")["store"], "mine")

    def test_wrong_command_lines_do_nothing(self) -> None:
        self.run_cli("deploy")
        for words, said in (
            ((), "no command"),
            (("stats", "extra"), "extra"),
            (("stats", "--frobnicate"), "--frobnicate"),
            (("stats", "--queue", "nothing"), "nothing"),
            (("stats", "--queue"), "needs a value"),
            (("frobnicate",), "frobnicate"),
            (("enqueue", "t"), "payload"),
            (("enqueue", "t", "x", "--delay", "5 s"), "--delay"),
            (("enqueue", "t", "x", "--delay", "5"), "--delay"),
            (("enqueue", "t", "x", "--delay=-5s"), "--delay"),
            (("enqueue", "t", "x", "--delay", "99999999999999d"), "--delay"),
            (("enqueue", "", "x"), "topic"),
            (("enqueue", "t", "x", "--header", "nothing"), "--header"),
            (("enqueue", "t", "x", "--queue", "inbox"), "outbox and timers"),
            (("enqueue", "t", "x", "y"), "y"),
            (("dead", "replay"), "--limit"),
            (("dead", "replay", "--limit", "many"), "many"),
            (("dead", "replay", "--limit", "-1"), "limit"),
            (("dead", "replay", "--all", "--id", "1"), "id"),
            (("dead", "purge", "--all"), "--yes"),
            (("dead", "frobnicate"), "frobnicate"),
            (("dead", "list", "--limit", "0"), "--limit"),
            (("show",), "id"),
            (("show", "1"), "id"),
            (("cleanup",), "--older-than"),
            (("jobs", "trigger"), "name"),
            (("jobs", "delete", "j"), "--yes"),
            (("jobs", "frobnicate", "j"), "frobnicate"),
            (("runs", "--limit", "0"), "--limit"),
            (("cron",), "expression"),
            (("cron", "61 * * * *"), "minute"),
            (("cron", "@daily", "--count", "0"), "--count"),
            (("--set", "nothing", "stats"), "--set"),
            (("--set", "store.nothing=1", "stats"), "store.nothing"),
            (("--url", "frobnicate:x", "stats"), "store.url"),
        ):
            with self.subTest(words):
                self.assertIn(said, self.run_cli(*words, code=2).stderr)
        self.assertEqual(self.read("stats"), [])

    def test_help_names_every_command_and_code(self) -> None:
        text = self.run_cli("help").stdout
        self.assertEqual(text, self.run_cli("--help").stdout)
        for word in "deploy verify health stats enqueue show dead cleanup jobs runs timers lease cron".split():
            self.assertIn(f"\n{word}", text)

    def test_output_that_cannot_be_written_is_a_failure(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "help"], stdout=full, env=self.environment, timeout=60)
        self.assertEqual(done.returncode, 1)


class Messages(Cli):
    def setUp(self) -> None:
        super().setUp()
        self.run_cli("deploy")

    def die(self, count: int, topic: str = "t") -> List[str]:
        """Dead letters, as the library leaves them: by its triggers, from the table of work."""
        ids = [self.read("enqueue", topic, f"p{number}")["id"] for number in range(count)]
        self.sql(
            f"""INSERT INTO infra_outbox_finished (seq, status, attempt, claim_number, finished_at, last_error)
                SELECT w.seq, 3, 1, 1, 1700000000000000 + w.seq, 'no \u00e4' FROM infra_outbox_work AS w
                JOIN infra_outbox AS o ON o.seq = w.seq WHERE o.topic = '{topic}';
                DELETE FROM infra_outbox_work WHERE seq IN (SELECT seq FROM infra_outbox_finished)"""
        )
        return ids

    # proves: CLI-001
    def test_enqueue_show_and_stats(self) -> None:
        payload = "gr\u00fc\u00dfe \U0001f600\n\x1b[31m"
        id = self.read(
            "enqueue", "a \u00e4", "-", "--correlation-id", "c", "--ordering-key=k", "--header", "h:1:2",
            "--header", "i:", stdin=payload,
        )["id"]
        shown = self.read("show", id)
        self.assertEqual((shown["payload"], shown["topic"], shown["status"]), (payload, "a \u00e4", "ready"))
        self.assertEqual((shown["correlation id"], shown["ordering key"]), ("c", "k"))
        self.assertEqual(json.loads(shown["headers"]), {"h": "1:2", "i": ""})
        self.assertIsNone(shown["finished"])
        text = self.run_cli("show", id).stdout
        self.assertIn("\\x0a\\x1b[31m", text)  # nothing that moves the cursor
        self.read("enqueue", "b", "later", "--delay", "2h")
        self.read("enqueue", "b", "due", "--queue", "timers")
        rows = {(row["queue"], row["topic"]): row for row in self.read("stats")}
        self.assertEqual(rows[("outbox", "a \u00e4")]["ready"], 1)
        self.assertEqual(rows[("outbox", "b")]["scheduled"], 1)
        self.assertEqual(rows[("timers", "b")]["ready"], 1)
        self.assertEqual([row["queue"] for row in self.read("stats", "--queue", "timers")], ["timers"])
        self.assertEqual(self.read("timers")[0]["topic"], "b")
        lines = self.run_cli("stats").stdout.splitlines()
        wide = lines[0].index("ready")
        self.assertEqual([line[wide - 2 : wide].strip() for line in lines], [""] * 4)  # aligned
        self.assertTrue(all(line[wide].isdigit() for line in lines[1:]), lines)
        self.run_cli("show", NONE, code=3)
        option = self.read("enqueue", "--", "t", "--json")["id"]  # behind -- all are words
        self.assertEqual(self.read("show", option)["payload"], "--json")

    def test_unique_key_stores_once(self) -> None:
        first = self.read("--unique-key", "u", "enqueue", "t", "x")  # options may stand anywhere
        second = self.read("enqueue", "t", "y", "--unique-key", "u")
        self.assertEqual((first["duplicate"], second), (False, {"id": first["id"], "duplicate": True}))

    # proves: CLI-001
    def test_dead_letters_are_listed_replayed_and_purged(self) -> None:
        ids = self.die(5)
        other = self.die(2, "other")
        self.assertEqual([row["id"] for row in self.read("dead")], ids + other)
        self.assertEqual({row["reason"] for row in self.read("dead", "list", "--limit", "3")}, {"no \u00e4"})
        self.assertEqual(len(self.read("dead", "list", "--limit", "3")), 3)
        self.assertEqual([row["id"] for row in self.read("dead", "--topic", "other")], other)
        self.assertEqual(self.read("dead", "--queue", "inbox"), [])
        self.assertEqual(self.read("dead", "--reason", "nothing like it"), [])
        self.assertEqual(self.read("dead", "show", ids[0])["status"], "dead")
        self.assertEqual(self.read("dead", "replay", "--id", ids[1], "--id", ids[2], "--all"), {"replayed": 2})
        self.assertEqual(self.read("dead", "replay", "--topic", "t", "--limit", "1", "--by", "me"), {"replayed": 1})
        self.assertEqual(self.read("show", ids[0])["status"], "ready")
        self.assertEqual(self.read("dead", "purge", "--topic", "other", "--all", "--yes"), {"purged": 2})
        self.assertEqual(self.run_cli("dead", "purge", "--limit", "9", "--yes").stdout, "purged: 2\n")
        self.assertEqual(self.read("dead"), [])
        self.run_cli("show", other[0], code=3)
        self.assertEqual(self.read("cleanup", "--older-than", "0s"), {"removed": 0})


class Jobs(Cli):
    # proves: CLI-001
    def test_cron_shows_the_next_instants(self) -> None:
        rows = self.read("cron", "30 3 * * *", "--zone", "Europe/Vienna", "--count", "3")
        dues = [datetime.datetime.fromisoformat(row["due"].replace("Z", "+00:00")) for row in rows]
        self.assertEqual(len(dues), 3)
        self.assertTrue(all(due.minute == 30 and due.hour in (1, 2) for due in dues), dues)
        self.run_cli("cron", "@daily", "--zone", "Nowhere/Land", code=3)

    # proves: CLI-001
    def test_jobs_are_put_paused_triggered_and_deleted(self) -> None:
        self.run_cli("deploy")
        self.run_cli("jobs", "put", "nightly", "0 3 * * *", "--zone", "Europe/Vienna", "--topic", "t", "--payload", "p")
        self.assertIn("minute", self.run_cli("jobs", "put", "other", "61 * * * *", code=2).stderr)
        self.assertIn("expression", self.run_cli("jobs", "put", "other", code=2).stderr)
        job = self.read("jobs")[0]
        self.assertEqual(
            [job[key] for key in ("name", "topic", "expression", "zone", "enabled", "last status", "registrar")],
            ["nightly", "t", "0 3 * * *", "Europe/Vienna", True, None, None],
        )
        self.assertEqual(self.read("jobs", "preview", "nightly", "--count", "2")[0]["due"], job["next due"])
        self.run_cli("jobs", "pause", "nightly")
        self.assertFalse(self.read("jobs", "list")[0]["enabled"])
        run = self.read("jobs", "trigger", "nightly")["run"]
        self.run_cli("jobs", "resume", "nightly")
        self.assertTrue(self.read("jobs")[0]["enabled"])
        self.assertEqual([(row["run"], row["status"]) for row in self.read("runs")], [(run, "pending")])
        self.assertEqual(self.read("runs", "list", "--job", "other"), [])
        self.run_cli("runs", "cancel", run)
        self.run_cli("runs", "cancel", run, code=3)
        self.assertEqual(self.read("runs")[0]["status"], "cancelled")
        self.run_cli("jobs", "delete", "nightly", "--yes")
        self.assertEqual(self.read("jobs"), [])

    def test_lists_are_empty_and_names_unknown(self) -> None:
        self.run_cli("deploy")
        for words in (["jobs"], ["runs"], ["timers"], ["dead"]):
            self.assertEqual(self.read(*words), [])
        for words in (
            ["jobs", "trigger", "j"], ["jobs", "pause", "j"], ["jobs", "preview", "j"], ["jobs", "delete", "j", "--yes"],
            ["runs", "cancel", NONE], ["lease", "l"],
        ):
            with self.subTest(words):
                done = subprocess.run(
                    [PROGRAM, *words], capture_output=True, text=True, timeout=60, env=self.environment
                )
                self.assertEqual(done.returncode, 3, done.stderr)


class Health(Cli):
    # proves: CLI-001
    def test_health_tells_by_its_code(self) -> None:
        self.assertIn("unhealthy", self.run_cli("health", code=5).stderr)
        self.run_cli("deploy")
        self.assertEqual(self.read("health")["status"], "healthy")
        self.run_cli("enqueue", "t", "x")
        self.sql("UPDATE infra_outbox_work SET next_attempt_at = next_attempt_at - 240000000")
        self.assertEqual(self.read("health")["status"], "healthy")
        late = self.read("health", "--max-age", "1m", code=4)
        self.assertEqual((late["status"], late["stores"][0]["ready"]), ("degraded", 1))
        self.assertGreaterEqual(late["stores"][0]["oldestReadyMs"], 240000)
        self.assertIn("outbox", late["reason"])
        self.assertIn("degraded", self.run_cli("health", "--max-age", "1m", code=4).stdout)
        self.assertEqual(self.read("health", "--max-age", "1m", "--scheduler")["status"], "healthy")
        self.sql("UPDATE infra_outbox_work SET next_attempt_at = next_attempt_at - 3600000000")
        self.assertEqual(self.read("health", code=4)["status"], "degraded")  # by health.overdue_ms

    # proves: CLI-001, HLT-001
    def test_health_of_a_scheduler_that_nobody_runs(self) -> None:
        self.run_cli("deploy")
        self.run_cli("jobs", "put", "minutely", "* * * * *")
        self.sql("UPDATE infra_job SET next_due_at = next_due_at - 3600000000")
        late = self.read("health", "--scheduler", code=4)
        self.assertIn("its run is not made", late["reason"])


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
