# SPDX-License-Identifier: Apache-2.0
"""Stores, and routers of them."""
from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from waypost._ffi import ffi, lib
from waypost._handle import health, metrics
from waypost._handle.base import Handle, call, text_of
from waypost._handle.config import Config
from waypost._text import name_text


class Store(Handle):
    """A wp_store."""

    def __init__(self, config: Config) -> None:
        out = ffi.new("wp_store **")
        call(lib.wp_store_open, out, config.pointer)
        super().__init__(out[0], lib.wp_store_close)
        self._describe(out[0])

    @classmethod
    def of(cls, pointer: Any) -> Store:
        """One that is open already, with the reference that comes with the pointer."""
        store = cls.__new__(cls)
        Handle.__init__(store, pointer, lib.wp_store_close)
        store._describe(pointer)
        return store

    def _describe(self, pointer: Any) -> None:
        self.key = int(ffi.cast("intptr_t", pointer))
        self.id = text_of(lib.wp_store_id(pointer))
        self.location = text_of(lib.wp_store_location(pointer))

    def metrics(self, limit_ms: int) -> Tuple[str, str]:
        return metrics.read(lib.wp_metrics_read_store, self.pointer, limit_ms)

    def health(self, scheduler: bool, max_age_ms: int, limit_ms: int) -> Tuple[int, str, str]:
        return health.read(lib.wp_health_read, self.pointer, scheduler, max_age_ms, limit_ms)


class Router(Handle):
    """A wp_router."""

    def __init__(self) -> None:
        out = ffi.new("wp_router **")
        call(lib.wp_router_new, out)
        super().__init__(out[0], lib.wp_router_free)

    def set(self, stores: Sequence[Config]) -> None:
        array = ffi.new("wp_config *[]", [config.pointer for config in stores])
        call(lib.wp_router_set, self.pointer, array, len(stores))

    def get(self, key: str) -> Store:
        out = ffi.new("wp_store **")
        call(lib.wp_router_get, out, self.pointer, name_text("key", key))
        return Store.of(out[0])

    def count(self) -> int:
        return int(lib.wp_router_count(self.pointer))

    def ids(self) -> List[str]:
        out = ffi.new("wp_router_ids **")
        call(lib.wp_router_list, out, self.pointer)
        count: int = lib.wp_router_ids_count(out[0])
        ids = [text_of(lib.wp_router_ids_at(out[0], index)) for index in range(count)]
        lib.wp_router_ids_free(out[0])
        return ids
