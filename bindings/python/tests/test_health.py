# SPDX-License-Identifier: Apache-2.0
"""Health: scenarios HLT-101 to HLT-105 of tests/conformance/scenarios.md."""
from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from conftest import NOW, SECOND, App, until

import waypost
from waypost import HealthStatus, Job

MICROSECOND = timedelta(microseconds=1)


# scenario: HLT-101
# proves: HLT-001
def test_nothing_to_do_is_healthy_and_has_its_data(app: App) -> None:
    health = app.store.health()
    assert health and health.status is HealthStatus.HEALTHY and health.reason == ""
    (store,) = health.data["stores"]
    assert store["id"] == app.store.id and store["status"] == "healthy"
    assert store["latencyUs"] >= 0 and store["ready"] == 0 and store["stale"] == 0


# scenario: HLT-102
# proves: HLT-001
def test_lease_that_is_over_is_degraded_until_it_is_reaped(app: App) -> None:
    app.store.outbox.enqueue("t", "x")
    app.store.outbox.claim(waypost.new_id(), lease=1)
    assert app.store.health()
    app.clock.advance(SECOND + MICROSECOND)
    health = app.store.health()
    assert not health and health.status is HealthStatus.DEGRADED
    assert health.data["stores"][0]["stale"] == 1 and "leases that are over" in health.reason
    assert app.store.health(scheduler=True)
    app.store.outbox.reap()
    assert app.store.health()


# scenario: HLT-103
# proves: HLT-001
def test_ready_for_longer_than_the_limit_is_overdue(app: App) -> None:
    app.store.timers.schedule("t", "x", due=NOW)
    app.store.outbox.enqueue("t", "x")
    app.clock.advance(5 * SECOND)
    assert app.store.health(max_age=5, limit=60)
    app.clock.advance(MICROSECOND)
    health = app.store.health(max_age=5 * SECOND)
    assert health.status is HealthStatus.DEGRADED and health.data["stores"][0]["overdue"] == 2
    assert app.store.health(scheduler=True, max_age=5).data["stores"][0]["overdue"] == 1
    assert app.store.health(max_age=0) and app.store.health()
    app.clock.advance(300 * SECOND)
    assert app.store.health().status is HealthStatus.DEGRADED
    with pytest.raises(waypost.RangeError):
        app.store.health(limit=7200)


# scenario: HLT-104
# proves: HLT-001
def test_due_job_whose_run_nobody_makes_is_overdue(app: App) -> None:
    app.store.jobs.put(Job("hourly", "t", cron="0 * * * *"))
    assert app.store.health(scheduler=True, max_age=5)
    app.clock.advance(3605 * SECOND + MICROSECOND)
    health = app.store.health(scheduler=True, max_age=5)
    assert health.status is HealthStatus.DEGRADED and "its run is not made" in health.reason


# scenario: HLT-105
# proves: HLT-001
def test_worker_is_healthy_only_while_it_runs(app: App) -> None:
    worker = app.store.worker()

    @worker.handler("t")
    def handle(delivery: Any) -> None:
        pass

    assert "not running" in worker.health().reason
    with worker:
        until(lambda: bool(worker.health()))
        assert worker.health().data["workerRunning"] is True
    assert worker.health().status is HealthStatus.UNHEALTHY
