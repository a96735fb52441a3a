# SPDX-License-Identifier: Apache-2.0
"""Metrics as text and as samples."""
from __future__ import annotations

from typing import Any

import pytest
from conftest import App

import waypost


# proves: MET-001
def test_metrics_count_what_a_worker_did_by_topic(app: App) -> None:
    worker = app.store.worker()

    @worker.handler("t")
    def handle(delivery: Any) -> None:
        if delivery.payload != "done":
            raise waypost.Reject("no")

    assert worker.metrics().value("worker_processed_total") == 0
    for topic, payload in [("t", "done"), ("t", "x"), ("other", "x")]:
        app.store.outbox.enqueue(topic, payload)
    worker.drain()
    metrics = worker.metrics(limit=60)
    assert metrics.value("worker_processed_total") == 2
    assert metrics.value("waypost_acked_total", queue="outbox", topic="t") == 1
    assert metrics.value("waypost_failed_total", topic="t") == 1
    assert metrics.value("waypost_handler_seconds_count", topic="t") == 2
    assert metrics.value("queue_depth", topic="other") == 1
    assert "# TYPE queue_depth gauge\n" in metrics.text
    assert app.store.metrics().value("queue_depth", store=app.store.id) == 1
    with pytest.raises(waypost.RangeError):
        app.store.metrics(limit=7200)
