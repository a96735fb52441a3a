# SPDX-License-Identifier: Apache-2.0
"""Several stores in one worker: scenarios WRK-120 to WRK-125."""
from __future__ import annotations

import logging
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import pytest
from conftest import connect, until

import waypost
from waypost import Candidate, Delivery

FAST: Dict[str, Any] = {"poll_max": 0.05, "poll_min": 0.01}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "waypost")


@pytest.fixture
def urls(url: str, tmp_path: Path) -> Dict[str, str]:
    """A database of the engine, and a file beside it."""
    return {"app": url, "side": f"sqlite:{tmp_path / 'side.db'}"}


@pytest.fixture
def router(urls: Dict[str, str]) -> Iterator[waypost.Router]:
    with waypost.Router(urls, deploy=True) as router:
        yield router


def done(router: waypost.Router, key: str) -> int:
    return router.outbox(key).stats().total.done


def count(worker: waypost.Worker) -> List[Tuple[str, str]]:
    """Note the store and payload of each delivery."""
    got: List[Tuple[str, str]] = []

    @worker.handler("t")
    def note(delivery: Delivery) -> None:
        got.append((delivery.store_id, delivery.payload))

    return got


# scenario: WRK-120
# proves: MDB-001, OBX-066, OBX-070
def test_stores_of_two_engines_each_message_once_and_from_its_own(
    router: waypost.Router,
) -> None:
    worker = router.worker(**FAST)
    got = count(worker)
    with worker:
        for _ in range(20):
            for key in ("app", "side"):
                router.outbox(key).enqueue("t", key)
        until(lambda: done(router, "app") == done(router, "side") == 20)
    assert sorted(got) == [("app", "app")] * 20 + [("side", "side")] * 20
    assert worker.counters.acked == 40


# scenario: WRK-121
# proves: MDB-001
def test_store_that_fails_holds_up_none_of_the_others(
    router: waypost.Router, urls: Dict[str, str]
) -> None:
    router.set({**urls, "dead": "postgresql://nobody@127.0.0.1:1/none"})
    for key in urls:
        done(router, key)  # opened
    worker = router.worker(**FAST)
    got = count(worker)
    with closing(connect(urls["side"], autocommit=True)) as other:
        other.execute("BEGIN IMMEDIATE")
        with worker:
            for _ in range(5):
                router.outbox("app").enqueue("t", "app")
            until(lambda: done(router, "app") == 5)
            other.execute("COMMIT")
            router.outbox("side").enqueue("t", "side")
            until(lambda: done(router, "side") == 1)
    assert len(got) == 6
    with pytest.raises(waypost.UnavailableError):
        router.store("dead")


# scenario: WRK-122
# proves: OBX-078
def test_store_removed_and_added_again_loses_nothing(
    router: waypost.Router,
) -> None:
    app, side = router.store("app"), router.store("side")
    worker = side.worker(**FAST)
    worker.add_store(app)
    got = count(worker)
    with pytest.raises(waypost.StateError):
        worker.add_store(app)
    with pytest.raises(waypost.NotFoundError):
        worker.remove_store("none")
    for _ in range(30):
        app.outbox.enqueue("t", "app")
    with worker:
        until(lambda: got)
        assert worker.remove_store("app", 60.0) == 0
        stats = app.outbox.stats().total
        assert stats.in_progress == 0 and stats.ready + stats.done == 30
        side.outbox.enqueue("t", "side")
        until(lambda: done(router, "side") == 1)
        worker.add_store(app)
        until(lambda: done(router, "app") == 30)
        until(lambda: worker.store_counters("app").acked == 30 - stats.done)
    assert len(got) == 31


# proves: BND-004
# proves: MDB-001
def test_what_is_taken_from_a_store_of_a_router_keeps_it_open(router: waypost.Router) -> None:
    assert list(router.inbox("app").dead()) == []
    assert router.outbox("app").dead().replay() == 0
    assert router.store("app").all_queues.dead().purge() == 0
    dead = router.outbox("side").dead(topic="t")
    assert list(dead) == []
    with router.store("app").lease("l", seconds=5) as lease:
        assert lease.held
    slot = router.store("side").semaphore("s", limit=1).slot()
    with slot:
        assert slot.held


def test_options_of_a_routers_worker_are_in_seconds_or_say_ms(router: waypost.Router) -> None:
    store = router.store("app")
    for make in (router.worker, store.worker):
        make(cleanup_interval=86_400, reap=1, lease=5)
        for bad in (0.9, 86_401):
            with pytest.raises(waypost.ConfigError, match="cleanup_interval"):
                make(cleanup_interval=bad)
    router.worker(cleanup_interval_ms=86_400_000, lease_ms=5_000)
    with pytest.raises(waypost.ConfigError, match="cleanup_interval_ms"):
        router.worker(cleanup_interval_ms=999)


# scenario: WRK-123
# proves: OBX-072, OBX-073, OBX-074
def test_router_key_its_outbox_or_not_found(
    urls: Dict[str, str],
) -> None:
    key = uuid.uuid4()
    with waypost.Router({"app": urls["app"], str(key): urls["side"]}, deploy=True) as router:
        assert router.store("app").id == "app" and len(router) == 2
        assert router.ids == list(router) == ["app", str(key)]
        assert "app" in router and key in router and "none" not in router and 1 not in router
        router.outbox(key).enqueue("t", "x")
        assert router.outbox(str(key)).stats().total.ready == 1
        assert router.outbox("app").stats().total.ready == 0
        with pytest.raises(waypost.NotFoundError, match="none"):
            router.outbox("none")
        with pytest.raises(waypost.ConfigError):
            router.set({"bad": {"schema": "x"}})
        with pytest.raises(waypost.ConfigError, match='store "bad": .*no known kind'):
            router.set({"good": urls["app"], "bad": "sqlit:typo.db"})
        assert len(router) == 2
        router.set({})
        assert router and router.ids == []
    with pytest.raises(waypost.StateError):
        router.store("app")
    with pytest.raises(waypost.StateError):
        router.ids
    with pytest.raises(waypost.ArgumentError, match="both given"):
        waypost.Router({"app": urls["app"]}, discover=lambda: urls)
    with pytest.raises(waypost.ArgumentError, match="discover is a dict"):
        waypost.Router(discover=urls)  # type: ignore[arg-type]


# scenario: WRK-124
# proves: OBX-075, OBX-076, OBX-077, OBX-078, OBX-079
def test_discovery_is_followed_and_keeps_what_it_had_when_it_fails(urls: Dict[str, str]) -> None:
    found: Dict[str, str] = {"app": urls["app"]}
    calls: List[int] = []

    def discover() -> Dict[str, str]:
        calls.append(len(found))
        if not found:
            raise RuntimeError("the catalogue cannot be read")
        return dict(found)

    with waypost.Router(discover=discover, interval=0.01, deploy=True) as router:
        worker = router.worker(**FAST)
        got = count(worker)
        with worker:
            app = router.store("app")
            app.outbox.enqueue("t", "app")
            until(lambda: done(router, "app") == 1)
            found["side"] = urls["side"]
            until(lambda: len(router) == 2)
            router.outbox("side").enqueue("t", "side")
            until(lambda: done(router, "side") == 1)
            kept = dict(found)
            found.clear()
            until(lambda: calls[-1] == 0)  # it fails
            assert len(router) == 2
            found.update(side=kept["side"])
            router.refresh()
            assert len(router) == 1
            with pytest.raises(waypost.NotFoundError):
                router.store("app")
            until(lambda: worker.store_counters("app") == waypost.Counters())
            app.outbox.enqueue("t", "app")  # whoever has it still may use it
            router.outbox("side").enqueue("t", "side")
            until(lambda: done(router, "side") == 2)
            assert app.outbox.stats().total.done == 1
        assert len(got) == 3
    assert waypost.Config()["worker.discovery_interval_ms"] == "300000"


def prefer_app(candidates: List[Candidate]) -> Optional[str]:
    assert len(candidates) == 2 and all(c.ready > 0 and c.running == 0 for c in candidates)
    return "app"


def fails(candidates: List[Candidate]) -> Optional[str]:
    raise RuntimeError("no choice")


# scenario: WRK-125
# proves: OBX-067, OBX-068, OBX-069
@pytest.mark.parametrize(
    "options, order",
    [
        ({}, "asasas"),
        ({"turn": 2}, "aassas"),
        ({"selection": "drain-first"}, "aaasss"),
        ({"selector": prefer_app}, "aaasss"),
        ({"selector": fails}, "asasas"),
    ],
)
def test_selection_decides_whose_turn_it_is(
    router: waypost.Router, options: Dict[str, Any], order: str
) -> None:
    worker = router.worker(**options)
    got = count(worker)
    for key in ("app", "side"):
        for _ in range(3):
            router.outbox(key).enqueue("t", key)
    assert worker.drain() == 6
    assert "".join(id[0] for id, _ in got) == order


def test_worker_of_a_closed_router_goes_on(urls: Dict[str, str]) -> None:
    router = waypost.Router(urls, deploy=True)
    side = router.store("side")
    worker = router.worker(**FAST)
    got = count(worker)
    with worker:
        router.close()
        side.outbox.enqueue("t", "side")
        until(lambda: len(got) == 1)
