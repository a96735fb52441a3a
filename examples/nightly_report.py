# SPDX-License-Identifier: Apache-2.0
"""A report each night at 02:30 in Berlin, around both nights in which the clocks are set.

A movable clock stands in for the year. In March the clocks go from 02:00 to 03:00, so that 02:30 is not there:
the report runs at 03:00. In October 02:30 comes twice: the report runs at the first one. It is one report a
night, whatever the clocks do. A worker that was away for a day makes up for it by one report.
"""
from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import List
from zoneinfo import ZoneInfo

import waypost

BERLIN = ZoneInfo("Europe/Berlin")
DAY = timedelta(days=1)

EXPECTED = """\
Sat 2027-03-27 02:30 CET
Sun 2027-03-28 03:00 CEST
Mon 2027-03-29 02:30 CEST
Sat 2027-10-30 02:30 CEST
Sun 2027-10-31 02:30 CEST
Mon 2027-11-01 02:30 CET
Wed 2027-11-03 02:30 CET""".splitlines()


def main() -> None:
    clock = waypost.ManualClock(datetime(2027, 3, 26, 12, tzinfo=timezone.utc))
    reports: List[str] = []
    with waypost.Store.open("sqlite::memory:", deploy=True, clock=clock) as store:
        worker = store.worker()

        @worker.job("nightly report", cron="30 2 * * *", tz="Europe/Berlin", timeout=600)
        def report(delivery: waypost.Delivery) -> str:
            night = delivery.due.astimezone(BERLIN)  # the occurrence, however late it runs
            reports.append(f"{night:%a %Y-%m-%d %H:%M %Z}")
            print("report of", reports[-1])
            return f"orders of {night - DAY:%Y-%m-%d}"  # kept as the run's output

        def nights(count: int) -> None:
            """Let the clock reach so many occurrences, one after the other; a service calls worker.run()."""
            for _ in range(count):
                due = store.jobs.get("nightly report").next_due
                assert due is not None
                clock.advance(due - clock.now)
                worker.drain()

        worker.drain()  # registers the job
        nights(3)

        store.jobs.disable("nightly report")
        clock.advance(datetime(2027, 10, 29, 12, tzinfo=timezone.utc) - clock.now)
        store.jobs.enable("nightly report")  # and nothing is made up for
        nights(3)

        clock.advance(2 * DAY)  # no worker ran, so that two were missed: one run for both, for the later
        worker.drain()

        for run in store.jobs.runs.list("nightly report", limit=2):
            print(f"history: due {run.due:%Y-%m-%d %H:%M}Z, {run.status.name}, {run.output}")
    assert reports == EXPECTED, reports


if __name__ == "__main__":
    main()
