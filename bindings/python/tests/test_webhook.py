# SPDX-License-Identifier: Apache-2.0
"""examples/webhook: what it says holds, with real documents."""
from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, Iterator

import pytest
from conftest import App

import waypost

ROOT = Path(__file__).parents[3]
WEBHOOK = ROOT / "examples/webhook"
DOCUMENTS = ROOT / "build/demo"  # where tools/documents.sh puts them for the demo
SECRET = b"secret"

sys.path.append(str(WEBHOOK))
import receiver  # noqa: E402


@pytest.fixture
def folder() -> str:
    if not (DOCUMENTS / "node_modules/@octokit/webhooks-examples").exists():
        if os.environ.get("WAYPOST_TEST_REQUIRE"):
            pytest.fail("the documents are missing: tools/documents.sh build/demo")
        pytest.skip("the documents are missing: tools/documents.sh build/demo")
    return str(DOCUMENTS)


# proves: IBX-001, IBX-002, IBX-103..105
@pytest.mark.engines("sqlite", "postgresql")
def test_each_delivery_runs_once_however_it_is_sent(url: str, folder: str) -> None:
    command = [sys.executable, str(WEBHOOK / "deliver.py"), folder, url]
    done = subprocess.run(command, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def port(app: App) -> Iterator[int]:
    with receiver.Server(app.store, SECRET) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def post(port: int, body: bytes, **changed: Any) -> Any:
    headers: Dict[str, str] = {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "1",
        "X-Hub-Signature-256": receiver.signature(SECRET, body),
    }
    for name, value in changed.items():
        headers[name.replace("_", "-")] = value
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body, {k: v for k, v in headers.items() if v is not None})
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_answers_say_what_became_of_a_delivery(app: App, port: int) -> None:
    assert post(port, b"{}") == (200, "new")
    assert post(port, b"{}") == (200, "processing")
    assert app.store.inbox.counters.mismatches == 0
    assert post(port, b"[]") == (200, "processing"), "another content is taken, and told in the log"
    assert app.store.inbox.counters.mismatches == 1
    app.store.inbox.mark_processed(waypost.InboxKey("github", "1"))
    assert post(port, b"[]") == (200, "done")


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("signature", [None, "", "sha256=", "sha1=00", "sha256=\xff" + "0" * 63])
def test_bad_signatures_are_refused(app: App, port: int, signature: Any) -> None:
    assert post(port, b"{}", X_Hub_Signature_256=signature)[0] == 401
    assert app.store.inbox.stats().topics == {}


@pytest.mark.engines("sqlite")
def test_malformed_deliveries_are_refused(app: App, port: int) -> None:
    assert post(port, b"{}", X_GitHub_Delivery=None)[0] == 400
    assert post(port, b"{}", X_GitHub_Event="")[0] == 400
    assert post(port, b"payload=%7B%7D")[0] == 400
    assert post(port, b"\xff\xfe{}")[0] == 400
    assert post(port, b'"\\u0000"\0')[0] == 400
    assert post(port, b"{}", X_GitHub_Delivery="x" * 256)[0] == 400
    assert post(port, b"{}", Content_Length="x")[0] == 400
    assert post(port, b"", Content_Length=str(1 << 40))[0] == 413
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n{}")
        raw.shutdown(socket.SHUT_WR)
        assert raw.makefile("rb").readline().split()[1] == b"400"
    assert app.store.inbox.stats().topics == {}
    assert post(port, b"{}") == (200, "new")


def start(url: str, secret: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(WEBHOOK / "receiver.py"), url],
        env={**os.environ, "WEBHOOK_SECRET": secret},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.engines("sqlite")
def test_no_secret_is_refused(url: str) -> None:
    with start(url, "") as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and "WEBHOOK_SECRET is empty" in said


@pytest.mark.engines("sqlite")
def test_ctrl_c_ends_it(url: str) -> None:
    with start(url, "secret") as process:
        assert process.stdout
        taken = int(process.stdout.readline())
        assert post(taken, b"{}") == (200, "new")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "Traceback" not in said


@pytest.mark.engines("sqlite")
def test_unreachable_database_is_the_senders_to_try_again(app: App, port: int) -> None:
    app.store.close()
    assert post(port, b"{}")[0] == 503
