# SPDX-License-Identifier: Apache-2.0
"""Workers and plain handlers: scenarios WRK-101 to WRK-119."""
from __future__ import annotations

import asyncio
import functools
import gc
import logging
import threading
import time
import uuid
import weakref
from collections import Counter
from datetime import timedelta
from typing import Any, Callable, Dict, Iterator, List

import pytest
from conftest import NOW, PATIENCE, SECOND, App, until, wait

import waypost
from waypost import Cancel, Delivery, Message, Status

FAST: Dict[str, Any] = {"poll_max": 0.05, "poll_min": 0.01}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")


# ---- outcomes -------------------------------------------------------------------------------


# scenario: WRK-101
# proves: OBX-054, OBX-057, OBX-032, BND-003
def test_handler_gets_the_whole_message_and_done_acks_it(app: App) -> None:
    got: List[waypost.Received] = []
    worker = app.store.worker(name="w1")

    @worker.handler("orders.created")
    def created(delivery: Delivery) -> None:
        got.append(delivery.message)
        assert delivery.topic == delivery.message.topic == "orders.created"
        assert delivery.payload == "\U0001f600" == delivery.payload_bytes.decode()
        assert delivery.headers == {"traceparent": "00-ab-cd-01"}
        assert delivery.correlation_id == "c" and delivery.ordering_key == "k"
        assert isinstance(delivery.id, uuid.UUID)
        assert delivery.attempt == 0 and delivery.claim_number == 1
        assert delivery.created == delivery.due == NOW
        assert delivery.expires == NOW + 60 * SECOND
        assert not delivery.cancelled and delivery.cancel_reason is None
        delivery.raise_if_cancelled()

    made = app.outbox.enqueue(
        "orders.created",
        "\U0001f600",
        correlation_id="c",
        ordering_key="k",
        expires=NOW + 60 * SECOND,
        headers={"traceparent": "00-ab-cd-01"},
    )
    assert worker.drain() == 1
    assert [message.id for message in got] == [made.id]
    info = app.outbox.get(made.id)
    assert info.status is Status.DONE and info.finished_by == "w1", info
    assert worker.counters.claimed == worker.counters.acked == 1


def test_names_of_workers_are_texts(app: App) -> None:
    for option in ("name", "selection"):
        bad: Any = {option: 5}
        with pytest.raises(waypost.ArgumentError, match=f"{option} must be a str"):
            app.store.worker(**bad)


# scenario: WRK-102
# proves: WRK-004, OBX-056
def test_retry_with_delay_and_reason(app: App) -> None:
    attempts: List[object] = []
    worker = app.store.worker()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        attempts.append((delivery.attempt, delivery.last_error, delivery.message.last_error))
        if delivery.attempt == 0:
            raise waypost.Retry("not yet", delay=timedelta(seconds=5))

    made = app.outbox.enqueue("a", "1")
    worker.drain()
    info = app.outbox.get(made.id)
    assert info.last_error == "not yet" and info.next_attempt == NOW + 5 * SECOND
    assert worker.drain() == 0
    app.clock.advance(5 * SECOND)
    assert worker.drain() == 1 and attempts == [(0, None, None), (1, "not yet", "not yet")]
    assert app.outbox.get(made.id).status is Status.DONE


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


# scenario: WRK-103
# proves: BND-003, OBX-056, OBX-088
@pytest.mark.parametrize(
    "action, reason",
    [
        (lambda: int("x"), "ValueError: invalid literal for int() with base 10: 'x'"),
        (lambda: {}["k"], "KeyError: 'k'"),
        (lambda: 1, "the handler returned a int, not None"),
        (lambda: False, "the handler returned a bool, not None"),
        (lambda: (_ for _ in ()), "the handler returned a generator, not None"),
        (lambda: (_ for _ in ()).throw(AssertionError()), "AssertionError"),
        (lambda: (_ for _ in ()).throw(Odd()), "Odd"),
        (lambda: (_ for _ in ()).throw(Exception("nul \0 \ud800")), "Exception: nul \\0 \\ud800"),
    ],
)
@pytest.mark.parametrize("running", [False, True])
def test_handler_that_raises_or_returns_something_is_retried_with_its_text(
    app: App, live: waypost.Store, action: Any, reason: str, running: bool
) -> None:
    store = live if running else app.store
    worker = store.worker(**FAST, backoff_base=1000, backoff_max=1000)
    worker.add_handler("a", lambda delivery: action())
    made = store.outbox.enqueue("a", "secret")
    if running:
        with worker:
            until(lambda: store.outbox.get(made.id).last_error)
    else:
        worker.drain()
    info = store.outbox.get(made.id)
    assert info.last_error == reason
    assert info.status is Status.READY and info.message.attempt == 1


# proves: OBX-088, BND-003
@pytest.mark.parametrize("running", [False, True])
def test_exception_is_logged_once_with_its_traceback_and_without_the_payload(
    app: App, caplog: pytest.LogCaptureFixture, running: bool
) -> None:
    caplog.set_level(logging.DEBUG, "waypost")
    store = app.open(clock=None) if running else app.open()  # it keeps the level that it finds
    worker = store.worker(**FAST, max_attempts=2, backoff_base=1, backoff_jitter=0)
    worker.add_handler("a", lambda delivery: 1 / 0)
    made = store.outbox.enqueue("a", "secret")
    if running:
        with worker:
            until(lambda: store.outbox.get(made.id).status is Status.FAILED)
    else:
        worker.drain()
        app.clock.advance(SECOND)
        worker.drain()
    store.close()  # writes what is left of the log
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.exc_info is not None for record in errors] == [True, True, False]
    for record, attempt in zip(errors, (0, 1)):
        said = record.getMessage()
        assert "ZeroDivisionError" in said and str(made.id) in said
        assert f"attempt {attempt}" in said
    assert errors[2].getMessage().startswith("dead letter ")
    assert "secret" not in caplog.text


# proves: OBX-088
def test_retry_that_a_handler_asked_for_is_logged_once_and_is_no_failure(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waypost")
    with app.open() as store:
        worker = store.worker()

        @worker.handler("a")
        def handle(delivery: Delivery) -> None:
            raise waypost.Retry("later")

        store.outbox.enqueue("a", "1")
        worker.drain()
    [record] = [record for record in caplog.records if "later" in record.getMessage()]
    assert record.levelno == logging.INFO
    assert record.getMessage().startswith("handler asked for a retry ")


# ---- registration ---------------------------------------------------------------------------


class Handlers:
    def good(self, delivery: Delivery) -> None:
        pass

    def bad(self) -> None:
        pass

    async def coroutine(self, delivery: Delivery, more: object) -> None:
        pass


# proves: BND-004
@pytest.mark.parametrize(
    "function, said",
    [
        (lambda: None, r"<lambda>\(\): too many positional"),
        (lambda a, b: None, r"<lambda>\(a, b\): missing a required argument: 'b'"),
        (lambda *, delivery: None, "must take one argument, the delivery"),
        (Handlers.good, r"Handlers.good\(self.*missing a required argument: 'delivery'"),
        (Handlers().bad, r"Handlers.bad\(\)"),
        (Handlers().coroutine, "missing a required argument: 'more'"),
        (1, "not callable"),
    ],
)
def test_handler_that_cannot_take_a_delivery_is_refused(
    app: App, function: Any, said: str
) -> None:
    worker = app.store.worker()
    with pytest.raises(waypost.ArgumentError, match=f"the handler of topic 'a' .*{said}"):
        worker.add_handler("a", function)
    worker.add_handler("a", Handlers().good)  # the topic is still free


@pytest.mark.parametrize(
    "function",
    [
        Handlers().good,
        lambda *arguments: None,
        lambda delivery, more=1: None,
        functools.partial(lambda more, delivery: None, 1),
        [].append,
        print,
    ],
)
def test_handler_of_any_fitting_kind_is_taken(app: App, function: Any) -> None:
    worker = app.store.worker()
    worker.add_handler("a", function)
    app.outbox.enqueue("a", "1")
    assert worker.drain() == 1


# proves: BND-004
def test_worker_without_a_topic_does_not_run(live: waypost.Store) -> None:
    worker = live.worker(**FAST)

    async def run() -> None:
        await worker.run_async()

    for use in (worker.run, worker.start, lambda: worker.next(0), lambda: asyncio.run(run())):
        with pytest.raises(waypost.StateError, match="no topics.*@worker.handler"):
            use()
        assert not worker.running
    worker.add_handler("a", lambda delivery: worker.stop())
    live.outbox.enqueue("a", "1")
    worker.run()


# scenario: WRK-104
# proves: WRK-004
def test_reject_makes_a_dead_letter_at_once(app: App) -> None:
    worker = app.store.worker()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        raise waypost.Reject("never")

    made = app.outbox.enqueue("a", "1")
    worker.drain()
    info = app.outbox.get(made.id)
    assert info.status is Status.FAILED and info.last_error == "never"
    assert worker.counters.failed == 1


# proves: WRK-004, OBX-116
def test_release_gives_the_message_back_at_once_with_the_same_attempt(app: App) -> None:
    attempts: List[int] = []
    worker = app.store.worker(max_attempts=1)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        attempts.append(delivery.attempt)
        if len(attempts) == 1:
            raise waypost.Release()
        if len(attempts) == 2:
            delivery.release()

    made = app.outbox.enqueue("a", "1")
    worker.drain()
    info = app.outbox.get(made.id)
    assert attempts == [0, 0, 0]
    assert info.status is Status.DONE and info.last_error is None
    assert worker.counters.released == 2 and worker.counters.abandoned == 0


# scenario: WRK-105
# proves: OBX-064, OBX-065
def test_past_max_attempts_the_message_is_a_dead_letter(app: App) -> None:
    handled: List[int] = []
    worker = app.store.worker(max_attempts=3)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        handled.append(delivery.attempt)
        raise waypost.Retry("again")

    made = app.outbox.enqueue("a", "1")
    for _ in range(5):
        worker.drain()
        app.clock.advance(60 * SECOND)
    info = app.outbox.get(made.id)
    assert handled == [0, 1, 2] and info.status is Status.FAILED
    assert info.last_error == "again" and info.message.attempt == 3


# scenario: WRK-106
# proves: WRK-004
def test_deferred_delivery_is_finished_later_from_another_thread(live: waypost.Store) -> None:
    kept: List[Delivery] = []
    worker = live.worker(**FAST)

    @worker.handler("a")
    def handle(delivery: Delivery) -> waypost.Deferred:
        kept.append(delivery)
        return waypost.DEFERRED

    made = [live.outbox.enqueue("a", str(number)) for number in range(4)]
    with worker:
        until(lambda: len(kept) == 4)
        assert worker.counters.acked == 0
        by_payload = {delivery.payload: delivery for delivery in kept}
        finishers = [
            lambda: by_payload["0"].done(),
            lambda: by_payload["1"].retry("later", delay=timedelta(days=1)),
            lambda: by_payload["2"].reject("never"),
        ]
        threads = [threading.Thread(target=finish) for finish in finishers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(3):
            by_payload[str(number)].settle(PATIENCE)
        with pytest.raises(waypost.StateError):
            by_payload["0"].done()
        kept.clear()
        by_payload.clear()  # the last one is dropped unfinished
        until(lambda: live.outbox.get(made[3].id).last_error)
    infos = [live.outbox.get(one.id) for one in made]
    assert [info.status for info in infos] == [
        Status.DONE,
        Status.READY,
        Status.FAILED,
        Status.READY,
    ]
    assert [info.last_error for info in infos[1:3]] == ["later", "never"]


# scenario: WRK-107
# proves: WRK-004
def test_pull_deliveries_one_by_one(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    worker.subscribe("a")
    with pytest.raises(waypost.StateError, match="next"):
        worker.start()
    assert worker.next(timeout=0) is None
    made = [live.outbox.enqueue("a", str(number)) for number in range(3)]
    finish = [Delivery.done, lambda d: d.retry("r"), lambda d: d.reject("x")]
    for number in range(3):
        delivery = worker.next(timeout=PATIENCE)
        assert delivery is not None and delivery.id == made[number].id
        with pytest.raises(waypost.StateError):
            delivery.settle(0)
        finish[number](delivery)
        delivery.settle(PATIENCE)
    assert worker.stop() == 0
    infos = [live.outbox.get(one.id) for one in made]
    assert [info.status for info in infos] == [Status.DONE, Status.READY, Status.FAILED]


# scenario: WRK-108
# proves: OBX-110, OBX-055
def test_topic_without_a_handler_is_left_alone_and_shows(app: App) -> None:
    worker = app.store.worker()
    worker.add_handler("a", lambda delivery: None)
    app.outbox.enqueue("a", "1")
    app.outbox.enqueue("nobody", "1")
    assert worker.drain() == 1
    assert app.outbox.stats().topics["nobody"].ready == 1


def test_worker_for_all_topics_abandons_what_it_has_no_handler_for(app: App) -> None:
    worker = app.store.worker(all_topics=True)
    worker.add_handler("a", lambda delivery: None)
    made = app.outbox.enqueue("nobody", "1")
    worker.drain()
    assert "no handler" in (app.outbox.get(made.id).last_error or "")


# ---- cancellation, stop ---------------------------------------------------------------------


# scenario: WRK-109
# proves: WRK-003, OBX-060
def test_handler_past_its_timeout_is_told_and_the_others_go_on(live: waypost.Store) -> None:
    reasons: List[Any] = []
    worker = live.worker(**FAST, backoff_base=1000, backoff_max=1000)

    @worker.handler("slow", timeout=0.05)
    def slow(delivery: Delivery) -> None:
        until(lambda: delivery.cancelled)
        reasons.append(delivery.cancel_reason)
        delivery.raise_if_cancelled()

    worker.add_handler("fast", lambda delivery: None)
    made = live.outbox.enqueue("slow", "1")
    fast = live.outbox.enqueue("fast", "1")
    with worker:
        until(lambda: live.outbox.get(fast.id).status is Status.DONE)
        until(lambda: live.outbox.get(made.id).message.attempt == 1)
        until(lambda: reasons)
    assert reasons == [Cancel.TIMEOUT]
    info = live.outbox.get(made.id)
    assert info.status is Status.READY and info.last_error


# proves: OBX-116
def test_handler_that_a_stop_cancels_gives_its_message_back(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    started = threading.Event()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        started.set()
        until(lambda: delivery.cancelled)
        delivery.raise_if_cancelled()

    made = live.outbox.enqueue("a", "1")
    with worker:
        wait(started)
    info = live.outbox.get(made.id)
    assert (info.status, info.message.attempt, info.last_error) == (Status.READY, 0, None)
    assert worker.counters.released == 1


# scenario: WRK-110
# proves: OBX-116
def test_stop_lets_a_running_handler_finish_and_gives_unstarted_work_back(
    live: waypost.Store,
) -> None:
    handled: List[uuid.UUID] = []
    worker = live.worker(**FAST, concurrency=1, threads=1)
    started = threading.Event()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        started.set()
        until(lambda: delivery.cancel_reason is Cancel.STOP)
        handled.append(delivery.id)

    made = live.outbox.enqueue_many([Message("a", str(number)) for number in range(10)])
    worker.start()
    wait(started)
    assert worker.stop(PATIENCE) == 0
    assert handled == [made[0].id]
    infos = [live.outbox.get(one.id) for one in made]
    assert infos[0].status is Status.DONE
    assert all(info.status is Status.READY for info in infos[1:])
    assert all(info.message.attempt == 0 for info in infos)
    assert worker.stop() == 0 and not worker.running


# scenario: WRK-111
# proves: OBX-116
def test_stop_returns_by_its_deadline_though_a_handler_does_not(live: waypost.Store) -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()
    worker = live.worker(**FAST)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        started.set()
        wait(release)
        with pytest.raises(waypost.Error):
            delivery.done()
        ended.set()

    live.outbox.enqueue("a", "1")
    worker.start()
    wait(started)
    assert worker.stop(0.05) == 1
    assert not worker.running and not ended.is_set()
    release.set()
    wait(ended)


# scenario: WRK-110
# proves: OBX-116
def test_stop_from_a_handler_and_from_many_threads(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    calls: List[int] = []

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        calls.append(worker.stop())

    made = live.outbox.enqueue("a", "1")
    worker.run()  # ends because the handler stops it
    assert calls == [0] and live.outbox.get(made.id).status is Status.DONE
    worker.start()
    threads = [threading.Thread(target=worker.stop, args=(PATIENCE,)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert not worker.running


# scenario: WRK-112
# proves: OBX-114, OBX-115
def test_lease_that_is_taken_away_is_told_and_finishing_says_so(app: App) -> None:
    started, told = threading.Event(), threading.Event()
    outcome: List[Any] = []
    worker = app.store.worker(lease=30)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        started.set()
        until(lambda: delivery.cancelled)
        outcome.append(delivery.cancel_reason)
        try:
            delivery.done()
            delivery.settle(PATIENCE)
        except waypost.LeaseLostError as error:
            outcome.append(type(error))
        told.set()

    made = app.outbox.enqueue("a", "1")
    ahead = waypost.ManualClock(NOW + timedelta(hours=1))  # another host, whose clock is wrong
    other = app.open(clock=ahead)
    with worker:
        wait(started)
        assert other.outbox.reap() == 1
        ahead.advance(timedelta(hours=1))
        owner = waypost.new_id()
        claim = other.outbox.claim(owner, lease=3600)
        assert len(claim) == 1
        app.clock.advance(20 * SECOND)  # past 60 % of the lease: it is renewed
        wait(told)
    assert outcome == [Cancel.LEASE_LOST, waypost.LeaseLostError]
    assert worker.counters.leases_lost == 1 and worker.counters.acked == 0
    assert other.outbox.ack(owner, claim) == 1
    assert other.outbox.get(made.id).message.attempt == 1


# proves: OBX-115
def test_lease_of_a_running_handler_is_renewed(app: App) -> None:
    started, release = threading.Event(), threading.Event()
    worker = app.store.worker(lease=10)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        started.set()
        wait(release)

    made = app.outbox.enqueue("a", "1")
    with worker:
        wait(started)
        for renewed in range(1, 6):
            app.clock.advance(7 * SECOND)
            until(lambda: worker.counters.renewed >= renewed)
        assert app.outbox.reap() == 0
        release.set()
        until(lambda: app.outbox.get(made.id).status is Status.DONE)
    assert worker.counters.leases_lost == 0


# scenario: WRK-114
# proves: OBX-059, OBX-060, WRK-003
def test_messages_run_in_parallel_up_to_the_concurrency_and_each_once(live: waypost.Store) -> None:
    barrier = threading.Barrier(4)
    lock = threading.Lock()
    running = most = 0
    handled: Counter[str] = Counter()
    worker = live.worker(**FAST, concurrency=4)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            handled[delivery.payload] += 1
        barrier.wait(PATIENCE)  # passes only when four are here at once
        with lock:
            running -= 1

    live.outbox.enqueue_many([Message("a", str(number)) for number in range(40)])
    with worker:
        until(lambda: worker.counters.acked == 40)
    assert most == 4 and len(handled) == 40 and set(handled.values()) == {1}


def complete_orders(app: App, worker: waypost.Worker, commit: List[bool]) -> None:
    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        connection = app.connect()
        try:
            connection.execute("INSERT INTO orders (name) VALUES ('x')")
            delivery.complete(connection)
            if commit.pop(0):
                connection.commit()
        finally:
            connection.close()


# scenario: WRK-115
# proves: OBX-113
def test_handler_completes_in_the_apps_own_transaction(app: App) -> None:
    worker = app.store.worker(name="w1")
    complete_orders(app, worker, [False, True])
    made = app.outbox.enqueue("a", "1")
    worker.drain()
    assert app.orders() == 0 and app.outbox.get(made.id).status is Status.READY
    assert app.outbox.get(made.id).message.attempt == 1
    app.clock.advance(60 * SECOND)
    worker.drain()
    info = app.outbox.get(made.id)
    assert app.orders() == 1 and info.status is Status.DONE and info.finished_by == "w1"


# scenario: WRK-116
# proves: WRK-007
def test_drain_and_step(app: App) -> None:
    handled: List[str] = []
    worker = app.store.worker()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        handled.append(delivery.payload)
        if delivery.payload == "0":
            app.outbox.enqueue("a", "child")

    assert worker.step() == 0 == worker.drain()
    for number in range(3):
        app.outbox.enqueue("a", str(number))
    app.outbox.enqueue("a", "later", delay=60)
    assert worker.step() == 1 and handled == ["0"]
    assert worker.drain() == 3 and handled == ["0", "1", "2", "child"]
    assert app.outbox.stats().total.scheduled == 1
    app.clock.advance(60 * SECOND)
    assert worker.drain() == 1
    worker.start()
    with pytest.raises(waypost.StateError):
        worker.step()
    worker.stop()
    assert worker.step() == 0, "it can be used again after a stop"
    assert worker.counters.acked == 5


# scenario: WRK-117
# proves: CLK-001
@pytest.mark.parametrize("hours", [1, -1])
def test_jump_of_the_wall_clock_loses_no_lease_of_running_work(app: App, hours: int) -> None:
    started, release = threading.Event(), threading.Event()
    handled: List[int] = []
    worker = app.store.worker(lease=30, reap=1)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        handled.append(delivery.attempt)
        started.set()
        wait(release)

    made = app.outbox.enqueue("a", "1")
    with worker:
        wait(started)
        for renewed, seconds in enumerate((20, 1, 20, 20), start=1):
            app.clock.advance(seconds * SECOND)
            until(lambda: worker.counters.renewed >= renewed)
            if renewed == 1:
                app.clock.jump(timedelta(hours=hours))
        release.set()
        until(lambda: app.outbox.get(made.id).finished)
    assert handled == [0] and worker.counters.leases_lost == 0
    assert app.outbox.get(made.id).status is Status.DONE


# scenario: WRK-118
# proves: WRK-005
def test_two_workers_on_two_stores_do_not_mix(new_url: Callable[[], str]) -> None:
    handled: Dict[str, List[str]] = {"one": [], "two": []}
    stores = {
        name: waypost.Store.open(new_url(), deploy=True, store_id=name)
        for name in handled
    }
    workers = {name: store.worker(**FAST, name=name) for name, store in stores.items()}
    for name, worker in workers.items():
        worker.add_handler("a", lambda d, name=name: handled[name].append(d.payload))
        for number in range(100):
            stores[name].outbox.enqueue("a", f"{name}{number}")
    for worker in workers.values():
        worker.start()
    until(lambda: all(worker.counters.acked == 100 for worker in workers.values()))
    for name in handled:
        workers[name].stop()
        stores[name].close()
        assert set(handled[name]) == {f"{name}{number}" for number in range(100)}


# scenario: WRK-119
# proves: WRK-003
def test_options_of_one_topic_differ_from_the_workers(app: App) -> None:
    worker = app.store.worker(max_attempts=5, backoff_base=10, backoff_max=10, backoff_jitter=0)

    def fail(delivery: Delivery) -> None:
        raise waypost.Retry("again")

    worker.add_handler("default", fail)
    worker.add_handler("once", fail, max_attempts=1)
    worker.add_handler("slow", fail, backoff_base=100, backoff_max=100)
    made = {topic: app.outbox.enqueue(topic, "1").id for topic in ("default", "once", "slow")}
    worker.drain()
    infos = {topic: app.outbox.get(id) for topic, id in made.items()}
    assert infos["once"].status is Status.FAILED
    assert infos["default"].next_attempt == NOW + 10 * SECOND
    assert infos["slow"].next_attempt == NOW + 100 * SECOND


# ---- running --------------------------------------------------------------------------------


@pytest.mark.engines("sqlite", "postgresql")  # on MariaDB such commits are found by polling
def test_worker_wakes_for_commits_of_the_apps_own_connections(app: App) -> None:
    """The polls are an hour apart: only a hint can wake it."""
    store = app.open(clock=None)
    worker = store.worker(poll_min=3600, poll_max=3600)
    handled: List[str] = []
    worker.add_handler("a", lambda delivery: handled.append(delivery.payload))
    with worker:
        until(lambda: worker.counters.polls >= 1)
        connection = app.connect()
        for number in range(5):
            store.outbox.enqueue("a", str(number), connection=connection)
            connection.commit()
            until(lambda: len(handled) == number + 1)


def test_worker_can_run_again_after_it_was_stopped(live: waypost.Store) -> None:
    handled: List[str] = []
    worker = live.worker(**FAST)
    worker.add_handler("a", lambda delivery: handled.append(delivery.payload))
    for number in range(20):
        live.outbox.enqueue("a", str(number))
        with worker:
            with pytest.raises(waypost.StateError):
                worker.start()
            with pytest.raises(waypost.StateError):
                worker.add_handler("b", lambda delivery: None)
            until(lambda: len(handled) == number + 1)
    assert worker.counters.acked == 20


def test_start_and_stop_leave_no_threads_behind(live: waypost.Store) -> None:
    worker = live.worker(concurrency=2)
    worker.add_handler("a", lambda delivery: None)

    async def handle(delivery: Delivery) -> None:
        pass

    worker.add_handler("b", handle)

    def threads() -> int:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

    with worker:
        pass  # what the store itself starts once, stays with it
    before = threads()
    for _ in range(100):
        worker.start()
        worker.stop()
    until(lambda: threads() <= before, "the end of all threads")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("background", [False, True])
def test_interrupt_in_a_handler_is_a_retry_that_stops_the_worker_and_is_raised(
    live: waypost.Store, error: Any, background: bool
) -> None:
    raised = threading.Event()
    worker = live.worker(**FAST)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        raised.set()
        raise error()

    made = live.outbox.enqueue("a", "1")
    with pytest.raises(error):
        if background:
            worker.start()
            wait(raised)
            worker.stop()
        else:
            worker.run()
    until(lambda: not worker.running)
    info = live.outbox.get(made.id)
    assert info.message.attempt == 1 and info.status is Status.READY


def test_interrupt_in_drain_is_raised(app: App) -> None:
    worker = app.store.worker()

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        raise KeyboardInterrupt

    app.outbox.enqueue_many([Message("a", str(number)) for number in range(10)])
    with pytest.raises(KeyboardInterrupt):
        worker.drain()


def test_handler_keeps_the_context_of_the_start(app: App, live: waypost.Store) -> None:
    import contextvars

    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    seen: List[str] = []

    def handle(delivery: Delivery) -> None:
        seen.append(variable.get())
        variable.set("changed by a handler")

    variable.set("mine")
    for store in (live, app.store):
        worker = store.worker(**FAST, concurrency=1)
        worker.add_handler("a", handle)
        store.outbox.enqueue_many([Message("a", "1"), Message("a", "2")])
        if store is live:
            with worker:
                until(lambda: worker.counters.acked == 2)
        else:
            worker.drain()
    assert seen == ["mine"] * 4 and variable.get() == "mine"


# ---- memory ---------------------------------------------------------------------------------


@pytest.fixture
def collecting() -> Iterator[None]:
    """Collect garbage all the time, on another thread."""
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    yield
    stop.set()
    thread.join()


# proves: BND-003
@pytest.mark.engines("sqlite", "postgresql")
def test_handles_survive_garbage_collection(live: waypost.Store, collecting: None) -> None:
    worker = live.worker(**FAST)
    payloads: List[str] = []
    kept: List[Delivery] = []

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        payloads.append(delivery.payload)
        if len(kept) < 100:
            kept.append(delivery)

    live.outbox.enqueue_many([Message("a", str(number)) for number in range(2000)])
    with worker:
        until(lambda: worker.counters.acked == 2000)
    assert sorted(map(int, payloads)) == list(range(2000))
    assert {delivery.payload for delivery in kept} <= set(payloads), "kept ones stay readable"


@pytest.mark.engines("sqlite", "postgresql")
def test_stores_workers_and_handlers_are_freed(url: str) -> None:
    class Handler:
        def __call__(self, delivery: Delivery) -> None:
            pass

    def use() -> List[Any]:
        store = waypost.Store.open(url, deploy=True)
        worker = store.worker(**FAST)
        handler = Handler()
        worker.add_handler("a", handler)
        store.outbox.enqueue("a", "1")
        with worker:
            until(lambda: worker.counters.acked == 1)
        store.outbox.enqueue("a", "1")
        worker.drain()
        store.close()
        return [weakref.ref(store), weakref.ref(worker), weakref.ref(handler)]

    from waypost import _handle

    gc.collect()
    before = len(_handle.users)
    for _ in range(5):
        references = use()
        gc.collect()
        assert [reference() for reference in references] == [None, None, None]
    assert len(_handle.users) == before, "each registration was destroyed once"


def test_store_that_is_dropped_open_warns(url: str) -> None:
    store = waypost.Store.open(url, deploy=True)
    with pytest.warns(ResourceWarning, match="not closed"):
        del store
        gc.collect()


def test_outbox_keeps_its_store_alive(url: str) -> None:
    with pytest.warns(ResourceWarning, match="not closed"):
        outbox = waypost.Store.open(url, deploy=True).outbox
        gc.collect()
        made = outbox.enqueue("a", "1")
        assert outbox.get(made.id).status is Status.READY
        del outbox
        gc.collect()


def test_deferred_drop_of_a_delivery_after_the_worker_is_gone(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    worker.subscribe("a")
    live.outbox.enqueue("a", "1")
    delivery = worker.next(PATIENCE)
    assert delivery is not None
    worker.stop(0)
    del worker
    gc.collect()
    assert delivery.payload == "1"
    with pytest.raises(waypost.Error):
        delivery.done()
    del delivery
    time.sleep(0)
    gc.collect()
