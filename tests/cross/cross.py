# SPDX-License-Identifier: Apache-2.0
"""Python's part of the cross-language test: run.py says what each program does.

    cross.py produce URL FILE
    cross.py consume URL TOPIC COUNT FILE
"""
from __future__ import annotations

import json
import sqlite3
import sys
import threading
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Optional

import waypost

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def time_of(us: Optional[int]) -> Optional[datetime]:
    return None if us is None else EPOCH + timedelta(microseconds=us)


def us_of(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def connect(store: waypost.Store) -> Any:
    if store.location.startswith("postgres"):
        import psycopg

        return psycopg.connect(store.location)
    return sqlite3.connect(store.location, timeout=30)


def message(row: Dict[str, Any]) -> waypost.Message:
    return waypost.Message(
        row["topic"],
        row["payload"],
        headers=row["headers"],
        correlation_id=row["correlation_id"],
        due=time_of(row["due_us"]),
    )


def produce(url: str, path: str) -> None:
    with waypost.Store.open(url) as store, open(path, encoding="utf-8", newline="\n") as file:
        connection = connect(store)
        messages = [message(json.loads(line)) for line in file]
        store.outbox.enqueue_many(messages, connection=connection)
        connection.commit()
        connection.close()


def consume(url: str, topic: str, count: int, path: str) -> None:
    done = threading.Event()
    lock = threading.Lock()
    left = count
    with waypost.Store.open(url) as store, open(path, "w", encoding="utf-8", newline="\n") as file:
        worker = store.worker()

        @worker.handler(topic)
        def handle(delivery: waypost.Delivery) -> None:
            nonlocal left
            row = {
                "topic": delivery.topic,
                "payload": delivery.payload,
                "correlation_id": delivery.correlation_id,
                "headers": delivery.headers,
                "due_us": us_of(delivery.due),
            }
            with lock:
                file.write(json.dumps(row) + "\n")
                left -= 1
                if left == 0:
                    done.set()

        worker.start()
        if not done.wait(120):
            raise SystemExit(f"cross.py: {left} messages did not come")
        worker.stop(10)


if __name__ == "__main__":
    if sys.argv[1] == "produce":
        produce(*sys.argv[2:4])
    else:
        consume(sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5])
