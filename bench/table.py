# SPDX-License-Identifier: Apache-2.0
"""The figures of `./dev bench --json FILE` as Markdown tables, for docs/benchmarks.md: table.py FILE"""
from __future__ import annotations

import json
import sys
from typing import Any, Dict, List, Optional

TITLES = {
    "enqueue": "Enqueue",
    "claim": "Claim and ack by hand",
    "handlers": "Handlers in C, end to end",
    "python": "Handlers in Python, end to end",
    "latency": "Latency, from the commit to the handler",
    "finished": "Finished messages that are kept",
    "backlog": "A backlog of 200,000",
    "reader": "A reader held open, 100,000 messages",
    "memory": "Peak memory of a worker under load",
    "idle": "An idle worker",
}


def number(value: Optional[float]) -> str:
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def row(figure: Dict[str, Any]) -> str:
    aim = figure["aim"] or ""
    if aim:
        aim += ": met" if figure["met"] else ": **missed**"
    ratio = number(figure["ratio"])
    if figure["ratio_low"]:
        ratio += f" ({figure['ratio_low']:.2f} to {figure['ratio_high']:.2f})"
    cells = [figure["name"], figure["unit"], number(figure["waypost"]), number(figure["raw"])]
    return "| " + " | ".join([*cells, ratio, aim]) + " |"


def main(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        run = json.load(file)
    groups: Dict[str, List[Dict[str, Any]]] = {}
    for figure in run["figures"]:
        groups.setdefault(figure["group"], []).append(figure)
    for group, figures in groups.items():
        print(f"### {TITLES.get(group, group)}\n")
        print("| what | unit | Waypost | raw | ratio (lowest to highest) | aim |")
        print("|---|---|---|---|---|---|")
        for figure in figures:
            print(row(figure))
        print()


if __name__ == "__main__":
    main(sys.argv[1])
