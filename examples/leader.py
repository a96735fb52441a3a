# SPDX-License-Identifier: Apache-2.0
"""A job that exactly one of three processes does, while leaders are killed.

Each process waits to lead, and writes a line a few times a second while it does. The leader is killed by
kill -9: its lease runs out, and another process goes on. The next one is asked to stop: it gives its lease
back, and the third goes on at once. Each line carries the fence of its leader, and the table takes none with a
smaller fence than the last one's: so a leader that was suspended for long could not write either.
"""
from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
import time
from typing import Dict, Tuple

import waypost

LEASE = 2.0  # seconds: how long a dead leader is waited for; 30 in earnest
PATIENCE = 60.0
FILE = "leader.db"
TABLE = "CREATE TABLE lines (fence INTEGER NOT NULL, process TEXT NOT NULL)"
LINE = "INSERT INTO lines SELECT :fence, :process WHERE :fence >= (SELECT coalesce(max(fence), 0) FROM lines)"


def connect() -> sqlite3.Connection:
    return sqlite3.connect(FILE, timeout=PATIENCE, check_same_thread=False)


# ---- one of the processes -------------------------------------------------------------------


def process(name: str) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    db = connect()

    def work(lease: waypost.Lease) -> None:
        while lease.held and not stop.wait(0.05):
            with db:
                db.execute(LINE, {"fence": lease.fence, "process": name})

    with waypost.Store.open(f"sqlite:{FILE}") as store:
        store.lease("writer", LEASE, wait=None).run_while_leader(work, stop=stop)
    db.close()


# ---- what is shown --------------------------------------------------------------------------


def next_leader(db: sqlite3.Connection, fence: int) -> Tuple[int, str]:
    """Wait for a line with a greater fence."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = db.execute("SELECT fence, process FROM lines WHERE fence > ? LIMIT 1", (fence,)).fetchone()
        if found is not None:
            return int(found[0]), str(found[1])
        time.sleep(0.01)
    raise TimeoutError("nobody leads")


def main() -> None:
    with waypost.Store.open(f"sqlite:{FILE}", deploy=True):
        pass
    db = connect()
    with db:
        db.execute(TABLE)
    running: Dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in ("one", "two", "three"):
            running[name] = subprocess.Popen([sys.executable, __file__, name])
        fence, leader = next_leader(db, 0)
        print(f"process {leader} leads, with fence {fence}")
        for how, number in (("killed by kill -9", signal.SIGKILL), ("asked to stop", signal.SIGTERM)):
            running[leader].send_signal(number)
            running.pop(leader).wait(PATIENCE)
            before, since = leader, time.monotonic()
            fence, leader = next_leader(db, fence)
            print(f"{before} was {how}: {leader} leads after {time.monotonic() - since:.1f} s, with fence {fence}")
    finally:
        for child in running.values():
            child.send_signal(signal.SIGTERM)
        for child in running.values():
            child.wait(PATIENCE)
    # In the order in which the lines came: one leader after the other, none among another one's.
    terms = [0]
    for fence, leader in db.execute("SELECT fence, process FROM lines ORDER BY rowid"):
        assert fence >= terms[-1], f"{leader} wrote with fence {fence} after {terms[-1]}"
        if fence > terms[-1]:
            terms.append(fence)
    print(f"{len(terms) - 1} leaders wrote, one after the other")
    db.close()


if __name__ == "__main__":
    process(sys.argv[1]) if len(sys.argv) > 1 else main()
