# SPDX-License-Identifier: Apache-2.0
"""The package: a wheel that carries the core, in an environment that has nothing else."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PARTS = ["CMakeLists.txt", "cmake", "core", "sql", "bindings/python", "LICENSE"]
OFFLINE = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "-q"]
USE = """
import sys, sqlite3, waypost
assert "{prefix}" in waypost.__file__, waypost.__file__
store = waypost.Store.open("sqlite:" + sys.argv[1], deploy=True)
connection = sqlite3.connect(store.location)
store.outbox.enqueue("a", "1", connection=connection)
connection.commit()
worker = store.worker()
worker.add_handler("a", lambda delivery: print("handled", delivery.payload))
worker.drain()
store.close()
"""


def copy_sources(to: Path) -> None:
    ignore = shutil.ignore_patterns("build", "*.so", "*.egg-info", "__pycache__", "tests")
    for part in PARTS:
        source = ROOT / part
        (to / part).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, to / part, ignore=ignore)
        else:
            shutil.copy(source, to / part)


# proves: PKG-001
@pytest.mark.skipif(not (ROOT / "CMakeLists.txt").exists(), reason="not in a checkout")
def test_wheel_installs_into_an_empty_environment_and_runs(tmp_path: Path) -> None:
    sources = tmp_path / "a path with spaces"
    copy_sources(sources)
    wheels = tmp_path / "wheels"
    package = sources / "bindings" / "python"
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", *OFFLINE, "-w", wheels, package], check=True)
    [wheel] = wheels.iterdir()
    assert "-abi3-" in wheel.name
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"waypost/_native.abi3.so", "waypost/py.typed", "waypost/__init__.py"} <= names
    shutil.rmtree(sources)

    environment = tmp_path / "venv"
    base = getattr(sys, "_base_executable", sys.executable)
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for command in (
        [base, "-m", "venv", "--system-site-packages", environment],  # for cffi
        [environment / "bin" / "python", "-m", "pip", "install", *OFFLINE, wheel],
    ):
        subprocess.run(command, check=True, cwd=tmp_path, env=clean)
    python = environment / "bin" / "python"
    done = subprocess.run(
        [python, "-W", "error", "-c", USE.format(prefix=environment), tmp_path / "app.db"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean,
    )
    assert done.stdout == "handled 1\n"


def test_extension_exports_nothing_but_its_entry() -> None:
    from waypost import _native

    out = subprocess.check_output(["nm", "-D", "--defined-only", _native.__file__], text=True)
    assert {line.split()[-1] for line in out.splitlines()} == {"PyInit__native"}


def test_core_and_python_use_the_same_sqlite() -> None:
    import sqlite3

    from waypost import _ffi

    assert _ffi.sqlite_version == sqlite3.sqlite_version
    with open("/proc/self/maps", encoding="utf-8") as maps:
        assert len({line.split()[-1] for line in maps if "libsqlite3" in line}) == 1
