# SPDX-License-Identifier: Apache-2.0
"""Faults of the app's around a worker: it refuses them, or goes on, or says why it ended."""
from __future__ import annotations

import asyncio
import logging
import signal
import threading
from datetime import timedelta
from typing import Any, Dict, Iterator, List

import pytest
from conftest import PATIENCE, App, until, wait
from test_process import script

import waypost
from waypost import Delivery, Status

FAST: Dict[str, Any] = {"poll_max": 0.05, "poll_min": 0.01}
DAY = timedelta(days=1)
TOO_LONG = [DAY + timedelta(milliseconds=1), -1, -timedelta(microseconds=1001), 100_000]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")


# ---- stopping -------------------------------------------------------------------------------


# proves: BND-004
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("timeout", TOO_LONG)
def test_stop_with_a_timeout_out_of_range_changes_nothing(
    live: waypost.Store, timeout: Any
) -> None:
    worker = live.worker(**FAST)
    worker.add_handler("a", lambda delivery: None)
    for running in (False, True):
        if running:
            worker.start()
        with pytest.raises(waypost.RangeError, match="timeout"):
            worker.stop(timeout)
        with pytest.raises(waypost.RangeError, match="timeout"):
            asyncio.run(worker.stop_async(timeout))
        assert worker.running is running
    live.outbox.enqueue("a", "1")
    until(lambda: worker.counters.acked == 1)
    assert worker.stop(DAY) == 0 and not worker.running
    made = live.outbox.enqueue("a", "2")
    other = live.worker(**FAST)
    other.add_handler("b", lambda delivery: None)
    with other:  # until it has looked, the stopped one has had its time too
        until(lambda: other.counters.polls)
    assert live.outbox.get(made.id).status is Status.READY


# proves: BND-004
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("timeout", TOO_LONG)
def test_stop_timeout_out_of_range_is_refused(live: waypost.Store, timeout: Any) -> None:
    with pytest.raises(waypost.RangeError, match="stop_timeout"):
        live.worker(stop_timeout=timeout)
    live.worker(stop_timeout=DAY)
    live.worker(stop_timeout=0)


@pytest.mark.engines("sqlite")
def test_run_whose_stop_is_refused_goes_on(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    worker.add_handler("a", lambda delivery: None)
    worker.start()
    run = worker._run
    assert run is not None
    with pytest.raises(waypost.RangeError):
        run.stop(-1)
    assert worker.running and not run.ended.is_set()
    worker.stop()


BOTH_IN_HANDLERS = """
    import sys, threading
    import waypost
    store = waypost.Store.open(sys.argv[1], deploy=True)
    worker = store.worker(concurrency=2, stop_timeout=3600)
    both = threading.Barrier(2)

    @worker.handler("a")
    def handle(delivery):
        both.wait()
        main = threading.current_thread() is threading.main_thread()
        if main:
            print("ready", flush=True)
        while not delivery.cancelled:
            threading.Event().wait(0.001)
        if main:
            print("stopping", flush=True)
        threading.Event().wait()

    store.outbox.enqueue_many([waypost.Message("a", "1")] * 2)
    try:
        worker.run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.engines("sqlite")
def test_second_ctrl_c_inside_a_handler_waits_for_no_other_one(url: str) -> None:
    with script(BOTH_IN_HANDLERS, url) as process:
        assert process.stdout is not None
        for expected in ("ready", "stopping"):
            assert process.stdout.readline() == expected + "\n"
            process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"


class Fatal(BaseException):
    pass


# proves: BND-003
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("error", [SystemExit, Fatal])
@pytest.mark.parametrize("is_async", [False, True])
def test_error_that_ended_a_worker_in_the_background_is_raised_by_its_stop(
    live: waypost.Store, error: Any, is_async: bool
) -> None:
    worker = live.worker(**FAST)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        raise error(7)

    live.outbox.enqueue("a", "1")
    worker.start()
    until(lambda: not worker.running)
    with pytest.raises(error, match="7"):
        if is_async:
            asyncio.run(worker.stop_async())
        else:
            worker.stop()
    assert worker.stop() == 0, "once"


# ---- handlers -------------------------------------------------------------------------------


# proves: BND-004
@pytest.mark.parametrize(
    "bad", [{"max_attempts": 0}, {"timeout": 5, "lease": -1}, {"timeout": 5, "batch_size": 1.5}]
)
def test_handler_that_was_refused_can_be_added_rightly(app: App, bad: Any) -> None:
    worker = app.store.worker(max_attempts=1)
    worker.add_handler("other", lambda delivery: None)
    with pytest.raises(waypost.ConfigError):
        worker.add_handler("orders", lambda delivery: None, **bad)
    made = app.outbox.enqueue("orders", "1")
    assert worker.drain() == 0, "nobody handles it"
    assert app.outbox.get(made.id).status is Status.READY
    worker = app.store.worker(max_attempts=1)
    with pytest.raises(waypost.ConfigError):
        worker.add_handler("orders", lambda delivery: None, **bad)
    worker.add_handler("orders", lambda delivery: None, max_attempts=5)
    assert worker.drain() == 1


class NoText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


# proves: OBX-056, BND-003
@pytest.mark.parametrize(
    "reason, said",
    [
        (OSError("no route"), "no route"),
        (OSError(), "OSError"),
        (NoText(), "NoText"),
        (5, "5"),
        (0, "0"),
        (b"x", "b'x'"),
        ("nul \0 \ud800", "nul \\0 \\ud800"),
    ],
)
@pytest.mark.parametrize("how", ["raise", "call"])
@pytest.mark.parametrize("kind", [waypost.Retry, waypost.Reject])
@pytest.mark.engines("sqlite")
def test_reason_may_be_any_object(
    live: waypost.Store, kind: Any, how: str, reason: Any, said: str
) -> None:
    worker = live.worker(**FAST, backoff_base=1000, backoff_max=1000)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        if how == "raise":
            raise kind(reason)
        (delivery.retry if kind is waypost.Retry else delivery.reject)(reason)

    worker.add_handler("b", lambda delivery: None)
    made = live.outbox.enqueue("a", "1")
    with worker:
        until(lambda: live.outbox.get(made.id).last_error)
        next = live.outbox.enqueue("b", "1")
        until(lambda: live.outbox.get(next.id).status is Status.DONE)
    info = live.outbox.get(made.id)
    assert info.last_error == said
    assert info.status is (Status.READY if kind is waypost.Retry else Status.FAILED)


class Unfinished(waypost.Retry):
    def __init__(self) -> None:  # without reason and delay
        pass


# proves: BND-003
@pytest.mark.engines("sqlite")
def test_outcome_that_cannot_be_understood_ends_no_worker(live: waypost.Store) -> None:
    worker = live.worker(**FAST, concurrency=1, backoff_base=1000, backoff_max=1000)

    @worker.handler("a")
    def handle(delivery: Delivery) -> None:
        raise Unfinished

    worker.add_handler("b", lambda delivery: None)
    made = live.outbox.enqueue("a", "1")
    with worker:
        until(lambda: live.outbox.get(made.id).message.attempt == 1)
        next = live.outbox.enqueue("b", "1")
        until(lambda: live.outbox.get(next.id).status is Status.DONE)
    assert live.outbox.get(made.id).status is Status.READY


# proves: BND-003
@pytest.mark.engines("sqlite")
def test_lost_message_without_a_handler_ends_no_worker(live: waypost.Store) -> None:
    worker = live.worker(**FAST, concurrency=1, all_topics=True)
    worker.add_handler("a", lambda delivery: None)
    core = waypost.Delivery
    seen = threading.Event()

    def refuse(self: Any, outcome: int, reason: object, delay_ms: int) -> None:
        seen.set()
        raise waypost.LeaseLostError("lost")

    finish = core._finish
    core._finish = refuse  # type: ignore[method-assign]
    try:
        live.outbox.enqueue("nobody", "1")
        with worker:
            wait(seen)
            core._finish = finish  # type: ignore[method-assign]
            made = live.outbox.enqueue("a", "1")
            until(lambda: live.outbox.get(made.id).status is Status.DONE)
    finally:
        core._finish = finish  # type: ignore[method-assign]


# ---- logging --------------------------------------------------------------------------------


class BadFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise RuntimeError("bug in a filter")


class BadHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise OSError("log server gone")


@pytest.fixture(params=["filter", "handler"])
def bad_log(request: pytest.FixtureRequest, quiet: None) -> Iterator[None]:
    logger = logging.getLogger("waypost")
    filter, handler = BadFilter(), BadHandler()
    logger.setLevel(logging.DEBUG)
    if request.param == "filter":
        logger.addFilter(filter)
    else:
        logger.addHandler(handler)
    yield
    logger.removeFilter(filter)
    logger.removeHandler(handler)


# proves: BND-003
@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("is_async", [False, True])
def test_log_that_raises_ends_no_worker(
    live: waypost.Store, bad_log: None, is_async: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = live.worker(**FAST, concurrency=1, backoff_base=1000, backoff_max=1000)

    async def fail_async(delivery: Delivery) -> None:
        raise ZeroDivisionError("failed")

    def fail(delivery: Delivery) -> object:
        if delivery.payload == "returns":
            return 5
        if delivery.payload == "finished twice":
            delivery.retry("first")
        raise ZeroDivisionError("failed")

    worker.add_handler("a", fail_async if is_async else fail)  # type: ignore[arg-type]
    worker.add_handler("b", lambda delivery: None)
    made = [live.outbox.enqueue("a", how) for how in ("raises", "returns", "finished twice")]
    with worker:
        until(lambda: all(live.outbox.get(one.id).last_error for one in made))
        next = live.outbox.enqueue("b", "1")
        until(lambda: live.outbox.get(next.id).status is Status.DONE)
    errors: List[Any] = [live.outbox.get(one.id).last_error for one in made]
    if is_async:
        assert errors == ["ZeroDivisionError: failed"] * 3
    else:
        said = "the handler returned a int, not None"
        assert errors == ["ZeroDivisionError: failed", said, "first"]
    said = capfd.readouterr().err
    assert "bug in a filter" in said or "log server gone" in said, "the app can see it"
