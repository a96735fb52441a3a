# SPDX-License-Identifier: Apache-2.0
"""Whether what databases have already is still what the files say.

A migration that has run somewhere never changes, and stored procedures reach a database with a
migration alone: a procedure that is changed without one stays as it was wherever the schema is up
to date. So sql/<engine>/migrations.sum has the SHA-256 of each migration, and that of all
procedures under the name of the migration that brought them. Fails if one differs. --write adds
what is new; --again takes a change of the newest migration, which must not have left this machine.
"""
import argparse
import hashlib
import sys
from pathlib import Path

SQL = Path(__file__).resolve().parent.parent / "sql"


def names(path: Path) -> list[str]:
    return [line.split("#")[0].strip() for line in path.read_text().splitlines()
            if line.split("#")[0].strip()]


def digest(files: list[Path]) -> str:
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return total.hexdigest()


def now(engine: Path) -> dict[str, str]:
    """What the files say: migrations in order, and then the procedures."""
    migrations = names(engine / "migrations.txt")
    found = {name: digest([engine / "migrations" / f"{name}.sql"]) for name in migrations}
    if (engine / "routines.txt").exists():
        files = sorted([engine / "routines.txt", *engine.glob("columns.txt"),
                        *engine.glob("routines/*.sql"), *engine.glob("parts/*.sql")])
        found["procedures-of-" + migrations[-1]] = digest(files)
    return found


def noted(path: Path) -> dict[str, str]:
    return dict(line.split() for line in names(path)) if path.exists() else {}


def faults(engine: Path, write: bool, again: bool) -> list[str]:
    path = engine / "migrations.sum"
    found, before = now(engine), noted(path)
    newest = names(engine / "migrations.txt")[-1]
    result = []
    for name, value in found.items():
        new = name not in before
        if before.get(name) == value or write and new or again and name.endswith(newest):
            continue
        if new:
            result.append(f"{engine.name}: {name} is not in {path.name}: "
                          "run tools/migrations.py --write")
        elif name.startswith("procedures-of-"):
            result.append(f"{engine.name}: procedures were changed since {newest}, which brought "
                          "them: add a migration, if only one that says so")
        else:
            result.append(f"{engine.name}: {name} was changed: databases have it already; "
                          "add another one")
    result += [f"{engine.name}: {name} is gone" for name in before
               if name not in found and not name.startswith("procedures-of-")]
    if write and not result:
        path.write_text("# SHA-256 of what databases have: tools/migrations.py\n"
                        + "".join(f"{name} {value}\n" for name, value in found.items()))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="note what is new")
    parser.add_argument("--again", action="store_true", help="note the newest migration anew")
    options = parser.parse_args()
    engines = sorted(path.parent for path in SQL.glob("*/migrations.txt"))
    found = [fault for engine in engines for fault in faults(engine, options.write or options.again, options.again)]
    for fault in found:
        print(f"migrations: {fault}")
    print(f"migrations: {sum(len(now(engine)) for engine in engines)} texts of {len(engines)} "
          f"engines, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
