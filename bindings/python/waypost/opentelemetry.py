# SPDX-License-Identifier: Apache-2.0
"""The metrics of a worker or a store as instruments of an OpenTelemetry meter:

    import waypost.opentelemetry
    waypost.opentelemetry.instrument(worker)

It needs the package opentelemetry-api, which Waypost does not. Spans need no call: they are made where the app has
imported opentelemetry.trace."""
from __future__ import annotations

import importlib
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Set, Union

from waypost import errors
from waypost._text import Duration
from waypost.metrics import Sample
from waypost.store import Store
from waypost.worker import Worker

__all__ = ["Instruments", "instrument"]

_FRESH = 0.5  # seconds: a reader asks one instrument after the other, and gets all of one snapshot


class Instruments:
    """What instrument() made; close() ends it."""

    def __init__(self, source: Union[Worker, Store], meter: Any, limit: Optional[Duration]) -> None:
        self._source, self._meter, self._limit = source, meter, limit
        self._lock = threading.Lock()
        self._known: Set[str] = set()
        self._samples: Dict[str, List[Sample]] = {}
        self._read_at: Optional[float] = None
        self._closed = False
        self._make_all(self._refresh())

    def close(self) -> None:
        """Tell no more. The instruments stay, as OpenTelemetry has it."""
        self._closed = True

    def _refresh(self) -> List[Any]:
        """Read a snapshot if there is no fresh one; gives what is in it for the first time."""
        with self._lock:
            fresh = self._read_at is not None and time.monotonic() - self._read_at < _FRESH
            if self._closed or fresh:
                return []
            snapshot = self._source.metrics(limit=self._limit)
            meanings = snapshot.meanings
            self._samples = {}
            new = []
            for sample in snapshot.samples:
                if sample.name not in self._known:
                    self._known.add(sample.name)
                    new.append((sample, meanings.get(sample.family, "")))
                self._samples.setdefault(sample.name, []).append(sample)
            self._read_at = time.monotonic()
            return new

    def _make_all(self, new: List[Any]) -> None:
        for sample, meaning in new:
            self._make(sample, meaning)

    def _make(self, sample: Sample, meaning: str) -> None:
        def observe(_: object) -> Iterator[Any]:
            return self._observe(sample.name)

        gauge = sample.kind == "gauge"
        make = self._meter.create_observable_gauge if gauge else self._meter.create_observable_counter
        seconds = "_seconds" in sample.name and not sample.name.endswith(("_bucket", "_count"))
        unit = "s" if seconds else "By" if sample.name.endswith("_bytes") else ""
        make(sample.name, callbacks=[observe], unit=unit, description=meaning)

    def _observe(self, name: str) -> Iterator[Any]:
        try:
            new = self._refresh()
        except errors.Error:  # it is closed
            return
        if new:  # not here: the reader is in the middle of its round
            threading.Thread(
                target=self._make_all, args=(new,), name="waypost-metrics", daemon=True
            ).start()
        observation = importlib.import_module("opentelemetry.metrics").Observation
        for sample in [] if self._closed else self._samples.get(name, []):
            yield observation(sample.value, dict(sample.labels))


def instrument(
    source: Union[Worker, Store], *, meter: Any = None, limit: Optional[Duration] = None
) -> Instruments:
    """Make instruments of all metrics, by default of the meter "waypost"; those that there is something to tell of
    later follow then. limit: how long to wait for the database; by default the option `health.timeout_ms`."""
    if meter is None:
        meter = importlib.import_module("opentelemetry.metrics").get_meter("waypost")
    return Instruments(source, meter, limit)
