# SPDX-License-Identifier: Apache-2.0
"""Fan out and in: 1,000 messages, handled by three processes, and one message after the last of them.

The order, its join and its 1,000 steps come into being in one transaction. One step in a hundred fails its
first attempt, and one of the processes is killed by kill -9 on the way, so that others get its steps again.
Whatever happens, each step counts once, and when the last one has counted, the message that says so is
enqueued, once, in the transaction in which that step is acknowledged.
"""
from __future__ import annotations

import collections
import sqlite3
import subprocess
import sys
import time
import uuid
from typing import Callable, Dict

import waypost

STEPS = 1000
LEASE = 2.0  # seconds: how long the steps of a dead process are waited for; 30 in earnest
PATIENCE = 60.0
FILE = "fanout.db"
TABLES = "CREATE TABLE orders (name TEXT NOT NULL); CREATE TABLE ends (name TEXT, process TEXT);"


def connect() -> sqlite3.Connection:
    return sqlite3.connect(FILE, timeout=PATIENCE, check_same_thread=False)


# ---- one of the processes -------------------------------------------------------------------


def process(name: str) -> None:
    with waypost.Store.open(f"sqlite:{FILE}") as store:
        worker = store.worker(
            name=name, lease=LEASE, reap=0.1, backoff_base=0.05, concurrency=8, batch_size=16
        )

        @worker.handler("order.step")
        def step(delivery: waypost.Delivery) -> None:
            time.sleep(0.01)  # work
            if int(delivery.payload) % 100 == 0 and delivery.attempt == 0:
                raise waypost.Retry("not yet")

        @worker.handler("order.done")
        def done(delivery: waypost.Delivery) -> None:
            db = connect()
            with db:
                db.execute("INSERT INTO ends VALUES (?, ?)", (delivery.payload, name))
                delivery.complete(db)  # with what it wrote, or not at all
            db.close()

        worker.run()


# ---- what is shown --------------------------------------------------------------------------


def fan_out(store: waypost.Store, db: sqlite3.Connection) -> uuid.UUID:
    """All in one transaction: nobody ever sees a part of it."""
    with db:
        db.execute("INSERT INTO orders VALUES ('order-7')")
        join = store.joins.start(
            STEPS,
            grouping_key="order-7",
            success=waypost.Message("order.done", "order-7"),
            timeout=3600,
            connection=db,
        )
        steps = [waypost.Message("order.step", str(n), joins=[join]) for n in range(STEPS)]
        store.outbox.enqueue_many(steps, connection=db)
    return join


def wait_for(what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)


def show(store: waypost.Store, db: sqlite3.Connection, join: uuid.UUID) -> None:
    info = store.joins.get(join)
    print(f"the join is {info.status.name}: {info.completed} steps completed, {info.failed} failed")
    done = [store.outbox.get(member.id) for member in store.joins.members(join, limit=STEPS).all()]
    shares = collections.Counter(str(step.finished_by) for step in done)
    print("steps by process:", ", ".join(f"{name} {shares[name]}" for name in sorted(shares)))
    print("tried again:", sum(step.message.attempt > 0 for step in done))
    ends = db.execute("SELECT name FROM ends").fetchall()
    print(f"{len(ends)} message came after the last step: {ends[0][0]} is done")


def main() -> None:
    with waypost.Store.open(f"sqlite:{FILE}", deploy=True) as store:
        db = connect()
        db.executescript(TABLES)
        join = fan_out(store, db)
        print(f"order-7 has {STEPS} steps")
        running: Dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name in ("one", "two", "three"):
                running[name] = subprocess.Popen([sys.executable, __file__, name])
            wait_for("a fifth of the steps", lambda: store.joins.get(join).completed >= STEPS // 5)
            running["two"].kill()
            print("process two was killed by kill -9 on the way")
            wait_for("the message", lambda: bool(db.execute("SELECT 1 FROM ends").fetchone()))
        finally:
            for child in running.values():
                child.terminate()
            for child in running.values():
                child.wait(PATIENCE)
        show(store, db, join)
        db.close()


if __name__ == "__main__":
    process(sys.argv[1]) if len(sys.argv) > 1 else main()
