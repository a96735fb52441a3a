# SPDX-License-Identifier: Apache-2.0
"""The outbox by hand: scenarios OUT-001 to OUT-038 of tests/conformance/scenarios.md."""
from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, List
from urllib.parse import urlsplit

import on_mariadb
import on_sqlserver
import pytest
from conftest import NOW, SECOND, App, begin, connect, in_transaction, postgresql_server

import waypost
from waypost import ArgumentError, Message, RangeError, Status

# ---- enqueue --------------------------------------------------------------------------------


# scenario: OUT-001
# proves: OBX-001, OBX-003
def test_enqueue_in_transaction_is_seen_after_the_commit(app: App) -> None:
    connection = app.connect()
    app.outbox.enqueue("a", "1", connection=connection)
    assert in_transaction(connection) and app.count() == 0
    connection.commit()
    assert [message.payload for message in app.claim()] == ["1"]


# scenario: OUT-002
# proves: OBX-001, OBX-003
def test_enqueue_in_transaction_rolled_back_leaves_no_trace(app: App) -> None:
    connection = app.connect()
    made = app.outbox.enqueue("a", "1", connection=connection)
    connection.rollback()
    assert app.count() == 0
    with pytest.raises(waypost.NotFoundError):
        app.outbox.get(made.id)


# scenario: OUT-003
# proves: OBX-001
def test_enqueue_rolled_back_to_a_savepoint_is_gone_and_the_earlier_stays(app: App) -> None:
    connection = app.connect(autocommit=True)
    begin(connection)
    app.outbox.enqueue("kept", "1", connection=connection)
    transact_sql = on_sqlserver.is_mine(app.url)
    connection.execute("SAVE TRANSACTION s" if transact_sql else "SAVEPOINT s")
    app.outbox.enqueue("gone", "2", connection=connection)
    connection.execute("ROLLBACK TRANSACTION s" if transact_sql else "ROLLBACK TO s")
    connection.commit()
    assert [message.topic for message in app.claim()] == ["kept"]


# scenario: OUT-004
# proves: OBX-002
def test_enqueue_without_connection_is_durable_at_once(app: App) -> None:
    made = app.outbox.enqueue("a", "1")
    assert app.open().outbox.get(made.id).status is Status.READY


# scenario: OUT-005
# proves: OBX-003
def test_row_and_message_commit_together_and_the_transaction_stays_the_apps(app: App) -> None:
    connection = app.connect()
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    app.outbox.enqueue("a", "1", connection=connection)
    connection.execute("INSERT INTO orders (name) VALUES ('y')")
    assert in_transaction(connection) and app.orders() == 0
    connection.commit()
    assert app.orders() == 2 and app.topics() == ["a"]


# scenario: OUT-006
# proves: OBX-111
def test_batch_gives_an_id_for_each_message_in_order(app: App) -> None:
    made = app.outbox.enqueue_many(Message("a", str(number)) for number in range(100))
    assert len({one.id for one in made}) == 100
    assert [one.id for one in made] == [message.id for message in app.claim()]
    connection = app.connect()
    app.outbox.enqueue_many([Message("b", "1"), Message("b", "2")], connection=connection)
    connection.rollback()
    assert app.topics() == ["a"]
    assert app.outbox.enqueue_many([]) == []
    assert app.outbox.enqueue_many([], connection=connection) == []


# scenario: OUT-007
def test_batch_with_one_bad_message_stores_nothing(app: App) -> None:
    bad = [Message("a", "1"), Message("", "2")]
    connection = app.connect()
    for chosen in (None, connection):
        with pytest.raises(ArgumentError, match="topic"):
            app.outbox.enqueue_many(bad, connection=chosen)
    connection.commit()
    assert app.count() == 0


# scenario: OUT-008
# proves: OBX-004..006
def test_empty_payload_is_legal_and_null_or_empty_arguments_are_not(app: App) -> None:
    app.outbox.enqueue("a", "")
    app.outbox.enqueue("a", b"")
    assert [message.payload for message in app.claim()] == ["", ""]
    with pytest.raises(ArgumentError, match="payload"):
        app.outbox.enqueue("a", None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="topic"):
        app.outbox.enqueue(None, "x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="topic"):
        app.outbox.enqueue("", "x")


# scenario: OUT-009
# proves: OBX-007
@pytest.mark.parametrize("character, units", [("a", 1), ("é", 1), ("\U0001f600", 2)])
def test_topic_of_255_utf16_units_passes_and_of_256_does_not(
    app: App, character: str, units: int
) -> None:
    topic = character * (255 // units) + "a" * (255 % units)
    app.outbox.enqueue(topic, "1")
    assert app.claim()[0].topic == topic
    with pytest.raises(ArgumentError, match="topic"):
        app.outbox.enqueue(topic + "a", "1")


# scenario: OUT-010
# proves: OBX-008, OBX-009
def test_correlation_id_of_255_units_passes_and_an_empty_one_is_none(app: App) -> None:
    for correlation_id in ("c" * 255, "\U0001f600" * 127, "", None):
        app.outbox.enqueue("a", "1", correlation_id=correlation_id)
    got = [message.correlation_id for message in app.claim()]
    assert got == ["c" * 255, "\U0001f600" * 127, None, None]
    for too_long in ("c" * 256, "\U0001f600" * 128):
        with pytest.raises(ArgumentError, match="correlation_id"):
            app.outbox.enqueue("a", "1", correlation_id=too_long)


# scenario: OUT-011
# proves: OBX-010
def test_topics_that_nearly_look_alike_are_different(app: App) -> None:
    alike = ["a", "A", "a ", " a", "\u00e9", "e\u0301"]
    for topic in alike:
        app.outbox.enqueue(topic, "1")
    for topic in alike:
        assert [message.topic for message in app.claim(topics=[topic])] == [topic]


PAYLOADS = [
    "{}",
    "\U0001f600 emoji, \u202e bidi, \ufeff bom",
    "line\r\nline\ttab",
    "'; DROP TABLE orders; --",
    "\u0001\u001f\u007f\uffff",
    "x" * (5 * 1024 * 1024),
    "\U0001f600" * 262144,
]


# scenario: OUT-012
# proves: OBX-011, OBX-096
@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
@pytest.mark.parametrize("as_bytes", [False, True])
@pytest.mark.parametrize("on_connection", [False, True])
def test_payload_comes_back_byte_for_byte(
    app: App, payload: str, as_bytes: bool, on_connection: bool
) -> None:
    connection = app.connect() if on_connection else None
    app.outbox.enqueue("a", payload.encode() if as_bytes else payload, connection=connection)
    if connection:
        connection.commit()
    assert app.claim()[0].payload == payload


# scenario: OUT-013
# proves: OBX-112
def test_headers_come_back_as_they_were_set(app: App) -> None:
    headers = {
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "empty": "",
        '"quoted"': 'a "value"\n',
        "emoji \U0001f600": "\U0001f600",
    }
    app.outbox.enqueue("a", "1", headers=headers)
    app.outbox.enqueue("a", "2")
    app.outbox.enqueue("a", "3", headers={})
    assert [message.headers for message in app.claim()] == [headers, {}, {}]


# scenario: OUT-014
# proves: OBX-012, OBX-013
def test_due_and_delay_hide_the_message_until_then(app: App) -> None:
    app.outbox.enqueue("due", "1", due=NOW + 10 * SECOND)
    app.outbox.enqueue("delay", "1", delay=20 * SECOND)
    app.outbox.enqueue("past", "1", due=NOW - 10 * SECOND)
    app.outbox.enqueue("now", "1", delay=0)
    assert {message.topic for message in app.claim()} == {"past", "now"}
    app.clock.advance(10 * SECOND - timedelta(microseconds=1))
    assert len(app.claim()) == 0
    app.clock.advance(timedelta(microseconds=1))
    assert [message.topic for message in app.claim()] == ["due"]
    app.clock.advance(10 * SECOND)
    assert [message.topic for message in app.claim()] == ["delay"]


# scenario: OUT-015
# proves: OBX-014..016
def test_attributes_on_arrival(app: App) -> None:
    made = app.outbox.enqueue("a", "1", correlation_id="c")
    app.outbox.enqueue("a", "2")
    info = app.outbox.get(made.id)
    assert info.status is Status.READY and info.message.attempt == 0
    first, second = app.claim()
    assert first.id == made.id != second.id
    assert first.attempt == 0 and first.created == first.due == NOW
    assert first.correlation_id == "c" and first.expires is None and first.claim_number == 1


# scenario: OUT-016
# proves: EXP-001
def test_expired_message_is_failed_and_never_given_out(app: App) -> None:
    made = app.outbox.enqueue("a", "1", expires=NOW + SECOND)
    kept = app.outbox.enqueue("a", "2", expires=NOW + 60 * SECOND)
    app.clock.advance(SECOND)
    assert [message.id for message in app.claim()] == [kept.id]
    app.outbox.reap()
    info = app.outbox.get(made.id)
    assert info.status is Status.FAILED and info.last_error == "expired"


# scenario: OUT-017
# proves: ORD-001
def test_one_ordering_key_runs_one_at_a_time_and_in_order(app: App) -> None:
    owner = waypost.new_id()
    for number in range(3):
        app.outbox.enqueue("a", str(number), ordering_key="k")
    handled = []
    for _ in range(3):
        claim = app.outbox.claim(owner)
        assert len(claim) == 1 and len(app.claim()) == 0
        handled.append(claim[0].payload)
        app.outbox.abandon(owner, claim, delay=5)
        assert len(app.claim()) == 0, "a later one must not overtake the retry"
        app.clock.advance(5 * SECOND)
        again = app.outbox.claim(owner)
        assert [message.payload for message in again] == handled[-1:]
        app.outbox.ack(owner, again)
    assert handled == ["0", "1", "2"]


# scenario: OUT-018
# proves: ORD-001
def test_busy_ordering_key_does_not_hold_up_others(app: App) -> None:
    for number in range(50):
        app.outbox.enqueue("a", f"k{number}", ordering_key="k")
    app.outbox.enqueue("a", "other", ordering_key="other")
    app.outbox.enqueue("a", "free")
    assert [message.payload for message in app.claim(batch=10)] == ["k0", "other", "free"]
    assert app.outbox.stats().total.blocked == 49


# scenario: OUT-019
# proves: UNQ-001
def test_unique_key_in_use_is_a_duplicate_until_the_first_is_finished(app: App) -> None:
    owner = waypost.new_id()
    first = app.outbox.enqueue("a", "1", unique_key="k")
    again = app.outbox.enqueue("a", "2", unique_key="k")
    assert not first.duplicate and again.duplicate and again.id == first.id
    assert app.outbox.enqueue("a", "3", unique_key="K").duplicate is False
    app.outbox.ack(owner, app.outbox.claim(owner))
    fresh = app.outbox.enqueue("a", "4", unique_key="k")
    assert not fresh.duplicate and fresh.id != first.id


# scenario: OUT-020
# proves: UNQ-001
def test_unique_key_that_was_rolled_back_swallows_nothing(app: App) -> None:
    connection = app.connect()
    app.outbox.enqueue("a", "1", unique_key="k", connection=connection)
    connection.rollback()
    second = app.outbox.enqueue("a", "2", unique_key="k", connection=connection)
    assert not second.duplicate
    assert app.outbox.enqueue("a", "3", unique_key="k", connection=connection).id == second.id
    connection.commit()
    assert [message.payload for message in app.claim()] == ["2"]


# scenario: OUT-021
# proves: UNQ-001, OBX-111
@pytest.mark.parametrize("on_connection", [False, True])
def test_duplicates_within_one_batch_are_told_apart(app: App, on_connection: bool) -> None:
    connection = app.connect() if on_connection else None
    made = app.outbox.enqueue_many(
        [Message("a", "1", unique_key=key) for key in ("K", "K", "L")], connection=connection
    )
    if connection:
        connection.commit()
    assert [one.duplicate for one in made] == [False, True, False]
    assert made[0].id == made[1].id != made[2].id
    assert app.count() == 2


# ---- claim ----------------------------------------------------------------------------------


# scenario: OUT-022
# proves: OBX-017, OBX-022, OBX-023, OBX-026
def test_claim_order_batch_and_emptiness(app: App) -> None:
    for number in range(3):
        app.outbox.enqueue("a", str(number))
    app.outbox.enqueue("a", "early", due=NOW - SECOND)
    assert [message.payload for message in app.claim(batch=2)] == ["early", "0"]
    assert [message.payload for message in app.claim(batch=2)] == ["1", "2"]
    assert len(app.claim()) == 0


# scenario: OUT-023
# proves: OBX-019..021
def test_claimed_messages_are_not_given_out_again_while_the_lease_lasts(app: App) -> None:
    made = app.outbox.enqueue("a", "1")
    assert len(app.claim(lease=30)) == 1
    assert app.outbox.get(made.id).locked_until == NOW + 30 * SECOND
    app.clock.advance(29 * SECOND)
    app.outbox.reap()
    assert len(app.claim()) == 0


# scenario: OUT-024
# proves: OBX-110
def test_claim_of_some_topics_leaves_the_others_alone(app: App) -> None:
    for topic in ("a", "b", "c"):
        app.outbox.enqueue(topic, "1")
    assert {message.topic for message in app.claim(topics=["a", "c"])} == {"a", "c"}
    assert app.outbox.stats().topics["b"].ready == 1
    assert {message.topic for message in app.claim()} == {"b"}


# scenario: OUT-025
# proves: OBX-021, OBX-027, OBX-028
def test_bad_arguments_of_a_claim(app: App) -> None:
    owner = waypost.new_id()
    for batch in (0, -1, 10001, 2**70):
        with pytest.raises(RangeError):
            app.outbox.claim(owner, batch=batch)
    for lease in (0, -1, timedelta(days=1, milliseconds=1), timedelta.max):
        with pytest.raises(RangeError):
            app.outbox.claim(owner, lease=lease)
    with pytest.raises(ArgumentError, match="owner"):
        app.outbox.claim(uuid.UUID(int=0))
    with pytest.raises(ArgumentError, match="owner"):
        app.outbox.claim("me")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="topics"):
        app.outbox.claim(owner, topics="a")
    with pytest.raises(ArgumentError, match="batch"):
        app.outbox.claim(owner, batch="1")  # type: ignore[arg-type]


# ---- finish ---------------------------------------------------------------------------------


# scenario: OUT-026
# proves: OBX-024, OBX-030..032, OBX-035
def test_ack_is_for_ever_with_time_and_name(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    claim = app.outbox.claim(owner)
    app.clock.advance(SECOND)
    assert app.outbox.ack(owner, claim, worker="w1") == 1
    info = app.outbox.get(made.id)
    assert info.status is Status.DONE
    assert info.finished == NOW + SECOND and info.finished_by == "w1"
    app.clock.advance(timedelta(days=1))
    app.outbox.reap()
    assert len(app.claim()) == 0


# scenario: OUT-027
# proves: OBX-037..039, OBX-042, OBX-043, OBX-062
def test_abandon_backs_off_or_takes_a_delay_and_stores_the_reason(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    assert app.outbox.abandon(owner, app.outbox.claim(owner), reason="why", delay=5) == 1
    info = app.outbox.get(made.id)
    assert info.last_error == "why" and info.message.attempt == 1
    assert info.status is Status.READY and info.next_attempt == NOW + 5 * SECOND
    assert len(app.claim()) == 0
    app.clock.advance(5 * SECOND)
    claim = app.outbox.claim(owner)
    assert claim[0].attempt == 1 and claim[0].last_error == "why"
    assert app.outbox.abandon(owner, claim) == 1
    wait = app.outbox.get(made.id).next_attempt
    assert wait is not None and timedelta(0) < wait - app.clock.now <= 2 * SECOND
    with pytest.raises(ArgumentError, match="delay"):
        app.outbox.abandon(owner, claim, delay=0)
    with pytest.raises(RangeError):
        app.outbox.abandon(owner, claim, delay=-1)


# scenario: OUT-028
# proves: OBX-025, OBX-044, OBX-045, OBX-048
def test_fail_is_terminal_and_stores_the_reason(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    assert app.outbox.fail(owner, app.outbox.claim(owner), reason="why") == 1
    info = app.outbox.get(made.id)
    assert info.status is Status.FAILED and info.last_error == "why"
    app.clock.advance(timedelta(days=1))
    assert len(app.claim()) == 0


# scenario: OUT-029
def test_release_gives_back_at_once_with_the_attempt_unchanged(app: App) -> None:
    owner = waypost.new_id()
    app.outbox.enqueue("a", "1")
    assert app.outbox.release(owner, app.outbox.claim(owner)) == 1
    assert [message.attempt for message in app.claim()] == [0]


# scenario: OUT-030
def test_renew_makes_the_lease_last_from_now(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    claim = app.outbox.claim(owner, lease=10)
    app.clock.advance(6 * SECOND)
    assert app.outbox.renew(owner, claim, lease=10) == 1
    assert app.outbox.get(made.id).locked_until == NOW + 16 * SECOND


# scenario: OUT-031
# proves: OBX-033, OBX-034, OBX-040, OBX-041, OBX-046, OBX-047
@pytest.mark.parametrize("name", ["ack", "abandon", "fail", "release"])
def test_only_rows_that_the_owner_holds_change(app: App, name: str) -> None:
    owner, other = waypost.new_id(), waypost.new_id()
    finish = getattr(app.outbox, name)
    app.outbox.enqueue_many([Message("a", "1"), Message("a", "2")])
    mine = app.outbox.claim(owner, batch=1)[0].id
    theirs = app.outbox.claim(other, batch=1)[0].id
    assert finish(owner, [theirs, waypost.new_id()]) == 0
    assert app.outbox.get(theirs).status is Status.IN_PROGRESS
    assert finish(owner, [mine, theirs, mine, waypost.new_id()]) == 1
    assert finish(owner, [mine]) == 0


# scenario: OUT-032
# proves: OBX-036
def test_empty_list_does_nothing_and_none_is_an_error(app: App) -> None:
    owner = waypost.new_id()
    for finish in (app.outbox.ack, app.outbox.abandon, app.outbox.fail, app.outbox.release):
        assert finish(owner, []) == 0
        with pytest.raises(ArgumentError, match="messages"):
            finish(owner, None)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="messages"):
            finish(owner, [1])  # type: ignore[list-item]
    assert app.outbox.renew(owner, [], lease=1) == 0
    assert app.outbox.ack(owner, [], connection=app.connect()) == 0


# scenario: OUT-033
# proves: OBX-049..052
def test_reap_turns_expired_leases_into_retries_and_leaves_others(app: App) -> None:
    first = app.outbox.enqueue("a", "1")
    app.claim(lease=10)
    second = app.outbox.enqueue("a", "2")
    app.claim(lease=60)
    app.clock.advance(10 * SECOND)
    assert app.outbox.reap() == 1
    reaped, running = app.outbox.get(first.id), app.outbox.get(second.id)
    assert reaped.status is Status.READY and reaped.message.attempt == 1
    assert running.status is Status.IN_PROGRESS
    assert app.outbox.reap() == 0


# scenario: OUT-034
# proves: OBX-114
def test_late_ack_of_an_earlier_claim_does_not_finish_the_later_one(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    early = app.outbox.claim(owner, lease=1)
    app.clock.advance(SECOND)
    app.outbox.reap()
    app.clock.advance(60 * SECOND)
    late = app.outbox.claim(owner)
    assert late[0].claim_number > early[0].claim_number
    assert app.outbox.ack(owner, early) == 0
    assert app.outbox.renew(owner, early, lease=60) == 0
    assert app.outbox.get(made.id).status is Status.IN_PROGRESS
    assert app.outbox.ack(owner, late) == 1


# scenario: OUT-035
# proves: OBX-113
def test_ack_in_the_apps_transaction(app: App) -> None:
    owner = waypost.new_id()
    made = app.outbox.enqueue("a", "1")
    claim = app.outbox.claim(owner)
    connection = app.connect()
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    assert app.outbox.ack(owner, claim, connection=connection, worker="w") == 1
    connection.rollback()
    assert app.outbox.get(made.id).status is Status.IN_PROGRESS and app.orders() == 0
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    assert app.outbox.ack(owner, claim, connection=connection, worker="w") == 1
    assert in_transaction(connection)
    connection.commit()
    assert app.outbox.get(made.id).finished_by == "w" and app.orders() == 1


# ---- looking --------------------------------------------------------------------------------


# scenario: OUT-036
# proves: OBX-110
def test_statistics_by_topic(app: App) -> None:
    owner = waypost.new_id()
    for _ in range(3):
        app.outbox.enqueue("a", "1")
    done, failed, held = app.outbox.claim(owner)
    app.outbox.ack(owner, [done])
    app.outbox.fail(owner, [failed])
    app.outbox.enqueue("a", "1", delay=60)
    app.outbox.enqueue("b", "1", ordering_key="k")
    app.outbox.enqueue("b", "1", ordering_key="k")
    app.clock.advance(3 * SECOND)
    stats = app.outbox.stats()
    assert list(stats.topics) == ["a", "b"]
    assert stats.topics["a"] == waypost.Stats(scheduled=1, in_progress=1, done=1, failed=1)
    assert stats.topics["b"] == waypost.Stats(ready=1, blocked=1, oldest_ready_age=3.0)
    assert stats.total.oldest_ready_age == 3.0 and stats.total.done == 1
    assert app.outbox.stats(finished=False).total.done == 0


# scenario: OUT-037
def test_look_a_message_up_in_each_state(app: App) -> None:
    owner = waypost.new_id()
    ids = [app.outbox.enqueue("a", str(n), ordering_key="k").id for n in range(2)]
    assert [app.outbox.get(id).status for id in ids] == [Status.READY, Status.BLOCKED]
    app.outbox.claim(owner)
    assert app.outbox.get(ids[0]).status is Status.IN_PROGRESS
    app.outbox.ack(owner, [ids[0]])
    assert app.outbox.get(ids[0]).status is Status.DONE
    app.outbox.fail(owner, app.outbox.claim(owner))
    info = app.outbox.get(ids[1])
    assert info.status is Status.FAILED and info.next_attempt is None and info.finished == NOW
    assert info.message.payload == "1" and info.message.ordering_key == "k"
    with pytest.raises(waypost.NotFoundError) as caught:
        app.outbox.get(waypost.new_id())
    assert isinstance(caught.value, LookupError) and caught.value.code == 4


# scenario: OUT-038
# proves: SDP-001, SDP-002
def test_store_without_its_schema_is_an_error_and_deploying_twice_is_harmless(url: str) -> None:
    with closing(connect(url)) as connection:
        before = objects(connection)
        connection.rollback()
        with pytest.raises(waypost.SchemaError):
            waypost.Store.open(url)
        assert objects(connection) == before
    for _ in range(2):
        waypost.deploy(url)
    with waypost.Store.open(url) as store:
        assert store.outbox.stats().topics == {}


def objects(connection: Any) -> List[Any]:
    """The schemas and tables of a database."""
    if isinstance(connection, sqlite3.Connection):
        return connection.execute("SELECT name FROM sqlite_master").fetchall()
    if isinstance(connection, on_mariadb.Connection):
        tables = (
            "SELECT table_schema, table_name FROM information_schema.tables"
            " WHERE table_schema = DATABASE()"  # other tests make theirs meanwhile
        )
        return sorted(connection.execute(tables).fetchall())
    if on_sqlserver.is_of_mine(connection):
        every = "SELECT name FROM sys.schemas UNION ALL SELECT name FROM sys.tables"
        return sorted(tuple(row) for row in connection.execute(every).fetchall())
    rows = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return sorted(rows + connection.execute("SELECT relname FROM pg_class").fetchall())


# proves: SDP-001
def test_database_that_is_missing_is_not_made(engine: str, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'missing.db'}"
    if engine == "postgresql":
        url = urlsplit(postgresql_server())._replace(path="/waypost_missing").geturl()
    elif engine == "mariadb":
        url = f"{on_mariadb.server()};Database=waypost_missing"
    elif engine == "sqlserver":
        url = f"{on_sqlserver.server()};Database=waypost_missing"
    for _ in range(2):
        with pytest.raises(waypost.UnavailableError, match="missing"):
            waypost.Store.open(url, deploy=engine != "sqlite")
    assert not (tmp_path / "missing.db").exists()
