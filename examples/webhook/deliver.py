# SPDX-License-Identifier: Apache-2.0
"""Delivers GitHub's webhook documents to receiver.py, as badly as it can happen: deliver.py FOLDER URL

FOLDER holds node_modules with @octokit/webhooks-examples (tools/documents.sh FOLDER); URL names a database.
Each document is sent several times at once; in the middle the receiver is killed and started again, and then all
are sent once more. Forged and malformed ones are mixed in. Exits with 1 unless each document was handled exactly
once and nothing else was.
"""
from __future__ import annotations

import collections
import hashlib
import http.client
import os
import random
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Counter, Dict, List, Optional, Tuple

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "demo"))

import receiver  # noqa: E402
import shop  # noqa: E402

SECRET = "it's a secret"
DOCUMENTS = 100
COPIES = 3  # of each, at once
SENDERS = 8
PATIENCE = 120.0  # seconds


@dataclass(frozen=True)
class Delivery:
    """A request and the status that it must be answered with."""

    body: bytes
    headers: Dict[str, str]
    status: int = 200

    @property
    def id(self) -> str:
        return self.headers["X-GitHub-Delivery"]


def sign(body: bytes, event: str, secret: str = SECRET) -> Dict[str, str]:
    return {
        "Content-Type": "application/json",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": receiver.signature(secret.encode(), body),
    }


def good_ones(folder: str) -> List[Delivery]:
    found = shop.documents(folder)
    step = max(1, len(found) // DOCUMENTS)
    chosen = [(topic[len("github.") :], text.encode()) for topic, text in found[::step]]
    return [Delivery(body, sign(body, event)) for event, body in chosen[:DOCUMENTS]]


def bad_ones(good: Delivery) -> List[Delivery]:
    """Forged and malformed ones."""
    unsigned = {k: v for k, v in good.headers.items() if k != "X-Hub-Signature-256"}
    nameless = sign(good.body, "push")
    del nameless["X-GitHub-Delivery"]
    return [
        Delivery(good.body, unsigned, 401),
        Delivery(good.body, sign(good.body, "push", "another secret"), 401),
        Delivery(good.body + b" ", sign(good.body, "push"), 401),
        Delivery(good.body, nameless, 400),
        Delivery(b"{", sign(b"{", "push"), 400),
        Delivery(b"\xff", sign(b"\xff", "push"), 400),
        Delivery(good.body, {**sign(good.body, "push"), "X-GitHub-Delivery": "x" * 256}, 400),
    ]


def send(port: int, delivery: Delivery) -> Optional[int]:
    """The status of the answer; None: there was none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", "/", delivery.body, delivery.headers)
        with connection.getresponse() as response:
            response.read()
            return response.status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def send_all(
    port: int, deliveries: List[Delivery], victim: Optional[subprocess.Popen[str]] = None
) -> List[Optional[int]]:
    """The answers; the victim is killed in the middle."""
    answers: List[Optional[int]] = []
    with ThreadPoolExecutor(SENDERS) as senders:
        for answer in senders.map(lambda delivery: send(port, delivery), deliveries):
            answers.append(answer)
            if victim is not None and len(answers) == len(deliveries) // 2:
                victim.kill()
    return answers


def start(url: str) -> Tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, str(HERE / "receiver.py"), url],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "WEBHOOK_SECRET": SECRET},
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def handled(url: str) -> Counter[Tuple[str, str]]:
    """How often each delivery was handled, by its id and the digest of its body."""
    with closing(receiver.connect(url)) as db:
        rows = db.execute("SELECT delivery, digest FROM events").fetchall()
    return collections.Counter((delivery, digest) for delivery, digest in rows)


def wrong_answers(deliveries: List[Delivery], answers: List[Optional[int]]) -> int:
    return sum(delivery.status != answer for delivery, answer in zip(deliveries, answers))


def main(folder: str, url: str) -> int:
    good = good_ones(folder)
    bad = bad_ones(good[0])
    many = good * COPIES + bad
    random.shuffle(many)
    process, port = start(url)
    unanswered = send_all(port, many, process).count(None)
    process.wait()
    process, port = start(url)
    wrong = wrong_answers(many, send_all(port, many))
    expected = {(d.id, hashlib.sha256(d.body).hexdigest()) for d in good}
    give_up = time.monotonic() + PATIENCE
    while len(handled(url)) < len(expected) and time.monotonic() < give_up:
        time.sleep(0.05)
    wrong += wrong_answers(good, send_all(port, good))  # once more, when all is done
    process.communicate()
    seen = handled(url)
    print(f"  {len(good)} documents, sent {2 * len(many) + len(good)} times")
    print(f"  the receiver was killed on the way: {unanswered} got no answer")
    rows = [
        ("documents handled", len(expected), len(expected & set(seen))),
        ("handled twice", 0, sum(count > 1 for count in seen.values())),
        ("forged or malformed, but handled", 0, len(set(seen) - expected)),
        ("wrong answers", 0, wrong),
        ("exit code of the receiver", 0, process.returncode),
    ]
    for title, wanted, got in rows:
        print(f"  {title:34} {wanted:6} {got:6}   {'ok' if wanted == got else 'WRONG'}")
    return int(any(wanted != got for _, wanted, got in rows))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
