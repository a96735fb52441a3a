# SPDX-License-Identifier: Apache-2.0
"""What the demo's processes share: the database, the documents, and how an order is placed."""
from __future__ import annotations

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, topic TEXT, digest TEXT)",
    "CREATE TABLE IF NOT EXISTS effects (order_id TEXT, worker TEXT, topic TEXT, payload TEXT)",
)


class Database:
    """A connection as the app has it: transactions by hand, patient with other writers."""

    def __init__(self, url: str) -> None:
        self.is_sqlite = url.startswith("sqlite:")
        #: What is handed to Waypost.
        self.connection: Any
        if self.is_sqlite:
            self.connection = sqlite3.connect(url[len("sqlite:") :], timeout=30, isolation_level=None)
        else:
            import psycopg

            self.connection = psycopg.connect(url, autocommit=True)

    def run(self, sql: str, values: Sequence[object] = ()) -> List[Tuple[Any, ...]]:
        """Execute one statement, with `?` for each value; all its rows."""
        cursor = self.connection.execute(sql if self.is_sqlite else sql.replace("?", "%s"), values)
        return list(cursor.fetchall()) if cursor.description else []

    def begin(self) -> None:
        self.run("BEGIN IMMEDIATE" if self.is_sqlite else "BEGIN")

    def close(self) -> None:
        self.connection.close()


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


def shares(folder: str, languages: Sequence[str]) -> Dict[str, List[str]]:
    """Which language's workers handle which topics."""
    topics = sorted({topic for topic, _ in documents(folder)})
    return {
        language: [topic for i, topic in enumerate(topics) if i % len(languages) == n]
        for n, language in enumerate(languages)
    }
