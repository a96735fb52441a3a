# SPDX-License-Identifier: Apache-2.0
"""Enqueued in one language, handled in another: every pair, on every engine.

    run.py FOLDER LANGUAGE=COMMAND... [--postgresql URL]

Each language has a program that is called in two ways:
    COMMAND produce URL FILE               enqueues what FILE holds, on an app connection, in one transaction
    COMMAND consume URL TOPIC COUNT FILE   handles COUNT messages of TOPIC, writes them to FILE, and ends
Files hold a JSON object a line: topic, payload, headers, correlation_id, due_us (null: at once). FOLDER
holds node_modules with @octokit/webhooks-examples, whose documents are the payloads.
"""
from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List

import waypost

MESSAGES = 1000  # for each pair
LARGE = 5_000_000

Row = Dict[str, Any]


def documents(folder: Path) -> List[str]:
    index = folder / "node_modules/@octokit/webhooks-examples/api.github.com/index.json"
    return [
        json.dumps(example, ensure_ascii=False, separators=(",", ":"))
        for event in json.loads(index.read_text(encoding="utf-8"))
        for example in event["examples"]
    ]


def payload(texts: List[str], n: int) -> str:
    special = {
        0: "",
        1: "😀 emoji, accents é, e\u0301, ß, İı, 𝕏, zero\u200bwidth, \u2028, tab\t, quote\" \\ ' %s $1 :x ?",
        2: "x" * (LARGE - 4) + "😀",
        3: "\r\n",
        4: " ",
        5: "\x01\x1f\x7f",
    }
    return special[n] if n in special else texts[n % len(texts)]


def rows(texts: List[str], producer: str, consumer: str) -> List[Row]:
    now = time.time_ns() // 1000
    due = [None, None, now - 3_600_000_000, now + 1_500_001, 1]
    return [
        {
            "topic": f"to.{consumer}",
            "payload": payload(texts, n),
            "headers": {"n": f"{producer} {n}", "traceparent": f"00-{n:032x}-{1:016x}-01", "ü": "😀"}
            if n % 3
            else {"n": f"{producer} {n}"},
            "correlation_id": None if n % 4 == 0 else f"{producer}→{consumer} {n}",
            "due_us": due[n % len(due)],
        }
        for n in range(MESSAGES)
    ]


def write(path: Path, lines: List[Row]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")


def read(path: Path) -> List[Row]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def differences(sent: Row, got: Row) -> List[str]:
    return [
        key
        for key in ("topic", "payload", "headers", "correlation_id", "due_us")
        if sent[key] != got[key] and not (key == "due_us" and sent[key] is None)
    ]


def check(sent: Dict[str, Row], got: List[Row]) -> List[str]:
    faults = []
    seen = set()
    for row in got:
        n = row["headers"].get("n", "?")
        if n in seen:
            faults.append(f"{n} came twice")
        seen.add(n)
        if n not in sent:
            faults.append(f"{n} was not sent")
        else:
            faults += [f"{n}: {key} differs" for key in differences(sent[n], row)]
    return faults + [f"{n} did not come" for n in sent if n not in seen]


def run(engine: str, url: str, folder: Path, commands: Dict[str, str]) -> int:
    texts = documents(folder)
    sent: Dict[str, Dict[str, Row]] = {consumer: {} for consumer in commands}
    waypost.deploy(url)
    for producer, command in commands.items():
        lines: List[Row] = []
        for consumer in commands:
            made = rows(texts, producer, consumer)
            sent[consumer].update({row["headers"]["n"]: row for row in made})
            lines += made
        write(folder / "sent.jsonl", lines)
        subprocess.run([*shlex.split(command), "produce", url, str(folder / "sent.jsonl")], check=True)
    consumers = {
        consumer: subprocess.Popen(
            [*shlex.split(command), "consume", url, f"to.{consumer}", str(len(sent[consumer])),
             str(folder / f"{consumer}.jsonl")]
        )
        for consumer, command in commands.items()
    }
    failed = 0
    for consumer, process in consumers.items():
        if process.wait() != 0:
            print(f"cross: {engine}: {consumer} ended with {process.returncode}")
            failed += 1
            continue
        got = read(folder / f"{consumer}.jsonl")
        for producer in commands:
            mine = {n: row for n, row in sent[consumer].items() if n.startswith(producer + " ")}
            theirs = [row for row in got if row["headers"].get("n", "").startswith(producer + " ")]
            faults = check(mine, theirs)
            failed += bool(faults)
            print(f"cross: {engine:10} {producer:7} -> {consumer:7} {len(theirs):5} messages"
                  f"   {'ok' if not faults else '; '.join(faults[:3])}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("commands", nargs="+")
    parser.add_argument("--postgresql", required=True)
    options = parser.parse_args()
    commands = dict(command.split("=", 1) for command in options.commands)
    file = options.folder / "cross.db"
    for suffix in ("", "-wal", "-shm"):
        Path(str(file) + suffix).unlink(missing_ok=True)
    failed = run("sqlite", f"sqlite:{file}", options.folder, commands)
    failed += run("postgresql", options.postgresql, options.folder, commands)
    pairs = 2 * len(commands) ** 2
    print(f"cross: {pairs - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
