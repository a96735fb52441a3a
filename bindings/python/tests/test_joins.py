# SPDX-License-Identifier: Apache-2.0
"""Joins: scenarios JNN-001 to JNN-016 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio
import json
import uuid
from datetime import timedelta
from typing import Any, List, Sequence

import on_sqlserver
import pytest
from conftest import NOW, SECOND, App, connect_async, in_transaction, until

import waypost
from waypost import (
    JOIN_WAIT,
    ArgumentError,
    Delivery,
    JoinStatus,
    MemberStatus,
    Message,
    NotFoundError,
    RangeError,
    StateError,
    Status,
)

OPEN, COMPLETED, FAILED = JoinStatus.OPEN, JoinStatus.COMPLETED, JoinStatus.FAILED
OWNER = uuid.UUID(int=1)
NEXT: Any = {
    "success": Message("ok", "it went well", correlation_id="order 7", headers={"kind": "news"}),
    "failure": Message("bad", "it did not"),
}


def send(app: App, *joins: uuid.UUID, count: int = 1, **options: Any) -> List[uuid.UUID]:
    steps = [Message("step", str(n), joins=joins, **options) for n in range(count)]
    return [made.id for made in app.outbox.enqueue_many(steps)]


def claim(app: App, topic: str = "step") -> Sequence[waypost.Received]:
    return app.outbox.claim(OWNER, topics=[topic], lease=60)


def stands(app: App, join: uuid.UUID, status: JoinStatus, completed: int, failed: int) -> None:
    info = app.store.joins.get(join)
    assert (info.status, info.completed, info.failed) == (status, completed, failed)
    assert (info.ended is None) == (status is OPEN)


# ---- start ----------------------------------------------------------------------------------


# scenario: JNN-001
# proves: JOIN-001, JOIN-003, JOIN-005, JOIN-006
def test_started_it_has_all_that_it_was_given(app: App) -> None:
    joins = app.store.joins
    id = joins.start(
        3, grouping_key="batch 7", metadata='{"from":"\'ü\'"}', fail_if_any=True, timeout=5, **NEXT
    )
    info = joins.get(id)
    assert info == waypost.JoinInfo(
        id, OPEN, 3, 0, 0, True, "batch 7", '{"from":"\'ü\'"}', NOW, NOW + 5 * SECOND, None, None, None
    )
    assert "'ü'" not in repr(info)
    plain = joins.get(joins.start(1, grouping_key="", deadline=NOW + SECOND))
    assert not plain.fail_if_any and plain.grouping_key is None and plain.metadata is None
    assert plain.deadline == NOW + SECOND
    assert joins.get(joins.start(1)).deadline is None
    with pytest.raises(NotFoundError):
        joins.get(waypost.new_id())


BAD: List[Any] = [
    (ArgumentError, "expected", {"expected": 0}),
    (ArgumentError, "expected", {"expected": "2"}),
    (ArgumentError, "expected", {"expected": True}),
    (RangeError, "expected", {"expected": 1_000_000_001}),
    (RangeError, "", {"expected": 2**63}),
    (ArgumentError, "grouping_key", {"grouping_key": "k" * 256}),
    (ArgumentError, "grouping_key", {"grouping_key": 7}),
    (ArgumentError, "metadata", {"metadata": "a\0b"}),
    (Exception, "metadata", {"metadata": "m" * 65537}),
    (ArgumentError, "fail_if_any", {"fail_if_any": 1}),
    (RangeError, "timeout", {"timeout": 0}),
    (ArgumentError, "deadline", {"deadline": NOW.replace(tzinfo=None)}),
    (ArgumentError, "exclude", {"deadline": NOW, "timeout": 1}),
    (ArgumentError, "unique key", {"success": Message("t", "", unique_key="k")}),
    (ArgumentError, "due time", {"failure": Message("t", "", delay=1)}),
    (ArgumentError, "join", {"success": Message("t", "", joins=[waypost.new_id()])}),
    (ArgumentError, "Message", {"failure": "t"}),
]


# scenario: JNN-002
# proves: JOIN-002, JOIN-004
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("kind, word, given", BAD)
def test_bad_arguments_are_named_and_change_nothing(
    app: App, kind: Any, word: str, given: Any
) -> None:
    with pytest.raises(kind, match=word) as caught:
        app.store.joins.start(**{"expected": 1, **given})
    assert isinstance(caught.value, waypost.Error)
    assert len(app.store.joins.list()) == 0


# scenario: JNN-002
def test_bad_members_and_pages_are_named_and_change_nothing(app: App) -> None:
    joins = app.store.joins
    id = joins.start(1, grouping_key="k" * 255)
    for bad, word in (([1], "messages"), (id, "messages"), ("x", "messages"), (None, "messages")):
        for call in (joins.attach, joins.report_completed, joins.report_failed):
            with pytest.raises(ArgumentError, match=word):
                call(id, bad)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="join"):
        joins.attach("x", [])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="id"):
        joins.cancel("x")  # type: ignore[arg-type]
    for joined in (id, str(id), [str(id)]):
        with pytest.raises(ArgumentError, match="join"):
            app.outbox.enqueue("t", "", joins=joined)  # type: ignore[arg-type]
    with pytest.raises(waypost.Error, match="join"):
        app.outbox.enqueue("t", "", joins=[waypost.new_id() for _ in range(17)])
    for limit in (0, 10_001):
        with pytest.raises(RangeError, match="limit"):
            joins.list(limit=limit)
        with pytest.raises(RangeError, match="limit"):
            joins.members(id, limit=limit)
    with pytest.raises(RangeError, match="older_than"):
        joins.cleanup(-1)
    assert app.count() == 0 and len(joins.members(id)) == 0
    stands(app, id, OPEN, 0, 0)


# scenario: JNN-003
# proves: JOIN-001, JOIN-010, JOIN-013
def test_in_the_apps_transaction_all_goes_with_its_rollback(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    connection = app.connect()
    for commit in (False, True):
        id = joins.start(3, connection=connection, **NEXT)
        step = outbox.enqueue("step", "1", joins=[id], connection=connection)
        others = outbox.enqueue_many([Message("step", "2"), Message("step", "3")], connection=connection)
        assert joins.attach(id, [step, *others], connection=connection) == 2
        assert joins.report_completed(id, [step.id], connection=connection) == 1
        assert joins.report_failed(id, [step, others[0]], connection=connection) == 1
        assert in_transaction(connection)
        with pytest.raises(NotFoundError):
            joins.get(id)
        connection.commit() if commit else connection.rollback()
        if not commit:
            with pytest.raises(NotFoundError):
                joins.get(id)
            assert app.count() == 0 and len(joins.members(id)) == 0
    stands(app, id, OPEN, 1, 1)
    assert app.count() == 3
    assert joins.report_completed(id, others, connection=connection) == 1
    connection.rollback()
    stands(app, id, OPEN, 1, 1)
    assert joins.report_completed(id, others, connection=connection) == 1
    connection.commit()
    stands(app, id, COMPLETED, 2, 1)
    assert [message.payload for message in claim(app, "ok")] == ["it went well"]


# scenario: JNN-003
# proves: JOIN-010, JOIN-028, JOIN-029
@pytest.mark.parametrize("on_connection", [False, True])
def test_async_calls(app: App, on_connection: bool) -> None:
    joins, outbox = app.store.joins, app.outbox

    async def calls() -> Sequence[uuid.UUID]:
        async with connect_async(app.url) as connection:
            chosen = connection if on_connection else None
            one = await joins.start_async(2, fail_if_any=True, connection=chosen)
            two = await joins.start_async(9, timeout=5, connection=chosen)
            made = [await outbox.enqueue_async("t", "1", joins=[one, two], connection=chosen)]
            made += await outbox.enqueue_many_async(
                [Message("t", "2"), Message("t", "3", joins=[one])], connection=chosen
            )
            assert await joins.attach_async(two, made, connection=chosen) == 2
            assert await joins.report_completed_async(one, made, connection=chosen) == 2
            assert await joins.report_failed_async(two, made, connection=chosen) == 3
            assert await joins.cancel_async(two, connection=chosen)
            assert not await joins.cancel_async(one, connection=chosen)
            if on_connection:
                assert app.count() == 0
                await connection.commit()
        return one, two

    one, two = asyncio.run(calls())
    stands(app, one, COMPLETED, 2, 0)
    stands(app, two, JoinStatus.CANCELLED, 0, 3)
    assert app.count() == 3


# ---- members --------------------------------------------------------------------------------


# scenario: JNN-004
# proves: JOIN-010, JOIN-011, JOIN-012, JOIN-013
@pytest.mark.parametrize("on_connection", [False, True])
def test_attached_again_or_to_what_is_not_there_changes_nothing(
    app: App, on_connection: bool
) -> None:
    joins, outbox = app.store.joins, app.outbox
    connection = app.connect() if on_connection else None
    id = joins.start(2)
    first, second, third = send(app, count=3)
    assert joins.attach(id, [], connection=connection) == 0
    assert joins.attach(id, [first], connection=connection) == 1
    assert joins.attach(id, [first, second, first], connection=connection) == 1
    assert joins.attach(id, iter([first, second]), connection=connection) == 0
    if connection:
        connection.commit()
    with pytest.raises(NotFoundError, match="message"):
        joins.attach(id, [third, waypost.new_id()], connection=connection)
    with pytest.raises(NotFoundError, match="join"):
        joins.attach(waypost.new_id(), [third], connection=connection)
    with pytest.raises(NotFoundError, match="join"):
        outbox.enqueue("t", "", joins=[id, waypost.new_id()], connection=connection)
    with pytest.raises(ArgumentError, match="join"):
        app.store.timers.schedule_many([Message("t", "", joins=[id])])
    with pytest.raises(NotFoundError, match="join"):
        joins.report_completed(waypost.new_id(), [first], connection=connection)
    if connection:
        connection.commit()
    assert app.count() == 3 and [member.id for member in joins.members(id)] == [first, second]
    stands(app, id, OPEN, 0, 0)
    assert outbox.ack(OWNER, claim(app)) == 3
    stands(app, id, COMPLETED, 2, 0)
    assert joins.attach(id, [first, second], connection=connection) == 0
    with pytest.raises(StateError, match="over"):
        joins.attach(id, [third], connection=connection)
    with pytest.raises(StateError, match="over"):
        outbox.enqueue("t", "", joins=[id], connection=connection)
    if connection:
        connection.rollback()


# scenario: JNN-004
# proves: JOIN-011
def test_a_duplicate_makes_the_first_message_a_member(app: App) -> None:
    joins = app.store.joins
    id = joins.start(1)
    first = app.outbox.enqueue("step", "1", unique_key="k")
    again = app.outbox.enqueue("step", "2", unique_key="k", joins=[id])
    assert again.duplicate and again.id == first.id
    assert [member.id for member in joins.members(id)] == [first.id]


# scenario: JNN-005
# proves: JOIN-014
def test_what_is_finished_counts_when_it_is_attached(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    id = joins.start(2, fail_if_any=True, **NEXT)
    ids = send(app, count=4)
    batch = claim(app)
    outbox.ack(OWNER, batch[:2])
    outbox.fail(OWNER, batch[2:3], reason="no")
    assert joins.attach(id, batch[:1]) == 1
    assert joins.attach(id, batch[:1]) == 0
    stands(app, id, OPEN, 1, 0)
    assert joins.attach(id, ids[2:]) == 2
    stands(app, id, FAILED, 1, 1)
    assert len(claim(app, "bad")) == 1
    outbox.ack(OWNER, batch[3:])
    stands(app, id, FAILED, 1, 1)


# ---- counting -------------------------------------------------------------------------------


# scenario: JNN-006
# proves: JOIN-020, JOIN-021, JOIN-022, JOIN-033, JOIN-034, JOIN-042
def test_retries_and_lost_leases_count_nothing(app: App) -> None:
    outbox = app.outbox
    id = app.store.joins.start(3)
    ids = send(app, id, count=3)
    batch = claim(app)
    assert outbox.ack(waypost.new_id(), batch) == 0
    outbox.abandon(OWNER, batch[1:2], delay=1, reason="later")
    stands(app, id, OPEN, 0, 0)
    assert outbox.ack(OWNER, batch[:2]) == 1
    assert outbox.ack(OWNER, batch[:1]) == 0
    stands(app, id, OPEN, 1, 0)
    app.clock.advance(61 * SECOND)
    outbox.reap()
    assert outbox.ack(OWNER, batch[2:]) == 0
    stands(app, id, OPEN, 1, 0)
    app.clock.advance(600 * SECOND)
    assert len(claim(app)) == 2
    outbox.fail(OWNER, ids[1:2], reason="no")
    stands(app, id, OPEN, 1, 1)
    outbox.ack(OWNER, ids[2:])
    stands(app, id, COMPLETED, 2, 1)


# scenario: JNN-006
# proves: JOIN-020, JOIN-022, JOIN-024
def test_acked_in_the_apps_transaction_it_counts_with_its_commit(app: App) -> None:
    id = app.store.joins.start(1, **NEXT)
    send(app, id)
    batch = claim(app)
    connection = app.connect()
    for end, status in ((connection.rollback, OPEN), (connection.commit, COMPLETED)):
        assert app.outbox.ack(OWNER, batch, connection=connection) == 1
        end()
        stands(app, id, status, int(status is COMPLETED), 0)
    assert len(claim(app, "ok")) == 1


# scenario: JNN-007
# proves: JOIN-023, JOIN-026, JOIN-041
def test_one_batch_counts_in_every_join_of_its_messages(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    ids = [joins.start(6, fail_if_any=True, **NEXT) for _ in range(3)]
    made = [send(app, ids[n % 3], ids[(n + 1) % 3])[0] for n in range(9)]
    assert len(claim(app)) == 9
    assert outbox.ack(OWNER, made[:7]) == 7
    for id, completed in zip(ids, (5, 5, 4)):
        stands(app, id, OPEN, completed, 0)
    assert outbox.fail(OWNER, made[7:], reason="no") == 2
    for id, completed in zip(ids, (5, 5, 4)):
        stands(app, id, FAILED, completed, 6 - completed)
    assert len(claim(app, "bad")) == 3 and len(claim(app, "ok")) == 0


# scenario: JNN-008
# proves: JOIN-028, JOIN-029, JOIN-030, JOIN-031
def test_reported_by_hand_it_counts_as_if_it_were_finished(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    id = joins.start(3, **NEXT)
    ids = send(app, id, count=3)
    stranger = send(app)[0]
    assert joins.report_completed(id, [ids[2], stranger]) == 1
    assert joins.report_failed(id, [ids[2]]) == 0
    assert len(claim(app)) == 4
    outbox.ack(OWNER, [ids[2]])
    stands(app, id, OPEN, 1, 0)
    assert joins.report_failed(id, [ids[0]]) == 1
    outbox.ack(OWNER, [ids[1]])
    stands(app, id, COMPLETED, 2, 1)
    assert len(claim(app, "ok")) == 1
    assert joins.report_completed(id, [*ids, stranger]) == 0
    with pytest.raises(NotFoundError, match="join"):
        joins.report_completed(waypost.new_id(), ids)


# scenario: JNN-009
# proves: JOIN-021, JOIN-034
def test_out_of_attempts_it_counts_as_failed(app: App) -> None:
    id = app.store.joins.start(1, fail_if_any=True)
    step = send(app, id)[0]
    worker = app.store.worker(max_attempts=2)

    @worker.handler("step")
    def handle(delivery: Delivery) -> None:
        raise waypost.Retry("later", delay=1)

    worker.drain()
    stands(app, id, OPEN, 0, 0)
    app.clock.advance(SECOND)
    worker.drain()
    assert app.outbox.get(step).status is Status.FAILED
    stands(app, id, FAILED, 0, 1)


# scenario: JNN-009
# proves: JOIN-021, JOIN-022, JOIN-034
def test_expired_it_counts_as_failed_and_replayed_not_again(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    id = joins.start(2, fail_if_any=True, **NEXT)
    brief = send(app, id, expires=NOW + SECOND)[0]
    app.clock.advance(2 * SECOND)
    outbox.reap()
    stands(app, id, OPEN, 0, 1)
    assert outbox.dead().replay() == 1
    other = send(app, id)[0]
    assert len(claim(app)) == 2
    outbox.ack(OWNER, [brief])
    stands(app, id, OPEN, 0, 1)
    assert [member.status for member in joins.members(id)] == [MemberStatus.FAILED, MemberStatus.WAITING]
    outbox.ack(OWNER, [other])
    stands(app, id, FAILED, 1, 1)
    assert len(claim(app, "bad")) == 1


# ---- the end --------------------------------------------------------------------------------


# scenario: JNN-010
# proves: JOIN-040, JOIN-050, JOIN-052, JOIN-053, JOIN-057
def test_over_its_message_comes_whole_and_once(app: App) -> None:
    on_sqlserver.need_json(app.url)
    id = app.store.joins.start(1, fail_if_any=True, **NEXT)
    send(app, id)
    batch = claim(app)
    assert len(claim(app, "ok")) == 0
    app.clock.advance(SECOND)
    app.outbox.ack(OWNER, batch)
    [message] = claim(app, "ok")
    assert (message.payload, message.correlation_id) == ("it went well", "order 7")
    assert message.headers == {"kind": "news"} and message.due == NOW + SECOND
    info = app.store.joins.get(id)
    assert info.continuation == message.id and info.ended == NOW + SECOND
    assert len(claim(app, "ok")) == len(claim(app, "bad")) == 0


# scenario: JNN-010
# proves: JOIN-020, JOIN-021, JOIN-041, JOIN-050, JOIN-051, JOIN-052
@pytest.mark.parametrize("fail_if_any", [False, True])
def test_a_worker_fans_out_and_in(app: App, fail_if_any: bool) -> None:
    worker = app.store.worker()
    got: List[str] = []

    @worker.handler("order")
    def order(delivery: Delivery) -> None:
        connection = app.connect()
        id = app.store.joins.start(20, fail_if_any=fail_if_any, connection=connection, **NEXT)
        steps = [Message("step", str(n), joins=[id]) for n in range(20)]
        app.outbox.enqueue_many(steps, connection=connection)
        delivery.complete(connection)
        connection.commit()

    @worker.handler("step")
    def step(delivery: Delivery) -> None:
        if delivery.payload == "7":
            raise waypost.Reject("no")

    @worker.handler("ok")
    @worker.handler("bad")
    def end(delivery: Delivery) -> None:
        got.append(delivery.topic)

    app.outbox.enqueue("order", "")
    assert worker.drain() == 22
    assert got == ["bad" if fail_if_any else "ok"]
    [info] = app.store.joins.list()
    assert (info.completed, info.failed) == (19, 1)


# scenario: JNN-014
# proves: JOIN-054, JOIN-055
def test_a_message_waits_for_its_join_which_is_no_failed_attempt(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    id = joins.start(1)
    waiting = outbox.enqueue(JOIN_WAIT, json.dumps({"join": str(id)})).id
    step = send(app, id)
    for _ in range(3):
        assert len(claim(app, JOIN_WAIT)) == 0
        app.clock.advance(600 * SECOND)
    joins.report_completed(id, step)
    [message] = claim(app, JOIN_WAIT)
    assert message.id == waiting and message.attempt == 0


# scenario: JNN-015
# proves: JOIN-056
@pytest.mark.parametrize("payload", ['{"join": "00000000-0000-7000-8000-000000000000"}', "{}"])
def test_a_message_that_waits_for_no_join_is_a_dead_letter(app: App, payload: str) -> None:
    id = app.outbox.enqueue(JOIN_WAIT, payload).id
    assert len(claim(app, JOIN_WAIT)) == 0
    assert app.outbox.get(id).status is Status.FAILED
    assert [info.message.id for info in app.outbox.dead()] == [id]


# scenario: JNN-016
# proves: JOIN-020, JOIN-021, JOIN-050, JOIN-051, JOIN-054
def test_a_worker_does_the_steps_of_two_joins_and_what_waits_for_them(app: App) -> None:
    joins, outbox = app.store.joins, app.outbox
    ids = [joins.start(3, fail_if_any=strict, **NEXT) for strict in (True, False)]
    waiting = [outbox.enqueue(JOIN_WAIT, json.dumps({"join": str(id)})).id for id in ids]
    for id in ids:
        send(app, id, count=3)
    worker = app.store.worker()
    got: List[Any] = []

    @worker.handler("step")
    def step(delivery: Delivery) -> None:
        if delivery.payload == "1":
            raise waypost.Reject("no")

    @worker.handler("ok")
    @worker.handler("bad")
    @worker.handler(JOIN_WAIT)
    def end(delivery: Delivery) -> None:
        got.append(delivery.id if delivery.topic == JOIN_WAIT else delivery.topic)

    assert worker.drain() == 10
    assert len(got) == 4 and set(got) == {"ok", "bad", *waiting}
    stands(app, ids[0], FAILED, 2, 1)
    stands(app, ids[1], COMPLETED, 2, 1)


# scenario: JNN-011
# proves: JOIN-043, JOIN-100
def test_past_its_deadline_it_fails_and_is_frozen(app: App) -> None:
    joins = app.store.joins
    id = joins.start(2, deadline=NOW + SECOND, **NEXT)
    send(app, id, count=2)
    batch = claim(app)
    app.outbox.ack(OWNER, batch[:1])
    assert joins.reap() == 0
    app.clock.advance(SECOND)
    assert joins.reap() == 1
    assert joins.get(id).reason == "timeout" and len(claim(app, "bad")) == 1
    app.outbox.ack(OWNER, batch[1:])
    stands(app, id, FAILED, 1, 0)
    assert joins.reap() == 0 and len(claim(app, "ok")) == len(claim(app, "bad")) == 0


# scenario: JNN-011
# proves: JOIN-100
def test_a_running_worker_sees_to_deadlines(live: waypost.Store) -> None:
    worker = live.worker(reap=0.05)
    got: List[str] = []

    @worker.handler("late")
    def late(delivery: Delivery) -> None:
        got.append(delivery.payload)

    with worker:
        live.joins.start(1, failure=Message("late", "x"), timeout=0.05)
        until(lambda: got == ["x"])


# scenario: JNN-012
# proves: JOIN-100
def test_cancelled_it_is_over_and_nothing_is_enqueued(app: App) -> None:
    joins = app.store.joins
    id = joins.start(1, fail_if_any=True, **NEXT)
    send(app, id)
    assert not joins.cancel(waypost.new_id())
    connection = app.connect()
    assert joins.cancel(id, connection=connection)
    assert not joins.cancel(id, connection=connection) and in_transaction(connection)
    connection.rollback()
    stands(app, id, OPEN, 0, 0)
    assert joins.cancel(id) and not joins.cancel(id)
    app.outbox.ack(OWNER, claim(app))
    stands(app, id, JoinStatus.CANCELLED, 0, 0)
    assert len(claim(app, "ok")) == len(claim(app, "bad")) == 0


# scenario: JNN-013
# proves: JOIN-003, JOIN-100
def test_listed_by_grouping_key_and_removed_when_over_long_ago(app: App) -> None:
    joins = app.store.joins
    ids = [joins.start(1 if n < 2 else 3, grouping_key="odd" if n % 2 else "even") for n in range(5)]
    page = joins.list(grouping_key="even", limit=2)
    assert [info.id for info in page] == [ids[0], ids[2]]
    assert [info.id for info in page.next()] == [ids[4]] and len(page.next().next()) == 0
    assert [info.id for info in joins.list(limit=2).all()] == ids
    assert len(joins.list(grouping_key="other")) == 0
    steps = send(app, ids[4], count=3)
    joins.report_failed(ids[4], steps[1:2])
    members = joins.members(ids[4], limit=2)
    assert [member.id for member in members] == steps[:2]
    assert [member.id for member in members.all()] == steps
    assert [member.status for member in members] == [MemberStatus.WAITING, MemberStatus.FAILED]
    joins.report_completed(ids[0], send(app, ids[0]))
    app.clock.advance(SECOND)
    joins.cancel(ids[1])
    assert joins.cleanup(SECOND) == 1 and joins.cleanup(timedelta()) == 1
    assert [info.id for info in joins.list()] == ids[2:] and len(joins.members(ids[0])) == 0
