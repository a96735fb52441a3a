# SPDX-License-Identifier: Apache-2.0
"""Which requirement is proven by which test.

tests/requirements.tsv lists every requirement: id, area, state, title, tests. States are `done`
(proven), `open` (promised and not proven yet) and `later` (not promised yet). A test names what
it proves in a comment right above its function, and a script near its top:

    /* proves: OBX-001, OBX-012..014 */        # proves: OBX-001

The proving tests are gathered from those comments; --write stores them in the column `tests` and
turns open requirements that are proven now into done ones. Fails on a hole: an open requirement,
a done one without an existing test, a comment without a test or with an unknown id.
"""
import argparse
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "requirements.tsv"
COLUMNS = ["id", "area", "state", "title", "tests"]
# the last form: a long name on a line of its own
TEST = re.compile(r"\s*(?:static void |void |async def |def |func |^)((?:test_|Test[A-Z])\w+)\(")
CSHARP = re.compile(r"\s*public (?:void|async Task|Task) (\w+)\(")
RANGE = re.compile(r"([A-Z]{3,4})-(\d{3})(?:\.\.(?:[A-Z]{3,4}-)?(\d{3}))?")
NEAR = 80  # lines from a comment to its test: decorators can be long


def expand(text: str) -> list[str]:
    return [
        f"{prefix}-{number:03d}"
        for prefix, first, last in RANGE.findall(text)
        for number in range(int(first), int(last or first) + 1)
    ]


class Tests:
    """What the sources of the tests say."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.proofs: dict[str, list[str]] = defaultdict(list)
        self.faults: list[str] = []

    def read(self, path: Path) -> None:
        name = str(path.relative_to(ROOT))
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.suffix == ".sh":
            self.names.add(name)
            for line in lines:
                if "proves:" in line:
                    self.prove(expand(line), name)
            return
        ids: list[str] = []
        begin = 0
        in_comment = False
        pattern = CSHARP if path.suffix == ".cs" else TEST
        for number, line in enumerate(lines, 1):
            if test := pattern.match(line):
                self.names.add(test[1])
                self.prove(ids, test[1])
                ids, in_comment = [], False
            elif "proves:" in line:
                ids += expand(line.partition("proves:")[2])
                begin = number
                in_comment = "*/" not in line
                if not ids:
                    self.faults.append(f"{name}:{number}: names no requirement")
            elif in_comment and line.lstrip().startswith(("*", "#", "//")):
                ids += expand(line)
                in_comment = "*/" not in line
            else:
                in_comment = False
            if ids and number - begin > NEAR:
                self.faults.append(f"{name}:{begin}: no test function follows")
                ids = []
        if ids:
            self.faults.append(f"{name}:{begin}: no test function follows")

    def prove(self, ids: list[str], test: str) -> None:
        for id in ids:
            if test not in self.proofs[id]:
                self.proofs[id].append(test)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev trace")
    parser.add_argument("--write", action="store_true", help="store the proving tests in the table")
    write = parser.parse_args().write

    header, *body = TABLE.read_text(encoding="utf-8").splitlines()
    assert header.split("\t") == COLUMNS, f"{TABLE}: wrong columns"
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in body]

    tests = Tests()
    files = [p for p in (ROOT / "tests").rglob("*") if p.suffix in (".c", ".sh", ".py", ".cs")]
    folders = (ROOT / "bindings").glob("*/tests")
    files += [p for d in folders for p in d.rglob("*") if p.suffix in (".py", ".cs", ".go")]
    for path in sorted(files):
        tests.read(path)
    faults = tests.faults
    known = {row["id"] for row in rows}
    for id in sorted(set(tests.proofs) - known):
        faults.append(f"{id} is not a requirement: {', '.join(tests.proofs[id])}")

    total: Counter[str] = Counter()
    promised: Counter[str] = Counter()
    proven: Counter[str] = Counter()
    for row in rows:
        proofs = sorted(tests.proofs.get(row["id"], []))
        if write:
            row["tests"] = ",".join(proofs)
            if row["state"] == "open" and proofs:
                row["state"] = "done"
        total[row["area"]] += 1
        for test in filter(None, row["tests"].split(",")):
            if test not in tests.names:
                faults.append(f"{row['id']}: its test {test} does not exist")
        if row["state"] == "later":
            continue
        promised[row["area"]] += 1
        proven[row["area"]] += bool(proofs)
        if not proofs:
            faults.append(f"hole: {row['id']} ({row['state']}) {row['title'][:90]}")
        elif row["state"] == "open":
            faults.append(f"{row['id']} is open, but proven: run ./dev trace --write")
    if write:
        body = ["\t".join(row[column] for column in COLUMNS) for row in rows]
        TABLE.write_text("\n".join([header, *body, ""]), encoding="utf-8")

    print("requirements by area: proven by a test, promised so far, and planned in all")
    print(f"{'area':<12}{'proven':>8}{'promised':>10}{'in all':>8}")
    for area in total:
        print(f"{area:<12}{proven[area]:>8}{promised[area]:>10}{total[area]:>8}")
    for fault in faults:
        print(fault)
    print(
        f"trace: {proven.total()} of {promised.total()} promised requirements are proven"
        f" ({total.total()} in all), {len(faults)} holes"
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
