# SPDX-License-Identifier: Apache-2.0
"""What a wp_health says."""
from __future__ import annotations

from typing import Any, Tuple

from waypost._ffi import ffi, lib
from waypost._handle.base import call, text_of


def read(function: Any, pointer: Any, scheduler: bool, max_age_ms: int, limit_ms: int) -> Tuple[int, str, str]:
    """The status, the reason and the JSON of a store or a worker."""
    out = ffi.new("wp_health **")
    scope = lib.WP_HEALTH_OF_SCHEDULER if scheduler else lib.WP_HEALTH_OF_ALL
    call(function, out, pointer, scope, max_age_ms, limit_ms)
    try:
        status = int(lib.wp_health_get_status(out[0]))
        return status, text_of(lib.wp_health_reason(out[0])), text_of(lib.wp_health_json(out[0]))
    finally:
        lib.wp_health_free(out[0])
