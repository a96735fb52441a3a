# SPDX-License-Identifier: Apache-2.0
"""Bad input, errors by kind, configuration, logging, and small things."""
from __future__ import annotations

import json
import logging
import sqlite3
import uuid
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, List

import on_mariadb
import on_sqlserver
import pytest
from conftest import NOW, SECOND, App

import waypost
from waypost import ArgumentError, ConfigError, RangeError

NAIVE = datetime(2026, 1, 1)
SURROGATE = "\ud800"
TOO_FAR = datetime(1969, 12, 31, tzinfo=timezone.utc)


# proves: BND-004, OBX-004..006
@pytest.mark.parametrize(
    "arguments, kind, name",
    [
        ({"topic": 1}, ArgumentError, "topic"),
        ({"topic": b"a"}, ArgumentError, "topic"),
        ({"topic": "a\0b"}, ArgumentError, "topic"),
        ({"topic": SURROGATE}, ArgumentError, "topic"),
        ({"payload": 1}, ArgumentError, "payload"),
        ({"payload": {"a": 1}}, ArgumentError, "payload"),
        ({"payload": "a\0b"}, ArgumentError, "payload"),
        ({"payload": b"a\0b"}, ArgumentError, "payload"),
        ({"payload": b"\xff"}, ArgumentError, "payload"),
        ({"payload": b"\xed\xa0\x80"}, ArgumentError, "payload"),
        ({"payload": b"\xc0\xaf"}, ArgumentError, "payload"),
        ({"payload": SURROGATE}, ArgumentError, "payload"),
        ({"correlation_id": 1}, ArgumentError, "correlation_id"),
        ({"correlation_id": "a\0"}, ArgumentError, "correlation_id"),
        ({"ordering_key": "k" * 256}, ArgumentError, "ordering_key"),
        ({"ordering_key": b"k"}, ArgumentError, "ordering_key"),
        ({"unique_key": "\U0001f600" * 128}, ArgumentError, "unique_key"),
        ({"unique_key": "\0"}, ArgumentError, "unique_key"),
        ({"headers": [("a", "b")]}, ArgumentError, "headers"),
        ({"headers": {"": "b"}}, ArgumentError, "name"),
        ({"headers": {"a": 1}}, ArgumentError, "header a"),
        ({"headers": {1: "a"}}, ArgumentError, "header"),
        ({"headers": {"a": "\0"}}, ArgumentError, "header a"),
        ({"headers": {"a": "x" * 70000}}, ArgumentError, "header"),
        ({"due": NAIVE}, ArgumentError, "due is a naive datetime"),
        ({"expires": NAIVE}, ArgumentError, "expires is a naive datetime"),
        ({"due": 1}, ArgumentError, "due"),
        ({"due": TOO_FAR}, RangeError, "due"),
        ({"delay": "1"}, ArgumentError, "delay"),
        ({"delay": True}, ArgumentError, "delay"),
        ({"delay": float("nan")}, ArgumentError, "delay"),
        ({"delay": float("inf")}, ArgumentError, "delay"),
        ({"delay": timedelta(days=366)}, RangeError, "delay"),
        ({"delay": 1, "due": NOW}, ArgumentError, "due and delay"),
    ],
)
@pytest.mark.parametrize("on_connection", [False, True])
def test_bad_arguments_are_named_and_change_nothing(
    app: App, arguments: Any, kind: Any, name: str, on_connection: bool
) -> None:
    connection = app.connect() if on_connection else None
    with pytest.raises(kind, match=name) as caught:
        app.outbox.enqueue(**{"topic": "a", "payload": "1", **arguments}, connection=connection)
    assert isinstance(caught.value, waypost.Error) and isinstance(caught.value, ValueError)
    assert not caught.value.retriable
    if connection:
        connection.commit()
    assert app.count() == 0


def test_bad_batches(app: App) -> None:
    for batch in (None, "ab", 1, [1], [("a", "1")]):
        with pytest.raises(ArgumentError, match="message"):
            app.outbox.enqueue_many(batch)  # type: ignore[arg-type]
    too_many = [waypost.Message("a", "1")] * 10001
    with pytest.raises((ArgumentError, RangeError)):
        app.outbox.enqueue_many(too_many)
    assert app.count() == 0


def test_times_keep_their_microseconds_and_any_zone(app: App) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    due = datetime(2026, 3, 1, 17, 29, 59, 123457, tzinfo=zone)
    app.outbox.enqueue("a", "1", due=due)
    app.outbox.enqueue("b", "1", due=datetime(1970, 1, 1, tzinfo=timezone.utc))
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
    made = app.outbox.enqueue("c", "1", due=last)
    assert app.outbox.get(made.id).message.due == last
    got = {message.topic: message.due for message in app.claim()}
    assert got["a"] == due and got["a"].microsecond == 123457
    assert got["b"].timestamp() == 0


def test_times_past_the_last_year_are_its_end(new_url: Any) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc)
    clock = waypost.ManualClock(last - timedelta(minutes=10))
    url = new_url()
    with waypost.Store.open(url, deploy=True, clock=clock) as store:
        made, owner = store.outbox.enqueue("a", "1"), waypost.new_id()
        claim = store.outbox.claim(owner, lease=3600)
        of_leases = last.replace(microsecond=999000) if on_sqlserver.is_mine(url) else last
        assert store.outbox.get(made.id).locked_until == of_leases
        assert store.outbox.abandon(owner, claim, delay=3600) == 1
        assert store.outbox.get(made.id).next_attempt == last


# proves: BND-004
def test_numbers_and_lists_that_are_none_are_named(app: App) -> None:
    dead, big = app.outbox.dead(), 2**70
    job = waypost.Job("j", cron="@hourly")
    calls: List[Any] = [
        (lambda: app.claim(topics=5), ArgumentError, "topics"),
        (lambda: app.claim(topics="a"), ArgumentError, "topics"),
        (lambda: app.claim(topics=[5]), ArgumentError, "topics"),
        (lambda: app.claim(batch=1.5), ArgumentError, "batch"),
    ]
    for number in (big, -big):
        more: List[Any] = [
            (lambda n=number: app.claim(batch=n), RangeError, "batch"),
            (lambda n=number: dead.page(n), RangeError, "limit"),
            (lambda n=number: dead.purge(limit=n), RangeError, "limit"),
            (lambda n=number: dead.replay(limit=n), RangeError, "limit"),
            (lambda n=number: dead.replay(per_second=n), RangeError, "per_second"),
            (lambda n=number: app.store.semaphore("s", limit=n).slot(), RangeError, "limit"),
            (lambda n=number: app.store.jobs.put(replace(job, catch_up=n)), RangeError, "catch_up"),
            (
                lambda n=number: app.store.jobs.put(replace(job, max_attempts=n)),
                RangeError,
                "max_attempts",
            ),
            (lambda n=number: waypost.Schedule("@hourly").preview(n, NOW), RangeError, "count"),
        ]
        calls += more
    for call, kind, name in calls:
        with pytest.raises(kind, match=name):
            call()


# proves: BND-004
@pytest.mark.parametrize("wrong", [None, 5, 1.5, "x", b"x", [], object(), 2**70])
def test_objects_that_are_others_are_named(app: App, wrong: Any) -> None:
    worker = app.store.worker()
    calls: List[Any] = [
        (lambda: app.outbox.stats(finished=wrong), "finished"),
        (lambda: worker.add_store(wrong), "store"),
        (lambda: waypost.Store(wrong), "config"),
    ]
    if wrong is not None:
        calls.append((lambda: waypost.Schedule("@hourly", config=wrong), "config"))
        calls.append((lambda: waypost.Config().set_clock(wrong), "clock"))
    for call, name in calls:
        with pytest.raises(ArgumentError, match=f"^{name} must be a "):
            call()


# proves: BND-004
def test_decorators_without_parentheses_are_refused(app: App) -> None:
    worker = app.store.worker()
    for decorator in (worker.handler, worker.inbox, worker.timer, worker.job):
        with pytest.raises(ArgumentError, match="must be str, not function"):

            @decorator  # type: ignore[arg-type]
            def handle(delivery: waypost.Delivery) -> None:
                raise AssertionError

    assert worker.drain() == 0


# proves: BND-004
def test_ranges_of_time_that_are_none_are_named(app: App) -> None:
    first, last = NOW, NOW - timedelta(seconds=1)
    for since, until in [(TOO_FAR, None), (None, TOO_FAR), (first, last)]:
        with pytest.raises(RangeError, match="since .* until"):
            app.outbox.dead(since=since, until=until)


def test_base64(app: App) -> None:
    data = bytes(range(256))
    app.outbox.enqueue("a", waypost.encode_base64(data))
    assert waypost.decode_base64(app.claim()[0].payload) == data
    assert waypost.decode_base64(waypost.encode_base64(b"")) == b""
    with pytest.raises(ArgumentError, match="base64"):
        waypost.decode_base64("no!")


def test_ids_sort_by_time() -> None:
    ids = [waypost.new_id() for _ in range(1000)]
    assert ids == sorted(ids) and len(set(ids)) == 1000
    assert {id.version for id in ids} == {7} and {id.variant for id in ids} == {uuid.RFC_4122}


# ---- stores ---------------------------------------------------------------------------------


# proves: BND-004
def test_store_that_is_closed_is_a_state_error(app: App) -> None:
    store = app.open()
    outbox = store.outbox
    with store:
        worker = store.worker()
    assert store.closed
    store.close()
    connection = app.connect()
    for use in (
        lambda: outbox.enqueue("a", "1"),
        lambda: outbox.enqueue("a", "1", connection=connection),
        lambda: outbox.stats(),
        lambda: store.worker(),
    ):
        with pytest.raises(waypost.StateError, match="closed"):
            use()
    assert worker.drain() == 0, "workers keep what they need"


# proves: BND-004
def test_errors_of_opening(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("this is not a database, however much one might wish it were" * 100)
    cases = [
        ("", ConfigError),
        ("nosql:x", ConfigError),
        ("sqlite:", ConfigError),
        (f"sqlite:{tmp_path / 'missing' / 'x.db'}", waypost.UnavailableError),
        (f"sqlite:{tmp_path}", waypost.Error),
        (f"sqlite:{text}", waypost.DatabaseError),
    ]
    for url, kind in cases:
        with pytest.raises(kind):
            waypost.Store.open(url, deploy=True)


@pytest.mark.engines("sqlite")
def test_native_codes_are_there(app: App) -> None:
    blocker = app.connect(autocommit=True)
    blocker.execute("BEGIN IMMEDIATE")
    store = app.open(busy_timeout_ms=0)
    with pytest.raises(waypost.UnavailableError) as caught:
        store.outbox.enqueue("a", "1")
    assert caught.value.retriable and not caught.value.outcome_unknown
    assert caught.value.code == 6 and caught.value.native_code & 0xFF == sqlite3.SQLITE_BUSY


def test_database_in_memory_is_shared_with_the_app(tmp_path: Path) -> None:
    with waypost.Store.open("sqlite::memory:", deploy=True) as store:
        connection = sqlite3.connect(store.location, uri=True)
        store.outbox.enqueue("a", "1", connection=connection)
        connection.rollback()
        store.outbox.enqueue("a", "2", connection=connection)
        connection.commit()
        handled: List[str] = []
        worker = store.worker()
        worker.add_handler("a", lambda delivery: handled.append(delivery.payload))
        assert worker.drain() == 1 and handled == ["2"]
        connection.close()


# proves: BND-004
def test_errors_name_arguments_as_python_does(app: App) -> None:
    with pytest.raises(RangeError, match="^lease is 0 ms"):
        app.outbox.claim(waypost.new_id(), lease=0)
    with pytest.raises(RangeError, match="^seconds is 0 ms"):
        app.store.leases.acquire("n", "me", 0)
    with pytest.raises(RangeError, match="^due is -315619200000000 us"):
        app.outbox.enqueue("t", "x", due=datetime(1960, 1, 1, tzinfo=timezone.utc))
    with pytest.raises(RangeError, match="^older_than is -1000 ms"):
        app.outbox.cleanup(-1)


# proves: SDP-003
@pytest.mark.parametrize("schema", ["my app", 'a"b', "x'; DROP TABLE orders; --", "\U0001f600"])
def test_hostile_schema_names_are_safe(app: App, schema: str) -> None:
    if on_sqlserver.is_mine(app.url):
        on_sqlserver.need_brackets()
    if on_mariadb.is_mine(app.url) and schema > "\uffff":
        with pytest.raises(ConfigError, match="store.schema.*beyond U.FFFF"):
            waypost.Store.open(app.url, deploy=True, schema=schema)
        return
    with waypost.Store.open(app.url, deploy=True, schema=schema) as store:
        store.outbox.enqueue("a", "1", connection=(connection := app.connect()))
        connection.commit()
        assert store.outbox.stats().total.ready == 1
    assert app.count() == 0 and app.orders() == 0


# ---- configuration --------------------------------------------------------------------------


# proves: BND-004
def test_configuration_by_keys_json_and_keywords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = waypost.Config({"store.id": "x", "worker.lease_ms": timedelta(seconds=5)})
    config["store.deploy"] = True
    assert (config["store.id"], config["worker.lease_ms"]) == ("x", "5000")
    assert config["store.deploy"] == "true"
    for key, value in [("no.such", 1), ("worker.lease_ms", -1), ("store.deploy", "perhaps")]:
        with pytest.raises(ConfigError, match=key):
            config[key] = value
    with pytest.raises(ArgumentError, match="worker.lease_ms"):
        config["worker.lease_ms"] = None  # type: ignore[assignment]
    nested = {"store": {"url": f"sqlite:{tmp_path / 'a.db'}", "deploy": True}}
    config = waypost.Config.from_json(json.dumps(nested))
    with waypost.Store(config) as store:
        assert store.location == str(tmp_path / "a.db")
    monkeypatch.setenv("WAYPOST_WORKER_CONCURRENCY", "3")
    assert waypost.Config.from_env()["worker.concurrency"] == "3"
    assert "worker.lease_ms" in waypost.Config.describe()
    with pytest.raises(ConfigError, match="store.no_such"):
        waypost.Store.open("sqlite::memory:", no_such=1)


# proves: BND-004
def test_option_that_is_mistyped_is_answered_with_what_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, meant in [
        ("lease_ms", "worker.lease_ms"),
        ("backoff_base", "worker.backoff_base_ms"),
        ("worker_concurency", "worker.concurrency"),
    ]:
        with pytest.raises(ConfigError, match=f"option {name}: .* did you mean {meant}?"):
            waypost.Store.open("sqlite::memory:", **{name: 1})
    monkeypatch.setenv("WAYPOST_LEASE_MS", "1000")
    with pytest.raises(ConfigError, match="did you mean WAYPOST_WORKER_LEASE_MS?"):
        waypost.Config.from_env()


# proves: BND-004
def test_missing_schema_names_the_remedy_in_python(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    for kind in (waypost.UnavailableError, waypost.SchemaError):  # no file; no tables
        with pytest.raises(kind, match="waypost.deploy.url. or .*deploy=True") as caught:
            waypost.Store.open(f"sqlite:{path}")
        assert "wp_" not in str(caught.value)
        path.touch()


def test_timeout_error_is_pythons_too() -> None:
    assert issubclass(waypost.TimeoutError, waypost.Error)
    assert issubclass(waypost.TimeoutError, TimeoutError)
    assert not hasattr(waypost, "TimeoutError_")


def test_bad_options_of_workers_and_handlers(app: App) -> None:
    for options, kind in [
        ({"concurrency": 0}, ConfigError),
        ({"lease": -1}, ConfigError),
        ({"lease": "1"}, ArgumentError),
        ({"concurrency": 1.5}, ConfigError),
        ({"concurrency": "a"}, ConfigError),
        ({"concurrency": True}, ConfigError),
        ({"concurrency": 2**70}, ConfigError),
        ({"threads": 0}, RangeError),
        ({"threads": 2**70}, RangeError),
        ({"threads": 1.5}, ArgumentError),
        ({"threads": "a"}, ArgumentError),
        ({"threads": True}, ArgumentError),
        ({"stop_timeout": "1"}, ArgumentError),
        ({"selector": 5}, ArgumentError),
        ({"registrar": 5}, ArgumentError),
    ]:
        with pytest.raises(kind, match=next(iter(options))):
            app.store.worker(**options)
    worker = app.store.worker()
    with pytest.raises(ArgumentError, match="topic"):
        worker.add_handler("", lambda delivery: None)
    with pytest.raises(ArgumentError, match="callable"):
        worker.add_handler("a", "no")  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        worker.add_handler("a", lambda delivery: None, max_attempts=0)
    worker = app.store.worker()
    worker.add_handler("a", lambda delivery: None)
    with pytest.raises(waypost.StateError):
        worker.add_handler("a", lambda delivery: None)
    assert app.store.worker()._concurrency == 16, "the store's options are as before"


def test_clock(app: App) -> None:
    clock = waypost.ManualClock(NOW)
    clock.advance(SECOND)
    clock.jump(-2 * SECOND)
    assert clock.now == NOW - SECOND
    with pytest.raises(ArgumentError, match="naive"):
        waypost.ManualClock(NAIVE)
    with pytest.raises(RangeError):
        clock.advance(-SECOND)
    with pytest.raises(ArgumentError, match="delta"):
        clock.advance(1)  # type: ignore[arg-type]


# ---- logging --------------------------------------------------------------------------------


def test_log_goes_to_pythons_logging_without_payloads(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "waypost")
    store = app.open()
    store.outbox.enqueue("a", "secret", headers={"h": "hidden"})
    store.close()
    ours = [record for record in caplog.records if record.name == "waypost"]
    fields = [json.loads(record.__dict__["waypost_fields"]) for record in ours]
    assert any(field.get("Topic") == "a" for field in fields)
    assert "secret" not in caplog.text and "hidden" not in caplog.text


def test_log_of_a_logger_of_the_apps_own(app: App, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("mine")
    logger.setLevel(logging.DEBUG)
    with app.open(logger=logger) as store:
        store.outbox.enqueue("a", "1")
    assert {record.name for record in caplog.records if record.levelno < 30} == {"mine"}


def test_log_that_raises_does_no_harm(app: App) -> None:
    class Broken(logging.Handler):
        def handle(self, record: logging.LogRecord) -> bool:
            raise RuntimeError("no")

    logger = logging.getLogger("broken")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(Broken())
    with app.open(logger=logger) as store:
        store.outbox.enqueue("a", "1")
    assert app.count() == 1


def test_version() -> None:
    assert waypost.__version__.count(".") == 2
    assert set(waypost.__all__) <= set(dir(waypost))


def test_options_by_keyword_have_the_keys_that_they_look_like(new_url: Any) -> None:
    options: Any = {
        "inbox_table": "arrivals",
        "outbox_table": "departures",
        "inbox_revive_dead": True,
        "outbox_keep_ms": 1000,
        "timer_keep_ms": 1000,
        "job_keep_ms": 1000,
        "lease_keep_ms": 1000,
        "worker_lease_ms": 1000,
    }
    with waypost.Store.open(new_url(), deploy=True, **options) as store:
        key = waypost.InboxKey("shop", "1")
        store.inbox.enqueue(key, "t", "1")
        store.inbox.mark_dead(key)
        store.inbox.enqueue(key, "t", "1")
        assert store.inbox.get(key).status is waypost.Status.READY
    for bad in ("inbox_tabel", "worker_leas_ms", "nonsense"):
        with pytest.raises(waypost.ConfigError, match=bad):
            waypost.Store.open(new_url(), **{bad: 1})
