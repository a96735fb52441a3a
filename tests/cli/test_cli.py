#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command `waypost`, as an operator types it: test_cli.py PROGRAM."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import servers  # noqa: E402

PROGRAM = ""
NONE = str(uuid.UUID(int=7))


class Cli(unittest.TestCase):
    server: Optional[str] = None  # the variable with its URL; None: SQLite

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        self.environment = {"PATH": os.environ["PATH"], "WAYPOST_STORE_URL": f"sqlite:{self.directory / 'app.db'}"}
        if self.server:
            if self.server == servers.SERVERS["Mariadb"]:
                self.environment["WAYPOST_STORE_URL"] = servers.database(self, self.server)
            else:
                self.environment["WAYPOST_STORE_URL"] = servers.url_of(self, self.server)
            self.environment["WAYPOST_STORE_SCHEMA"] = f"cli{uuid.uuid4().hex[:12]}"
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

    def work(self, *words: str) -> str:
        """A worker until nothing is due; returns what it wrote."""
        done = subprocess.run(
            [PROGRAM, "worker", "--drain", *words], capture_output=True, text=True, errors="replace", timeout=60,
            env=self.environment,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

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

    # proves: CLI-001
    def test_job_of_a_program_is_not_put(self) -> None:
        self.run_cli("deploy")
        self.run_cli("jobs", "put", "j", "@daily")
        self.run_cli("jobs", "put", "j", "@hourly")
        self.sql("UPDATE infra_job SET registrar = 'app'")
        self.assertIn("job.cron_overrides", self.run_cli("jobs", "put", "j", "@yearly", code=2).stderr)
        self.assertEqual([(row["expression"], row["registrar"]) for row in self.read("jobs")], [("@hourly", "app")])

    # proves: CLI-001, JOB-003
    def test_trigger_of_a_job_that_no_program_has_any_more_says_so(self) -> None:
        self.run_cli("deploy")
        self.run_cli("jobs", "put", "old", "@daily", "--topic", "t")
        self.assertEqual(self.run_cli("jobs", "trigger", "old").stderr, "")
        self.sql("UPDATE infra_job SET registrar = 'app', absent = 1")
        self.assertTrue(self.read("jobs", "show", "old")["vanished"])
        done = subprocess.run(
            [PROGRAM, "jobs", "trigger", "old"], capture_output=True, text=True, timeout=60, env=self.environment
        )
        self.assertEqual(done.returncode, 0)
        self.assertIn('not in the code of "app" any more', done.stderr)
        self.assertIn('"t"', done.stderr)

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
            (("dead", "purge", "--topic", "", "--all", "--yes"), "--topic is empty"),
            (("dead", "replay", "--reason=", "--all"), "--reason is empty"),
            (("enqueue", "t", "x", "--unique-key", ""), "--unique-key is empty"),
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

    # proves: CLI-001
    def test_json_is_one_document_whatever_happens(self) -> None:
        missing = self.read("health", code=5)
        self.assertEqual((missing["status"], missing["stores"]), ("unhealthy", []))
        self.assertIn("deploy", self.read("verify", code=1)["error"])
        self.assertEqual(self.read("deploy"), {"deployed": True})
        for words, changed in (
            (("pause", "t"), True), (("jobs", "put", "j", "@daily"), True),
            (("jobs", "pause", "j"), True), (("jobs", "pause", "j"), False), (("jobs", "resume", "j"), True),
            (("jobs", "resume", "j"), False), (("resume", "t"), True), (("jobs", "delete", "j", "--yes"), True),
        ):
            self.assertEqual(self.read(*words), {"changed": changed}, words)
        for words, code in (
            (("jobs", "delete", "j", "--yes"), 3), (("show", NONE), 3), (("timers", "cancel", NONE), 3),
            (("runs", "cancel", NONE), 3), (("dead", "edit", NONE, "x", "--queue", "outbox"), 3),
            (("frobnicate",), 2), (("stats", "--queue", "x"), 2), ((), 2), (("--set", "x=1", "stats"), 2),
        ):
            self.assertEqual(self.read(*words, code=code)["code"], code, words)
        self.assertEqual(self.read("--version")["version"], self.read("verify")["version"])
        looks = self.run_cli("--json", "top", "--count", "2", "--interval", "100ms").stdout.splitlines()
        self.assertEqual([json.loads(look) for look in looks], [[], []])

    def test_help_names_every_command_and_code(self) -> None:
        text = self.run_cli("help").stdout
        self.assertEqual(text, self.run_cli("--help").stdout)
        for word in "deploy verify health stats enqueue peek show dead cleanup jobs runs timers lease worker supervise top cron".split():
            self.assertIn(f"\n{word}", text)

    # proves: CLI-001
    def test_manual_and_completion_know_every_command_and_option(self) -> None:
        text = self.run_cli("help").stdout
        commands = re.findall(r"^([a-z]+)(?= [A-Z\[-]|$)", text, re.MULTILINE)
        commands = [name for name in dict.fromkeys(commands) if name != "waypost"]
        self.assertGreaterEqual(len(commands), 15)
        options = set(re.findall(r"--[a-z-]+", text))
        folder = Path(__file__).parents[2] / "cli"
        manual = (folder / "waypost.1").read_text(encoding="utf-8").replace("\\-", "-")
        self.assertEqual([word for word in [*commands, *options] if word not in manual], [])
        page = subprocess.run(
            ["man", "--warnings", "-l", str(folder / "waypost.1")], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        script = "source {0}/waypost.bash; COMP_WORDS=({1}); COMP_CWORD={2}; _waypost; printf '%s\\n' \"${{COMPREPLY[@]}}\""

        def complete(*words: str) -> List[str]:
            line = " ".join(f"'{word}'" for word in words)
            bash = ["bash", "-c", script.format(folder, line, len(words) - 1)]
            return subprocess.run(bash, capture_output=True, text=True, timeout=60, check=True).stdout.split()

        self.assertEqual(sorted(complete("waypost", "")[: len(commands) + 1]), sorted([*commands, "help"]))
        offered = {option for name in ["", *commands] for option in complete("waypost", name, "--")[:] if name}
        offered |= set(complete("waypost", "--"))
        self.assertEqual(options - offered, set())
        self.assertEqual(complete("waypost", "dead", "re"), ["replay"])
        self.assertEqual(complete("waypost", "--json", "peek", "--queue", "in"), ["inbox"])
        self.assertEqual(complete("waypost", "--url", "x", "jobs", "pause", ""), [])

    def test_output_that_cannot_be_written_is_a_failure(self) -> None:
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "help"], stdout=full, env=self.environment, timeout=60)
        self.assertEqual(done.returncode, 1)

    def test_standard_files_that_are_closed_are_no_others(self) -> None:
        """Where one is closed, the next file or connection that is opened would be it."""
        self.run_cli("deploy")
        for words, closed, code in (
            ("stats", ">&-", 1), ("enqueue t -", "<&-", 1), ("enqueue t -", "</", 1), ("show nothing", "2>&-", 2)
        ):
            with self.subTest(words):
                done = subprocess.run(["sh", "-c", f"exec {PROGRAM} {words} {closed}"], env=self.environment, timeout=60)
                self.assertEqual(done.returncode, code)
        self.assertEqual(self.read("stats"), [])
        self.assertEqual(self.read("health")["status"], "healthy")


class Messages(Cli):
    def setUp(self) -> None:
        super().setUp()
        self.run_cli("deploy")

    def die(self, count: int, topic: str = "t") -> List[str]:
        """Dead letters, of a program that finds them bad."""
        ids = [self.read("enqueue", topic, f"p{number}")["id"] for number in range(count)]
        self.work(topic, "--", "sh", "-c", "echo 'x\nno \u00e4' >&2; exit 65")
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


class Workers(Cli):
    def setUp(self) -> None:
        super().setUp()
        self.run_cli("deploy")

    # proves: CLI-001
    def test_a_program_gets_the_message_and_says_what_became_of_it(self) -> None:
        payload = "gr\u00fc\u00dfe \U0001f600\n" * 10000
        id = self.read("enqueue", "t", "-", "--correlation-id", "c", "--header", "h:1", stdin=payload)["id"]
        got = self.directory / "got"
        text = f"cat > {got}; echo $WAYPOST_MESSAGE_ID $WAYPOST_TOPIC $WAYPOST_ATTEMPT $WAYPOST_CORRELATION_ID"
        said = self.work("t", "--", "sh", "-c", text + " $WAYPOST_HEADERS $WAYPOST_QUEUE")
        self.assertEqual(got.read_text(encoding="utf-8"), payload)
        self.assertIn(f'{id} t 0 c {{"h":"1"}} outbox\n', said)
        self.assertEqual(self.read("show", id)["status"], "done")

    # proves: CLI-001
    def test_codes_of_a_program_are_outcomes(self) -> None:
        for code, status, attempt in ((0, "done", 0), (1, "ready", 1), (65, "dead", 1), (255, "ready", 1)):
            id = self.read("enqueue", f"t{code}", "x")["id"]
            self.work(f"t{code}", "--", "sh", "-c", f"echo why >&2; exit {code}")
            shown = self.read("show", id)
            self.assertEqual((shown["status"], shown["attempt"]), (status, attempt), code)
            self.assertEqual(shown["last error"], "why" if code else None)
        id = self.read("enqueue", "killed", "x")["id"]
        self.work("killed", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(self.read("show", id)["last error"], "killed by signal 9")
        id = self.read("enqueue", "mute", "x")["id"]
        self.work("mute", "--", "false")
        self.assertEqual(self.read("show", id)["last error"], "exit code 1")
        id = self.read("enqueue", "bytes", "x")["id"]
        self.work("bytes", "--", "printf", "\\377")
        self.assertEqual(self.read("show", id)["status"], "done")
        self.read("enqueue", "bytes", "x")
        self.work("bytes", "--", "sh", "-c", "printf 'a\\377b' >&2; exit 65")
        self.assertEqual(self.read("dead", "--topic", "bytes")[0]["reason"], "a?b")

    # proves: CLI-001
    def test_output_of_a_run_is_kept(self) -> None:
        self.run_cli("jobs", "put", "nightly", "@yearly", "--topic", "t")
        self.run_cli("jobs", "trigger", "nightly")
        self.work("t", "--queue", "jobs", "--", "echo", "42 orders")
        self.assertEqual([(row["status"], row["output"]) for row in self.read("runs")], [("succeeded", "42 orders\n")])

    # proves: CLI-001
    def test_a_program_that_takes_too_long_is_ended(self) -> None:
        id = self.read("enqueue", "t", "x")["id"]
        self.work("t", "--set", "worker.timeout_ms=50", "--", "sleep", "600")
        shown = self.read("show", id)
        self.assertEqual((shown["status"], shown["attempt"]), ("ready", 1))

    # proves: CLI-001
    def test_stopped_worker_waits_for_its_program(self) -> None:
        id = self.read("enqueue", "t", "x")["id"]
        begun, go = self.directory / "begun", self.directory / "go"
        worker = subprocess.Popen(
            [PROGRAM, "worker", "t", "--", "sh", "-c", f"touch {begun}; until [ -e {go} ]; do sleep 0.02; done"],
            env=self.environment, stderr=subprocess.PIPE, text=True,
        )
        try:
            await_true(begun.exists)
            worker.terminate()
            assert worker.stderr
            while "stops" not in worker.stderr.readline():
                self.assertIsNone(worker.poll())
            go.touch()
            _, said = worker.communicate(timeout=60)
        finally:
            worker.kill()
        self.assertEqual((worker.returncode, self.read("show", id)["status"]), (0, "done"), said)

    # proves: CLI-001
    def test_program_of_a_worker_that_is_killed_ends_too(self) -> None:
        self.read("enqueue", "t", "x")
        begun = self.directory / "begun"
        worker = subprocess.Popen(
            [PROGRAM, "worker", "t", "--", "sh", "-c", f"echo $$ > {begun}.new; mv {begun}.new {begun}; exec sleep 600"],
            env=self.environment,
        )
        try:
            await_true(begun.exists)
        finally:
            worker.kill()
        worker.wait()
        await_true(lambda: not running(int(begun.read_text())))

    def test_wrong_command_lines_do_nothing(self) -> None:
        id = self.read("enqueue", "t", "x")["id"]
        for words, said in (
            (("worker", "t"), "--"),
            (("worker", "t", "--"), "program"),
            (("worker", "--", "true"), "topics"),
            (("worker", "t", "--", "no-such-program"), "no-such-program"),
            (("worker", "t", "--", "./no-such-program"), "no-such-program"),
            (("worker", "t", "--threads", "0", "--", "true"), "--threads"),
            (("worker", "t", "--queue", "all", "--", "true"), "--queue"),
            (("worker", "t", "--stop-timeout", "2d", "--", "true"), "--stop-timeout"),
            (("worker", "t", "--frobnicate", "--", "true"), "--frobnicate"),
            (("supervise",), "--"),
            (("supervise", "--"), "command"),
            (("supervise", "--", "no-such-program"), "no-such-program"),
            (("supervise", "--min", "9", "--", "true"), "scaling.min_instances"),
            (("supervise", "--max", "x", "--", "true"), "scaling.max_instances"),
            (("supervise", "t", "--", "true"), "t"),
            (("peek", "--queue", "all"), "--queue"),
            (("peek", "--limit", "0"), "limit"),
            (("top", "--interval", "1ms"), "--interval"),
            (("top", "--count", "-1"), "--count"),
        ):
            with self.subTest(words):
                self.assertIn(said, self.run_cli(*words, code=2).stderr)
        self.assertEqual((self.read("show", id)["status"], self.read("show", id)["attempt"]), ("ready", 0))

    @contextlib.contextmanager
    def supervised(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """One that is started, and killed in the end, whatever happens."""
        options = ["--set", "scaling.interval_ms=100", "--set", "scaling.cooldown_ms=100"]
        with open(self.directory / "said", "w", encoding="utf-8") as said:
            process = subprocess.Popen(
                [PROGRAM, "supervise", *options, *words], env=self.environment, stderr=said, text=True
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def alive(self) -> List[int]:
        """Processes that wrote their ids into the directory `pids` and still run."""
        return [int(path.name) for path in (self.directory / "pids").iterdir() if running(int(path.name))]

    # proves: SCL-001
    def test_supervised_processes_are_as_many_as_the_queue_needs(self) -> None:
        pids = self.directory / "pids"
        pids.mkdir()
        ids = [self.read("enqueue", "t", "x")["id"] for _ in range(20)]
        sleeper = ["sh", "-c", f"touch {pids}/$$; exec sleep 600"]
        with self.supervised("--max", "3", "--", *sleeper) as process:
            await_true(lambda: len(self.alive()) == 3)  # nothing is done, and more are asked for
            self.work("t", "--", "true")
            await_true(lambda: len(self.alive()) == 1)
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(self.alive(), [])
        self.assertEqual({self.read("show", id)["status"] for id in ids}, {"done"})

    # proves: SCL-001
    def test_supervised_process_that_ends_is_started_again(self) -> None:
        pids = self.directory / "pids"
        pids.mkdir()
        sleeper = ["sh", "-c", f"touch {pids}/$$; exec sleep 600"]
        with self.supervised("--", *sleeper):
            await_true(lambda: len(self.alive()) == 1)
            os.kill(self.alive()[0], signal.SIGKILL)
            await_true(lambda: len(list(pids.iterdir())) == 2 and len(self.alive()) == 1)
            self.assertIn("ended by itself, signal 9", (self.directory / "said").read_text(encoding="utf-8"))
        await_true(lambda: not self.alive())  # they end with their supervisor, which was killed

    # proves: SCL-001
    def test_supervised_process_that_does_not_end_is_killed(self) -> None:
        pids = self.directory / "pids"
        pids.mkdir()
        deaf = ["sh", "-c", f"trap '' TERM; touch {pids}/$$; while :; do sleep 0.1; done"]
        with self.supervised("--stop-timeout", "300ms", "--", *deaf) as process:
            await_true(lambda: len(self.alive()) == 1)
            process.terminate()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertEqual(self.alive(), [])

    # proves: CLI-001
    def test_peek_shows_what_is_not_finished(self) -> None:
        first, second, third = (self.read("enqueue", topic, "x")["id"] for topic in ("a", "b", "a"))
        self.work("b", "--", "true")
        self.assertEqual([row["id"] for row in self.read("peek")], [first, third])
        self.assertEqual([row["id"] for row in self.read("peek", "--topic", "a", "--limit", "1")], [first])
        self.assertEqual(self.read("peek", "--topic", "b"), [])
        self.assertEqual(self.read("peek", "--queue", "jobs"), [])
        self.work("a", "--", "sh", "-c", "echo why >&2; exit 1")
        self.assertEqual({(row["attempt"], row["last error"]) for row in self.read("peek")}, {(1, "why")})
        self.assertNotIn(second, self.run_cli("peek").stdout)

    # proves: CLI-001
    def test_top_shows_counts_again_and_again(self) -> None:
        self.read("enqueue", "t", "x")
        shown = self.run_cli("top", "--interval", "100ms", "--count", "3").stdout
        self.assertEqual(len([line for line in shown.splitlines() if line.startswith("outbox")]), 3)
        self.assertNotIn("\x1b", shown)  # not to a terminal


def await_true(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not come true")
        time.sleep(0.01)


def running(pid: int) -> bool:
    """Whether there is such a process that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


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

    # proves: CLI-001, JOB-005
    def test_one_job_and_one_run_are_shown(self) -> None:
        self.run_cli("deploy")
        self.run_cli("jobs", "put", "nightly", "0 3 * * *", "--topic", "t", "--payload", "p")
        job = self.read("jobs", "show", "nightly")
        self.assertEqual(
            [job[key] for key in ("name", "payload", "zone", "enabled", "vanished", "overlap", "misfire", "timeout (ms)")],
            ["nightly", "p", "UTC", True, False, "queue", "fire", 0],
        )
        run = self.read("jobs", "trigger", "nightly")["run"]
        shown = self.read("runs", "show", run)
        self.assertEqual((shown["run"], shown["job"], shown["status"]), (run, "nightly", "pending"))
        self.assertEqual(self.read("show", run, "--queue", "jobs"), shown)
        self.run_cli("jobs", "show", "other", code=3)
        self.run_cli("runs", "show", NONE, code=3)
        self.run_cli("show", NONE, "--queue", "jobs", code=3)

    # proves: CLI-001, TMR-002, TMR-007
    def test_timers_are_cancelled_and_rescheduled(self) -> None:
        self.run_cli("deploy")
        ids = [self.read("enqueue", "t", "x", "--queue", "timers", "--delay", "1h")["id"] for _ in range(2)]
        before = {row["id"]: row["due"] for row in self.read("timers", "list")}
        self.run_cli("timers", "reschedule", ids[0], "--delay", "2h")
        self.run_cli("timers", "cancel", ids[1])
        [left] = self.read("timers")
        self.assertEqual(left["id"], ids[0])
        self.assertGreater(left["due"], before[ids[0]])
        self.run_cli("timers", "cancel", ids[1], code=3)
        self.run_cli("timers", "reschedule", ids[1], "--delay", "1s", code=3)
        self.assertIn("--delay", self.run_cli("timers", "reschedule", ids[0], code=2).stderr)
        self.assertIn("id", self.run_cli("timers", "cancel", code=2).stderr)
        self.assertIn("frob", self.run_cli("timers", "frob", code=2).stderr)
        self.run_cli("timers", "reschedule", ids[0], "--delay", "0s")
        self.work("t", "--queue", "timers", "--", "true")
        self.run_cli("timers", "cancel", ids[0], code=3)

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


class Copy(Cli):
    """Between the store of the other tests and a file."""

    def setUp(self) -> None:
        super().setUp()
        self.run_cli("deploy")
        self.beside = dict(self.environment, WAYPOST_STORE_URL=f"sqlite:{self.directory / 'beside.db'}")
        self.beside.pop("WAYPOST_STORE_SCHEMA", None)
        self.run_cli("deploy", environment=self.beside)

    def to(self, back: bool = False) -> List[str]:
        """The options that name the other store; back: of the one that is there."""
        there = self.environment if back else self.beside
        words = ["copy", "--to", there["WAYPOST_STORE_URL"]]
        if "WAYPOST_STORE_SCHEMA" in there:
            words += ["--to-schema", there["WAYPOST_STORE_SCHEMA"]]
        return words

    # proves: CLI-001
    def test_work_is_moved_there_and_back(self) -> None:
        ids = [
            self.read("enqueue", "t", "pay\u00e4", "--header", "h:1", "--unique-key", "u")["id"],
            self.read("enqueue", "t", "k", "--ordering-key", "k", "--delay", "7d")["id"],
            self.read("enqueue", "t", "x", "--queue", "timers", "--delay", "1h")["id"],
            self.read("enqueue", "dead", "x")["id"],
        ]
        self.work("dead", "--", "sh", "-c", "echo why >&2; exit 65")
        before = [self.read("show", id, "--queue", "timers" if id == ids[2] else "outbox") for id in ids]
        rows = self.read(*self.to(), "--dry-run")
        self.assertEqual([(row["queue"], row["waiting"], row["dead"]) for row in rows[:1]], [("outbox", 2, 1)])
        self.assertEqual(sum(row["waiting"] + row["dead"] for row in rows), 4)
        self.assertEqual(len(self.read("peek")), 2)  # as before
        moved = self.read(*self.to())
        self.assertEqual(moved["moved"], 4)
        self.assertEqual(moved["source sha256"], moved["target sha256"])
        self.assertNotEqual(moved["source sha256"], "0" * 64)
        self.run_cli("show", ids[0], code=3)
        self.assertEqual(self.read("show", ids[3], environment=self.beside)["last error"], "why")
        again = self.read(*self.to(back=True), environment=self.beside)
        self.assertEqual((again["moved"], again["source sha256"]), (4, moved["source sha256"]))
        self.assertEqual(
            [self.read("show", id, "--queue", "timers" if id == ids[2] else "outbox") for id in ids], before
        )
        self.assertEqual(self.read(*self.to())["moved"], 4)
        self.assertEqual(self.read(*self.to())["moved"], 0)

    # proves: CLI-001
    def test_what_stays_is_told(self) -> None:
        self.run_cli("jobs", "put", "nightly", "@yearly")
        self.run_cli("jobs", "put", "nightly", "@monthly", environment=self.beside)
        self.read("enqueue", "t", "x", "--unique-key", "u")
        self.read("enqueue", "t", "y", "--unique-key", "u", environment=self.beside)
        said = self.run_cli(*self.to(), code=6).stderr
        self.assertIn("jobs that were not moved: 1", said)
        self.assertIn('refused: job "nightly": the target has a job of its name', said)
        self.assertIn("unique key", said)
        self.assertIn("outbox: 1 could not be moved", said)
        self.assertEqual(len(self.read("peek")), 1)
        self.assertIn("--to", self.run_cli("copy", code=2).stderr)
        self.assertIn("same store", self.run_cli(*self.to(back=True), code=2).stderr)
        self.assertIn("--batch", self.run_cli(*self.to(), "--batch", "x", code=2).stderr)
        missing = f"sqlite:{self.directory / 'missing.db'}"
        self.assertIn("unavailable", self.run_cli("copy", "--to", missing, code=1).stderr)
        self.assertFalse((self.directory / "missing.db").exists())

    # proves: CLI-001
    def test_jobs_are_moved_with_their_runs(self) -> None:
        self.run_cli("jobs", "put", "nightly", "@yearly", "--topic", "t")
        self.run_cli("jobs", "put", "off", "@monthly")
        self.run_cli("jobs", "pause", "off")
        self.run_cli("jobs", "trigger", "nightly")
        before = self.read("jobs", "list")
        moved = self.read(*self.to())
        self.assertEqual((moved["moved"], moved["jobs"], moved["refused"]), (1, 2, 0))
        self.assertEqual(moved["source sha256"], moved["target sha256"])
        self.assertEqual(self.read("jobs", "list"), [])
        self.assertEqual(self.read("jobs", "list", environment=self.beside), before)
        self.assertEqual(self.read(*self.to(), "--cancel")["let go"], 0)
        self.assertEqual(self.read(*self.to(back=True), environment=self.beside)["jobs"], 2)
        self.assertEqual(self.read("jobs", "list"), before)

    # proves: CLI-001
    def test_what_does_not_come_back_as_it_was_stays(self) -> None:
        id = self.read("enqueue", "t", "x", "--ordering-key", "k")["id"]
        with contextlib.closing(sqlite3.connect(self.directory / "beside.db")) as beside:
            beside.executescript(
                "CREATE TRIGGER twist AFTER INSERT ON infra_outbox"
                " BEGIN UPDATE infra_outbox SET payload = 'twisted' WHERE seq = NEW.seq; END;"
            )
            self.assertIn("not what was stored", self.run_cli(*self.to(), code=1).stderr)
            self.assertEqual([(row["id"], row["status"]) for row in self.read("peek")], [(id, "ready")])
            self.assertEqual(self.read("peek", environment=self.beside), [])
            beside.executescript("DROP TRIGGER twist")
        self.assertEqual(self.read(*self.to())["moved"], 1)
        self.assertEqual(self.read("show", id, environment=self.beside)["payload"], "x")

    # proves: CLI-001
    def test_one_that_the_target_cannot_store_stays_and_the_rest_moves(self) -> None:
        id = self.read("enqueue", "t", "no")["id"]
        self.read("enqueue", "t", "x")
        with contextlib.closing(sqlite3.connect(self.directory / "beside.db")) as beside:
            beside.executescript(
                "CREATE TRIGGER no BEFORE INSERT ON infra_outbox WHEN NEW.payload = 'no'"
                " BEGIN SELECT RAISE(ABORT, 'not this one'); END;"
            )
            done = self.run_cli("--json", *self.to(), code=6)
            self.assertEqual([json.loads(done.stdout)[key] for key in ("moved", "refused")], [1, 1])
            self.assertRegex(done.stderr, f"refused: outbox {id}: .*not this one")
            self.assertEqual([(row["id"], row["status"]) for row in self.read("peek")], [(id, "ready")])
            beside.executescript("DROP TRIGGER no")
        self.assertEqual(self.read(*self.to(), "--cancel")["let go"], 0)
        self.assertEqual(self.read(*self.to())["moved"], 1)

    # proves: CLI-001
    def test_killed_and_given_up_each_message_is_somewhere_once(self) -> None:
        ids = [self.read("enqueue", "t", "x")["id"] for _ in range(8)]
        for _ in range(6):
            copy = subprocess.Popen(
                [PROGRAM, *self.to(), "--batch", "1"], env=self.environment,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                copy.wait(timeout=random.random() * 0.06)
            copy.kill()
            copy.wait()
            self.read(*self.to(), "--cancel")
            there = self.read("peek") + self.read("peek", environment=self.beside)
            self.assertEqual(sorted((row["id"], row["status"]) for row in there), [(id, "ready") for id in sorted(ids)])

    # proves: CLI-001
    def test_killed_again_and_again_each_message_is_handled_once(self) -> None:
        """Messages are stored in the one store all the time, and handled in the other."""
        got = self.directory / "got"
        got.touch()
        worker = subprocess.Popen(
            [PROGRAM, "worker", "t", "--threads", "2", "--", "sh", "-c", f"echo $WAYPOST_MESSAGE_ID >> {got}"],
            env=self.beside, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )
        try:
            ids = [self.read("enqueue", "t", "x")["id"] for _ in range(5)]
            for round in range(25):
                ids.append(self.read("enqueue", "t", "x", *(["--ordering-key", "k"] if round % 2 else []))["id"])
                copy = subprocess.Popen(
                    [PROGRAM, *self.to(), "--batch", "2"], env=self.environment,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )
                with contextlib.suppress(subprocess.TimeoutExpired):
                    copy.wait(timeout=random.random() * 0.06)
                copy.kill()
                copy.wait()
            self.run_cli(*self.to())
            await_true(lambda: len(got.read_text(encoding="utf-8").split()) >= len(ids))
        finally:
            worker.terminate()
            worker.communicate(timeout=60)
        self.assertEqual(sorted(got.read_text(encoding="utf-8").split()), sorted(ids))
        self.assertEqual((self.read("peek"), self.read("peek", environment=self.beside)), ([], []))


class Health(Cli):
    # proves: CLI-001, HLT-001
    def test_health_of_a_server_that_says_nothing_ends_at_its_limit(self) -> None:
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
            port = silent.getsockname()[1]
            for url in (
                f"postgresql://nobody@127.0.0.1:{port}/none",
                f"odbc:Driver=MariaDB Unicode;Server=127.0.0.1;Port={port};Uid=nobody;Database=none",
            ):
                options = ["--set", "store.connect_timeout_ms=600000", "health", "--limit", "300ms"]
                said = self.read("--url", url, *options, code=5)  # which ends it after a minute
                self.assertEqual(said["reason"], "the database did not answer within 300 ms")

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


for _name, _variable in servers.SERVERS.items():
    for _case in (Messages, Jobs, Copy) if _name == "Mariadb" else (Messages, Workers, Jobs, Copy):  # whose DDL is slow
        _on_server = type(f"{_case.__name__}On{_name}", (_case,), {"server": _variable})
        globals()[_on_server.__name__] = _on_server

if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
