# SPDX-License-Identifier: Apache-2.0
"""./dev demo: an order service, its workers in several languages, and the proof.

    demo.py FOLDER URL LANGUAGE=COMMAND...

FOLDER holds node_modules with @octokit/webhooks-examples. URL names an empty database. COMMAND starts the
worker in a language other than Python: COMMAND URL NAME TOPIC... Exits with 1 if anything was lost, doubled,
altered or handled though rolled back.
"""
from __future__ import annotations

import collections
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Counter, Dict, List, Set

import shop

import waypost

PRODUCERS = 2
ORDERS = 600  # for each producer
HERE = Path(__file__).parent
PATIENCE = 120.0  # seconds


class Truth:
    """What the producers say they committed and rolled back."""

    def __init__(self) -> None:
        self.orders: Dict[str, Set[str]] = {"committed": set(), "rolled-back": set()}
        self._lock = threading.Lock()

    def read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            what, order = line.split()
            with self._lock:
                self.orders[what].add(order)


def start(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    return start(sys.executable, str(HERE / script), *arguments)


def handled(db: shop.Database) -> int:
    count: int = db.run("SELECT count(*) FROM effects")[0][0]
    return count


def show(truth: Truth, done: int, note: str = "") -> None:
    committed, rolled_back = (len(truth.orders[what]) for what in ("committed", "rolled-back"))
    line = f"  committed {committed:5}   rolled back {rolled_back:4}   handled {done:5}   {note}"
    if sys.stdout.isatty() and not note:
        print(line, end="\r", flush=True)
    else:
        print(line, flush=True)


def await_all(
    db: shop.Database,
    truth: Truth,
    readers: List[threading.Thread],
    workers: Dict[str, subprocess.Popen[str]],
    url: str,
    topics: List[str],
) -> None:
    """Until all that was committed is handled; on the way, one worker is killed and replaced."""
    give_up = time.monotonic() + PATIENCE
    shown = 0.0
    killed = False
    while time.monotonic() < give_up:
        done = handled(db)
        producing = any(reader.is_alive() for reader in readers)
        if not killed and done > PRODUCERS * ORDERS // 4:
            workers["python-1"].send_signal(signal.SIGKILL)
            workers["python-1"].wait()
            killed = True
            show(truth, done, "killed worker python-1 (SIGKILL): its leases end in 2 s")
            workers["python-3"] = python("consume.py", url, "python-3", *topics)
        if time.monotonic() - shown > 0.5:
            show(truth, done)
            shown = time.monotonic()
        if not producing and killed and done >= len(truth.orders["committed"]):
            show(truth, done, "all is handled")
            return
        for name, worker in workers.items():
            if worker.poll() is not None and not (killed and name == "python-1"):
                sys.exit(f"worker {name} ended with {worker.returncode}")
        time.sleep(0.02)
    print("  time is over")


def stop(workers: Dict[str, subprocess.Popen[str]]) -> bool:
    """End every worker's input, and see whether they end well."""
    well = True
    for name, worker in workers.items():
        if worker.poll() is None:
            worker.communicate()
            well = well and worker.returncode == 0
            if worker.returncode:
                print(f"  worker {name} ended with {worker.returncode}")
    return well


def verdict(db: shop.Database, truth: Truth) -> bool:
    """Print the table; True if every line holds."""
    effects: Counter[str] = collections.Counter(
        order for (order,) in db.run("SELECT order_id FROM effects")
    )
    committed, rolled_back = truth.orders["committed"], truth.orders["rolled-back"]
    stored = {order for (order,) in db.run("SELECT id FROM orders")}
    altered = sum(
        shop.digest(payload) != expected
        for payload, expected in db.run(
            "SELECT e.payload, o.digest FROM effects AS e JOIN orders AS o ON o.id = e.order_id"
        )
    )
    rows = [
        ("orders committed", len(committed), len(stored), committed == stored),
        ("their events handled", len(committed), len(committed & set(effects)), None),
        ("orders rolled back", len(rolled_back), len(rolled_back), None),
        ("their events handled", 0, len(rolled_back & set(effects)), None),
        ("events handled twice", 0, sum(count > 1 for count in effects.values()), None),
        ("events of unknown orders", 0, len(set(effects) - committed - rolled_back), None),
        ("payloads altered", 0, altered, None),
    ]
    well = True
    print(f"\n  {'':26} {'expected':>9} {'seen':>9}")
    for title, expected, seen, holds in rows:
        holds = expected == seen if holds is None else holds
        well = well and holds
        print(f"  {title:26} {expected:9} {seen:9}   {'ok' if holds else 'WRONG'}")
    print("\n  handled by")
    for worker, count in db.run("SELECT worker, count(*) FROM effects GROUP BY 1 ORDER BY 1"):
        print(f"    {worker:24} {count:9}")
    outbox = "infra_outbox_all" if db.is_sqlite else "infra.outbox_all"
    (again,) = db.run(f"SELECT count(*) FROM {outbox} WHERE attempt > 0")[0]
    print(f"\n  {again} of them took a second attempt: the killed worker held them")
    return well and len(committed) > 0 and len(rolled_back) > 0


def main(folder: str, url: str, *others: str) -> int:
    commands = dict(other.split("=", 1) for other in others)
    waypost.deploy(url)
    db = shop.Database(url)
    for statement in shop.SCHEMA:
        db.run(statement)
    share = shop.shares(folder, ["python", *commands])
    topics = ", ".join(f"{len(share[language])} for {language}" for language in share)
    print(
        f"  {len(shop.documents(folder))} webhook documents; topics: {topics}; "
        f"{PRODUCERS} producers x {ORDERS} orders"
    )
    workers = {
        name: python("consume.py", url, name, *share["python"]) for name in ("python-1", "python-2")
    }
    for language, command in commands.items():
        name = f"{language}-1"
        workers[name] = start(*shlex.split(command), url, name, *share[language])
    truth = Truth()
    producers = [
        python("produce.py", url, folder, f"order-{n}", str(ORDERS)) for n in range(PRODUCERS)
    ]
    readers = [threading.Thread(target=truth.read, args=(producer,)) for producer in producers]
    for reader in readers:
        reader.start()
    try:
        await_all(db, truth, readers, workers, url, share["python"])
    finally:
        ended_well = stop(workers)
        for producer in producers:
            ended_well = producer.wait() == 0 and ended_well
    if not (verdict(db, truth) and ended_well):
        print("\n  FAILED")
        return 1
    print("\n  committed = handled, rolled back = 0 handled, duplicates = 0")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
