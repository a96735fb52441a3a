# SPDX-License-Identifier: Apache-2.0
"""Compares the library's time zones with those of Python's zoneinfo: every zone of a directory, at
each change of the clock and a second before and after it, and at random instants from 1970 to 2100.

usage: zones.py ZONE_SPANS DIRECTORY...     (the program made of zone_spans.c)
"""
import os
import random
import struct
import subprocess
import sys
from bisect import bisect_right
from datetime import datetime, timezone
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

FROM = 0
TO = int(datetime(2100, 1, 1, tzinfo=timezone.utc).timestamp())
STRIDE = 15 * 86400  # one random instant in each
SEED = int(os.environ.get("WAYPOST_TEST_SEED", "20260329"))


def names_in(directory: Path) -> list[str]:
    known = available_timezones()  # without posix/, right/ and what is no zone
    return sorted(name for name in known if (directory / name).is_file())


def changes(data: bytes) -> list[int]:
    """The transitions of a TZif file's second block, read by hand."""
    def counts(at: int) -> tuple[int, ...]:
        assert data[at : at + 4] == b"TZif"
        return struct.unpack(">6L", data[at + 20 : at + 44])

    isut, isstd, leap, times, types, chars = counts(0)
    second = 44 + times * 5 + types * 6 + chars + leap * 8 + isstd + isut
    count = counts(second)[3]
    return list(struct.unpack(f">{count}q", data[second + 44 : second + 44 + 8 * count]))


def instants(spans: list[int], file: bytes, rand: random.Random) -> list[int]:
    some = {at + d for at in spans + changes(file) for d in (-1, 0, 1)}
    some |= {FROM, TO - 1} | {at + rand.randrange(STRIDE) for at in range(FROM, TO, STRIDE)}
    return sorted(at for at in some if FROM <= at < TO)


def compare(line: str, directory: Path, rand: random.Random) -> tuple[int, list[str]]:
    name, *numbers = line.split()
    begins, offsets = [int(n) for n in numbers[::2]], [int(n) for n in numbers[1::2]]
    file = (directory / name).read_bytes()
    with (directory / name).open("rb") as stream:
        zone = ZoneInfo.from_file(stream, key=name)
    faults = []
    checked = instants(begins, file, rand)
    # At its last change itself Python goes by the file, the library by the rule behind it, as the C
    # library does. A file that contradicts itself there is America/Ojinaga's of zic 2.36, slim.
    last = max(changes(file), default=None)
    for at in checked:
        want = datetime.fromtimestamp(at, zone).utcoffset().total_seconds()
        got = offsets[bisect_right(begins, at) - 1]
        if got != want and at != last:
            faults.append(f"{directory}/{name} at {at}: {got} s, but Python says {want:.0f} s")
    return len(checked), faults


def main() -> int:
    program, *directories = sys.argv[1:]
    rand = random.Random(SEED)
    total, zones, faults = 0, 0, []
    for directory in map(Path, directories):
        names = names_in(directory)
        out = subprocess.run(
            [program, str(directory), str(FROM), str(TO)],
            input="\n".join(names) + "\n", stdout=subprocess.PIPE, text=True, check=True,
        ).stdout.splitlines()
        assert [line.split()[0] for line in out] == names and len(names) > 300, directory
        for line in out:
            count, wrong = compare(line, directory, rand)
            total, zones, faults = total + count, zones + 1, faults + wrong
    for fault in faults[:50]:
        print(fault)
    print(f"zones: {zones} zone files at {total} instants, {len(faults)} differ (seed {SEED})")
    return 1 if faults or not total else 0


if __name__ == "__main__":
    sys.exit(main())
