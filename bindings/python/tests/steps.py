# SPDX-License-Identifier: Apache-2.0
"""What is done on each kind of connection that an app may have, and what must be there afterwards."""
from __future__ import annotations

from conftest import App

import waypost
from waypost import Message

INSERT = "INSERT INTO orders (name) VALUES ('x')"
PAYLOAD = "\U0001f600 % %s %% ' \\ \" $1 ? :a @b"


class Rolled(Exception):
    """Makes a transaction roll back."""


def steps(app: App, connection: object, claim: waypost.Claim) -> None:
    """Every statement that Waypost runs on a connection of the app's: enqueues that return rows and
    that do not, of one and of many, and acks."""
    made = app.outbox.enqueue("unique", PAYLOAD, connection=connection, unique_key="k")
    again = app.outbox.enqueue("unique", "2", connection=connection, unique_key="k")
    assert again.duplicate and again.id == made.id
    app.outbox.enqueue("plain", PAYLOAD, connection=connection, headers={"a": PAYLOAD})
    batch = [Message("many", PAYLOAD), Message("many", "2", unique_key="m")] * 2
    results = app.outbox.enqueue_many(batch, connection=connection)
    assert [one.duplicate for one in results] == [False, False, False, True]
    assert results[1].id == results[3].id
    assert app.outbox.ack(claim.owner, claim, connection=connection, worker="w") == 1


def check(app: App, commit: bool) -> None:
    """What is there afterwards."""
    total = app.outbox.stats().total
    assert app.orders() == (1 if commit else 0)
    assert total.done == (1 if commit else 0)
    assert total.in_progress == (0 if commit else 1)
    if not commit:
        assert total.ready == 0
        return
    claim = app.claim()
    assert sorted(message.topic for message in claim) == ["many"] * 3 + ["plain", "unique"]
    assert sum("\U0001f600" in message.payload for message in claim) == 4
