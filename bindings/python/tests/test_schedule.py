# SPDX-License-Identifier: Apache-2.0
"""Schedules: when expressions fire in a zone."""
from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any, List
from zoneinfo import ZoneInfo

import pytest

from waypost import ArgumentError, Config, ConfigError, NotFoundError, RangeError, Schedule


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def comes(expression: str, zone: str, after: str, *want: str) -> None:
    schedule = Schedule(expression, zone)
    expected = [utc(text) for text in want]
    assert schedule.preview(len(expected), utc(after)) == expected
    assert schedule.next(utc(after)) == expected[0]


# scenario: SCH-001
# proves: JOB-020, CRN-001, CRN-005
def test_next_occurrences_in_a_zone() -> None:
    comes(
        "30 9 * * MON-FRI", "Europe/Vienna", "2027-03-26T12:00:00",
        "2027-03-29T07:30:00", "2027-03-30T07:30:00", "2027-03-31T07:30:00",
    )
    schedule = Schedule("30 9 * * MON-FRI", "Europe/Vienna")
    local = datetime(2027, 3, 26, 13, tzinfo=ZoneInfo("Europe/Vienna"))
    assert schedule.next(local) == utc("2027-03-29T07:30:00")
    assert (schedule.expression, schedule.zone) == ("30 9 * * MON-FRI", "Europe/Vienna")
    assert repr(schedule) == "Schedule('30 9 * * MON-FRI', 'Europe/Vienna')"
    assert Schedule("@daily").next(local) == utc("2027-03-27T00:00:00")
    assert schedule.preview(0, local) == []


# scenario: SCH-002
# proves: CRN-006
def test_fixed_time_that_is_skipped_or_comes_twice_fires_once() -> None:
    comes(
        "30 2 * * *", "Europe/Vienna", "2027-03-27T12:00:00",
        "2027-03-28T01:00:00", "2027-03-29T00:30:00",
    )
    comes(
        "30 2 * * *", "Europe/Vienna", "2027-10-30T12:00:00",
        "2027-10-31T00:30:00", "2027-11-01T01:30:00",
    )


# scenario: SCH-003
# proves: CRN-006
def test_intervals_fire_at_each_real_instant() -> None:
    comes(
        "*/30 * * * *", "Europe/Vienna", "2027-10-30T23:45:00",
        "2027-10-31T00:00:00", "2027-10-31T00:30:00", "2027-10-31T01:00:00", "2027-10-31T01:30:00",
    )
    comes(
        "0 * * * *", "Europe/Vienna", "2027-03-27T23:30:00",
        "2027-03-28T00:00:00", "2027-03-28T01:00:00", "2027-03-28T02:00:00",
    )
    comes(
        "@every 90m", "Europe/Vienna", "2027-10-30T22:45:00",
        "2027-10-31T00:00:00", "2027-10-31T01:30:00", "2027-10-31T03:00:00",
    )


# scenario: SCH-004
# proves: CRN-003, CRN-004
def test_malformed_or_never_is_an_argument_error() -> None:
    with pytest.raises(ArgumentError, match="hour, position 3"):
        Schedule("* 24 * * *")
    with pytest.raises(ArgumentError, match="never fires"):
        Schedule("0 0 30 2 *")
    bad: List[Any] = [None, b"@daily", "@daily\0", "\ud800"]
    for expression in bad:
        with pytest.raises(ArgumentError, match="expression"):
            Schedule(expression)
    for zone in bad:
        with pytest.raises(ArgumentError, match="zone"):
            Schedule("@daily", zone)


# scenario: SCH-005
# proves: CRN-005
def test_unknown_zones_are_told_apart() -> None:
    config = Config({"schedule.zone_directory": "/nowhere"})
    with pytest.raises(NotFoundError, match="Mars/Phobos"):
        Schedule("@daily", "Mars/Phobos")
    with pytest.raises(ArgumentError, match="zone"):
        Schedule("@daily", "../etc/passwd")
    with pytest.raises(ConfigError, match="schedule.zone_directory"):
        Schedule("@daily", "Europe/Vienna", config=config)
    Schedule("@daily", "UTC", config=config)


# scenario: SCH-006
def test_ends_of_time() -> None:
    schedule = Schedule("0 0 1 1 *")
    last = datetime.max.replace(tzinfo=timezone.utc)
    with pytest.raises(RangeError):
        schedule.next(utc("1969-12-31T23:59:59"))
    assert schedule.next(last) is None
    assert len(schedule.preview(5, last - timedelta(days=800))) == 2
    with pytest.raises(RangeError, match="count"):
        schedule.preview(-1, last)
    with pytest.raises(RangeError, match="count"):
        schedule.preview(10_001, last)
    with pytest.raises(ArgumentError, match="count"):
        schedule.preview(1.5, last)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="naive"):
        schedule.next(datetime(2027, 1, 1))


def test_many_threads_share_a_schedule() -> None:
    schedule = Schedule("*/7 * * * *", "America/New_York")
    want = schedule.preview(500, utc("2027-03-14T00:00:00"))
    got: List[List[datetime]] = []

    def ask() -> None:
        got.append(schedule.preview(500, utc("2027-03-14T00:00:00")))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [want] * 8
