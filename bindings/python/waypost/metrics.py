# SPDX-License-Identifier: Apache-2.0
"""Metrics of a worker and its stores, or of a store alone."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Callable, Mapping, Optional, Sequence, Tuple

from waypost._text import Duration, to_ms


@dataclass(frozen=True)
class Sample:
    """One number. Of a histogram they are name_bucket (by the label `le`), name_sum and name_count."""

    name: str
    #: "counter", "gauge" or "histogram".
    kind: str
    labels: Mapping[str, str]
    value: float

    @property
    def family(self) -> str:
        """The metric's name without what makes it one of its samples."""
        endings = ("_bucket", "_sum", "_count") if self.kind == "histogram" else ()
        if self.kind == "counter":
            endings = ("_total",)
        for ending in endings:
            if self.name.endswith(ending):
                return self.name[: -len(ending)]
        return self.name


@dataclass(frozen=True)
class Metrics:
    """A snapshot, as Store.metrics() and Worker.metrics() give it. docs/operations.md lists them."""

    #: Prometheus' text format.
    text: str
    samples: Sequence[Sample]

    @property
    def meanings(self) -> Mapping[str, str]:
        """What each is, by its family."""
        found = re.findall(r"^# HELP (\S+?)(?:_total)? (.*)$", self.text, re.M)
        return dict(found)

    def value(self, name: str, **labels: str) -> float:
        """The sum of the samples of a name that have these labels; 0.0: there are none."""
        return sum(
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


def metrics_of(read: Callable[[int], Tuple[str, str]], limit: Optional[Duration]) -> Metrics:
    text, samples = read(-1 if limit is None else max(0, to_ms("limit", limit)))
    return Metrics(text, tuple(Sample(**sample) for sample in json.loads(samples)))
