# SPDX-License-Identifier: Apache-2.0
"""The raw layer: the C API, generated from its headers. Only _handle.py uses it."""
from __future__ import annotations

import sqlite3
import warnings
from typing import Any

from waypost import _native

ffi: Any = _native.ffi
lib: Any = _native.lib

version: str = ffi.string(lib.wp_version()).decode()
sqlite_version: str = ffi.string(lib.wpy_sqlite_version()).decode()

if sqlite_version != sqlite3.sqlite_version:
    warnings.warn(
        f"waypost uses SQLite {sqlite_version} and Python's sqlite3 module another copy,"
        f" {sqlite3.sqlite_version}: in one process they drop each other's file locks and can"
        " corrupt the database; use a Python that is linked to the system's SQLite",
        RuntimeWarning,
        stacklevel=2,
    )
