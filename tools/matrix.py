# SPDX-License-Identifier: Apache-2.0
"""Which conformance scenario is implemented in which language, on which engine.

Reads tests/conformance/scenarios.md and the markers `scenario: ID` in comments right above test
functions. Fails where a language leaves one out, and on a marker with an unknown id.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "tests" / "conformance" / "scenarios.md"
REQUIREMENTS = ROOT / "tests" / "requirements.tsv"
# Each suite runs whole on each engine, but for what says `engines("...")`.
ENGINES = ["sqlite", "postgresql", "mariadb"]
LANGUAGES = {
    "c": ("tests/conformance", "*.c"),
    "dotnet": ("bindings/dotnet/tests", "*.cs"),
    "go": ("bindings/go/tests", "*.go"),
    "python": ("bindings/python/tests", "*.py"),
}
ROW = re.compile(r"^\| ([A-Z]{3}-\d{3}) \| ([^|]+) \| ([^|]+) \|$", re.M)
MARKER = re.compile(r"(?:/\*|//|#)\s*scenarios?:\s*((?:[A-Z]{3}-\d{3}[,\s]*)+)")
ID = re.compile(r"[A-Z]{3,4}-\d{3}")
# On a test, between its marker and its name; or for a whole file.
LIMITED = re.compile(r"^@pytest\.mark\.engines\(([^)]*)\)$", re.M)
FILE_LIMITED = re.compile(r"^pytestmark = pytest\.mark\.engines\(([^)]*)\)$", re.M)


def implemented(folder: str, pattern: str, engine: str) -> dict[str, list[str]]:
    """Where each scenario is marked, in tests that run on an engine."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((ROOT / folder).rglob(pattern)):
        text = path.read_text(encoding="utf-8")
        for marker in MARKER.finditer(text):
            line = text.count("\n", 0, marker.start()) + 1
            name = text.find("\ndef ", marker.end())
            limit = LIMITED.search(text, marker.end(), name) or FILE_LIMITED.search(text)
            if limit and f'"{engine}"' not in limit[1]:
                continue
            for id in ID.findall(marker[1]):
                found[id].append(f"{path.relative_to(ROOT)}:{line}")
    return found


def main() -> int:
    rows = ROW.findall(SCENARIOS.read_text(encoding="utf-8"))
    titles = {id: title for id, title, _ in rows}
    faults = []
    if len(titles) != len(rows):
        faults.append("an id stands twice in scenarios.md")
    known = {line.split("\t")[0] for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines()}
    for id, _, requirements in rows:
        for requirement in sorted(set(ID.findall(requirements)) - known):
            faults.append(f"{id}: {requirement} is not a requirement")

    columns = {}
    for language, (folder, pattern) in LANGUAGES.items():
        for engine in ENGINES:
            found = implemented(folder, pattern, engine)
            for id in sorted(set(found) - set(titles)):
                faults.append(f"{', '.join(found[id])}: no scenario {id}")
            columns[f"{language}/{engine}"] = {id: "+" for id in found}

    print(f"{'':<8}" + "".join(f" {column:^17}" for column in columns))
    holes = 0
    for id, title in titles.items():
        cells = [column.get(id, "-") for column in columns.values()]
        holes += cells.count("-")
        print(f"{id:<8}" + "".join(f" {cell:^17}" for cell in cells) + f" {title}")
    for fault in faults:
        print(fault)
    print(
        f"matrix: {len(titles)} scenarios, {len(titles) * len(columns) - holes} of"
        f" {len(titles) * len(columns)} implemented, {holes} holes, {len(faults)} faults"
    )
    return 1 if holes or faults else 0


if __name__ == "__main__":
    sys.exit(main())
