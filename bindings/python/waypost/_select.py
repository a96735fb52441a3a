# SPDX-License-Identifier: Apache-2.0
"""Whose message is next, where a worker has several stores."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

from waypost import _handle
from waypost._log import LOGGER


@dataclass(frozen=True)
class Candidate:
    """A store that has messages for the next free handler."""

    store_id: str
    #: How many messages of it are claimed and wait.
    ready: int
    #: How many of its messages are with handlers.
    running: int


#: Chooses whose message goes to the next free handler: the id of one of the candidates, or None for
#: whichever. Called on several threads at once.
Selector = Callable[[List[Candidate]], Optional[str]]


def select_by(selector: Selector) -> _handle.Select:
    """A selector as the core calls it. One that fails leaves the choice to the core."""

    def select(rows: List[Tuple[str, int, int]]) -> int:
        try:
            chosen = selector([Candidate(*row) for row in rows])
        except Exception:
            LOGGER.exception("the selector failed")
            chosen = None
        ids = [row[0] for row in rows]
        return ids.index(chosen) if chosen in ids else len(ids)

    return select
