# SPDX-License-Identifier: Apache-2.0
"""What the demo's processes share: the database, the documents, and how an order is placed."""
from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Dict, List, Tuple

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, topic TEXT, digest TEXT);
CREATE TABLE IF NOT EXISTS effects (order_id TEXT, worker TEXT, topic TEXT, payload TEXT);
"""

#: Topics that the worker in C handles; the workers in Python handle the others.
C_SHARE = 3


def connect(path: str) -> sqlite3.Connection:
    """A connection as the app has it: transactions by hand, patient with other writers."""
    return sqlite3.connect(path, timeout=30, isolation_level=None)


def digest(payload: str) -> str:
    return hashlib.sha256(payload.encode()).hexdigest()


def documents(folder: str) -> List[Tuple[str, str]]:
    """(topic, payload) of every webhook document in the npm package @octokit/webhooks-examples."""
    index = Path(folder) / "node_modules/@octokit/webhooks-examples/api.github.com/index.json"
    found = []
    for event in json.loads(index.read_text(encoding="utf-8")):
        for example in event["examples"]:
            payload = json.dumps(example, ensure_ascii=False, separators=(",", ":"))
            found.append((f"github.{event['name']}", payload))
    return found


def shares(folder: str) -> Dict[str, List[str]]:
    """Who handles which topics."""
    topics = sorted({topic for topic, _ in documents(folder)})
    return {
        "c": [topic for i, topic in enumerate(topics) if i % C_SHARE == 0],
        "python": [topic for i, topic in enumerate(topics) if i % C_SHARE != 0],
    }
