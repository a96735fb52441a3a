# SPDX-License-Identifier: Apache-2.0
"""Health: whether a store or a worker does its work, and if not, why."""
from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Mapping, Optional, Tuple

from waypost._text import Duration, to_ms


class HealthStatus(Enum):
    """How it is."""

    HEALTHY = 0
    #: Work is stale or overdue, or something will be in the way soon.
    DEGRADED = 1
    #: A store cannot be reached, its schema is older, or the worker does not run or is stuck.
    UNHEALTHY = 2


@dataclass(frozen=True)
class Health:
    """A report, as Store.health() and Worker.health() give it."""

    status: HealthStatus
    #: All reasons, the worst first, in one line; "" if healthy.
    reason: str
    #: Whatever is known, as the command `waypost health --json` prints it.
    data: Mapping[str, Any]

    def __bool__(self) -> bool:
        """Whether it is healthy."""
        return self.status is HealthStatus.HEALTHY


def health_of(
    read: Callable[[bool, int, int], Tuple[int, str, str]],
    scheduler: bool,
    max_age: Optional[Duration],
    limit: Optional[Duration],
) -> Health:
    status, reason, data = read(
        scheduler,
        -1 if max_age is None else max(0, to_ms("max_age", max_age)),
        -1 if limit is None else max(0, to_ms("limit", limit)),
    )
    return Health(HealthStatus(status), reason, json.loads(data))
