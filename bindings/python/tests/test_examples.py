# SPDX-License-Identifier: Apache-2.0
"""examples/*.py: each runs to its end in an empty directory, and shows what it says."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"


def output(name: str, folder: Path) -> str:
    command = [sys.executable, str(EXAMPLES / name)]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# proves: CRN-006, JOB-001, JOB-004, JOB-008, JOB-014
def test_nightly_report_is_one_a_night_also_when_the_clocks_are_set(tmp_path: Path) -> None:
    assert output("nightly_report.py", tmp_path).splitlines() == [
        "report of Sat 2027-03-27 02:30 CET",
        "report of Sun 2027-03-28 03:00 CEST",
        "report of Mon 2027-03-29 02:30 CEST",
        "report of Sat 2027-10-30 02:30 CEST",
        "report of Sun 2027-10-31 02:30 CEST",
        "report of Mon 2027-11-01 02:30 CET",
        "report of Wed 2027-11-03 02:30 CET",
        "history: due 2027-11-03 01:30Z, SUCCEEDED, orders of 2027-11-02",
        "history: due 2027-11-01 01:30Z, SUCCEEDED, orders of 2027-10-31",
    ]


# proves: LSE-004, LSE-005, LSE-007
def test_leader_one_of_three_processes_writes_and_dies(tmp_path: Path) -> None:
    lines = output("leader.py", tmp_path).splitlines()
    assert len(lines) == 4 and "was killed by kill -9" in lines[1] and "was asked to stop" in lines[2]
    assert int(lines[3].split()[0]) >= 3 and lines[3].endswith("leaders wrote, one after the other")
