# SPDX-License-Identifier: Apache-2.0
"""Metrics as text and as samples."""
from __future__ import annotations

import http.client
import socket
import sys
import types
from contextlib import closing
from typing import Any, Dict, Iterable, List, Tuple

import pytest
from conftest import App, until

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


def counted(app: App) -> waypost.Worker:
    """A worker that has done one message, of two."""
    worker = app.store.worker()
    worker.add_handler("t", lambda delivery: None)
    app.store.outbox.enqueue("t", "x")
    app.store.outbox.enqueue('o"ther\n', "x")
    worker.drain()
    return worker


# proves: MET-001
@pytest.mark.engines("sqlite")
def test_collector_tells_prometheus_client_the_same(app: App) -> None:
    import prometheus_client
    from prometheus_client.parser import text_string_to_metric_families
    from waypost.prometheus import Collector

    worker = counted(app)
    registry = prometheus_client.CollectorRegistry()
    registry.register(Collector(worker, limit=60))
    text = prometheus_client.generate_latest(registry).decode()
    assert 'queue_depth{queue="outbox",store="default",topic="o\\"ther\\n"} 1.0\n' in text
    assert "# HELP queue_depth Messages that may be claimed now.\n" in text
    told = {family.name: family.type for family in text_string_to_metric_families(text)}
    own = {f.name: f.type for f in text_string_to_metric_families(worker.metrics().text)}
    assert told == own
    assert told["waypost_handler_seconds"] == "histogram"
    labels = {"store": "default", "queue": "outbox", "topic": "t"}
    assert registry.get_sample_value("waypost_acked_total", labels) == 1
    assert registry.get_sample_value("waypost_handler_seconds_count", labels) == 1
    own_metric = prometheus_client.Gauge("own", "The app's.", registry=registry)
    own_metric.set(3)
    closed = waypost.Store.open(app.url)
    registry.register(Collector(closed))
    closed.close()
    assert "own 3.0" in prometheus_client.generate_latest(registry).decode(), "the app's own are served"
    with pytest.raises(ValueError):  # two of one name
        twice = prometheus_client.CollectorRegistry(auto_describe=True)
        twice.register(prometheus_client.Gauge("queue_depth", "x", registry=None))
        twice.register(prometheus_client.Gauge("queue_depth", "x", registry=None))


class Meter:
    """Stands in for one of OpenTelemetry's, which Debian has no package of."""

    def __init__(self) -> None:
        self.made: Dict[str, Tuple[str, Any, str, str]] = {}

    def create_observable_gauge(self, name: str, callbacks: Any, unit: str, description: str) -> None:
        self.made[name] = ("gauge", callbacks[0], unit, description)

    def create_observable_counter(self, name: str, callbacks: Any, unit: str, description: str) -> None:
        self.made[name] = ("counter", callbacks[0], unit, description)

    def read(self) -> List[Tuple[str, float, Dict[str, str]]]:
        def one(name: str) -> Iterable[Tuple[float, Dict[str, str]]]:
            return self.made[name][1](None)  # type: ignore[no-any-return]

        return [(name, value, labels) for name in list(self.made) for value, labels in one(name)]


# proves: MET-001
@pytest.mark.engines("sqlite")
def test_instruments_tell_opentelemetry_the_same(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    from waypost import opentelemetry

    meter = Meter()
    api = types.SimpleNamespace(get_meter=lambda name: meter, Observation=lambda v, labels: (v, labels))
    monkeypatch.setitem(sys.modules, "opentelemetry", types.ModuleType("opentelemetry"))
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", api)
    monkeypatch.setattr(opentelemetry, "_FRESH", -1)
    worker = counted(app)
    made = opentelemetry.instrument(worker, limit=60)
    kind, _, unit, meaning = meter.made["waypost_store_latency_seconds"]
    assert (kind, unit, meaning) == ("gauge", "s", "Until the database first answered.")
    assert meter.made["waypost_acked_total"][0] == "counter"
    expected = {s.name for s in worker.metrics(limit=60).samples}
    assert set(meter.made) == expected
    labels = {"store": "default", "queue": "outbox", "topic": "t"}
    assert ("waypost_acked_total", 1, labels) in meter.read()
    app.store.inbox.enqueue(waypost.InboxKey("s", "1"), "late", "x")
    assert ("queue_depth", 1, {"store": "default", "queue": "inbox", "topic": "late"}) in meter.read()
    made.close()
    assert meter.read() == []


# proves: MET-001, HLT-001
def test_metrics_and_health_by_http(app: App) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]

    def ask(path: str) -> Tuple[int, str]:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    store = waypost.Store.open(app.url, metrics_port=port, health_port=port)
    worker = store.worker()
    worker.add_handler("t", lambda delivery: None)
    with worker:
        store.outbox.enqueue("t", "x")
        until(lambda: "worker_processed_total 1\n" in ask("/metrics")[1])
        until(lambda: ask("/health")[0] == 200)
        assert ask("/health/live") == (200, '{"status":"healthy"}')
    with pytest.raises(ConnectionRefusedError):
        ask("/metrics")
    store.close()
