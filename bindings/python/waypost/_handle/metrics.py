# SPDX-License-Identifier: Apache-2.0
"""What a wp_metrics says."""
from __future__ import annotations

from typing import Any, Tuple

from waypost._ffi import ffi, lib
from waypost._handle.base import call, text_of


def read(function: Any, pointer: Any, limit_ms: int) -> Tuple[str, str]:
    """The text and the JSON of a store or a worker."""
    out = ffi.new("wp_metrics **")
    call(function, out, pointer, limit_ms)
    try:
        return text_of(lib.wp_metrics_text(out[0])), text_of(lib.wp_metrics_json(out[0]))
    finally:
        lib.wp_metrics_free(out[0])
