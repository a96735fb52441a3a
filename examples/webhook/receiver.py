# SPDX-License-Identifier: Apache-2.0
"""A receiver of GitHub's webhooks: receiver.py URL [PORT]

POST / takes a delivery: its signature is verified, it is enqueued in the inbox under its delivery id, and
answered once that is committed. A worker in the same process handles it, once, however often GitHub delivers
it. Answers 200, also to a delivery that came before; 401 to a bad signature; 400 to what is malformed; 413 to
what is longer than GitHub sends; 503 if the database cannot be reached, so that GitHub counts it as failed.

The secret is in WEBHOOK_SECRET. With port 0, the default, a free one is taken; it is printed. Runs until its
standard input ends.
"""
from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import sys
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Optional, Tuple

import waypost

TOPIC = "github"
LENGTH_MAX = 25 * 1024 * 1024
EVENTS = "CREATE TABLE IF NOT EXISTS events (delivery TEXT, event TEXT, digest TEXT)"


def signature(secret: bytes, body: bytes) -> str:
    """What GitHub sends as X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()


def connect(url: str) -> Any:
    """A connection as the app has it."""
    if url.startswith("sqlite:"):
        return sqlite3.connect(url[len("sqlite:") :], timeout=30)
    import psycopg

    return psycopg.connect(url)


class Server(ThreadingHTTPServer):
    """Deliveries into the inbox of a store."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, store: waypost.Store, secret: bytes, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Receiver)
        self.inbox = store.inbox
        self.secret = secret


class Receiver(BaseHTTPRequestHandler):
    """One delivery."""

    protocol_version = "HTTP/1.1"
    timeout = 30  # seconds that a slow client may take
    server: Server

    def do_POST(self) -> None:
        status, text = self.receive()
        answer = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def receive(self) -> Tuple[int, str]:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            return self.hang_up(400, "there is no Content-Length")
        if int(length) > LENGTH_MAX:
            return self.hang_up(413, "it is too long")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return self.hang_up(400, "it is cut off")
        given = self.headers.get("X-Hub-Signature-256", "").encode()
        if not hmac.compare_digest(given, signature(self.server.secret, body).encode()):
            return 401, "the signature is not right"
        return self.enqueue(
            self.headers.get("X-GitHub-Delivery"), self.headers.get("X-GitHub-Event"), body
        )

    def enqueue(self, delivery: Optional[str], event: Optional[str], body: bytes) -> Tuple[int, str]:
        if not delivery or not event:
            return 400, "X-GitHub-Delivery or X-GitHub-Event is missing"
        try:
            json.loads(body)
            key = waypost.InboxKey("github", delivery, hash=hashlib.sha256(body).digest())
            arrival = self.server.inbox.enqueue(key, TOPIC, body, headers={"event": event})
        except ValueError as error:  # no JSON, no UTF-8, or too long a name
            return 400, f"it is malformed: {error}"
        except waypost.Error:
            return 503, "try again later"
        return 200, arrival.state.name.lower()

    def hang_up(self, status: int, text: str) -> Tuple[int, str]:
        """The body was not read: the connection is of no use any more."""
        self.close_connection = True
        return status, text

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def make_worker(store: waypost.Store, url: str) -> waypost.Worker:
    """Note each delivery, and that it is done, in one transaction."""
    mark = "?" if url.startswith("sqlite:") else "%s"
    insert = f"INSERT INTO events VALUES ({mark}, {mark}, {mark})"
    worker = store.worker(lease=2.0, concurrency=4)

    @worker.inbox(TOPIC)
    def handle(delivery: waypost.Delivery) -> None:
        digest = hashlib.sha256(delivery.payload_bytes).hexdigest()
        with closing(connect(url)) as db:
            db.execute(insert, (delivery.message_id, delivery.headers["event"], digest))
            delivery.complete(db)
            db.commit()

    return worker


def main(url: str, port: str = "0") -> None:
    secret = os.environ["WEBHOOK_SECRET"].encode()
    if not secret:
        sys.exit("WEBHOOK_SECRET is empty: anybody could sign")
    with waypost.Store.open(url, deploy=True) as store:
        with closing(connect(url)) as db:
            db.execute(EVENTS)
            db.commit()
        with make_worker(store, url), Server(store, secret, int(port)) as server:
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            try:
                print(server.server_address[1], flush=True)
                sys.stdin.read()
            except KeyboardInterrupt:
                pass  # Ctrl-C: it ends as at the end of its input
            finally:
                server.shutdown()
                thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
