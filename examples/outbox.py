# SPDX-License-Identifier: Apache-2.0
"""An order and its event in one transaction, one that is rolled back, and a worker."""
import sqlite3

import waypost


def main() -> None:
    handled = []
    with waypost.Store.open("sqlite:orders.db", deploy=True) as store:
        db = sqlite3.connect("orders.db")
        db.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT)")

        with db:  # commits
            db.execute("INSERT INTO orders (customer) VALUES ('Ada')")
            store.outbox.enqueue("order.placed", '{"customer": "Ada"}', connection=db)

        try:
            with db:  # rolls back
                db.execute("INSERT INTO orders (customer) VALUES ('nobody')")
                store.outbox.enqueue("order.placed", '{"customer": "nobody"}', connection=db)
                raise RuntimeError("out of stock")
        except RuntimeError as error:
            print(f"rolled back: {error}")

        worker = store.worker()

        @worker.handler("order.placed")
        def placed(delivery: waypost.Delivery) -> None:
            print("handling", delivery.topic, delivery.payload)
            handled.append(delivery.payload)

        worker.drain()  # a service calls worker.run()
        db.close()
    assert handled == ['{"customer": "Ada"}'], handled


if __name__ == "__main__":
    main()
