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


# proves: JOIN-020, JOIN-022, JOIN-040, JOIN-050, JOIN-052, JOIN-060
def test_fanout_counts_each_step_once_though_a_process_is_killed(tmp_path: Path) -> None:
    lines = output("fanout.py", tmp_path).splitlines()
    shares = lines.pop(3)
    assert shares.startswith("steps by process: ")
    assert sum(int(share.split()[-1]) for share in shares.split(",")) == 1000
    assert int(lines.pop(3).split(": ")[1]) >= 10
    assert lines == [
        "order-7 has 1000 steps",
        "process two was killed by kill -9 on the way",
        "the join is COMPLETED: 1000 steps completed, 0 failed",
        "1 message came after the last step: order-7 is done",
    ]
