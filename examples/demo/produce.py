# SPDX-License-Identifier: Apache-2.0
"""A process of the order service: produce.py URL FOLDER NAME COUNT

Each order is a business row and a webhook document as its event, in one transaction. Every fifth
transaction is rolled back, and every seventh rolls a further order back to a savepoint. What became of
each order is printed, outside the database, as the truth to check against.
"""
from __future__ import annotations

import sys
import zlib

import shop

import waypost


def place(db: shop.Database, store: waypost.Store, order: str, topic: str, payload: str) -> None:
    db.run("INSERT INTO orders VALUES (?, ?, ?)", (order, topic, shop.digest(payload)))
    store.outbox.enqueue(topic, payload, connection=db.connection, correlation_id=order)


def main(url: str, folder: str, name: str, count: int) -> None:
    documents = shop.documents(folder)
    first = zlib.crc32(name.encode())  # producers begin with different documents
    db = shop.Database(url)
    with waypost.Store.open(url) as store:
        for i in range(count):
            topic, payload = documents[(first + i * 7) % len(documents)]
            order = f"{name}-{i}"
            db.begin()
            place(db, store, order, topic, payload)
            if i % 7 == 6:
                db.run("SAVEPOINT extra")
                place(db, store, order + "-extra", topic, payload)
                db.run("ROLLBACK TO extra")
                db.run("RELEASE extra")
                print("rolled-back", order + "-extra", flush=True)
            if i % 5 == 4:
                db.run("ROLLBACK")
                print("rolled-back", order, flush=True)
            else:
                db.run("COMMIT")
                print("committed", order, flush=True)
    db.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
