# SPDX-License-Identifier: Apache-2.0
"""Jobs and their runs: scenarios RUN-001 to RUN-012 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
import uuid
from datetime import timedelta
from typing import Any, Callable, Dict, List, Optional

import pytest
from conftest import NOW, SECOND, App, connect_async, until, wait

import waypost
from waypost import (
    ArgumentError,
    Cancel,
    Delivery,
    Job,
    JobRun,
    Misfire,
    NotFoundError,
    Overlap,
    QueueKind,
    RangeError,
    RunStatus,
    StateError,
)

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")


def runs(app: App, job: Optional[str] = None) -> List[JobRun]:
    """The latest last."""
    return list(app.store.jobs.runs.list(job).all())[::-1]


def finish_all(app: App) -> int:
    done = 0
    while batch := app.store.jobs.runs.claim(waypost.new_id()):
        done += app.store.jobs.runs.ack(batch.owner, batch, worker="w")
    return done


# ---- jobs in a store ------------------------------------------------------------------------


# scenario: RUN-001
# proves: JOB-001, JOB-002, JOB-005, JOB-010
def test_put_get_list_and_delete_by_name(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(Job("nightly", "t", "p", cron="0 3 * * *", tz="Europe/Vienna"))
    jobs.put(Job("Nightly", cron="@hourly"))
    jobs.put(Job("nightly ", cron="@hourly"))
    info = jobs.get("nightly")
    assert (info.name, info.topic, info.payload) == ("nightly", "t", "p")
    assert (info.cron, info.tz, info.registrar) == ("0 3 * * *", "Europe/Vienna", None)
    assert info.enabled and info.next_due == NOW + 14 * HOUR  # 03:00 in Vienna is 02:00 UTC
    assert info.last_due is info.last_started is info.last_duration is info.last_status is None
    assert jobs.get("Nightly").topic == "Nightly"
    jobs.put(Job("nightly", cron="*/10 * * * *"))
    assert jobs.get("nightly").next_due == NOW + 10 * MINUTE and jobs.schedule_due() == 0
    page = jobs.list(limit=2)
    assert [job.name for job in page] == ["Nightly", "nightly"]
    assert [job.name for job in page.all()] == ["Nightly", "nightly", "nightly "]
    assert [job.name for job in jobs.list(after="Nightly")] == ["nightly", "nightly "]
    assert jobs.delete("nightly") and not jobs.delete("nightly")
    with pytest.raises(NotFoundError):
        jobs.get("nightly")


# proves: JOB-001
def test_stored_job_shows_what_it_was_defined_with(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(
        Job("all", cron="@daily", overlap=Overlap.SKIP, misfire=Misfire.CATCH_UP, misfire_threshold=5, catch_up=9,
            timeout=8.5, max_attempts=4, backoff_base=6, backoff_max=7)
    )
    info = jobs.get("all")
    assert (info.overlap, info.misfire, info.catch_up) == (Overlap.SKIP, Misfire.CATCH_UP, 9)
    assert (info.misfire_threshold, info.timeout) == (timedelta(seconds=5), timedelta(seconds=8.5))
    assert (info.max_attempts, info.backoff_base, info.backoff_max) == (4, timedelta(seconds=6), timedelta(seconds=7))
    jobs.put(Job("none", cron="@daily"))
    info = jobs.get("none")
    assert (info.overlap, info.misfire, info.catch_up) == (Overlap.QUEUE, Misfire.FIRE, 0)
    assert info.misfire_threshold == MINUTE
    assert info.timeout is info.max_attempts is info.backoff_base is info.backoff_max is None


# scenario: RUN-013
# proves: JOB-018
@pytest.mark.parametrize("form", [dict, json.dumps])
def test_expression_is_overridden_by_an_option_until_it_is_taken_away(
    app: App, form: Callable[[Dict[str, str]], Any]
) -> None:
    store = app.open(job_cron_overrides=form({"a": "*/7 * * * *", "b": "*/99 * * * *"}))
    with pytest.raises(ArgumentError, match="overrides must map str to str"):
        app.open(job_cron_overrides={"a": 7})
    store.jobs.put(Job("a", cron="@hourly"))
    store.jobs.put(Job("b", cron="@hourly"))  # its override is malformed: logged, and the code's stays
    assert [job.cron for job in store.jobs.list()] == ["*/7 * * * *", "@hourly"]
    assert store.jobs.get("a").next_due == NOW + 7 * MINUTE
    app.store.jobs.put(Job("a", cron="@hourly"))
    assert app.store.jobs.get("a").cron == "@hourly" and app.store.jobs.get("a").next_due == NOW + HOUR


BAD: List[Any] = [
    (Job("j", cron="61 * * * *"), ArgumentError, "minute"),
    (Job("j", cron="0 0 31 2 *"), ArgumentError, ""),
    (Job("j", cron="@daily", tz="Nowhere/Land"), NotFoundError, ""),
    (Job("j", at=NOW - SECOND), RangeError, ""),
    (Job("j"), ArgumentError, "schedule"),
    (Job("j", cron="@daily", at=NOW + SECOND), ArgumentError, "cron and at"),
    (Job("", cron="@daily"), ArgumentError, "name"),
    (Job("n" * 256, cron="@daily"), ArgumentError, "name"),
    (Job("j", "", cron="@daily"), ArgumentError, "topic"),
    (Job("j", payload=None, cron="@daily"), ArgumentError, "payload"),  # type: ignore[arg-type]
    (Job("j", cron=5), ArgumentError, "cron"),  # type: ignore[arg-type]
    (Job("j", cron="@daily", tz=None), ArgumentError, "tz"),  # type: ignore[arg-type]
    (Job("j", cron="@daily", overlap="queue"), ArgumentError, "overlap"),  # type: ignore[arg-type]
    (Job("j", cron="@daily", misfire=1), ArgumentError, "misfire"),  # type: ignore[arg-type]
    (Job("j", cron="@daily", misfire=Misfire.CATCH_UP, catch_up=0), RangeError, "catch_up"),
    (Job("j", cron="@daily", misfire_threshold=-1), RangeError, "threshold"),
    (Job("j", cron="@daily", timeout=0), RangeError, "timeout"),
    (Job("j", cron="@daily", timeout=90_000), RangeError, "timeout"),
    (Job("j", cron="@daily", max_attempts=-1), RangeError, "max_attempts"),
    (Job("j", cron="@daily", max_attempts=True), ArgumentError, "max_attempts"),
    (Job("j", cron="@daily", backoff_base="1"), ArgumentError, "backoff_base"),  # type: ignore[arg-type]
    ("j", ArgumentError, "job"),
]


# scenario: RUN-001
# proves: JOB-001, JOB-010
@pytest.mark.parametrize("job, error, name", BAD, ids=range(len(BAD)))
def test_malformed_jobs_change_nothing(app: App, job: Any, error: Any, name: str) -> None:
    good = Job("good", cron="@daily")
    with pytest.raises(error, match=name):
        app.store.jobs.put(job)
    with pytest.raises(waypost.Error):  # one-time jobs are not registered
        app.store.jobs.register("app", [good, job])
    assert len(app.store.jobs.list()) == 0


def test_arguments_of_calls_are_checked(app: App) -> None:
    jobs = app.store.jobs
    for call in (jobs.get, jobs.delete, jobs.trigger, jobs.enable, jobs.disable):
        with pytest.raises(ArgumentError, match="name"):
            call(1)
    for registrar in ("", None, "r" * 256):
        with pytest.raises(ArgumentError, match="registrar"):
            jobs.register(registrar, [])  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="jobs"):
        jobs.register("app", "jobs")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="twice"):
        jobs.register("app", [Job("j", cron="@daily")] * 2)
    with pytest.raises(RangeError, match="limit"):
        jobs.list(limit=0)
    with pytest.raises(RangeError, match="limit"):
        jobs.runs.list(limit=0)
    with pytest.raises(ArgumentError, match="id"):
        jobs.runs.cancel("x")  # type: ignore[arg-type]
    with pytest.raises(NotFoundError):
        jobs.runs.get(waypost.new_id())
    with pytest.raises(ArgumentError, match="at"):
        jobs.once("j", None)  # type: ignore[arg-type]


# scenario: RUN-002
# proves: JOB-006..008
def test_due_job_runs_once_at_the_schedules_instant(app: App) -> None:
    worker = app.store.worker(name="w1")
    got: List[Any] = []

    @worker.job("report", cron="*/10 * * * *", payload="all")
    def report(delivery: Delivery) -> str:
        got.append((delivery.queue, delivery.job, delivery.payload, delivery.due))
        app.clock.advance(2 * SECOND)
        return "42 rows"

    assert worker.drain() == 0
    app.clock.advance(10 * MINUTE + 3 * SECOND)
    due, started = NOW + 10 * MINUTE, app.clock.now
    assert worker.drain() == 1 and worker.drain() == 0
    assert got == [(QueueKind.JOBS, "report", "all", due)]
    [run] = runs(app)
    assert (run.job, run.status, run.output, run.error) == (
        "report",
        RunStatus.SUCCEEDED,
        "42 rows",
        None,
    )
    assert (run.due, run.started, run.ended) == (due, started, started + 2 * SECOND)
    assert run.scheduled and run.attempt == 0 and app.store.jobs.runs.get(run.id) == run
    info = app.store.jobs.get("report")
    assert (info.last_due, info.last_started) == (due, started)
    assert (info.last_duration, info.last_status) == (2 * SECOND, RunStatus.SUCCEEDED)
    assert info.next_due == NOW + 20 * MINUTE


# scenario: RUN-002
# proves: JOB-006, JOB-007
def test_many_schedulers_at_once_make_one_run_for_each_occurrence(app: App) -> None:
    stores = [app.open() for _ in range(4)]
    app.store.jobs.put(Job("j", cron="* * * * *", misfire=Misfire.CATCH_UP, catch_up=10))
    made: List[int] = []
    for _ in range(5):
        app.clock.advance(2 * MINUTE)
        together = threading.Barrier(len(stores))

        def schedule(store: waypost.Store, together: threading.Barrier = together) -> None:
            together.wait()
            made.append(store.jobs.schedule_due())

        threads = [threading.Thread(target=schedule, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(made) == 10
    assert [(run.due - NOW) // MINUTE for run in runs(app)] == list(range(1, 11))


# scenario: RUN-003
# proves: JOB-003
def test_triggered_it_runs_once_now(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(Job("j", cron="@daily"))
    id = jobs.trigger("j")
    [run] = runs(app)
    assert run.id == id and not run.scheduled and run.status is RunStatus.PENDING
    assert finish_all(app) == 1 and jobs.runs.get(id).status is RunStatus.SUCCEEDED
    with pytest.raises(NotFoundError):
        jobs.trigger("k")


# scenario: RUN-004
# proves: JOB-004
def test_disabled_it_stays_so_over_registration_and_restart(app: App) -> None:
    jobs = app.store.jobs
    job = Job("j", cron="*/10 * * * *")
    jobs.register("app", [job])
    jobs.disable("j")
    jobs.register("app", [job])
    jobs.put(Job("j", cron="*/5 * * * *"))
    reopened = app.open().jobs
    app.clock.advance(31 * MINUTE)
    info = reopened.get("j")
    assert not info.enabled and info.next_due is None and reopened.schedule_due() == 0
    reopened.trigger("j")
    assert finish_all(app) == 1, "by hand it runs"
    jobs.enable("j")
    assert jobs.get("j").next_due == NOW + 35 * MINUTE and jobs.schedule_due() == 0
    for change in (jobs.enable, jobs.disable):
        with pytest.raises(NotFoundError):
            change("k")


# scenario: RUN-005
# proves: JOB-001, JOB-004
def test_registration_is_a_reconcile(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(Job("by hand", cron="@hourly"))
    jobs.once("once", NOW + 5 * MINUTE)

    def start(*names: str, cron: str = "*/10 * * * *", registrar: str = "app") -> None:
        worker = app.store.worker(registrar=registrar)
        for name in names:
            worker.job(name, cron=cron)(lambda delivery: None)
        worker.step()

    def due(name: str) -> Any:
        at = jobs.get(name).next_due
        return at and at - NOW

    start("stays", "goes")
    start("other's", registrar="other")
    assert jobs.get("stays").registrar == "app" and due("goes") == 10 * MINUTE
    start("stays")
    assert due("goes") is None and not jobs.get("goes").enabled and jobs.get("goes").vanished
    assert not jobs.get("stays").vanished
    assert due("stays") == due("other's") == 10 * MINUTE
    app.clock.advance(MINUTE)
    start("stays", "goes", cron="*/15 * * * *")
    assert due("goes") == due("stays") == 15 * MINUTE and jobs.get("goes").enabled
    assert due("by hand") == HOUR and due("once") == 5 * MINUTE


# scenario: RUN-006
# proves: JOB-010
def test_once_fires_at_its_instant_and_its_name_is_free_again(app: App) -> None:
    jobs = app.store.jobs
    worker = app.store.worker()
    got: List[str] = []
    worker.job("once")(lambda delivery: got.append(delivery.payload))
    jobs.once("once", NOW + MINUTE, payload="1")
    assert jobs.get("once").cron is None
    with pytest.raises(StateError):
        jobs.once("once", NOW + 2 * MINUTE)
    with pytest.raises(RangeError):
        jobs.once("past", NOW - SECOND)
    app.clock.advance(MINUTE - timedelta(microseconds=1))
    assert worker.drain() == 0
    app.clock.advance(timedelta(microseconds=1))
    assert worker.drain() == 1 and worker.drain() == 0
    jobs.once("once", NOW + 2 * MINUTE, payload="2")
    app.clock.advance(MINUTE)
    assert worker.drain() == 1 and got == ["1", "2"]


# scenario: RUN-007
# proves: JOB-013
def test_failing_run_is_retried_by_its_jobs_policy(app: App) -> None:
    worker = app.store.worker()

    @worker.job("j", cron="@daily", max_attempts=2, backoff_base=5, backoff_max=5)
    def fail(delivery: Delivery) -> None:
        raise ValueError(f"attempt {delivery.attempt}")

    worker.step()
    id = app.store.jobs.trigger("j")
    assert worker.drain() == 1
    run = app.store.jobs.runs.get(id)
    assert run.status is RunStatus.PENDING and run.attempt == 1
    app.clock.advance(10 * SECOND)
    assert worker.drain() == 1
    run = app.store.jobs.runs.get(id)
    assert (run.status, run.attempt) == (RunStatus.FAILED, 2)
    assert run.error == "ValueError: attempt 1" and run.output is None
    [dead] = app.store.jobs.runs.dead()
    assert dead.message.id == id


# scenario: RUN-007
# proves: JOB-011
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_run_past_its_timeout_is_told_and_has_timed_out(live: waypost.Store, kind: str) -> None:
    worker = live.worker(poll_max=0.05)
    told: List[Optional[Cancel]] = []
    options: Dict[str, Any] = {"cron": "@yearly", "timeout": 0.1, "max_attempts": 1}

    if kind == "plain":

        @worker.job("j", **options)
        def slow(delivery: Delivery) -> None:
            until(lambda: delivery.cancelled)
            told.append(delivery.cancel_reason)
            delivery.raise_if_cancelled()

    else:

        @worker.job("j", **options)
        async def slow_async(delivery: Delivery) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                told.append(delivery.cancel_reason)

    with worker:
        id = live.jobs.trigger("j")
        until(lambda: live.jobs.runs.get(id).ended)
    assert live.jobs.runs.get(id).status is RunStatus.TIMED_OUT and told == [Cancel.TIMEOUT]


# proves: JOB-011
def test_run_that_returns_after_its_timeout_has_timed_out_all_the_same(live: waypost.Store) -> None:
    worker = live.worker(poll_max=0.05)

    @worker.job("j", cron="@yearly", timeout=0.1, max_attempts=1)
    def slow(delivery: Delivery) -> str:
        until(lambda: delivery.cancelled)
        return "half of it"

    with worker:
        id = live.jobs.trigger("j")
        until(lambda: live.jobs.runs.get(id).ended)
    run = live.jobs.runs.get(id)
    assert (run.status, run.output) == (RunStatus.TIMED_OUT, "half of it")
    assert run.error is not None and run.error.startswith("timeout")


# scenario: RUN-008
# proves: JOB-012
def test_overlap_by_policy(app: App) -> None:
    jobs = app.store.jobs
    for policy in Overlap:
        jobs.put(Job(policy.name, cron="*/10 * * * *", overlap=policy))
    for _ in range(2):
        app.clock.advance(10 * MINUTE)
        jobs.schedule_due()
    claimed = jobs.runs.claim(waypost.new_id())
    assert sorted(run.job or "" for run in claimed) == ["ALLOW", "ALLOW", "QUEUE", "SKIP"]
    assert jobs.runs.stats().topics["QUEUE"].blocked == 1
    first, second = runs(app, "SKIP")
    assert first.status is RunStatus.RUNNING and second.status is RunStatus.SKIPPED
    jobs.runs.ack(claimed.owner, claimed)
    assert [run.job for run in jobs.runs.claim(waypost.new_id())] == ["QUEUE"]


# scenario: RUN-009
# proves: JOB-014
def test_misfire_by_policy(app: App) -> None:
    jobs = app.store.jobs
    for policy in Misfire:
        jobs.put(Job(policy.name, cron="*/10 * * * *", misfire=policy, catch_up=3, overlap=Overlap.ALLOW))
    app.clock.advance(65 * MINUTE)
    jobs.schedule_due()

    def dues(policy: Misfire) -> List[Any]:
        return [((run.due - NOW) // MINUTE, run.status.name) for run in runs(app, policy.name)]

    assert dues(Misfire.FIRE) == [(60, "PENDING")]
    assert dues(Misfire.SKIP) == [(60, "SKIPPED")]
    assert dues(Misfire.CATCH_UP) == [(40, "PENDING"), (50, "PENDING"), (60, "PENDING")]
    assert {jobs.get(policy.name).next_due for policy in Misfire} == {NOW + 70 * MINUTE}


# scenario: RUN-010
# proves: JOB-008
def test_waiting_run_is_cancelled_at_once(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(Job("j", cron="@daily"))
    id = jobs.trigger("j")
    assert jobs.runs.cancel(id) and not jobs.runs.cancel(id)
    assert not jobs.runs.cancel(waypost.new_id())
    assert jobs.runs.get(id).status is RunStatus.CANCELLED and finish_all(app) == 0


# scenario: RUN-010
# proves: JOB-008
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_handler_of_a_cancelled_run_is_told(live: waypost.Store, kind: str) -> None:
    worker = live.worker(poll_max=0.05, reap=0.1)
    began = threading.Event()
    told: List[Optional[Cancel]] = []

    if kind == "plain":

        @worker.job("j")
        def slow(delivery: Delivery) -> None:
            began.set()
            until(lambda: delivery.cancelled)
            told.append(delivery.cancel_reason)
            delivery.raise_if_cancelled()

    else:

        @worker.job("j")
        async def slow_async(delivery: Delivery) -> None:
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                told.append(delivery.cancel_reason)

    live.jobs.put(Job("j", cron="@yearly", max_attempts=5))
    with worker:
        id = live.jobs.trigger("j")
        wait(began)
        assert live.jobs.runs.cancel(id)
        until(lambda: live.jobs.runs.get(id).ended)
    run = live.jobs.runs.get(id)
    assert run.status is RunStatus.CANCELLED and told == [Cancel.REQUESTED]


# scenario: RUN-010
# proves: JOB-008
def test_stop_tells_a_runs_handler(live: waypost.Store) -> None:
    worker = live.worker(poll_max=0.05, stop_timeout=30)
    began = threading.Event()

    @worker.job("j")
    def slow(delivery: Delivery) -> None:
        began.set()
        until(lambda: delivery.cancelled)
        assert delivery.cancel_reason is Cancel.STOP
        delivery.raise_if_cancelled()

    live.jobs.put(Job("j", cron="@yearly"))
    with worker:
        id = live.jobs.trigger("j")
        wait(began)
    run = live.jobs.runs.get(id)
    assert run.status is RunStatus.PENDING and run.attempt == 0, "it was given back"


# proves: JOB-008, JOB-009
def test_lost_lease_tells_a_runs_handler(app: App) -> None:
    worker = app.store.worker()
    began, told = threading.Event(), threading.Event()
    outcome: List[object] = []

    @worker.job("j")
    def slow(delivery: Delivery) -> None:
        began.set()
        until(lambda: delivery.cancelled)
        outcome.append(delivery.cancel_reason)
        told.set()

    app.store.jobs.put(Job("j", cron="@yearly"))
    ahead = waypost.ManualClock(NOW + timedelta(hours=1))  # another host, whose clock is wrong
    other = app.open(clock=ahead)
    with worker:
        id = app.store.jobs.trigger("j")
        wait(began)
        assert other.jobs.runs.reap() == 1
        ahead.advance(timedelta(hours=1))
        claim = other.jobs.runs.claim(waypost.new_id(), lease=3600)
        assert [run.id for run in claim] == [id]
        app.clock.advance(200 * SECOND)  # past 60 % of the lease: it is renewed
        wait(told)
    assert outcome == [Cancel.LEASE_LOST]
    assert other.jobs.runs.ack(claim.owner, claim) == 1
    assert other.jobs.runs.get(id).status is RunStatus.SUCCEEDED


# scenario: RUN-011
# proves: JOB-009, JOB-015, JOB-016
def test_runs_by_hand_listed_and_purged(app: App) -> None:
    jobs = app.store.jobs
    jobs.put(Job("j", "t", cron="@daily", overlap=Overlap.ALLOW, max_attempts=2))
    ids = [jobs.trigger("j") for _ in range(5)]
    batch = jobs.runs.claim(waypost.new_id(), topics=["t"], lease=10)
    assert {run.id for run in batch} == set(ids) and {run.job for run in batch} == {"j"}
    owner = batch.owner
    assert jobs.runs.ack(owner, [batch[0]], worker="w") == 1
    assert jobs.runs.abandon(owner, [batch[1]], delay=1, reason="later") == 1
    assert jobs.runs.fail(owner, [batch[2]], reason="never") == 1
    assert jobs.runs.release(owner, [batch[3]]) == 1
    assert jobs.runs.renew(owner, [batch[4]], lease=5) == 1
    app.clock.advance(6 * SECOND)
    assert jobs.runs.reap() == 1
    app.clock.advance(60 * SECOND)
    again = jobs.runs.claim(waypost.new_id())
    assert {run.id: run.attempt for run in again} == {
        batch[1].id: 1,
        batch[3].id: 0,
        batch[4].id: 1,
    }
    page = jobs.runs.list("j", limit=3)
    assert len(page) == 3 and len(page.next()) == 2 and len(page.next().next()) == 0
    assert {run.id for run in page.all()} == set(ids) and len(jobs.runs.list("k")) == 0
    assert jobs.runs.stats().total.in_progress == 3
    assert jobs.runs.purge(timedelta(hours=1)) == 0
    assert jobs.runs.purge(10) == 2
    assert {run.id for run in runs(app)} == {run.id for run in again}


def test_calls_after_close_are_state_errors(url: str) -> None:
    store = waypost.Store.open(url, deploy=True)
    jobs, timers = store.jobs, store.timers
    store.close()
    for call in (
        jobs.list,
        jobs.runs.list,
        timers.list,
        jobs.schedule_due,
        lambda: jobs.put(Job("j", cron="@daily")),
        lambda: timers.schedule("t", "1"),
    ):
        with pytest.raises(StateError, match="closed"):
            call()


def test_exceptions_of_async_handlers_of_inbox_timers_and_jobs_are_retried(app: App) -> None:
    worker = app.store.worker()

    async def fail(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        raise KeyError(delivery.queue.name)

    for queue in QueueKind:
        worker.add_handler("t", fail, queue=queue)
    app.outbox.enqueue("t", "1")
    app.store.inbox.enqueue(waypost.InboxKey("shop", "1"), "t", "1")
    timer = app.store.timers.schedule("t", "1").id
    app.store.jobs.put(Job("t", cron="@daily"))
    run = app.store.jobs.trigger("t")

    async def drain() -> int:
        return await worker.drain_async()

    assert asyncio.run(drain()) == 4
    key = waypost.InboxKey("shop", "1")
    assert app.store.inbox.get(key).last_error == "KeyError: 'INBOX'"
    assert app.store.timers.get(timer).last_error == "KeyError: 'TIMERS'"
    assert app.store.jobs.runs.get(run).error == "KeyError: 'JOBS'"
    assert app.store.jobs.runs.get(run).attempt == 1


# ---- the decorator --------------------------------------------------------------------------


OUTPUTS: List[Any] = [
    (None, None),
    ("text", "text"),
    (b"bytes", "bytes"),
    ({"rows": 3}, '{"rows": 3}'),
    ([1, "\u00e9"], '[1, "\u00e9"]'),
    (0, "0"),
    ("", ""),
    ("x" * 70_000, "x" * 65_536),
    ("\u00e9" * 40_000, "\u00e9" * 32_768),
    ("a" + "\u00e9" * 40_000, "a" + "\u00e9" * 32_767),
]


# proves: JOB-008
@pytest.mark.parametrize("returned, stored", OUTPUTS, ids=range(len(OUTPUTS)))
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_output_is_what_the_handler_returns(
    app: App, returned: Any, stored: Optional[str], kind: str
) -> None:
    worker = app.store.worker()
    app.store.jobs.put(Job("j", cron="@daily"))
    if kind == "plain":
        worker.job("j")(lambda delivery: returned)
    else:

        @worker.job("j")
        async def handle(delivery: Delivery) -> Any:
            await asyncio.sleep(0)
            return returned

    id = app.store.jobs.trigger("j")
    worker.drain()
    run = app.store.jobs.runs.get(id)
    assert run.status is RunStatus.SUCCEEDED and run.output == stored


def deep() -> Any:
    made: List[Any] = []
    for _ in range(100_000):
        made = [made]
    return made


UNSTORABLE: List[Callable[[], Any]] = [
    object,
    lambda: {"a": object()},
    lambda: "a\0b",
    lambda: b"\xff",
    lambda: "\ud800",
    deep,
]


@pytest.mark.parametrize("make", UNSTORABLE, ids=range(len(UNSTORABLE)))
@pytest.mark.parametrize("kind", ["plain", "async", "background"])
def test_output_that_cannot_be_stored_is_left_out_of_a_run_that_succeeded(
    app: App,
    live: waypost.Store,
    make: Callable[[], Any],
    kind: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, "waypost")
    store = live if kind == "background" else app.store
    worker = store.worker(poll_max=0.05)
    store.jobs.put(Job("j", cron="@daily"))
    if kind == "async":

        @worker.job("j")
        async def handle(delivery: Delivery) -> Any:
            return make()

    else:
        worker.job("j")(lambda delivery: make())
    id = store.jobs.trigger("j")
    if kind == "background":
        with worker:
            until(lambda: store.jobs.runs.get(id).ended, "the run's end")
    else:
        worker.drain()
    run = store.jobs.runs.get(id)
    assert (run.status, run.output, run.attempt) == (RunStatus.SUCCEEDED, None, 0)
    assert any("left out" in record.message for record in caplog.records)


# proves: JOB-001
def test_workers_that_start_together_have_the_jobs_of_all(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    register, threads, through = waypost.Jobs.register, [], threading.Event()
    workers: List[waypost.Worker] = []

    def start(name: str) -> None:
        worker = app.store.worker(registrar="r")
        workers.append(worker)
        worker.job(name, cron="@daily")(lambda delivery: None)
        worker.drain()

    def slow(jobs: waypost.Jobs, registrar: str, made: Any) -> Any:
        if not threads:
            threads.append(threading.Thread(target=start, args=("b",)))
            threads[0].start()
            through.wait(0.3)  # the second one must not get between
        result = register(jobs, registrar, made)
        through.set()
        return result

    monkeypatch.setattr(waypost.Jobs, "register", slow)
    start("a")
    threads[0].join()
    assert all(app.store.jobs.get(name).enabled for name in "ab")


def test_output_of_a_deferred_run_and_of_no_run(app: App) -> None:
    worker = app.store.worker()
    app.store.jobs.put(Job("j", cron="@daily"))
    kept: List[Delivery] = []

    @worker.job("j")
    def later(delivery: Delivery) -> Any:
        kept.append(delivery)
        return waypost.DEFERRED

    @worker.handler("a")
    def other(delivery: Delivery) -> None:
        with pytest.raises(StateError):
            delivery.set_output("x")

    def finish() -> None:
        until(lambda: kept)
        kept[0].set_output("first")
        kept[0].set_output("second")
        kept[0].done()

    thread = threading.Thread(target=finish)
    thread.start()
    id = app.store.jobs.trigger("j")
    app.outbox.enqueue("a", "1")
    worker.drain()
    thread.join()
    assert app.store.jobs.runs.get(id).output == "second"
    assert app.outbox.stats().total.done == 1


def test_decorator_registers_when_the_worker_starts(live: waypost.Store) -> None:
    worker = live.worker(poll_max=0.05)

    @worker.job("every second", cron="* * * * * *", tz="Asia/Tokyo", overlap=Overlap.SKIP)
    def tick(delivery: Delivery) -> None:
        pass

    assert len(live.jobs.list()) == 0
    with worker:
        until(lambda: live.jobs.runs.stats().total.done)
    info = live.jobs.get("every second")
    assert info.tz == "Asia/Tokyo" and info.registrar

    async def again() -> None:
        async with worker:
            pass

    asyncio.run(again())
    assert live.jobs.get("every second").enabled


# proves: JOB-001
def test_workers_of_one_program_have_their_jobs_together(app: App) -> None:
    def worker_of(name: str, **options: Any) -> waypost.Worker:
        worker = app.store.worker(**options)
        worker.job(name, cron="@daily")(lambda delivery: None)
        worker.step()
        return worker

    def enabled() -> List[str]:
        return [job.name for job in app.store.jobs.list() if job.enabled]

    kept = [worker_of("a"), worker_of("b"), worker_of("a")]
    assert app.store.jobs.get("a").registrar == "test_jobs", "the handlers' module"
    assert enabled() == ["a", "b"]
    kept.append(worker_of("c", registrar="other"))
    idle = app.store.worker()
    idle.subscribe("t")
    idle.next(0)
    idle.stop()
    assert enabled() == ["a", "b", "c"], "a worker without jobs says nothing of them"
    named = app.open().worker(registrar="other")
    named.subscribe("t")
    named.next(0)
    named.stop()
    assert enabled() == ["a", "b"], "unless it is named"


# proves: JOB-001, MDB-001
def test_workers_of_a_routers_store_have_their_jobs_together(url: str) -> None:
    kept: List[waypost.Worker] = []

    def add(store: waypost.Store, name: str) -> None:
        worker = store.worker(registrar="r")
        worker.job(name, cron="@daily")(lambda delivery: None)
        worker.step()
        kept.append(worker)

    with waypost.Router({"k": url}, deploy=True) as router:
        for name in "abc":
            add(router.store("k"), name)  # each is a Store object of its own
        jobs = router.jobs("k")
        assert [job.name for job in jobs.list() if job.enabled] == ["a", "b", "c"]
        with waypost.Store.open(url) as other:  # in another core store
            add(other, "d")
        assert [job.name for job in jobs.list() if job.enabled] == ["d"]


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("way", ["script", "module"])
def test_registrar_of_a_script_is_its_name(url: str, tmp_path: Any, way: str) -> None:
    (tmp_path / "billing.py").write_text(
        "import sys, waypost\n"
        "with waypost.Store.open(sys.argv[1], deploy=True) as store:\n"
        "    worker = store.worker()\n"
        "    worker.job('j', cron='@daily')(lambda delivery: None)\n"
        "    worker.step()\n"
    )
    command = ["billing.py"] if way == "script" else ["-m", "billing"]
    subprocess.run([sys.executable, *command, url], check=True, cwd=tmp_path)
    with waypost.Store.open(url) as store:
        assert store.jobs.get("j").registrar == "billing"


def test_decorator_refuses_what_makes_no_sense(app: App) -> None:
    worker = app.store.worker()
    with pytest.raises(ArgumentError, match="cron"):
        worker.job("j", payload="x")
    with pytest.raises(TypeError):
        worker.job("j", cron="@daily", no_such_option=1)
    with pytest.raises(ArgumentError, match="callable"):
        worker.job("j", cron="@daily")(5)  # type: ignore[type-var]
    worker.job("j", cron="61 * * * *")(lambda delivery: None)
    with pytest.raises(StateError):
        worker.job("j", cron="@daily")(lambda delivery: None)
    doubled = app.store.worker()
    for _ in range(2):
        doubled.add_job(Job("j", cron="@daily"))
    doubled.subscribe("t")
    with pytest.raises(ArgumentError, match="twice"):
        doubled.next(0)
    with pytest.raises(ArgumentError, match="minute"):
        worker.drain()
    with pytest.raises(ArgumentError, match="minute"):
        worker.start()
    assert not worker.running and len(app.store.jobs.list()) == 0


def test_two_jobs_of_one_topic_and_added_handlers(app: App) -> None:
    worker = app.store.worker()
    got: List[Any] = []
    worker.add_job(Job("a", "t", "1", cron="@hourly"))
    worker.add_job(Job("b", "t", "2", cron="@hourly"))
    worker.add_handler("t", lambda delivery: got.append(delivery.job), queue=QueueKind.JOBS)
    worker.drain()
    app.clock.advance(HOUR)
    assert worker.drain() == 2 and sorted(got) == ["a", "b"]


def test_jobs_with_a_worker_on_a_router_are_registered_by_hand(url: str) -> None:
    with waypost.Router({"a": url}, deploy=True) as router:
        worker = router.worker()
        got: List[Any] = []
        worker.job("j")(lambda delivery: got.append(delivery.store_id))
        router.store("a").jobs.put(Job("j", cron="@yearly"))
        router.store("a").jobs.trigger("j")
        assert worker.drain() == 1 and got == ["a"]
        with pytest.raises(StateError, match="router"):
            worker.job("k", cron="@daily")


def test_name_of_a_zone_may_be_a_zoneinfo(app: App) -> None:
    zoneinfo = pytest.importorskip("zoneinfo")
    zone = zoneinfo.ZoneInfo("Europe/Vienna")
    app.store.jobs.put(Job("j", cron="0 3 * * *", tz=zone.key))
    assert app.store.jobs.get("j").tz == "Europe/Vienna"


# scenario: RUN-012
# proves: JOB-001..003, JOB-009, BND-002
@pytest.mark.parametrize("commit", [False, True])
def test_in_the_apps_transaction_they_are_there_with_its_commit_alone(
    app: App, commit: bool
) -> None:
    jobs = app.store.jobs
    connection = app.connect()

    def end() -> None:
        connection.commit() if commit else connection.rollback()

    jobs.put(Job("old", cron="@daily"))
    old = jobs.trigger("old")
    jobs.put(Job("new", cron="@daily"), connection=connection)
    run = jobs.trigger("new", connection=connection)
    jobs.once("later", NOW + HOUR, connection=connection)
    assert jobs.get("new", connection=connection).cron == "@daily"
    with pytest.raises(NotFoundError):
        jobs.get("other", connection=connection)
    with pytest.raises(NotFoundError):
        jobs.get("new")
    end()
    names = [job.name for job in jobs.list()]
    assert names == (["later", "new", "old"] if commit else ["old"])
    assert {one.id for one in runs(app)} == ({old, run} if commit else {old})
    owner = waypost.new_id()
    claim = jobs.runs.claim(owner)
    assert jobs.runs.ack(owner, claim, connection=connection) == len(claim)
    end()
    status = RunStatus.SUCCEEDED if commit else RunStatus.RUNNING
    assert {one.status for one in runs(app)} == {status}
    assert jobs.delete("old", connection=connection)
    assert not jobs.delete("other", connection=connection)
    end()
    assert ("old" in [job.name for job in jobs.list()]) is not commit
    with pytest.raises(NotFoundError):
        jobs.trigger("other", connection=connection)
    connection.rollback()


# scenario: RUN-012
# proves: JOB-001..003, BND-002
@pytest.mark.parametrize("on_connection", [False, True])
def test_by_async_calls(app: App, on_connection: bool) -> None:
    jobs = app.store.jobs

    async def calls() -> uuid.UUID:
        async with connect_async(app.url) as connection:
            chosen = connection if on_connection else None
            for name in ("a", "b"):
                await jobs.put_async(Job(name, cron="@daily"), connection=chosen)
            run = await jobs.trigger_async("a", connection=chosen)
            assert (await jobs.get_async("a", connection=chosen)).cron == "@daily"
            assert await jobs.delete_async("b", connection=chosen)
            assert not await jobs.delete_async("b", connection=chosen)
            if on_connection:
                assert len(jobs.list()) == 0
                await connection.commit()
            return run

    assert [asyncio.run(calls())] == [run.id for run in runs(app)]
    assert [job.name for job in jobs.list()] == ["a"]
