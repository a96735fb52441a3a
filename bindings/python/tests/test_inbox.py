# SPDX-License-Identifier: Apache-2.0
"""The inbox: scenarios INB-001 to INB-015 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
import threading
import uuid
from contextlib import closing
from typing import Any, Callable, List

import pytest
from conftest import NOW, SECOND, App, begin, connect, connect_async, in_transaction, until

import waypost
from waypost import (
    ArgumentError,
    Arrival,
    Delivery,
    InboxKey,
    InboxState,
    Message,
    NotFoundError,
    QueueKind,
    StateError,
    Status,
)

KEY = InboxKey("shop", "1")
NEW, SEEN, PROCESSING, DONE, DEAD = InboxState


def claim(app: App, **options: Any) -> waypost.Claim:
    return app.store.inbox.claim(waypost.new_id(), **options)


def finish(app: App) -> None:
    """Claim all and ack it."""
    batch = claim(app)
    assert app.store.inbox.ack(batch.owner, batch) == len(batch)


# ---- arrival --------------------------------------------------------------------------------


# scenario: INB-001
# proves: IBX-002..005
def test_check_is_new_then_seen_and_done_once_processed(app: App) -> None:
    inbox = app.store.inbox
    assert inbox.check(KEY) == Arrival(NEW) and Arrival(NEW).proceed
    with pytest.raises(TypeError, match="proceed"):
        bool(Arrival(DONE))
    assert inbox.check(KEY) == Arrival(SEEN) and Arrival(SEEN).proceed
    inbox.mark_processed(KEY)
    assert inbox.check(KEY) == Arrival(DONE) and not Arrival(DONE).proceed

    connection = app.connect()
    other = InboxKey("shop", "2")
    assert inbox.check(other, connection=connection).state is NEW
    inbox.mark_processed(other, connection=connection)
    assert inbox.check(other, connection=connection).state is DONE
    assert in_transaction(connection)
    connection.rollback()
    with pytest.raises(NotFoundError):
        inbox.get(other)
    inbox.check(other, connection=connection)
    inbox.mark_processed(other, connection=connection)
    connection.commit()
    assert inbox.check(other).state is DONE
    assert inbox.counters.checked >= 4 and inbox.counters.duplicates >= 2


# scenario: INB-002
# proves: IBX-001, IBX-010, IBX-021
def test_keys_that_nearly_look_alike_are_different(app: App) -> None:
    texts = ["a", "A", "a ", "\u00e9", "e\u0301"]
    keys = [InboxKey(source, id) for source in texts for id in texts]
    keys += [InboxKey("a", "a", consumer) for consumer in texts]
    assert [app.store.inbox.check(key).state for key in keys] == [NEW] * len(keys)
    assert [app.store.inbox.check(key).state for key in keys] == [SEEN] * len(keys)
    assert app.store.inbox.check(InboxKey("a", "a", "")).state is SEEN, "the one without a name"


Make = Callable[[str], InboxKey]
NAMES: List[Any] = [
    pytest.param(lambda text: InboxKey(text, "1"), id="source"),
    pytest.param(lambda text: InboxKey("shop", text), id="message_id"),
]


# scenario: INB-003
# proves: IBX-009..012, IBX-015..018, IBX-020
@pytest.mark.parametrize("make", NAMES)
def test_lengths_of_keys_at_their_limits(app: App, make: Make) -> None:
    inbox = app.store.inbox
    for text in ("k" * 255, "\U0001f600" * 127 + "k"):
        key = make(text)
        assert inbox.enqueue(key, "t", "1").state is NEW
        message = inbox.get(key).message
        assert text in (message.source, message.message_id)
    before = inbox.stats().total
    for text in ("", None, 1, "k" * 256, "\U0001f600" * 128, "a\0b", "\ud800"):
        with pytest.raises(ArgumentError, match="source|message_id|message id"):
            inbox.check(make(text))  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="source|message_id|message id"):
            inbox.enqueue(make(text), "t", "1")  # type: ignore[arg-type]
    assert inbox.stats().total == before


# scenario: INB-003
# proves: IBX-015, IBX-018
def test_topic_and_other_arguments_are_checked(app: App) -> None:
    inbox = app.store.inbox
    inbox.enqueue(KEY, "t" * 255, "1")
    bad: List[Any] = ["", None, "t" * 256, "\U0001f600" * 128]
    for topic in bad:
        with pytest.raises(ArgumentError, match="topic"):
            inbox.enqueue(InboxKey("shop", "2"), topic, "1")
    with pytest.raises(ArgumentError, match="payload"):
        inbox.enqueue(InboxKey("shop", "2"), "t", None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="unique"):
        inbox.enqueue_many([(InboxKey("shop", "2"), Message("t", "1", unique_key="u"))])
    for key in ("shop", None, ("shop", "2")):
        with pytest.raises(ArgumentError, match="key"):
            inbox.check(key)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="key"):
            inbox.mark_processed(key)  # type: ignore[arg-type]
    for messages in (None, "xy", [KEY], [(KEY,)]):
        with pytest.raises(ArgumentError, match="messages"):
            inbox.enqueue_many(messages)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="hash"):
        inbox.check(InboxKey("shop", "2", hash="x"))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="hash_algorithm"):
        inbox.check(InboxKey("shop", "2", hash_algorithm="md5"))
    with pytest.raises(ArgumentError, match="consumer"):
        inbox.check(InboxKey("shop", "2", "c" * 256))
    with pytest.raises(NotFoundError):
        inbox.get(InboxKey("shop", "2"))


# scenario: INB-004
# proves: IBX-007, IBX-008, IBX-129
def test_another_hash_is_told_and_warned_of(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = app.store.inbox
    one, two = (hashlib.sha256(content).digest() for content in (b"1", b"2"))
    assert not inbox.check(InboxKey("shop", "1", hash=one)).mismatch
    assert not inbox.check(InboxKey("shop", "1", hash=one)).mismatch
    caplog.clear()
    assert inbox.check(InboxKey("shop", "1", hash=two)) == Arrival(SEEN, mismatch=True)
    assert any("hash" in record.getMessage() for record in caplog.records)
    assert not inbox.check(InboxKey("shop", "1", hash=two, hash_algorithm="sha512")).mismatch
    assert inbox.enqueue(InboxKey("shop", "1", hash=two), "t", "1").mismatch
    message = claim(app)[0]
    assert message.hash == two and message.hash_algorithm == "sha256"
    assert inbox.counters.mismatches == 2


# scenario: INB-005
# proves: IBX-013, IBX-019
def test_enqueue_in_the_apps_transaction(app: App) -> None:
    connection = app.connect()
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    made = app.store.inbox.enqueue(KEY, "t", "", connection=connection)
    assert made.state is NEW and app.store.inbox.stats().total.ready == 0
    connection.rollback()
    with pytest.raises(NotFoundError):
        app.store.inbox.get(KEY)
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    made = app.store.inbox.enqueue(KEY, "t", "", connection=connection)
    connection.commit()
    [message] = claim(app)
    assert message.id == made.id and message.payload == "" and app.orders() == 1


# scenario: INB-006
# proves: IBX-014, IBX-028, IBX-029
def test_enqueue_again_takes_the_new_values_unless_done(app: App) -> None:
    inbox = app.store.inbox
    first = inbox.enqueue(KEY, "old", "old", ordering_key="k")
    again = inbox.enqueue(KEY, "new", "new", correlation_id="c", headers={"a": "b"}, delay=10)
    assert again == Arrival(PROCESSING, id=first.id)
    assert len(claim(app)) == 0
    app.clock.advance(10 * SECOND)
    [message] = claim(app)
    assert (message.topic, message.payload, message.correlation_id) == ("new", "new", "c")
    assert message.headers == {"a": "b"} and message.ordering_key == "k"
    inbox.mark_processed(KEY)
    assert inbox.enqueue(KEY, "third", "third").state is DONE
    info = inbox.get(KEY)
    assert info.status is Status.DONE and info.message.payload == "new"
    assert len(claim(app)) == 0


# scenario: INB-007
# proves: IBX-014
def test_many_give_an_id_and_a_state_each_in_order(app: App) -> None:
    inbox = app.store.inbox
    inbox.check(InboxKey("shop", "7"))
    pairs = [(InboxKey("shop", str(n)), Message("t", str(n))) for n in (9, 7, 3, 9)]
    connection = app.connect()
    for chosen in (None, connection):
        made = inbox.enqueue_many(pairs, connection=chosen)
        states = [one.state for one in made]
        assert states == ([NEW, SEEN, NEW, PROCESSING] if chosen is None else [PROCESSING] * 4)
        assert made[0].id == made[3].id and len({one.id for one in made}) == 3
        assert inbox.get(made[2].id).message.message_id == "3" if made[2].id else False
    connection.commit()
    bad = [(InboxKey("shop", "10"), Message("t", "1")), (InboxKey("shop", "11"), Message("", "1"))]
    for chosen in (None, connection):
        with pytest.raises(ArgumentError, match="topic"):
            inbox.enqueue_many(bad, connection=chosen)
    connection.commit()
    with pytest.raises(NotFoundError):
        inbox.get(InboxKey("shop", "10"))
    assert inbox.enqueue_many([]) == []


# scenario: INB-008
# proves: IBX-002, IBX-006
def test_once_is_done_with_the_commit_and_delivered_again_after_a_rollback(app: App) -> None:
    inbox = app.store.inbox
    connection = app.connect()
    for commit in (False, True):
        assert inbox.once(KEY, connection=connection).proceed
        connection.execute("INSERT INTO orders (name) VALUES ('x')")
        connection.commit() if commit else connection.rollback()
    assert app.orders() == 1
    for _ in range(2):
        assert inbox.once(KEY, connection=connection) == Arrival(DONE)
        connection.commit()
    assert inbox.get(KEY).status is Status.DONE
    with pytest.raises(ArgumentError, match="connection"):
        inbox.once(KEY, connection=None)


# scenario: INB-008
# proves: IBX-006
@pytest.mark.engines("postgresql")
def test_once_at_the_same_time_is_processing_for_the_second(app: App) -> None:
    inbox = app.store.inbox
    first, second = app.connect(), app.connect()
    assert inbox.once(KEY, connection=first).proceed
    assert inbox.once(KEY, connection=second) == Arrival(PROCESSING)
    second.rollback()
    first.rollback()
    assert inbox.once(KEY, connection=second).proceed
    second.commit()


# scenario: INB-008
# proves: IBX-006
def test_once_by_many_threads_runs_once(app: App) -> None:
    together = threading.Barrier(4)
    proceeded: List[bool] = []

    def deliver() -> None:
        with closing(connect(app.url)) as connection:
            together.wait()
            for number in range(10):
                key = InboxKey("shop", str(number))
                if app.store.inbox.once(key, connection=connection).proceed:
                    connection.execute("INSERT INTO orders (name) VALUES ('x')")
                    proceeded.append(True)
                connection.commit()

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(proceeded) == app.orders() == 10


def test_once_on_a_connection_that_commits_by_itself_is_refused(app: App) -> None:
    connection = app.connect(autocommit=True)
    with pytest.raises(StateError, match="transaction"):
        app.store.inbox.once(KEY, connection=connection)
    with pytest.raises(NotFoundError):
        app.store.inbox.get(KEY)
    begin(connection)
    assert app.store.inbox.once(KEY, connection=connection).proceed
    connection.commit()
    assert app.store.inbox.check(KEY).state is DONE

    async def on_async() -> None:
        async with connect_async(app.url, autocommit=True) as connection:
            with pytest.raises(StateError, match="transaction"):
                await app.store.inbox.once_async(InboxKey("shop", "2"), connection=connection)
            await connection.execute("BEGIN")
            made = await app.store.inbox.once_async(InboxKey("shop", "2"), connection=connection)
            assert made.proceed
            await connection.execute("ROLLBACK")

    asyncio.run(on_async())
    with pytest.raises(NotFoundError):
        app.store.inbox.get(InboxKey("shop", "2"))


# ---- states by key --------------------------------------------------------------------------


# scenario: INB-009
# proves: IBX-044, IBX-060
@pytest.mark.parametrize("on_connection", [False, True])
def test_marks_by_key(app: App, on_connection: bool) -> None:
    inbox = app.store.inbox
    connection = app.connect() if on_connection else None

    def commit() -> None:
        if connection is not None:
            assert in_transaction(connection)
            connection.commit()

    for mark in (inbox.mark_processing, inbox.mark_processed, inbox.mark_dead, inbox.revive):
        with pytest.raises(NotFoundError):
            mark(KEY, connection=connection)
        if connection is not None:
            connection.rollback()
    inbox.check(KEY)
    inbox.mark_processing(KEY, connection=connection)
    commit()
    assert inbox.check(KEY).state is PROCESSING
    inbox.mark_dead(KEY, reason="no such order", connection=connection)
    commit()
    assert inbox.check(KEY).state is DEAD and inbox.get(KEY).last_error == "no such order"
    inbox.revive(KEY, connection=connection)
    commit()
    assert inbox.check(KEY).state is SEEN, "it had no topic"
    with pytest.raises(StateError):
        inbox.revive(KEY)
    inbox.mark_processed(KEY, connection=connection)
    commit()
    with pytest.raises(StateError):
        inbox.mark_dead(KEY)
    with pytest.raises(StateError):
        inbox.mark_processing(KEY)
    queued = InboxKey("shop", "2")
    inbox.enqueue(queued, "t", "1")
    inbox.mark_dead(queued)
    assert len(claim(app)) == 0
    inbox.revive(queued, connection=connection)
    commit()
    assert [message.attempt for message in claim(app)] == [0]


# ---- claim and finish -----------------------------------------------------------------------


# scenario: INB-010
# proves: IBX-030..056, IBX-060..071
def test_claim_and_what_ends_it_are_as_in_the_outbox(app: App) -> None:
    inbox = app.store.inbox
    ids = [
        inbox.enqueue(InboxKey("shop", str(n), "mailer", b"h", "x"), "t", str(n)).id
        for n in range(6)
    ]
    batch = claim(app, batch=5, lease=10)
    assert [message.id for message in batch] == ids[:5] and len(claim(app, topics=["u"])) == 0
    message = batch[0]
    assert (message.source, message.message_id, message.consumer) == ("shop", "0", "mailer")
    assert (message.hash, message.hash_algorithm) == (b"h", "x")
    assert message.last_seen == NOW and message.job is None
    stranger = waypost.new_id()
    assert inbox.ack(stranger, batch) == 0
    owner = batch.owner
    assert inbox.ack(owner, [batch[0]], worker="w1") == 1 == inbox.ack(owner, [batch[0]]) + 1
    assert inbox.get(batch[0].id).finished_by == "w1"
    assert inbox.abandon(owner, [batch[1]], delay=5, reason="later") == 1
    assert inbox.fail(owner, [batch[2]], reason="never") == 1
    with pytest.raises(ArgumentError, match="reason"):
        inbox.fail(owner, [batch[3]])
    assert inbox.release(owner, [batch[3]]) == 1
    assert inbox.renew(owner, [batch[4]], lease=20) == 1
    app.clock.advance(11 * SECOND)
    assert inbox.reap() == 0
    again = claim(app)
    assert sorted(m.payload for m in again) == ["1", "3", "5"]
    assert {m.payload: m.attempt for m in again} == {"1": 1, "3": 0, "5": 0}
    app.clock.advance(60 * SECOND)
    assert inbox.reap() == 4
    assert inbox.ack(again.owner, again) == 0
    assert inbox.ack(owner, []) == 0


# scenario: INB-010
# proves: IBX-044
def test_ack_in_the_apps_transaction(app: App) -> None:
    app.store.inbox.enqueue(KEY, "t", "1")
    batch = claim(app)
    connection = app.connect()
    assert app.store.inbox.ack(batch.owner, batch, connection=connection) == 1
    connection.rollback()
    assert app.store.inbox.get(KEY).status is Status.IN_PROGRESS

    async def on_async() -> None:
        async with connect_async(app.url) as connection:
            changed = await app.store.inbox.ack_async(batch.owner, batch, connection=connection)
            assert changed == 1
            await connection.commit()

    asyncio.run(on_async())
    assert app.store.inbox.get(KEY).status is Status.DONE


# scenario: INB-011
# proves: IBX-025, IBX-026
def test_get_and_stats_in_each_state(app: App) -> None:
    inbox = app.store.inbox
    for name in ("seen", "ready", "busy", "done", "dead"):
        if name == "seen":
            inbox.check(InboxKey("shop", name))
        else:
            inbox.enqueue(InboxKey("shop", name), name, "1")
    batch = claim(app, topics=["busy", "done", "dead"])
    by_topic = {message.topic: message for message in batch}
    inbox.ack(batch.owner, [by_topic["done"]])
    inbox.fail(batch.owner, [by_topic["dead"]], reason="no")
    statuses = {
        name: inbox.get(InboxKey("shop", name)).status
        for name in ("seen", "ready", "busy", "done", "dead")
    }
    assert list(statuses.values()) == [
        Status.SEEN,
        Status.READY,
        Status.IN_PROGRESS,
        Status.DONE,
        Status.FAILED,
    ]
    seen = inbox.get(InboxKey("shop", "seen")).message
    assert (seen.topic, seen.payload) == ("", "") and inbox.get(seen.id).message == seen
    stats = inbox.stats()
    assert sorted(stats.topics) == ["busy", "dead", "done", "ready"]
    total = stats.total
    assert (total.ready, total.in_progress, total.done, total.failed) == (1, 1, 1, 1)
    assert inbox.stats(finished=False).total.done == 0
    for unknown in (InboxKey("shop", "x"), waypost.new_id()):
        with pytest.raises(NotFoundError):
            inbox.get(unknown)


# ---- workers --------------------------------------------------------------------------------


# scenario: INB-012
# proves: IBX-073, IBX-076
def test_handlers_of_inbox_and_outbox_share_a_topic_but_no_messages(app: App) -> None:
    worker = app.store.worker()
    got: List[Any] = []

    @worker.handler("t")
    def from_outbox(delivery: Delivery) -> None:
        got.append((delivery.queue, delivery.payload, delivery.source))

    @worker.inbox("t", max_attempts=3)
    def from_inbox(delivery: Delivery) -> None:
        assert delivery.message.source == delivery.source and delivery.hash == b"h"
        got.append((delivery.queue, delivery.payload, delivery.source))
        assert (delivery.message_id, delivery.consumer) == ("1", "")
        assert delivery.hash_algorithm == "sha256"

    app.outbox.enqueue("t", "out")
    app.store.inbox.enqueue(InboxKey("shop", "1", hash=b"h"), "t", "in")
    assert worker.drain() == 2
    assert sorted(got, key=str) == [
        (QueueKind.INBOX, "in", "shop"),
        (QueueKind.OUTBOX, "out", None),
    ]
    with pytest.raises(StateError):
        worker.add_handler("t", from_inbox, queue=QueueKind.INBOX)
    with pytest.raises(ArgumentError, match="queue"):
        worker.add_handler("u", from_inbox, queue="inbox")
    with pytest.raises(TypeError):
        worker.inbox("u", no_such_option=1)


# scenario: INB-012
def test_inbox_is_handled_by_threads_and_tasks_and_can_be_pulled(
    app: App, live: waypost.Store
) -> None:
    worker = live.worker(poll_max=0.05)
    got: List[str] = []

    @worker.inbox("plain")
    def plain(delivery: Delivery) -> None:
        got.append(delivery.payload)

    @worker.inbox("async")
    async def with_await(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        got.append(delivery.payload)

    with worker:
        for topic in ("plain", "async"):
            live.inbox.enqueue(InboxKey("shop", topic), topic, topic)
        until(lambda: live.inbox.stats().total.done == 2)
    assert sorted(got) == ["async", "plain"]
    puller = live.worker()
    puller.subscribe("pulled", QueueKind.INBOX)
    live.outbox.enqueue("pulled", "no")
    live.inbox.enqueue(InboxKey("shop", "pulled"), "pulled", "yes")
    delivery = puller.next(60)
    assert delivery is not None and delivery.payload == "yes"
    delivery.done()
    delivery.settle(60)
    puller.stop()


# scenario: INB-013
# proves: IBX-075, IBX-083, IBX-111
def test_outcomes_of_inbox_handlers(app: App, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")
    inbox = app.store.inbox
    worker = app.store.worker(name="w1")

    @worker.inbox("raises")
    def raises(delivery: Delivery) -> None:
        raise ValueError("no")

    @worker.inbox("rejects")
    def rejects(delivery: Delivery) -> None:
        raise waypost.Reject("never")

    committing = [False, True]

    @worker.inbox("completes")
    def completes(delivery: Delivery) -> None:
        with closing(connect(app.url)) as connection:
            connection.execute("INSERT INTO orders (name) VALUES ('x')")
            delivery.complete(connection)
            if committing.pop(0):
                connection.commit()

    for topic in ("raises", "rejects", "completes"):
        inbox.enqueue(InboxKey("shop", topic), topic, "1")
    worker.drain()
    raised, rejected, completed = (
        inbox.get(InboxKey("shop", topic)) for topic in ("raises", "rejects", "completes")
    )
    assert raised.status is Status.READY and raised.message.attempt == 1
    assert raised.last_error == "ValueError: no"
    assert rejected.status is Status.FAILED and rejected.last_error == "never"
    assert completed.status is Status.READY and app.orders() == 0
    inbox.mark_processed(InboxKey("shop", "raises"))
    app.clock.advance(60 * SECOND)
    worker.drain()
    completed = inbox.get(InboxKey("shop", "completes"))
    assert completed.status is Status.DONE and completed.finished_by == "w1"
    assert app.orders() == 1


# scenario: INB-014
# proves: IBX-091, IBX-092
def test_router_gives_the_inbox_of_a_key(new_url: Callable[[], str]) -> None:
    eu = uuid.uuid4()
    with waypost.Router({str(eu): new_url(), "us": new_url()}, deploy=True) as router:
        router.inbox(eu).enqueue(KEY, "t", "eu")
        assert router.inbox("us").check(KEY).state is NEW
        assert router.inbox(str(eu)).check(KEY).state is PROCESSING
        with pytest.raises(NotFoundError):
            router.inbox("asia")
        worker = router.worker()
        got: List[str] = []
        worker.inbox("t")(lambda delivery: got.append(delivery.payload))
        assert worker.drain() == 1 and got == ["eu"]


# scenario: INB-015
# proves: IBX-001
def test_two_consumers_of_one_message_each_process_it_once(app: App) -> None:
    connection = app.connect()
    for consumer in ("mailer", "billing", "mailer", "billing", None, None):
        if app.store.inbox.once(InboxKey("shop", "1", consumer), connection=connection).proceed:
            connection.execute("INSERT INTO orders (name) VALUES ('x')")
        connection.commit()
    assert app.orders() == 3


# ---- async connections ----------------------------------------------------------------------


# proves: BND-002
@pytest.mark.parametrize("on_connection", [False, True])
def test_async_calls_do_what_the_plain_ones_do(app: App, on_connection: bool) -> None:
    inbox = app.store.inbox

    async def calls() -> None:
        async with connect_async(app.url) as connection:
            chosen = connection if on_connection else None
            assert (await inbox.check_async(KEY, connection=chosen)).state is NEW
            await inbox.mark_processing_async(KEY, connection=chosen)
            await inbox.mark_dead_async(KEY, reason="no", connection=chosen)
            await inbox.revive_async(KEY, connection=chosen)
            made = await inbox.enqueue_async(KEY, "t", "1", connection=chosen)
            assert made.state is SEEN
            pairs = [(InboxKey("shop", n), Message("t", n)) for n in "23"]
            many = await inbox.enqueue_many_async(pairs, connection=chosen)
            assert [one.state for one in many] == [NEW, NEW]
            await inbox.mark_processed_async(pairs[0][0], connection=chosen)
            if on_connection:
                once = await inbox.once_async(InboxKey("shop", "4"), connection=connection)
                assert once.proceed and inbox.stats().total.ready == 0
                await connection.commit()
                with pytest.raises(ArgumentError, match="async"):
                    inbox.check(KEY, connection=connection)

    asyncio.run(calls())
    stats = inbox.stats().total
    assert (stats.ready, stats.done) == (2, 2 if on_connection else 1)
    if on_connection:
        with pytest.raises(ArgumentError, match="not async"):
            asyncio.run(inbox.check_async(KEY, connection=app.connect()))


def test_cancelled_call_leaves_no_trace_without_a_commit(app: App) -> None:
    async def cancelled() -> None:
        async with connect_async(app.url) as connection:
            task = asyncio.ensure_future(
                app.store.inbox.enqueue_async(KEY, "t", "1", connection=connection)
            )
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancelled())  # which closes the connection without a commit
    with pytest.raises(NotFoundError):
        app.store.inbox.get(KEY)


def test_calls_after_close_are_state_errors(url: str) -> None:
    store = waypost.Store.open(url, deploy=True)
    inbox = store.inbox
    store.close()
    for call in (
        lambda: inbox.check(KEY),
        lambda: inbox.enqueue(KEY, "t", "1"),
        lambda: inbox.get(KEY),
        lambda: list(inbox.dead()),
        lambda: inbox.cleanup(0),
    ):
        with pytest.raises(StateError, match="closed"):
            call()


# ---- the kinds of connections ---------------------------------------------------------------


@pytest.mark.engines("postgresql")
@pytest.mark.parametrize("kind", ["psycopg2", "asyncpg", "sqlalchemy"])
def test_once_on_the_connections_that_the_outbox_takes(app: App, kind: str) -> None:
    module = pytest.importorskip(kind)
    url, inbox = app.url, app.store.inbox

    async def with_asyncpg() -> None:
        connection = await module.connect(url)
        try:
            with pytest.raises(StateError, match="transaction"):
                await inbox.once_async(KEY, connection=connection)
            async with connection.transaction():
                assert (await inbox.once_async(KEY, connection=connection)).proceed
        finally:
            await connection.close()

    if kind == "psycopg2":
        with closing(module.connect(url)) as connection:
            connection.autocommit = True
            with pytest.raises(StateError, match="transaction"):
                inbox.once(KEY, connection=connection)
            connection.autocommit = False
            assert inbox.once(KEY, connection=connection).proceed
            connection.commit()
    elif kind == "asyncpg":
        asyncio.run(with_asyncpg())
    else:
        engine = module.create_engine(url.replace("postgresql:", "postgresql+psycopg2:"))
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            with pytest.raises(StateError, match="transaction"):
                inbox.once(KEY, connection=connection)
        with engine.begin() as connection:
            assert inbox.once(KEY, connection=connection).proceed
        engine.dispose()
    assert inbox.check(KEY).state is DONE


@pytest.mark.engines("sqlite")
def test_once_with_sqlalchemy_on_sqlite(app: App) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine("sqlite:///" + app.url[len("sqlite:") :])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        with pytest.raises(StateError, match="transaction"):
            app.store.inbox.once(KEY, connection=connection)
    with engine.begin() as connection:
        assert app.store.inbox.once(KEY, connection=connection).proceed
    engine.dispose()
    assert app.store.inbox.check(KEY).state is DONE


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("kind", ["run_sync", "connection", "session"])
def test_once_with_sqlalchemys_async_connections(app: App, kind: str) -> None:
    for module in ("greenlet", "aiosqlite"):
        pytest.importorskip(module)
    sqlalchemy = pytest.importorskip("sqlalchemy.ext.asyncio")
    inbox = app.store.inbox

    async def once(connection: Any) -> Any:
        if kind == "run_sync":
            return await connection.run_sync(lambda below: inbox.once(KEY, connection=below))
        if kind == "session":
            async with sqlalchemy.AsyncSession(bind=connection) as session:
                return await inbox.once_async(KEY, connection=session)
        return await inbox.once_async(KEY, connection=connection)

    async def both() -> None:
        url = "sqlite+aiosqlite:///" + app.url[len("sqlite:") :]
        committing = sqlalchemy.create_async_engine(url, isolation_level="AUTOCOMMIT")
        async with committing.connect() as connection:
            with pytest.raises(StateError, match="transaction"):
                await once(connection)
        await committing.dispose()
        engine = sqlalchemy.create_async_engine(url)
        async with engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            with pytest.raises(StateError, match="transaction"):
                await once(connection)
        async with engine.begin() as connection:
            assert (await once(connection)).proceed
        await engine.dispose()

    asyncio.run(both())


class Committing:
    """A DB-API connection of a kind that Waypost does not know, or pyodbc's."""

    autocommit = True

    def cursor(self) -> Any:
        raise AssertionError("no statement may be run")


def test_once_on_a_dbapi_connection_that_says_it_commits_by_itself(app: App) -> None:
    waypost.drivers.register(Committing, waypost.drivers.DbApi("qmark"))
    with pytest.raises(StateError, match="transaction"):
        app.store.inbox.once(KEY, connection=Committing())
    assert waypost.drivers.find(Committing()).autocommits(Committing())


@pytest.mark.engines("sqlite")
def test_busy_database_is_the_drivers_error(app: App) -> None:
    first, second = app.connect(), app.connect(timeout=0)
    assert app.store.inbox.once(KEY, connection=first).proceed
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        app.store.inbox.once(KEY, connection=second)
    first.commit()
    assert app.store.inbox.once(KEY, connection=second).state is DONE
