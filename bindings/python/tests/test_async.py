# SPDX-License-Identifier: Apache-2.0
"""Async handlers, and the rules of event loops (case 39)."""
from __future__ import annotations

import asyncio
import contextvars
import functools
import gc
import logging
import threading
from typing import Any, Callable, Dict, List

import pytest
from conftest import PATIENCE, App, connect_async, until, wait

import waypost
from waypost import Cancel, Delivery, Message, Status

FAST: Dict[str, Any] = {"poll_max": 0.05, "poll_min": 0.01}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")


async def until_async(condition: Callable[[], object]) -> None:
    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(poll(), PATIENCE)


# scenario: WRK-101
# proves: BND-003
@pytest.mark.parametrize("way", ["run_async", "with", "started", "drain", "drain_async", "step"])
def test_async_handler_runs_on_the_right_loop(
    app: App, live: waypost.Store, way: str
) -> None:
    store = live if way in ("run_async", "with", "started") else app.store
    loops: List[asyncio.AbstractEventLoop] = []
    worker = store.worker(**FAST)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        assert delivery.payload == "1"
        loops.append(asyncio.get_running_loop())

    made = store.outbox.enqueue("a", "1")

    async def main() -> asyncio.AbstractEventLoop:
        if way == "drain_async":
            assert await worker.drain_async() == 1
        elif way == "with":
            async with worker:
                await until_async(lambda: worker.counters.acked)
        else:
            task = asyncio.ensure_future(worker.run_async())
            await until_async(lambda: worker.counters.acked)
            assert await worker.stop_async() == 0
            await task
        return asyncio.get_running_loop()

    if way == "started":
        with worker:
            until(lambda: worker.counters.acked)
        assert loops[0].is_closed(), "the private loop ends with the worker"
    elif way in ("drain", "step"):
        assert worker.drain() if way == "drain" else worker.step()
    else:
        assert loops == [asyncio.run(main())]
    assert store.outbox.get(made.id).status is Status.DONE


# scenario: WRK-102, WRK-103, WRK-104
# proves: BND-003
@pytest.mark.parametrize("way", ["started", "run_async", "drain"])
def test_outcomes_of_async_handlers(app: App, live: waypost.Store, way: str) -> None:
    store = app.store if way == "drain" else live
    worker = store.worker(**FAST, backoff_base=1000, backoff_max=1000)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> Any:
        await asyncio.sleep(0)
        if delivery.payload == "retry":
            raise waypost.Retry("later", delay=1000)
        if delivery.payload == "reject":
            raise waypost.Reject("never")
        if delivery.payload == "error":
            raise ValueError("text")
        if delivery.payload == "cancelled":
            raise asyncio.CancelledError
        return 1 if delivery.payload == "odd" else None

    names = ["done", "retry", "reject", "error", "cancelled", "odd"]
    made = {name: store.outbox.enqueue("a", name).id for name in names}

    def finished() -> bool:
        counters = worker.counters
        return counters.acked + counters.abandoned + counters.failed == len(names)

    async def main() -> None:
        async with worker:
            await until_async(finished)

    if way == "started":
        with worker:
            until(finished)
    elif way == "run_async":
        asyncio.run(main())
    else:
        worker.drain()
    infos = {name: store.outbox.get(id) for name, id in made.items()}
    assert {name: info.last_error for name, info in infos.items()} == {
        "done": None,
        "retry": "later",
        "reject": "never",
        "error": "ValueError: text",
        "cancelled": "cancelled: by itself",
        "odd": "the handler returned a int, not None",
    }
    assert infos["reject"].status is Status.FAILED and infos["done"].status is Status.DONE


# scenario: WRK-106
# proves: WRK-004
def test_deferred_delivery_is_finished_later_from_another_task(live: waypost.Store) -> None:
    worker = live.worker(**FAST)

    async def main() -> None:
        queue: asyncio.Queue[Delivery] = asyncio.Queue()

        @worker.handler("a")
        async def handle(delivery: Delivery) -> waypost.Deferred:
            await queue.put(delivery)
            return waypost.DEFERRED

        async def finish() -> None:
            delivery = await queue.get()
            delivery.done()

        live.outbox.enqueue("a", "1")
        task = asyncio.ensure_future(finish())
        async with worker:
            await task
            await until_async(lambda: worker.counters.acked)

    asyncio.run(main())
    assert worker.counters.acked == 1


# scenario: WRK-109
@pytest.mark.parametrize("private", [False, True])
def test_async_handler_past_its_timeout_is_cancelled(live: waypost.Store, private: bool) -> None:
    reasons: List[Any] = []
    worker = live.worker(**FAST, backoff_base=1000, backoff_max=1000)

    @worker.handler("slow", timeout=0.05)
    async def slow(delivery: Delivery) -> None:
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            reasons.append(delivery.cancel_reason)

    made = live.outbox.enqueue("slow", "1")

    async def main() -> None:
        async with worker:
            await until_async(lambda: reasons)

    if private:
        with worker:
            until(lambda: reasons)
    else:
        asyncio.run(main())
    assert reasons == [Cancel.TIMEOUT]
    until(lambda: live.outbox.get(made.id).message.attempt == 1)


# scenario: WRK-110
# proves: OBX-116
def test_stop_lets_async_handlers_finish_but_not_for_ever(live: waypost.Store) -> None:
    worker = live.worker(**FAST, stop_timeout=0.2)
    cancelled: List[str] = []

    async def main() -> None:
        started = asyncio.Semaphore(0)
        release = asyncio.Event()

        @worker.handler("finishes")
        async def finishes(delivery: Delivery) -> None:
            started.release()
            while delivery.cancel_reason is not Cancel.STOP:
                await asyncio.sleep(0.001)

        @worker.handler("hangs")
        async def hangs(delivery: Delivery) -> None:
            started.release()
            try:
                await release.wait()
            except asyncio.CancelledError:
                cancelled.append(delivery.payload)
                raise

        live.outbox.enqueue("finishes", "1")
        live.outbox.enqueue("hangs", "2")
        async with worker:
            await started.acquire()
            await started.acquire()

    asyncio.run(main())
    assert cancelled == ["2"]
    assert worker.counters.acked == 1 and not worker.running
    assert live.outbox.stats().topics["hangs"].done == 0


# scenario: WRK-111
def test_cancelled_run_async_stops_the_worker(live: waypost.Store) -> None:
    worker = live.worker(**FAST, stop_timeout=0.2)

    async def main() -> None:
        started = asyncio.Event()

        @worker.handler("a")
        async def handle(delivery: Delivery) -> None:
            started.set()
            await asyncio.sleep(PATIENCE)

        made = live.outbox.enqueue("a", "1")
        task = asyncio.ensure_future(worker.run_async())
        await asyncio.wait_for(started.wait(), PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not worker.running
        assert live.outbox.get(made.id).status is not Status.DONE

    asyncio.run(main())


def test_stop_from_an_async_handler_and_on_the_loop_do_not_block_it(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    calls: List[int] = []

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        calls.append(worker.stop() if delivery.payload == "1" else await worker.stop_async())

    async def main() -> None:
        for payload in ("1", "2"):
            live.outbox.enqueue("a", payload)
            await asyncio.wait_for(worker.run_async(), PATIENCE)
        live.outbox.enqueue("a", "1")
        task = asyncio.ensure_future(worker.run_async())
        await asyncio.sleep(0)
        calls.append(worker.stop())
        await asyncio.wait_for(task, PATIENCE)

    asyncio.run(main())
    assert calls[:2] == [0, 0]


# scenario: WRK-115
# proves: OBX-113
def test_async_handler_completes_in_the_apps_own_transaction(app: App) -> None:
    worker = app.store.worker()

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        async with connect_async(app.url) as connection:
            await connection.execute("INSERT INTO orders (name) VALUES ('x')")
            await delivery.complete_async(connection)
            if delivery.attempt:
                await connection.commit()

    made = app.outbox.enqueue("a", "1")
    asyncio.run(worker.drain_async())
    assert app.orders() == 0 and app.outbox.get(made.id).status is Status.READY
    from conftest import SECOND

    app.clock.advance(60 * SECOND)
    worker.drain()
    assert app.orders() == 1 and app.outbox.get(made.id).status is Status.DONE


# ---- loops ----------------------------------------------------------------------------------


def test_worker_made_without_a_loop_runs_under_one_after_another(live: waypost.Store) -> None:
    """Nothing that belongs to a loop is made at import or construction."""
    handled: List[str] = []
    worker = live.worker(**FAST)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        await asyncio.sleep(0)
        handled.append(delivery.payload)

    async def main(number: int) -> None:
        live.outbox.enqueue("a", str(number))
        async with worker:
            await until_async(lambda: len(handled) == number + 1)

    for number in range(3):
        asyncio.run(main(number))
    thread = threading.Thread(target=lambda: asyncio.run(main(3)))
    thread.start()
    thread.join(PATIENCE)
    with worker:
        live.outbox.enqueue("a", "4")
        until(lambda: len(handled) == 5)
    assert handled == list("01234")


def test_loop_closed_while_handlers_are_pending_gives_them_back(live: waypost.Store) -> None:
    worker = live.worker(**FAST, backoff_base=1000, backoff_max=1000)  # not claimed again meanwhile
    pending: List[str] = []

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        pending.append(delivery.payload)
        await asyncio.get_running_loop().create_future()

    made = live.outbox.enqueue_many([Message("a", str(number)) for number in range(5)])
    loop = asyncio.new_event_loop()
    task = loop.create_task(worker.run_async())
    loop.run_until_complete(until_async(lambda: len(pending) == 5))
    for other in asyncio.all_tasks(loop):
        other._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    until(lambda: not worker.running, "the end of the worker")
    assert worker.stop() == 0
    del task
    for one in made:
        info = live.outbox.get(one.id)
        assert info.status is Status.READY and info.message.attempt == 1
        assert info.last_error == "the event loop was closed"


@pytest.mark.engines("sqlite", "postgresql")
def test_tasks_are_not_collected(live: waypost.Store) -> None:
    worker = live.worker(**FAST)
    count = 200

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.001, future.set_result, None)
        await future

    live.outbox.enqueue_many([Message("a", str(number)) for number in range(count)])

    async def main() -> None:
        async with worker:
            while worker.counters.acked < count:
                gc.collect()
                await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


def test_context_is_kept_and_not_shared_between_handlers(live: waypost.Store) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    seen: List[str] = []
    worker = live.worker(**FAST)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        seen.append(variable.get())
        variable.set("changed by a handler")
        await asyncio.sleep(0)
        assert variable.get() == "changed by a handler"

    live.outbox.enqueue_many([Message("a", "1"), Message("a", "2")])

    async def main() -> None:
        variable.set("mine")
        async with worker:
            await until_async(lambda: worker.counters.acked == 2)

    asyncio.run(main())
    assert seen == ["mine", "mine"]


def test_plain_and_async_handlers_in_one_worker(live: waypost.Store) -> None:
    threads: Dict[str, threading.Thread] = {}
    worker = live.worker(**FAST)

    @worker.handler("plain")
    def plain(delivery: Delivery) -> None:
        threads["plain"] = threading.current_thread()

    @worker.handler("async")
    async def handle(delivery: Delivery) -> None:
        threads["async"] = threading.current_thread()

    class Callable_:
        async def __call__(self, delivery: Delivery) -> None:
            threads["object"] = threading.current_thread()

    async def with_argument(argument: int, delivery: Delivery) -> None:
        threads["partial"] = threading.current_thread()

    worker.add_handler("object", Callable_())
    worker.add_handler("partial", functools.partial(with_argument, 1))
    worker.add_handler("lambda", lambda delivery: handle_lambda(delivery))

    async def handle_lambda(delivery: Delivery) -> None:
        threads["lambda"] = threading.current_thread()

    topics = ["plain", "async", "object", "partial", "lambda"]
    for topic in topics:
        live.outbox.enqueue(topic, "1")

    async def main() -> None:
        async with worker:
            await until_async(lambda: worker.counters.acked == len(topics))

    asyncio.run(main())
    main_thread = threading.current_thread()
    assert threads.pop("plain") is not main_thread
    assert set(threads.values()) == {main_thread} and len(threads) == 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interrupt_in_an_async_handler_ends_run_async(live: waypost.Store, error: Any) -> None:
    worker = live.worker(**FAST)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        raise error()

    made = live.outbox.enqueue("a", "1")

    async def main() -> None:
        with pytest.raises(error):
            await worker.run_async()

    asyncio.run(main())
    assert live.outbox.get(made.id).message.attempt == 1


def test_a_blocked_loop_does_not_lose_the_lease(app: App) -> None:
    """The keeper is a thread of the core: a handler that blocks the loop does not stop it."""
    from conftest import SECOND

    started, release = threading.Event(), threading.Event()
    worker = app.store.worker(lease=10)

    @worker.handler("a")
    async def handle(delivery: Delivery) -> None:
        started.set()
        wait(release)

    made = app.outbox.enqueue("a", "1")
    with worker:
        wait(started)
        app.clock.advance(7 * SECOND)
        until(lambda: worker.counters.renewed)
        release.set()
        until(lambda: app.outbox.get(made.id).status is Status.DONE)
