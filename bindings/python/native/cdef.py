# SPDX-License-Identifier: Apache-2.0
"""What cffi is told of the C API: taken from the real headers, so that it cannot drift."""
from __future__ import annotations

import re
from pathlib import Path

HEADERS = [  # in order of use
    "base.h", "config.h", "schedule.h", "store.h", "router.h", "op.h", "outbox.h", "inbox.h",
    "timer.h", "job.h", "worker.h", "dead.h", "lease.h", "join.h",
    "health.h", "metrics.h", "trace.h", "pause.h", "audit.h",
]
COMMENT = re.compile(r"/\*.*?\*/", re.S)
CONSTANT = re.compile(r"^#define\s+(WP_\w+)\s+(-?\d+)\s*$")
MARKS = re.compile(r"\b(?:WP_API|WP_OWN|WP_BEGIN_DECLS|WP_END_DECLS)\b")


def declarations(text: str) -> str:
    """A header without comments, marks and preprocessor, but with its integer constants."""
    lines = []
    continued = False
    for line in COMMENT.sub(" ", text).splitlines():
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        if not directive:
            lines.append(MARKS.sub("", line))
        elif constant := CONSTANT.match(line.strip()):
            lines.append(f"#define {constant[1]} {constant[2]}")
    return "\n".join(lines)


def cdef(include: Path) -> str:
    """The declarations of the public headers under `include`."""
    parts = [declarations((include / "waypost" / name).read_text("utf-8")) for name in HEADERS]
    return "\n".join(parts)
