# SPDX-License-Identifier: Apache-2.0
"""The audit."""
from __future__ import annotations

import json
from typing import Any, Optional

from waypost._ffi import ffi, lib
from waypost._handle.base import Handle, call, optional_text, text_of
from waypost._handle.queue import Page
from waypost._handle.store import Store
from waypost._text import from_us
from waypost.message import AuditEntry, QueueKind


class Notes(Page[AuditEntry]):
    """A wp_audit."""

    __slots__ = ()

    def __init__(self, pointer: Any) -> None:
        Handle.__init__(self, pointer, lib.wp_audit_free)
        self.items = [_entry(pointer, index) for index in range(lib.wp_audit_count(pointer))]
        self.last = self.items[-1].number if self.items else 0


def _entry(page: Any, index: int) -> AuditEntry:
    source = lib.wp_audit_source(page, index)
    return AuditEntry(
        number=lib.wp_audit_number(page, index),
        at=from_us(lib.wp_audit_at_us(page, index)),
        by=optional_text(lib.wp_audit_actor(page, index)),
        action=text_of(lib.wp_audit_action(page, index)),
        queue=QueueKind(source) if source else None,
        subject=optional_text(lib.wp_audit_subject(page, index)),
        detail=json.loads(text_of(lib.wp_audit_detail(page, index)) or "{}"),
    )


def listed(store: Store, before: Optional[Page[AuditEntry]], limit: int) -> Page[AuditEntry]:
    out = ffi.new("wp_audit **")
    call(lib.wp_audit_read, out, store.pointer, 0 if before is None else before.last, limit)
    return Notes(out[0])
