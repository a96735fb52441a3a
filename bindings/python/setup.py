# SPDX-License-Identifier: Apache-2.0
"""Builds the core with CMake and links it into the one extension module, waypost/_native."""
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NATIVE = HERE / "native"
sys.path.insert(0, str(NATIVE))


def version() -> str:
    found = re.search(r"project\(waypost VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
    if not found:
        raise SystemExit("setup.py must be run in a checkout of Waypost")
    return found[1]


def pkg_config(*arguments: str) -> list[str]:
    return shlex.split(subprocess.check_output(["pkg-config", *arguments], text=True))


HTTP = subprocess.call(["pkg-config", "--exists", "libmicrohttpd"]) == 0
LIBRARIES = ["sqlite3", "libpq", "odbc", "jansson", "libcrypto"] + (["libmicrohttpd"] if HTTP else [])


class BuildNative(build_ext):
    """Core first, then the extension that carries it."""

    def run(self) -> None:
        tree = Path(self.build_temp).resolve()
        self.build_core(tree / "core")
        [extension] = self.extensions
        extension.sources = [os.path.relpath(self.write_source(tree))]
        core = str(tree / "core" / "libwaypost_static.a")
        extension.extra_objects = [core]
        extension.depends += [core]  # a new core is a new extension
        super().run()

    def build_core(self, tree: Path) -> None:
        subprocess.check_call(
            ["cmake", "-S", str(ROOT), "-B", str(tree), "-G", "Ninja"]
            + ["-DCMAKE_BUILD_TYPE=Release", "-DWAYPOST_BUILD_TESTS=OFF"]
            + [f"-DWAYPOST_HTTP={'ON' if HTTP else 'OFF'}"]
            + ["-DWAYPOST_BUILD_EXAMPLES=OFF", "-DWAYPOST_BUILD_CLI=OFF", "-DWAYPOST_BUILD_BENCH=OFF"]
        )
        subprocess.check_call(["cmake", "--build", str(tree), "--target", "waypost_static"])

    def write_source(self, tree: Path) -> Path:
        import cffi
        from cdef import cdef

        ffi = cffi.FFI()
        ffi.cdef(cdef(ROOT / "core" / "include") + (NATIVE / "helpers.cdef").read_text())
        ffi.set_source("waypost._native", '#include "helpers.h"')
        source = tree / "_native.c"
        ffi.emit_c_code(str(source))
        return source


setup(
    version=version(),
    ext_modules=[
        Extension(
            "waypost._native",
            sources=[],
            depends=[str(path) for path in NATIVE.iterdir()],
            include_dirs=[str(ROOT / "core" / "include"), str(NATIVE)],
            py_limited_api=True,
            extra_compile_args=["-O2", "-fvisibility=hidden"]
            + pkg_config("--cflags", *LIBRARIES),
            # The same SQLite as Python's sqlite3: two copies in one process would drop each
            # other's file locks.
            extra_link_args=["-Wl,--exclude-libs,ALL", "-pthread"]
            + pkg_config("--libs", *LIBRARIES),
            language="c",
        )
    ],
    cmdclass={"build_ext": BuildNative},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
