# SPDX-License-Identifier: Apache-2.0
"""Timers: scenarios TIM-001 to TIM-006 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any, List

import pytest
from conftest import NOW, SECOND, App, connect, connect_async, in_transaction, until

import waypost
from waypost import ArgumentError, Delivery, Message, NotFoundError, QueueKind, RangeError, Status

MICROSECOND = timedelta(microseconds=1)
UTC = timezone.utc


def claim(app: App, **options: Any) -> waypost.Claim:
    return app.store.timers.claim(waypost.new_id(), **options)


# scenario: TIM-001
# proves: TMR-001, TMR-008
def test_scheduled_in_the_apps_transaction(app: App) -> None:
    timers = app.store.timers
    connection = app.connect()
    for commit in (False, True):
        one = timers.schedule("t", "1", due=NOW, connection=connection)
        many = timers.schedule_many(
            [Message("t", str(n), delay=n * SECOND) for n in range(2, 5)], connection=connection
        )
        assert len({made.id for made in [one, *many]}) == 4
        assert in_transaction(connection) and timers.stats().topics == {}
        connection.commit() if commit else connection.rollback()
        if not commit:
            with pytest.raises(NotFoundError):
                timers.get(one.id)
    assert timers.stats().total.ready == 1 and timers.stats().total.scheduled == 3
    message = timers.get(many[2].id).message
    assert message.payload == "4" and message.due == NOW + 4 * SECOND
    with pytest.raises(ArgumentError, match="topic"):
        timers.schedule_many([Message("t", "1"), Message("", "2")])
    assert timers.schedule_many([]) == []
    assert timers.stats().total.scheduled == 3


# scenario: TIM-001
# proves: TMR-001, TMR-008
@pytest.mark.parametrize("on_connection", [False, True])
def test_scheduled_cancelled_and_rescheduled_by_async_calls(
    app: App, on_connection: bool
) -> None:
    timers = app.store.timers

    async def calls() -> None:
        async with connect_async(app.url) as connection:
            chosen = connection if on_connection else None
            one = await timers.schedule_async("t", "1", delay=5, connection=chosen)
            two = await timers.schedule_async("t", "2", due=NOW + 5 * SECOND, connection=chosen)
            await timers.schedule_many_async([Message("t", "3")], connection=chosen)
            assert await timers.cancel_async(one.id, connection=chosen)
            assert await timers.reschedule_async(two.id, due=NOW, connection=chosen)
            assert not await timers.cancel_async(waypost.new_id(), connection=chosen)
            if on_connection:
                assert timers.stats().topics == {}
                await connection.commit()

    asyncio.run(calls())
    assert sorted(message.payload for message in claim(app)) == ["2", "3"]


# scenario: TIM-002
# proves: TMR-003, TMR-005
def test_never_early_and_by_due_time(app: App) -> None:
    timers = app.store.timers
    for payload, seconds in (("c", 3), ("a", 1), ("b", 2), ("b2", 2)):
        timers.schedule("t", payload, due=NOW + seconds * SECOND)
    got: List[Any] = []
    worker = app.store.worker()

    @worker.timer("t", max_attempts=3)
    def fire(delivery: Delivery) -> None:
        assert delivery.queue is QueueKind.TIMERS
        got.append((delivery.payload, delivery.due, app.clock.now))

    @worker.handler("t")
    def never(delivery: Delivery) -> None:
        raise AssertionError("it is for the outbox")

    app.clock.advance(SECOND - MICROSECOND)
    assert worker.drain() == 0
    app.clock.advance(MICROSECOND)
    assert worker.drain() == 1
    app.clock.advance(5 * SECOND)
    assert worker.drain() == 3
    assert [payload for payload, _, _ in got] == ["a", "b", "b2", "c"]
    assert all(due == NOW + n * SECOND <= now for (_, due, now), n in zip(got, (1, 2, 2, 3)))


# scenario: TIM-002
# proves: TMR-005
def test_running_worker_sleeps_until_the_timer_is_due(live: waypost.Store) -> None:
    worker = live.worker()
    fired: List[datetime] = []

    @worker.timer("t")
    async def fire(delivery: Delivery) -> None:
        fired.append(datetime.now(UTC))
        assert fired[0] >= delivery.due

    with worker:
        live.timers.schedule("t", "1", delay=0.2)
        until(lambda: live.timers.stats().total.done == 1)
    assert len(fired) == 1


# scenario: TIM-003
# proves: TMR-002
def test_cancelled_it_never_fires(app: App) -> None:
    timers = app.store.timers
    kept, gone = (timers.schedule("t", name, delay=5).id for name in ("kept", "gone"))
    assert timers.cancel(gone)
    assert not timers.cancel(gone) and not timers.cancel(waypost.new_id())
    assert timers.get(gone).status is Status.CANCELLED
    app.clock.advance(5 * SECOND)
    batch = claim(app)
    assert [message.id for message in batch] == [kept]
    assert not timers.cancel(kept) and not timers.reschedule(kept, due=NOW)
    timers.abandon(batch.owner, batch, delay=1)
    assert not timers.cancel(kept), "a worker had it"
    assert not timers.reschedule(gone, due=NOW)


# scenario: TIM-003
# proves: TMR-002, TMR-007
def test_cancelled_in_the_apps_transaction_goes_with_its_rollback(app: App) -> None:
    timers = app.store.timers
    id = timers.schedule("t", "1", delay=5).id
    connection = app.connect()
    assert timers.reschedule(id, due=NOW, connection=connection)
    assert timers.reschedule(id, delay=3, connection=connection)
    assert timers.cancel(id, connection=connection)
    assert not timers.cancel(id, connection=connection) and in_transaction(connection)
    connection.rollback()
    assert timers.get(id).status is Status.READY and len(claim(app)) == 0
    assert timers.cancel(id, connection=connection)
    connection.commit()
    assert timers.get(id).status is Status.CANCELLED


# scenario: TIM-004
# proves: TMR-007
def test_rescheduled_looked_up_and_listed(app: App) -> None:
    timers = app.store.timers
    ids = [
        timers.schedule("t", str(n), delay=100 + n, correlation_id="odd" if n % 2 else None).id
        for n in range(5)
    ]
    assert timers.reschedule(ids[3], due=NOW + 2 * SECOND)
    assert timers.reschedule(ids[4], delay=1)
    assert timers.reschedule(ids[2], due=NOW - SECOND)
    assert [message.id for message in claim(app)] == [ids[2]]
    app.clock.advance(2 * SECOND)
    assert [message.id for message in claim(app, batch=1)] == [ids[4]]
    assert timers.get(ids[3]).message.due == NOW + 2 * SECOND
    with pytest.raises(NotFoundError):
        timers.get(waypost.new_id())
    assert timers.cancel(ids[1])
    page = timers.list(limit=2)
    assert [info.message.id for info in page] == [ids[0], ids[2]]
    assert [info.message.id for info in page.all()] == [ids[0], ids[2], ids[3], ids[4]]
    assert len(page.next().next()) == 0
    odd = timers.list(correlation_id="odd")
    assert [info.message.id for info in odd] == [ids[1], ids[3]]
    assert odd[0].status is Status.CANCELLED and len(timers.list(correlation_id="x")) == 0


BAD: List[Any] = [{}, {"due": NOW, "delay": 1}, {"due": NOW.replace(tzinfo=None)}, {"delay": "1"}]


@pytest.mark.parametrize("when", BAD)
def test_bad_times_of_a_reschedule_change_nothing(app: App, when: Any) -> None:
    timers = app.store.timers
    id = timers.schedule("t", "1", delay=5).id
    with pytest.raises(ArgumentError, match="due|delay"):
        timers.reschedule(id, **when)
    with pytest.raises(ArgumentError, match="id"):
        timers.cancel(str(id))  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="limit"):
        timers.list(limit=0)
    with pytest.raises(ArgumentError, match="correlation_id"):
        timers.list(correlation_id=1)  # type: ignore[arg-type]
    assert timers.get(id).message.due == NOW + 5 * SECOND


# scenario: TIM-005
# proves: TMR-006
def test_any_instant_from_1970_to_9999(app: App) -> None:
    timers = app.store.timers
    first = datetime(1970, 1, 1, tzinfo=UTC)
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    for due in (first, last):
        assert timers.get(timers.schedule("t", "1", due=due).id).message.due == due
    assert len(claim(app)) == 1
    timers.schedule("t", "1", delay=-1)
    timers.schedule("t", "1", delay=timedelta(days=-5000))
    timers.schedule("t", "1")
    assert len(claim(app)) == 3
    before = timers.stats().total
    for bad in (first - MICROSECOND, last.replace(tzinfo=timezone(timedelta(hours=-1)))):
        with pytest.raises(RangeError, match="due"):
            timers.schedule("t", "1", due=bad)
    with pytest.raises(RangeError, match="delay"):
        timers.schedule("t", "1", delay=timedelta(days=366))
    with pytest.raises(ArgumentError, match="due"):
        timers.schedule("t", "1", due=NOW, delay=1)
    assert timers.stats().total == before


# scenario: TIM-006
# proves: TMR-004
def test_claim_and_what_ends_it_are_as_in_the_outbox(app: App) -> None:
    timers = app.store.timers
    for n in range(5):
        timers.schedule("t", str(n))
    batch = claim(app, lease=10)
    assert len(batch) == 5 and batch[0].source is None
    owner = batch.owner
    assert timers.ack(waypost.new_id(), batch) == 0
    connection = app.connect()
    assert timers.ack(owner, [batch[0]], worker="w", connection=connection) == 1
    connection.commit()
    assert timers.get(batch[0].id).finished_by == "w"
    assert timers.abandon(owner, [batch[1]], delay=1, reason="no") == 1
    assert timers.fail(owner, [batch[2]], reason="never") == 1
    assert timers.release(owner, [batch[3]]) == 1
    assert timers.renew(owner, [batch[4]], lease=5) == 1
    app.clock.advance(6 * SECOND)
    assert timers.reap() == 1
    app.clock.advance(60 * SECOND)
    assert {m.payload: m.attempt for m in claim(app)} == {"1": 1, "3": 0, "4": 1}
    assert timers.stats().total.failed == 1


# scenario: TIM-006
# proves: TMR-005
def test_handler_of_a_timer_completes_in_the_apps_transaction(app: App) -> None:
    worker = app.store.worker()

    @worker.timer("t")
    def fire(delivery: Delivery) -> None:
        with closing(connect(app.url)) as connection:
            connection.execute("INSERT INTO orders (name) VALUES ('x')")
            delivery.complete(connection)
            connection.commit()

    id = app.store.timers.schedule("t", "1").id
    assert worker.drain() == 1 and app.orders() == 1
    assert app.store.timers.get(id).status is Status.DONE
