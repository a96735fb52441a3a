# SPDX-License-Identifier: Apache-2.0
"""The demo's worker in Python: consume.py URL NAME TOPIC...

Each handler writes what it saw and the acknowledgement in one transaction, so that being killed in the
middle leaves neither. Runs until its standard input ends.
"""
from __future__ import annotations

import sys
import threading

import shop

import waypost

_local = threading.local()


def database(url: str) -> shop.Database:
    """One connection for each of the worker's threads."""
    if not hasattr(_local, "db"):
        _local.db = shop.Database(url)
    db: shop.Database = _local.db
    return db


def main(url: str, name: str, *topics: str) -> None:
    def handle(delivery: waypost.Delivery) -> None:
        db = database(url)
        db.begin()
        try:
            db.run(
                "INSERT INTO effects VALUES (?, ?, ?, ?)",
                (delivery.correlation_id, name, delivery.topic, delivery.payload),
            )
            delivery.complete(db.connection)
            db.run("COMMIT")
        except BaseException:
            db.connection.rollback()
            raise

    with waypost.Store.open(url) as store:
        worker = store.worker(name=name, lease=2.0, concurrency=4)
        for topic in topics:
            worker.add_handler(topic, handle)
        worker.start()
        sys.stdin.read()
        worker.stop(10)


if __name__ == "__main__":
    main(*sys.argv[1:])
