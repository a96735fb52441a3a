# SPDX-License-Identifier: Apache-2.0
"""What operators change and see: scenarios AUD-001, DED-006 and LEA-010 of tests/conformance/scenarios.md."""
from __future__ import annotations

import uuid
from typing import List

import pytest
from conftest import NOW, SECOND, App
from test_dead import QUEUES, Sender

import waypost
from waypost import ArgumentError, AuditEntry, ListedLease, QueueKind, RangeError


# scenario: AUD-001
# proves: DLQ-001, WRK-008
def test_what_is_changed_by_hand_is_noted(app: App) -> None:
    outbox, sender = app.store.outbox, Sender(app, "outbox")
    assert list(app.store.audit()) == []
    ids = [sender.dead() for _ in range(2)]
    app.clock.advance(SECOND)
    outbox.pause("t", by="Ann")
    assert outbox.dead(ids=ids[:1]).replay(by="Bob") == 1
    assert outbox.dead(topic="t", reason="broken").purge(by="Cid") == 1
    assert outbox.dead().purge(by="Cid") == 0, "what changed nothing is not noted"
    app.store.timers.resume("none", by="Ann")
    page = app.store.audit(limit=2)
    told = list(page.all())
    assert len(page) == 2 and len(page.next()) == 1 and len(page.next().next()) == 0
    assert [entry.action for entry in told] == ["dead.purge", "dead.replay", "topic.pause"]
    assert told[0].number > told[1].number > told[2].number
    purge = AuditEntry(
        number=told[0].number,
        at=app.clock.now,
        by="Cid",
        action="dead.purge",
        queue=QueueKind.OUTBOX,
        subject=None,
        detail={"count": 1, "topic": "t", "reason": "broken"},
    )
    assert told[0] == purge
    assert (told[1].by, told[1].subject, told[2].subject) == ("Bob", str(ids[0]), "t")
    assert told[2].detail == {}
    with pytest.raises(RangeError, match="limit"):
        app.store.audit(limit=0)


# proves: WRK-008
def test_what_is_done_to_a_job_by_hand_is_noted_with_who_did_it(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(waypost.Job("j", cron="@daily"))
    jobs.trigger("j")
    assert list(app.store.audit()) == [], "the app's own"
    jobs.disable("j", by="Ann")
    jobs.enable("j")
    jobs.trigger("j", by="Bob")
    connection = app.connect()
    for end in (connection.rollback, connection.commit):
        jobs.trigger("j", by="Cid", connection=connection)
        end()
    told = [(entry.action, entry.by, entry.subject) for entry in app.store.audit()]
    assert told == [
        ("job.trigger", "Cid", "j"),
        ("job.trigger", "Bob", "j"),
        ("job.resume", None, "j"),
        ("job.pause", "Ann", "j"),
    ]
    for call in (jobs.trigger, jobs.enable, jobs.disable):
        for bad in ("x" * 256, "a\0b"):
            with pytest.raises(ArgumentError, match="by"):
                call("j", by=bad)


# scenario: DED-006
# proves: DLQ-001
@pytest.mark.parametrize("name", QUEUES)
def test_dead_letter_is_edited_and_replayed(app: App, name: str) -> None:
    sender = Sender(app, name)
    queue = sender.queue
    dead, alive = sender.dead(), sender.send("other")
    assert queue.edit_dead(dead, "new \u2603", by="Ann") is True
    assert queue.edit_dead(alive, "new") is False
    assert queue.edit_dead(waypost.new_id(), "new") is False
    (entry,) = app.store.audit()
    assert (entry.by, entry.action, entry.subject) == ("Ann", "dead.edit", str(dead))
    assert entry.queue is queue._handle.kind
    assert entry.detail["newBytes"] == 7
    assert sender.status(dead) == "FAILED"
    assert queue.dead(ids=[dead]).replay() == 1
    payloads = {message.id: message.payload for message in queue.claim(waypost.new_id())}
    assert payloads[dead] == "new \u2603" and payloads[alive] != "new"
    for payload in ("a\0b", b"\xff"):
        with pytest.raises(ArgumentError, match="payload"):
            queue.edit_dead(dead, payload)
    with pytest.raises(ArgumentError, match="id"):
        queue.edit_dead("no id", "x")


# scenario: LEA-010
# proves: LSE-001
def test_leases_and_semaphores_are_listed_by_name(app: App) -> None:
    leases, semaphores = app.store.leases, app.store.semaphores
    assert len(leases.list()) == 0 == len(semaphores.list())
    for name in ("b", "a", "C"):
        leases.acquire(name, "me", 10)
    leases.release("b", "me")
    until = NOW + 10 * SECOND

    def named(*names: str) -> List[str]:
        return [lease.name for lease in leases.list(limit=2).all() if lease.name in names]

    assert named("a", "b", "C") == ["C", "a", "b"]
    first, second = leases.list(limit=2)
    assert first == ListedLease("C", "me", until, 1, 1) and second.name == "a"
    assert leases.list()[2].holders == 0, "released"
    app.clock.advance(10 * SECOND)
    assert leases.list()[0] == ListedLease("C", "me", until, 1, 0), "expired"
    semaphores.set_limit("s", 2)
    semaphores.acquire("s", str(uuid.uuid4()), 5)
    assert list(semaphores.list()) == [ListedLease("s", None, app.clock.now + 5 * SECOND, 2, 1)]
    with pytest.raises(RangeError, match="limit"):
        leases.list(limit=0)
