# SPDX-License-Identifier: Apache-2.0
"""The demo's worker in Python: consume.py DATABASE FOLDER NAME

Each handler writes what it saw and the acknowledgement in one transaction, so that being killed in the
middle leaves neither. Runs until its standard input ends.
"""
from __future__ import annotations

import sqlite3
import sys
import threading

import shop

import waypost

_local = threading.local()


def connection(path: str) -> sqlite3.Connection:
    """One connection for each of the worker's threads."""
    if not hasattr(_local, "db"):
        _local.db = shop.connect(path)
    db: sqlite3.Connection = _local.db
    return db


def main(path: str, folder: str, name: str) -> None:
    def handle(delivery: waypost.Delivery) -> None:
        db = connection(path)
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(
                "INSERT INTO effects VALUES (?, ?, ?, ?)",
                (delivery.correlation_id, name, delivery.topic, delivery.payload),
            )
            delivery.complete(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    with waypost.Store.open(f"sqlite:{path}") as store:
        worker = store.worker(name=name, lease=2.0, concurrency=4)
        for topic in shop.shares(folder)["python"]:
            worker.add_handler(topic, handle)
        worker.start()
        sys.stdin.read()
        worker.stop(10)


if __name__ == "__main__":
    main(*sys.argv[1:4])
