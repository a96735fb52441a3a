# SPDX-License-Identifier: Apache-2.0
"""Fork, the interpreter's end, and processes that die (cases 4, 12 and 38)."""
from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any, Callable, Dict, Iterator, List

import pytest
from conftest import PATIENCE, App, connect, until

import waypost
from waypost import Status

ROUNDS = 20
TESTS = os.path.dirname(os.path.abspath(__file__))
FAST: Dict[str, Any] = {"poll_max": 0.05, "poll_min": 0.01}


def run(script: str, *arguments: object, status: int = 0) -> str:
    """Run a script in a Python of its own; what it printed."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error", "-c", textwrap.dedent(script)]
        + [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Fatal Python error" not in done.stderr or status < 0
    return done.stdout + done.stderr


@contextlib.contextmanager
def script(text: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """The same, to talk to; if it does not end, it shows where it stands, and is killed."""
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text)]
    command += [str(argument) for argument in arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(PATIENCE, process.send_signal, [signal.SIGABRT])
        timer.start()
        try:
            yield process
            process.wait(PATIENCE)
        finally:
            timer.cancel()
            process.kill()


def in_child(function: Callable[[], None], leave: Callable[[int], Any]) -> int:
    """Run a function in a forked child; its exit status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            if leave is os._exit or status:
                os._exit(status)
            leave(status)
    deadline = time.monotonic() + PATIENCE
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.001)


# ---- fork -----------------------------------------------------------------------------------


# proves: WRK-006
def test_forked_child_is_refused_and_its_parent_goes_on(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    worker.add_handler("a", lambda delivery: None)
    idle = live.worker()
    idle.add_handler("b", lambda delivery: None)
    pulled = live.worker(**FAST)
    pulled.subscribe("c")
    live.outbox.enqueue("c", "1")
    delivery = pulled.next(PATIENCE)
    assert delivery is not None

    def child() -> None:
        for use in (
            lambda: live.outbox.enqueue("a", "1"),
            lambda: live.outbox.stats(),
            lambda: live.outbox.claim(waypost.new_id()),
            lambda: live.worker(),
            lambda: worker.start(),
            lambda: idle.start(),
            lambda: idle.run(),
            lambda: idle.drain(),
            lambda: idle.step(),
            lambda: idle.add_handler("c", lambda delivery: None),
            lambda: pulled.next(0),
            lambda: delivery.done(),
        ):
            with pytest.raises(waypost.StateError, match="fork"):
                use()
        assert worker.stop() == idle.stop() == pulled.stop() == 0
        live.close()

    with worker:
        for _ in range(3):
            assert in_child(child, os._exit) == 0
        for _ in range(100):
            live.outbox.enqueue("a", "1")
        until(lambda: worker.counters.acked == 100)
    delivery.done()
    delivery.settle(PATIENCE)
    pulled.stop()


FORK = """
    import os, sys, time
    import waypost
    url, how = sys.argv[1:]
    store = waypost.Store.open(url, deploy=True)
    worker = store.worker(poll_max=0.05)
    worker.add_handler("a", lambda delivery: None)
    worker.start()
    store.outbox.enqueue_many([waypost.Message("a", str(n)) for n in range(50)])
    child = os.fork()
    if child == 0:
        try:
            store.outbox.enqueue("a", "1")
            os._exit(8)
        except waypost.StateError:
            pass
        if url.startswith("sqlite:"):
            try:  # SQLite's notes on the file's locks are the parent's
                waypost.Store.open(url)
                os._exit(9)
            except waypost.StateError:
                pass
        else:
            with waypost.Store.open(url) as own:
                own.outbox.enqueue("a", "1")
        if how == "_exit":
            os._exit(7)
        sys.exit(7)  # runs the exit handlers and finalizers of what it inherited
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    for number in range(1000):
        store.outbox.enqueue("a", str(number))
    while worker.counters.acked < (1050 if url.startswith('sqlite:') else 1051):
        time.sleep(0.001)
    worker.stop()
    store.close()
"""


# proves: WRK-006
@pytest.mark.parametrize("how", ["exit", "_exit"])
def test_child_exits_and_the_parent_goes_on(url: str, how: str) -> None:
    run(FORK, url, how)


PREFORK = """
    import os, sys, time
    import waypost
    url = sys.argv[1]
    waypost.deploy(url)  # before the fork, as with gunicorn --preload
    children = []
    for number in range(4):
        child = os.fork()
        if child == 0:
            with waypost.Store.open(url) as store:
                for _ in range(50):
                    store.outbox.enqueue("a", str(number))
            sys.exit(0)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    with waypost.Store.open(url) as store:
        assert store.outbox.stats().total.ready == 200
"""


def test_stores_opened_after_the_fork(url: str) -> None:
    run(PREFORK, url)


# ---- the interpreter's end ------------------------------------------------------------------

EXIT = """
    import asyncio, sys, threading, time
    import waypost
    url, kind = sys.argv[1:]
    store = waypost.Store.open(url, deploy=True)
    worker = store.worker(poll_max=0.05, stop_timeout=0.2)
    busy = threading.Event()

    @worker.handler("plain")
    def plain(delivery):
        busy.set()

    @worker.handler("async")
    async def handle(delivery):
        busy.set()

    @worker.handler("blocks")
    def blocks(delivery):
        busy.set()
        time.sleep(3600)

    @worker.handler("waits")
    async def waits(delivery):
        busy.set()
        await asyncio.sleep(3600)

    store.outbox.enqueue_many([waypost.Message(kind, str(n)) for n in range(1000)])
    if kind != "idle":
        worker.start()
        busy.wait()
    # the end: with threads in handlers, in the core and on a loop, and nothing stopped or closed
"""


@pytest.mark.engines("sqlite", "postgresql")
@pytest.mark.parametrize("kind", ["plain", "async", "blocks", "waits", "idle"])
def test_script_that_stops_nothing_ends_well(new_url: Callable[[], str], kind: str) -> None:
    for _ in range(ROUNDS // 4):
        run(EXIT, new_url(), kind)


@pytest.mark.engines("sqlite", "postgresql")
@pytest.mark.parametrize("how", ["sys.exit(3)", "raise SystemExit(3)", "os._exit(3)"])
def test_status_of_a_script_with_running_workers(url: str, how: str) -> None:
    run(textwrap.dedent(EXIT) + f"import os\n{how}\n", url, "plain", status=3)


SIGNAL = """
    import asyncio, os, signal, sys, threading, time
    import waypost
    url, how = sys.argv[1:]
    store = waypost.Store.open(url, deploy=True)
    worker = store.worker(stop_timeout=60)
    defaults = [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)]

    @worker.handler("a")
    def handle(delivery):
        print("ready", flush=True)
        while not delivery.cancelled:
            time.sleep(0.001)
        if how == "twice":
            print("stopping", flush=True)
            threading.Event().wait()
        print("handled", flush=True)

    made = store.outbox.enqueue("a", "1")
    if how == "own":
        signal.signal(signal.SIGTERM, lambda *_: (print("mine", flush=True), worker.stop()))
    if how == "thread":
        thread = threading.Thread(target=worker.run)
        try:
            thread.start()
            while thread.is_alive():  # a signal just before a wait without end is not seen in it
                thread.join(0.05)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            worker.stop()
    else:
        try:
            if how == "async":
                asyncio.run(worker.run_async())
            else:
                worker.run()
            print(store.outbox.get(made.id).status.name, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    assert not worker.running
    if how != "own":
        assert [signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)] == defaults
    store.close()
"""


# proves: BND-003, OBX-116
@pytest.mark.parametrize(
    "how, number, said",
    [
        ("run", signal.SIGTERM, "handled DONE"),
        ("run", signal.SIGINT, "handled DONE"),
        ("async", signal.SIGTERM, "handled DONE"),
        ("async", signal.SIGINT, "handled interrupted"),  # by asyncio.run(), as always
        ("own", signal.SIGTERM, "mine handled DONE"),
        ("thread", signal.SIGINT, "interrupted handled"),
    ],
)
def test_signal_stops_a_worker_and_lets_its_handler_finish(
    url: str, how: str, number: signal.Signals, said: str
) -> None:
    with script(SIGNAL, url, how) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        if how == "thread" and not select.select([process.stdout], [], [], 10)[0]:
            process.send_signal(number)  # the app's own KeyboardInterrupt was lost in its threading
        assert process.stdout.read().split() == said.split()
        assert process.wait(PATIENCE) == 0


def test_second_ctrl_c_does_not_wait_for_handlers(url: str) -> None:
    with script(SIGNAL, url, "twice") as process:
        assert process.stdout is not None
        for expected in ("ready", "stopping"):
            assert process.stdout.readline() == expected + "\n"
            process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"


CHILD = """
    import os, signal, sys
    import waypost
    store = waypost.Store.open(sys.argv[1], deploy=True)
    worker = store.worker(threads=1)  # so that handlers run on the main thread

    @worker.handler("a")
    def handle(delivery):
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), int(sys.argv[2]))
            os._exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        worker.stop()

    store.outbox.enqueue("a", "1")
    worker.run()
    store.close()
"""


# proves: WRK-006
def test_sigterm_ends_a_child_that_a_handler_forked(url: str) -> None:
    assert run(CHILD, url, int(signal.SIGTERM)) == f"{-signal.SIGTERM}\n"


# ---- processes that die ---------------------------------------------------------------------

POISON = """
    import os, sys
    import waypost
    store = waypost.Store.open(sys.argv[1])
    lease = float(sys.argv[2])
    worker = store.worker(lease=lease, max_attempts=3, backoff_base=0.001, backoff_max=0.001)

    @worker.handler("poison")
    def poison(delivery):
        os.abort()

    @worker.handler("healthy")
    def healthy(delivery):
        pass

    worker.drain()
"""


# scenario: WRK-113
# proves: OBX-049, OBX-053, OBX-064
def test_poison_message_ends_as_a_dead_letter(app: App) -> None:
    live = app.open(clock=None, worker_backoff_base_ms=1, worker_backoff_max_ms=1)
    poison = live.outbox.enqueue("poison", "1")
    deaths: List[int] = []
    healthy: List[waypost.Enqueued] = []

    def drain(lease: float) -> int:
        command = [sys.executable, "-c", textwrap.dedent(POISON), app.url, str(lease)]
        done = subprocess.run(command, stderr=subprocess.DEVNULL, timeout=PATIENCE)
        return done.returncode

    while live.outbox.get(poison.id).status is not Status.FAILED:
        healthy.append(live.outbox.enqueue("healthy", "1"))
        deaths.append(drain(0.1))
        until(lambda: live.outbox.reap() or live.outbox.get(poison.id).status is not Status(1))
        assert len(deaths) <= 10
    # A lease as short as that may have been over before a healthy one was finished.
    until(lambda: live.outbox.reap() or not live.outbox.stats().total.in_progress)
    assert drain(30) == 0
    for one in healthy:
        assert live.outbox.get(one.id).status is Status.DONE
    info = live.outbox.get(poison.id)
    assert deaths.count(-signal.SIGABRT) == 3
    assert info.message.attempt == 3 and info.last_error == "lease expired"


KILLED = r"""
    import os, sys
    import waypost
    store = waypost.Store.open(sys.argv[1])
    worker = store.worker(lease=0.2, backoff_base=0.001, backoff_max=0.001)

    @worker.handler("a")
    def handle(delivery):
        os.write(1, f"{delivery.payload}\n".encode())  # in one piece

    worker.run()
"""


# proves: OBX-001
def test_nothing_is_lost_when_workers_are_killed(live: waypost.Store, app: App) -> None:
    handled: List[str] = []
    count = 0
    for _ in range(ROUNDS // 2):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(KILLED), app.url],
            stdout=subprocess.PIPE,
            text=True,
        )
        live.outbox.enqueue_many([waypost.Message("a", str(count + n)) for n in range(20)])
        count += 20
        assert process.stdout is not None
        handled.append(process.stdout.readline().strip())
        process.kill()
        handled += process.stdout.read().split()
        process.wait()
        process.stdout.close()
    worker = live.worker(**FAST, reap=0.05)
    worker.add_handler("a", lambda delivery: handled.append(delivery.payload))
    with worker:
        until(lambda: live.outbox.stats(finished=False).topics == {})
    assert {int(payload) for payload in handled} == set(range(count))
    assert live.outbox.stats().total.done == count


APP_KILLED = """
    import os, sys
    import waypost
    sys.path.append(sys.argv[4])
    import conftest
    store = waypost.Store.open(sys.argv[1])
    connection = conftest.connect(sys.argv[1])
    connection.execute("INSERT INTO orders (name) VALUES ('x')")
    store.outbox.enqueue("a", sys.argv[2], connection=connection)
    if sys.argv[3] == "commit":
        connection.commit()
    os.kill(os.getpid(), 9)
"""


# proves: OBX-001
def test_app_killed_before_and_after_its_commit(live: waypost.Store, app: App) -> None:
    for number in range(ROUNDS // 4):
        for end in ("kill", "commit"):
            run(APP_KILLED, app.url, number, end, TESTS, status=-signal.SIGKILL)
    assert live.outbox.stats().total.ready == ROUNDS // 4 == app.orders()


ONCE = """
    import os, random, sys
    import waypost
    from waypost import InboxKey
    sys.path.append(sys.argv[4])
    import conftest
    store = waypost.Store.open(sys.argv[1])
    random.seed(int(sys.argv[2]))
    file = sys.argv[1].startswith("sqlite:")
    connection = conftest.connect(sys.argv[1], **({"timeout": 60, "autocommit": True} if file else {}))
    for number in random.choices(range(int(sys.argv[3])), k=1000):
        key = InboxKey("src", str(number))
        if file:
            connection.execute("BEGIN IMMEDIATE")
        connection.execute("SAVEPOINT tried")
        if random.random() < 0.2:  # as if it had never been asked
            store.inbox.once(key, connection=connection)
            connection.execute("ROLLBACK TO SAVEPOINT tried")
        if store.inbox.once(key, connection=connection).proceed:
            connection.execute(f"INSERT INTO orders (name) VALUES ('{number}')")
        chance = random.random()
        if chance < 0.1:
            os.kill(os.getpid(), 9)
        connection.execute("ROLLBACK" if chance < 0.4 else "COMMIT")
"""


# proves: IBX-006
def test_delivery_takes_effect_once_where_processes_die_at_any_time(live: waypost.Store, app: App) -> None:
    keys = 20
    command = [sys.executable, "-c", textwrap.dedent(ONCE), app.url]
    seed = 0

    def done() -> List[int]:
        known = []
        for number in range(keys):
            with contextlib.suppress(waypost.NotFoundError):
                info = live.inbox.get(waypost.InboxKey("src", str(number)))
                known += [number] if info.status is Status.DONE else []
        return known

    with contextlib.ExitStack() as stack:
        processes: List[subprocess.Popen[bytes]] = []
        deadline = time.monotonic() + PATIENCE
        while len(done()) < keys:
            assert time.monotonic() < deadline
            for process in [one for one in processes if one.poll() is not None]:
                assert process.returncode in (0, -signal.SIGKILL)
                processes.remove(process)
            while len(processes) < 3:
                seed += 1
                processes.append(stack.enter_context(subprocess.Popen(command + [str(seed), str(keys), TESTS])))
                stack.callback(processes[-1].kill)
    with contextlib.closing(connect(app.url)) as connection:
        rows = connection.execute("SELECT name, count(*) FROM orders GROUP BY name").fetchall()
    assert sorted((int(name), count) for name, count in rows) == [(number, 1) for number in range(keys)]


SHARED = r"""
    import os, sys
    import waypost
    store = waypost.Store.open(sys.argv[1])
    worker = store.worker(concurrency=4, poll_max=0.05)

    @worker.handler("a")
    def handle(delivery):
        os.write(1, f"{delivery.payload}\n".encode())  # in one piece

    try:
        worker.run()
    except KeyboardInterrupt:
        store.close()
"""


# proves: OBX-084, OBX-059
def test_four_processes_share_an_outbox_and_handle_each_message_once(
    live: waypost.Store, app: App
) -> None:
    count = 4000
    live.outbox.enqueue_many([waypost.Message("a", str(number)) for number in range(count)])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SHARED), app.url],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    until(lambda: live.outbox.stats().total.done == count)
    for process in processes:
        process.send_signal(signal.SIGINT)
    handled: List[str] = []
    for process in processes:
        out, _ = process.communicate(timeout=PATIENCE)
        handled += out.split()
    assert sorted(map(int, handled)) == list(range(count))
