# SPDX-License-Identifier: Apache-2.0
"""The metrics of a worker or a store in a registry of prometheus_client, for an app that has one already:

    import waypost.prometheus
    prometheus_client.REGISTRY.register(waypost.prometheus.Collector(worker))

It needs the package prometheus_client, which Waypost does not. With the option `metrics.port` a worker answers
Prometheus by itself."""
from __future__ import annotations

from typing import Dict, Iterator, Optional, Union

from prometheus_client.core import Metric
from prometheus_client.registry import Collector as Base

from waypost._text import Duration
from waypost.errors import Error
from waypost.store import Store
from waypost.worker import Worker

__all__ = ["Collector"]


class Collector(Base):
    """A collector that reads a snapshot at each scrape. limit: how long to wait for the database; by default the
    option `health.timeout_ms`."""

    def __init__(self, source: Union[Worker, Store], *, limit: Optional[Duration] = None) -> None:
        self._source = source
        self._limit = limit

    def describe(self) -> Iterator[Metric]:
        """Nothing: to register it must not ask the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        try:
            snapshot = self._source.metrics(limit=self._limit)
        except Error:  # the source is closed, or the parent's: the app's own metrics are served all the same
            return
        meanings = snapshot.meanings
        families: Dict[str, Metric] = {}
        for sample in snapshot.samples:
            name = sample.family
            if name not in families:
                families[name] = Metric(name, meanings.get(name, ""), sample.kind)
            families[name].add_sample(sample.name, dict(sample.labels), sample.value)
        yield from families.values()
