# SPDX-License-Identifier: Apache-2.0
"""Dead letters and cleanup: scenarios DED-001 to DED-004 of tests/conformance/scenarios.md."""
from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from typing import Any, Callable, Dict, List

import pytest
from conftest import NOW, SECOND, App

import waypost
from waypost import ArgumentError, InboxKey, Job, NotFoundError, Overlap, RangeError, Status

MILLISECOND = timedelta(milliseconds=1)


class Sender:
    """Brings messages into one of the queues, by name."""

    def __init__(self, app: App, name: str) -> None:
        self.app = app
        self.name = name
        self.queue: Any = app.store.jobs.runs if name == "runs" else getattr(app.store, name)
        self.sent = 0

    def send(self, topic: str) -> uuid.UUID:
        self.sent += 1
        if self.name == "inbox":
            key = InboxKey("shop", str(self.sent))
            made = self.queue.enqueue(key, topic, "1").id
        elif self.name == "timers":
            made = self.queue.schedule(topic, "1").id
        elif self.name == "runs":
            self.app.store.jobs.put(Job(topic, cron="@yearly", overlap=Overlap.ALLOW))
            made = self.app.store.jobs.trigger(topic)
        else:
            made = self.queue.enqueue(topic, "1").id
        assert isinstance(made, uuid.UUID)
        return made

    def bury(self, id: uuid.UUID, reason: str) -> None:
        """Claim it and make it a dead letter; the next one dies a millisecond later."""
        batch = self.queue.claim(waypost.new_id())
        assert [message.id for message in batch] == [id]
        assert self.queue.fail(batch.owner, batch, reason=reason) == 1
        self.app.clock.advance(MILLISECOND)

    def dead(self, topic: str = "t", reason: str = "broken") -> uuid.UUID:
        id = self.send(topic)
        self.bury(id, reason)
        return id

    def status(self, id: uuid.UUID) -> str:
        """By the outbox's names."""
        name: str = self.queue.get(id).status.name
        return {"SUCCEEDED": "DONE", "PENDING": "READY"}.get(name, name)

    def claimable(self) -> List[uuid.UUID]:
        batch = self.queue.claim(waypost.new_id())
        self.queue.release(batch.owner, batch)
        return [message.id for message in batch]


QUEUES = ["outbox", "inbox", "timers", "runs"]


@pytest.fixture(params=QUEUES)
def sender(app: App, request: pytest.FixtureRequest) -> Sender:
    return Sender(app, request.param)


# scenario: DED-001
# proves: DLQ-001
def test_dead_letters_are_listed_in_pages_and_by_filters(sender: Sender) -> None:
    queue = sender.queue
    ids = [
        sender.dead("odd" if n % 2 else "even", "broken pipe" if n < 2 else "no such order")
        for n in range(5)
    ]

    def listed(**filters: Any) -> List[int]:
        return [ids.index(info.message.id) for info in queue.dead(**filters)]

    page = queue.dead().page(3)
    assert [info.message.id for info in page] == ids[:3]
    assert page[0].status is Status.FAILED and page[0].last_error == "broken pipe"
    assert page[0].finished == NOW and len(page[1:]) == 2
    rest = page.next()
    assert [info.message.id for info in rest] == ids[3:]
    assert len(rest.next()) == 0 and len(rest.next().next()) == 0
    assert [info.message.id for info in page.all()] == ids
    assert listed(topic="odd") == [1, 3]
    assert listed(topic="odd", reason="pipe") == [1]
    assert listed(since=NOW + MILLISECOND, until=NOW + 3 * MILLISECOND) == [1, 2, 3]
    assert listed(since=NOW + 4 * MILLISECOND) == [4] and listed(until=NOW) == [0]
    assert listed(ids=ids[:2], topic="odd") == [1]
    assert listed(ids=[]) == [] == listed(ids=iter([waypost.new_id()])), "none is not any"


# scenario: DED-002
# proves: DLQ-001
def test_replayed_they_are_ready_again_and_handled(
    sender: Sender, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waypost")
    queue = sender.queue
    id, other = sender.dead(), sender.dead()
    handled: List[int] = []
    worker = sender.app.store.worker()
    worker.add_handler("t", lambda delivery: handled.append(delivery.attempt), queue=queue._handle.kind)
    assert worker.drain() == 0
    assert queue.dead(ids=[id]).replay(by="me") == 1
    assert queue.dead(ids=[]).replay() == 0
    assert worker.drain() == 1 and handled == [0]
    assert sender.status(id) == "DONE" and sender.status(other) == "FAILED"
    assert queue.dead(ids=[id]).replay() == 0
    assert queue.dead().replay(limit=5) == 1 == worker.drain()


# scenario: DED-002
# proves: DLQ-001
def test_replayed_at_a_rate_they_come_due_one_after_the_other(sender: Sender) -> None:
    ids = [sender.dead() for _ in range(4)]
    assert sender.queue.dead().replay(limit=3, per_second=2) == 3
    for count in (1, 2, 3):
        assert sender.claimable() == ids[:count]
        sender.app.clock.advance(SECOND / 2 - MILLISECOND)
        assert sender.claimable() == ids[:count]
        sender.app.clock.advance(MILLISECOND)
    assert [info.message.id for info in sender.queue.dead()] == ids[3:]


# scenario: DED-003
# proves: DLQ-001
def test_purged_they_are_gone_and_the_rest_stays(sender: Sender) -> None:
    queue = sender.queue
    ids = [sender.dead() for _ in range(3)]
    ready = sender.send("t")
    assert queue.dead(ids=[]).purge() == 0
    assert queue.dead(ids=ids[:1]).purge() == 1
    assert queue.dead().purge(limit=1) == 1
    assert [info.message.id for info in queue.dead()] == ids[2:]
    assert queue.dead(topic="other").purge() == 0
    assert queue.dead().purge() == 1 and sender.claimable() == [ready]
    for id in ids:
        with pytest.raises(NotFoundError):
            queue.get(id)
    if sender.name == "inbox":
        state = queue.check(InboxKey("shop", "1")).state
        assert state is waypost.InboxState.NEW


# scenario: DED-004
# proves: IBX-098..101
def test_cleanup_removes_what_was_done_long_enough_ago(sender: Sender) -> None:
    queue = sender.queue

    def done() -> uuid.UUID:
        id = sender.send("t")
        batch = queue.claim(waypost.new_id())
        queue.ack(batch.owner, batch)
        return id

    dead, old = sender.dead(), done()
    sender.app.clock.advance(10 * SECOND)
    young, ready = done(), sender.send("t")
    assert queue.cleanup(10.001) == 0
    assert queue.cleanup(timedelta(seconds=10)) == 1
    with pytest.raises(NotFoundError):
        queue.get(old)
    assert [sender.status(id) for id in (dead, young, ready)] == ["FAILED", "DONE", "READY"]
    assert queue.cleanup(0) == 1


# scenario: DED-004
# proves: IBX-098..101
def test_cleanup_of_the_inbox_leaves_what_was_only_seen_or_came_again(app: App) -> None:
    inbox = app.store.inbox
    for name in ("seen", "old", "repeated"):
        inbox.check(InboxKey("shop", name))
    inbox.mark_processed(InboxKey("shop", "old"))
    inbox.mark_processed(InboxKey("shop", "repeated"))
    app.clock.advance(10 * SECOND)
    inbox.check(InboxKey("shop", "repeated"))
    assert inbox.cleanup(10) == 1
    states = [inbox.check(InboxKey("shop", name)).state.name for name in ("seen", "old", "repeated")]
    assert states == ["SEEN", "NEW", "DONE"]


# scenario: DED-005
# proves: DLQ-001
def test_those_of_all_queues_are_one_list(app: App) -> None:
    senders = [Sender(app, name) for name in QUEUES]
    kinds = list(waypost.QueueKind)
    ids = [sender.dead("early" if n == 0 else "late") for n in range(2) for sender in senders]
    every = app.store.all_queues
    listed = list(every.dead().page(3).all())
    assert [info.message.id for info in listed] == ids
    assert [info.queue for info in listed] == kinds * 2
    assert [info.message.id for info in every.dead(topic="late", ids=ids[3:6])] == ids[4:6]
    assert every.dead(topic="other").replay() == 0 == every.dead(ids=[]).purge()
    assert every.dead(topic="early").replay(limit=3, per_second=1, by="me") == 3
    for count in (1, 2, 3):
        assert sum(len(sender.claimable()) for sender in senders) == count
        app.clock.advance(SECOND)
    assert every.dead(topic="late").purge(limit=3) == 3
    assert [info.message.id for info in every.dead()] == [ids[3], ids[7]]
    for sender in senders[:3]:
        batch = sender.queue.claim(waypost.new_id())
        sender.queue.ack(batch.owner, batch)
    assert every.cleanup(0) == 3 and every.dead().purge() == 2


BAD: List[Any] = [
    ({"limit": 0}, RangeError, "limit"),
    ({"limit": "1"}, ArgumentError, "limit"),
    ({"limit": True}, ArgumentError, "limit"),
]


@pytest.mark.parametrize("options, error, name", BAD)
def test_bad_limits_are_named(app: App, options: Dict[str, Any], error: Any, name: str) -> None:
    dead = app.outbox.dead()
    calls: List[Callable[..., Any]] = [dead.page, dead.replay, dead.purge]
    for call in calls:
        with pytest.raises(error, match=name):
            call(**options)


def test_bad_filters_are_named_and_change_nothing(app: App) -> None:
    sender = Sender(app, "outbox")
    id = sender.dead()
    outbox = app.outbox
    bad: List[Any] = [
        ("topic", 1),
        ("reason", b"x"),
        ("since", NOW.replace(tzinfo=None)),
        ("until", "yesterday"),
        ("ids", "x"),
        ("ids", [str(id)]),
        ("ids", 7),
    ]
    for name, value in bad:
        with pytest.raises(ArgumentError, match=name):
            outbox.dead(**{name: value}).purge()
    with pytest.raises(RangeError):
        outbox.dead(since=NOW, until=NOW - SECOND)
    with pytest.raises(RangeError):
        outbox.dead().page(1001)
    with pytest.raises(RangeError, match="per_second"):
        outbox.dead().replay(per_second=-1)
    with pytest.raises(RangeError, match="older_than"):
        outbox.cleanup(-1)
    with pytest.raises(ArgumentError, match="by"):
        outbox.dead().replay(by=7)  # type: ignore[arg-type]
    assert [info.message.id for info in outbox.dead()] == [id]
