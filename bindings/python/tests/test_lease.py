# SPDX-License-Identifier: Apache-2.0
"""Leases and semaphores: scenarios LEA-001 to LEA-009 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import threading
from datetime import timedelta
from typing import Any, Callable, List, Optional

import pytest
from conftest import NOW, App, connect_async, in_transaction, until, wait

import waypost
from waypost import _handle
from waypost import ArgumentError, LeaseLostError, NotFoundError, RangeError

SECOND = timedelta(seconds=1)


# scenario: LEA-002, LEA-006, LEA-008
# proves: LSE-001, LSE-003, LSE-004
def test_lease__is_held_by_one_and_fences_rise(app: App) -> None:
    with app.store.lease("n", seconds=30) as lease:
        first = lease.fence
        assert lease.held and lease.remaining == timedelta(seconds=27)
        lease.throw_if_lost()
        with pytest.raises(waypost.TimeoutError) as refused:
            app.store.lease("n").acquire()
        assert refused.value.held_until == app.clock.now + 30 * SECOND
        assert refused.value.now == app.clock.now
        with app.store.lease("N"), app.store.lease("n "):  # names of their own
            pass
    assert not lease.held
    with pytest.raises(waypost.StateError):
        lease.throw_if_lost()
    with lease:
        assert lease.fence > first
    with pytest.raises(waypost.ArgumentError):
        app.store.lease("").acquire()
    with pytest.raises(waypost.RangeError):
        app.store.lease("n", seconds=0.01).acquire()


# scenario: LEA-004, LEA-006
# proves: LSE-005, LSE-006
def test_lease__renews_itself_and_tells_of_its_loss_once(app: App) -> None:
    told = []
    lease = app.store.lease("n", seconds=10, on_lost=told.append)
    with lease:
        app.clock.advance(6 * SECOND)
        until(lambda: lease.remaining == 9 * SECOND, "the renewal")
        lease.renew()
        assert not lease.lost.is_set()
        app.clock.advance(9 * SECOND)
        wait(lease.lost)
        with pytest.raises(waypost.LeaseLostError):
            lease.throw_if_lost()
        with pytest.raises(waypost.LeaseLostError):
            lease.renew()
        until(lambda: told == [lease], "the callback")
    app.clock.advance(10 * SECOND)
    with lease:
        lease.throw_if_lost()
    assert told == [lease]


# scenario: LEA-005
# proves: LSE-007
def test_lease__waits_for_its_holder(app: App) -> None:
    async def both() -> None:
        async with app.store.lease("n") as first:
            second = app.store.lease("n", wait=None)
            waiting = asyncio.create_task(second.acquire_async())
            await asyncio.sleep(0)
            assert first.held and not second.held
        await asyncio.wait_for(waiting, 60)
        assert second.held
        third = asyncio.create_task(app.store.lease("n", wait=None).acquire_async())
        await asyncio.sleep(0.01)
        third.cancel()
        with pytest.raises(asyncio.CancelledError):
            await third
        second.release()

    asyncio.run(both())
    with app.store.lease("n"):  # nobody was left behind
        pass


# scenario: LEA-007
# proves: SEM-001
def test_semaphore__has_so_many_holders_and_a_lower_limit_blocks_new_ones(app: App) -> None:
    semaphore = app.store.semaphore("s", limit=2)
    with semaphore.slot(request="a") as first, semaphore.slot() as second:
        assert second.fence > first.fence
        with pytest.raises(waypost.TimeoutError):
            semaphore.slot().acquire()
        semaphore.set_limit(1)
        first.throw_if_lost()
        second.throw_if_lost()
    with semaphore.slot():
        with pytest.raises(waypost.TimeoutError):
            semaphore.slot().acquire()


# scenario: LEA-009
# proves: LSE-005
@pytest.mark.parametrize("raises", [True, False])
def test_run_while_leader__begins_anew_after_a_loss(app: App, raises: bool) -> None:
    fences = []

    def work(lease: waypost.Lease) -> str:
        fences.append(lease.fence)
        if len(fences) == 1:
            taken_away(app, lease)
            if raises:
                lease.throw_if_lost()
        return "done"

    assert app.store.lease("n", seconds=10, wait=None).run_while_leader(work) == "done"
    assert len(fences) == 2 and fences[1] > fences[0]
    assert app.store.leases.counters.held == 0


def taken_away(app: App, lease: waypost.Lease) -> None:
    """The keeper finds that it is gone; it is free for others then."""
    app.store.leases.release("n", lease.owner)
    app.clock.advance(6 * SECOND)
    until(lambda: not lease.held, "the loss")


# scenario: LEA-009
# proves: LSE-005
def test_run_while_leader__ends_as_its_work_and_when_it_is_stopped(app: App) -> None:
    def broken(lease: waypost.Lease) -> None:
        raise KeyError("on purpose")

    def other(lease: waypost.Lease) -> None:
        raise waypost.LeaseLostError("that of something else")

    with pytest.raises(KeyError):
        app.store.lease("n").run_while_leader(broken)
    with pytest.raises(waypost.LeaseLostError):
        app.store.lease("n").run_while_leader(other)
    stop = threading.Event()
    stop.set()
    assert app.store.lease("n").run_while_leader(broken, stop=stop) is None
    with app.store.lease("n"):
        with pytest.raises(waypost.TimeoutError):
            app.store.lease("n").run_while_leader(broken)
        stop.clear()
        leader = threading.Thread(
            target=lambda: app.store.lease("n", wait=None).run_while_leader(broken, stop=stop)
        )
        leader.start()
        stop.set()
        leader.join(60)
        assert not leader.is_alive()


# scenario: LEA-009
# proves: LSE-005
def test_run_while_leader_async__cancels_the_work_of_who_lost(app: App) -> None:
    ends: List[str] = []

    async def work(lease: waypost.Lease) -> int:
        try:
            if len(ends) == 0:
                await asyncio.to_thread(taken_away, app, lease)
                await asyncio.sleep(3600)
            if len(ends) == 1:
                waiting.set()
                await asyncio.sleep(3600)
            return 7
        finally:
            ends.append(f"held {lease.held}")

    async def lead() -> None:
        task = asyncio.create_task(app.store.lease("n", 10, wait=None).run_while_leader_async(work))
        await asyncio.wait_for(waiting.wait(), 60)
        await cancelled_twice(task)
        assert ends == ["held False", "held True"]
        until(lambda: app.store.leases.counters.held == 0, "the release")
        assert await app.store.lease("n").run_while_leader_async(work) == 7

    waiting = asyncio.Event()
    asyncio.run(lead())


# scenario: LEA-009
# proves: LSE-005, LSE-007
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_run_while_leader__waits_out_errors_that_may_pass(
    app: App, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    errors: List[Exception] = [waypost.UnavailableError("busy"), waypost.UnavailableError("gone")]
    hold = _handle.lease.hold

    def troubled(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return hold(*arguments)

    async def work(lease: waypost.Lease) -> int:
        return lease.fence

    monkeypatch.setattr(_handle.lease, "hold", troubled)
    lease = app.store.lease("n", wait=None)
    if kind == "plain":
        assert lease.run_while_leader(lambda lease: lease.fence)
    else:
        assert asyncio.run(lease.run_while_leader_async(work))
    errors.append(waypost.SchemaError("will not pass"))
    with pytest.raises(waypost.SchemaError):
        lease.run_while_leader(lambda lease: lease.fence)
    errors.append(waypost.UnavailableError("busy"))
    with pytest.raises(waypost.UnavailableError):
        lease.acquire()


# proves: LSE-004
@pytest.mark.filterwarnings("ignore:lease 'n' was forgotten:ResourceWarning")
def test_lease__forgotten__is_released(app: App) -> None:
    lease: Optional[waypost.Lease] = app.store.lease("n", on_lost=lambda lost: None)
    assert lease is not None
    lease.acquire()
    lease = None
    gc.collect()
    app.store.lease("n", wait=60).acquire()


def test_lease__released__still_tells_its_fence(app: App) -> None:
    lease = app.store.lease("n", owner="me")
    with pytest.raises(waypost.StateError, match="not acquired"):
        lease.fence
    with lease:
        fence = lease.fence
    assert (lease.fence, lease.owner) == (fence, "me")


def test_lease__refused__tells_the_holder(app: App) -> None:
    with app.store.lease("n", owner="me"), pytest.raises(waypost.TimeoutError) as refused:
        app.store.lease("n").acquire()
    assert refused.value.holder is not None and refused.value.holder.owner == "me"


def test_lease__bad_arguments__are_named_at_once(app: App) -> None:
    bad: Any
    for bad in ({"name": 5}, {"owner": 5}, {"on_lost": 5}, {"seconds": "30"}):
        with pytest.raises(waypost.ArgumentError, match=next(iter(bad))):
            app.store.lease(**{"name": "n", **bad})
    with pytest.raises(waypost.RangeError, match="wait is -1"):
        app.store.lease("n", wait=-1)
    work: Any = 5
    with pytest.raises(waypost.ArgumentError, match="work must be callable"):
        app.store.lease("n").run_while_leader(work)
    with pytest.raises(waypost.ArgumentError, match="work must be callable"):
        asyncio.run(app.store.lease("n").run_while_leader_async(work))
    with pytest.raises(waypost.ArgumentError, match="stop must be"):
        app.store.lease("n").run_while_leader(lambda lease: None, stop=work)
    with pytest.raises(waypost.NotFoundError):
        app.store.leases.get("n")  # nobody has tried


# proves: LSE-001, LSE-007
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_run_while_leader__answer_was_lost__takes_its_own_lease_over(
    app: App, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    unheard: List[Any] = []
    hold = _handle.lease.hold

    def troubled(*arguments: Any) -> Any:
        handle = hold(*arguments)
        if not unheard:
            unheard.append(handle)
            raise waypost.UnavailableError("the answer was lost")
        return handle

    async def work(lease: waypost.Lease) -> int:
        return lease.fence

    monkeypatch.setattr(_handle.lease, "hold", troubled)
    lease = app.store.lease("n", 86400, wait=60)
    if kind == "plain":
        fence = lease.run_while_leader(lambda lease: lease.fence)
    else:
        fence = asyncio.run(lease.run_while_leader_async(work))
    assert fence is not None and fence > unheard[0].fence
    unheard[0].close()


# proves: LSE-007
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_wait__is_woken_by_each_release_of_this_process(
    app: App, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Nobody would try again by himself."""
    monkeypatch.setattr(_handle.lease, "hold", never_again(_handle.lease.hold))
    semaphore = app.store.semaphore("s", limit=2)
    first, second = semaphore.slot(), semaphore.slot()
    first.acquire()
    second.acquire()
    done: List[int] = []

    def one(number: int) -> None:
        with semaphore.slot(wait=None):
            done.append(number)

    async def one_async(number: int) -> None:
        async with semaphore.slot(wait=None):
            done.append(number)

    async def all_async() -> None:
        tasks = [asyncio.create_task(one_async(i)) for i in range(8)]
        await asyncio.sleep(0.01)
        first.release()
        await asyncio.wait_for(asyncio.gather(*tasks[1:]), 60)
        second.release()
        await asyncio.wait_for(tasks[0], 60)

    if kind == "async":
        asyncio.run(all_async())
    else:
        threads = [threading.Thread(target=one, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        first.release()
        second.release()
        for thread in threads:
            thread.join(60)
    assert sorted(done) == list(range(8))
    assert not app.store._watcher.turns._waiting  # noqa: SLF001


def never_again(hold: Callable[..., Any]) -> Callable[..., Any]:
    def refused(*arguments: Any) -> Any:
        outcome = hold(*arguments)
        if isinstance(outcome, _handle.lease.Refused):
            return outcome._replace(retry_ms=3_600_000)
        return outcome

    return refused


# ---- calls: one statement each --------------------------------------------------------------


# scenario: LEA-001
# proves: LSE-001
def test_acquire__free_expired_or_ours__is_granted_and_otherwise_refused(app: App) -> None:
    leases = app.store.leases
    first = leases.acquire("n", "a", 10)
    assert first.granted and (first.owner, first.limit, first.holders) == ("a", 1, 1)
    assert (first.now, first.until) == (NOW, NOW + 10 * SECOND)
    app.clock.advance(SECOND)
    refused = leases.acquire("n", "b", 10)
    assert not refused.granted and refused.owner == "a" and refused.fence == first.fence
    assert (refused.now, refused.until) == (NOW + SECOND, first.until)
    again = leases.acquire("n", "a", 20)
    assert again.granted and again.fence > first.fence
    app.clock.advance(20 * SECOND)
    other = leases.acquire("n", "b", 10)
    assert other.granted and other.fence > again.fence
    asked = leases.get("n")
    assert not asked.granted and (asked.owner, asked.fence) == ("b", other.fence)
    with pytest.raises(NotFoundError):
        leases.get("m")


# scenario: LEA-002
# proves: LSE-002..004
def test_renew_and_release__only_while_held__and_the_fence_rises_for_ever(app: App) -> None:
    leases = app.store.leases
    held = leases.acquire("n", "a", 10)
    app.clock.advance(9 * SECOND)
    assert leases.renew("n", "a", 10, fence=held.fence).until == NOW + 19 * SECOND
    for owner, fence in (("b", None), ("a", held.fence + 1)):
        with pytest.raises(LeaseLostError):
            leases.renew("n", owner, 10, fence=fence)
        assert not leases.release("n", owner, fence=fence)
    app.clock.advance(10 * SECOND)
    with pytest.raises(LeaseLostError):
        leases.renew("n", "a", 10)
    fences = [held.fence]
    for _ in range(3):
        fences.append(leases.acquire("n", "a", 10).fence)
        assert leases.release("n", "a") and not leases.release("n", "a")
        assert leases.cleanup(0) >= 0
    assert fences == sorted(set(fences))
    assert leases.acquire("n", "b", 10).granted, "freed at once"


# scenario: LEA-003
# proves: LSE-001, BND-002
def test_in_the_apps_transaction__held_when_that_commits(app: App) -> None:
    leases = app.store.leases
    connection = app.connect()
    for commit in (False, True):
        made = leases.acquire("n", "a", 10, connection=connection)
        assert made.granted and in_transaction(connection)
        assert leases.get("n", connection=connection).owner == "a"
        connection.commit() if commit else connection.rollback()
        if not commit:
            with pytest.raises(NotFoundError):
                leases.get("n")
    assert not leases.acquire("n", "b", 10).granted
    assert leases.renew("n", "a", 30, connection=connection).until == NOW + 30 * SECOND
    connection.rollback()
    assert leases.get("n").until == NOW + 10 * SECOND
    with pytest.raises(LeaseLostError):
        leases.renew("n", "b", 30, connection=connection)
    connection.rollback()
    assert leases.release("n", "a", connection=connection)
    assert not leases.release("n", "a", connection=connection)
    connection.rollback()
    assert leases.get("n").owner == "a"
    assert leases.release("n", "a", connection=connection)
    connection.commit()
    assert leases.acquire("n", "b", 10).granted


# scenario: LEA-003
# proves: LSE-001, SEM-001, BND-002
@pytest.mark.parametrize("on_connection", [False, True])
def test_async_calls_do_what_the_plain_ones_do(app: App, on_connection: bool) -> None:
    leases, semaphores = app.store.leases, app.store.semaphores

    async def calls() -> None:
        async with connect_async(app.url) as connection:
            chosen = connection if on_connection else None
            made = await leases.acquire_async("n", "a", 10, connection=chosen)
            assert made.granted and (await leases.get_async("n", connection=chosen)).owner == "a"
            renewed = await leases.renew_async("n", "a", 20, fence=made.fence, connection=chosen)
            assert renewed.until == NOW + 20 * SECOND
            with pytest.raises(LeaseLostError):
                await leases.renew_async("n", "b", 20, connection=chosen)
            assert not await leases.release_async("n", "b", connection=chosen)
            await semaphores.set_limit_async("s", 1, connection=chosen)
            assert (await semaphores.acquire_async("s", "r1", 10, connection=chosen)).granted
            assert not (await semaphores.acquire_async("s", "r2", 10, connection=chosen)).granted
            if on_connection:
                with pytest.raises(ArgumentError, match="async"):
                    leases.acquire("n", "a", connection=connection)
                await connection.commit()

    asyncio.run(calls())
    assert leases.get("n").owner == "a" and semaphores.get("s").holders == 1


# scenario: LEA-004
# proves: LSE-005
def test_kept_lease__taken_by_another__is_lost_once_and_every_check_refuses(app: App) -> None:
    told: List[waypost.Lease] = []
    lease = app.store.lease("n", seconds=10, on_lost=told.append)
    with lease:
        assert app.store.leases.counters.held == 1
        assert app.store.leases.release("n", lease.owner)
        assert app.store.leases.acquire("n", "thief", 100).granted
        app.clock.advance(6 * SECOND)
        wait(lease.lost)
        for _ in range(2):
            assert not lease.held and lease.remaining == timedelta()
            with pytest.raises(LeaseLostError):
                lease.throw_if_lost()
            with pytest.raises(LeaseLostError):
                lease.renew()
        until(lambda: told == [lease], "the callback")
    assert app.store.leases.get("n").owner == "thief", "its release changed nothing"
    assert told == [lease] and app.store.leases.counters.lost == 1


# scenario: LEA-004
# proves: LSE-005
def test_lost_lease__tells_tasks_that_wait_and_a_failing_callback_harms_nobody(app: App) -> None:
    def fail(lease: waypost.Lease) -> None:
        raise ValueError("no")

    async def hold() -> None:
        one = app.store.lease("1", seconds=10, on_lost=fail)
        async with one, app.store.lease("2", seconds=10) as two:
            app.clock.advance(10 * SECOND)
            await asyncio.wait_for(asyncio.gather(one.wait_lost(), two.wait_lost()), 60)
            assert one.lost.is_set() and two.lost.is_set()

    asyncio.run(hold())


# scenario: LEA-005
# proves: LSE-007
def test_wait_that_is_over__says_who_has_it(app: App, live: waypost.Store) -> None:
    live.leases.acquire("n", "a", 3600)
    for wait_for in (0, 0.05):
        with pytest.raises(waypost.TimeoutError) as refused:
            live.lease("n", wait=wait_for).acquire()
        assert refused.value.held_until == live.leases.get("n").until
        assert '"a"' in str(refused.value) or refused.value.now is not None
    live.leases.release("n", "a")
    with live.lease("n", wait=None) as lease:
        lease.throw_if_lost()


# scenario: LEA-006
# proves: LSE-003, LSE-006
def test_leaving_the_scope_by_an_exception__releases_it(app: App) -> None:
    with pytest.raises(ValueError):
        with app.store.lease("n", owner="me"):
            assert app.store.leases.get("n").owner == "me"
            raise ValueError
    assert app.store.leases.acquire("n", "b").granted


# scenario: LEA-007
# proves: SEM-001
def test_semaphore__never_more_than_its_limit_and_no_request_twice(app: App) -> None:
    semaphores = app.store.semaphores
    with pytest.raises(NotFoundError):
        semaphores.acquire("s", "r1")
    with pytest.raises(NotFoundError):
        semaphores.get("s")
    connection = app.connect()
    semaphores.set_limit("s", 2, connection=connection)
    connection.rollback()
    with pytest.raises(NotFoundError):
        semaphores.get("s")
    semaphores.set_limit("s", 2, connection=connection)
    connection.commit()
    made = [semaphores.acquire("s", request, 10) for request in ("r1", "r1", "r2", "r3")]
    assert [info.granted for info in made] == [True, True, True, False]
    assert made[1].fence > made[0].fence and (made[2].limit, made[2].holders) == (2, 2)
    assert made[3].until == NOW + 10 * SECOND
    semaphores.set_limit("s", 1)
    assert semaphores.get("s").holders == 2, "nobody's hold is ended"
    assert semaphores.renew("s", "r2", 20).granted and semaphores.release("s", "r1")
    assert not semaphores.acquire("s", "r3", 10).granted
    app.clock.advance(20 * SECOND)
    assert semaphores.acquire("s", "r3", 10).granted
    app.store.semaphore("s", 0)
    assert not semaphores.acquire("s", "r4", 10).granted
    assert app.store.leases.acquire("s", "r4", 10).granted, "names of another kind"


BAD: List[Any] = [
    (lambda s: s.leases.acquire("", "a"), ArgumentError, "name"),
    (lambda s: s.leases.acquire("n" * 256, "a"), ArgumentError, "name"),
    (lambda s: s.leases.acquire(1, "a"), ArgumentError, "name"),
    (lambda s: s.leases.acquire("n", ""), ArgumentError, "owner"),
    (lambda s: s.leases.acquire("n", None), ArgumentError, "owner"),
    (lambda s: s.leases.acquire("n", "a", 0), RangeError, "seconds"),
    (lambda s: s.leases.acquire("n", "a", 86_401), RangeError, "seconds"),
    (lambda s: s.leases.acquire("n", "a", "1"), ArgumentError, "seconds"),
    (lambda s: s.leases.renew("n", "a", fence=0), RangeError, "fence"),
    (lambda s: s.leases.release("n", "a", fence="1"), ArgumentError, "fence"),
    (lambda s: s.leases.get(""), ArgumentError, "name"),
    (lambda s: s.leases.cleanup(-1), RangeError, "keep"),
    (lambda s: s.semaphores.set_limit("s", -1), RangeError, "limit"),
    (lambda s: s.semaphores.set_limit("s", 1_000_001), RangeError, "limit"),
    (lambda s: s.semaphores.set_limit("s", "1"), ArgumentError, "limit"),
    (lambda s: s.semaphores.set_limit("s", True), ArgumentError, "limit"),
    (lambda s: s.semaphores.set_limit("", 1), ArgumentError, "name"),
    (lambda s: s.semaphore("s", -1), RangeError, "limit"),
    (lambda s: s.lease("n", seconds=0.05).acquire(), RangeError, "seconds"),
    (lambda s: s.lease("n", owner="").acquire(), ArgumentError, "owner"),
    (lambda s: s.lease("n", wait="1"), ArgumentError, "wait"),
]


# scenario: LEA-008
# proves: LSE-008, BND-004
@pytest.mark.parametrize("call, error, name", BAD, ids=range(len(BAD)))
def test_bad_arguments__are_named_and_change_nothing(
    app: App, call: Any, error: Any, name: str
) -> None:
    with pytest.raises(error, match=name):
        call(app.store)
    for what, kind in (("n", app.store.leases), ("s", app.store.semaphores)):
        with pytest.raises(NotFoundError):
            kind.get(what)


# scenario: LEA-008
# proves: LSE-008
def test_names_and_owners__do_not_touch_each_other(app: App) -> None:
    names = ["n", "N", "n ", "\u00e9", "e\u0301"]
    fences = [app.store.leases.acquire(name, "a").fence for name in names]
    assert len(set(fences)) == len(names)
    assert not app.store.leases.acquire("n", "A").granted
    assert app.store.leases.release("n", "a")
    assert [app.store.leases.get(name).owner for name in names[1:]] == ["a"] * 4


def test_calls_after_close_are_state_errors(url: str) -> None:
    store = waypost.Store.open(url, deploy=True)
    leases = store.leases
    store.close()
    for call in (lambda: leases.acquire("n", "a"), lambda: leases.counters):
        with pytest.raises(waypost.StateError, match="closed"):
            call()


# ---- losses ---------------------------------------------------------------------------------


# proves: LSE-005
def test_stores_of_a_router_that_are_one__each_tells_its_losses(app: App) -> None:
    with waypost.Router({"app": app.url}, clock=app.clock) as router:
        stores = [router.store("app") for _ in range(8)]
        leases = [store.lease(str(i), seconds=10) for i, store in enumerate(stores)]
        for lease in leases:
            lease.acquire()
        del stores
        app.clock.advance(10 * SECOND)
        for lease in leases:
            wait(lease.lost)


# proves: LSE-005
def test_loss_before_the_acquisition_is_over__is_told_once(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: List[int] = []
    hold, next_lost = _handle.lease.hold, _handle.lease.next_lost

    def noted(*arguments: Any) -> Any:
        status, lost = next_lost(*arguments)
        if lost is not None:
            taken.append(lost.key)
        return status, lost

    def slow(*arguments: Any) -> Any:
        handle = hold(*arguments)
        app.clock.advance(10 * SECOND)
        until(lambda: handle.key in taken, "the loss that nobody knows yet")
        return handle

    monkeypatch.setattr(_handle.lease, "next_lost", noted)
    told: List[waypost.Lease] = []
    with app.store.lease("other", seconds=1000):  # for which losses are waited for
        monkeypatch.setattr(_handle.lease, "hold", slow)
        lease = app.store.lease("n", seconds=10, on_lost=told.append)
        lease.acquire()
        until(lambda: told == [lease], "the callback")
        assert lease.lost.is_set() and not lease.held


# proves: LSE-005
def test_loss_that_is_told_late__is_not_that_of_the_next_acquisition(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, calls = threading.Event(), []
    next_lost = _handle.lease.next_lost

    def gated(*arguments: Any) -> Any:
        wait(gate)
        calls.append(1)
        return next_lost(*arguments)

    monkeypatch.setattr(_handle.lease, "next_lost", gated)
    told: List[waypost.Lease] = []
    lease = app.store.lease("n", seconds=10, on_lost=told.append)
    lease.acquire()
    app.clock.advance(10 * SECOND)
    assert not lease.held
    with lease:
        gate.set()
        until(lambda: len(calls) > 2, "the looks for losses")
        assert lease.held and not lease.lost.is_set() and not told
    until(lambda: not app.store._watcher._running, "the end of the looks for losses")


def test_lease_released_by_another_thread__is_not_held(app: App) -> None:
    lease = app.store.lease("n")
    lease.acquire()
    assert lease._handle is not None
    lease._handle.close()  # as between the look for it and its use
    assert not lease.held and lease.remaining == timedelta()


# ---- ends -----------------------------------------------------------------------------------


# proves: LSE-003
def test_scope_whose_release_fails__ends_as_its_body(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(handle: _handle.Lease) -> None:
        raise waypost.UnavailableError("away")

    async def scope() -> str:
        async with app.store.lease("async"):
            return "done"

    monkeypatch.setattr(_handle.Lease, "end", away)
    with app.store.lease("n"):
        pass
    with pytest.raises(ValueError):
        with app.store.lease("m"):
            raise ValueError
    assert asyncio.run(scope()) == "done"
    assert app.store.lease("leader").run_while_leader(lambda lease: 3) == 3
    failed = [
        record
        for record in caplog.records
        if "could not be released" in record.message and record.funcName == "_leave"  # not of what another test forgot
    ]
    assert len(failed) == 4 and all(record.levelno == logging.WARNING for record in failed)
    lease = app.store.lease("o")
    lease.acquire()
    with pytest.raises(waypost.UnavailableError):
        lease.release()


async def cancelled_twice(task: asyncio.Task[Any]) -> None:
    for _ in range(2):
        task.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


# proves: LSE-003
def test_scope_cancelled_while_it_ends__releases(app: App) -> None:
    async def hold() -> None:
        blocked = threading.Event()
        pool = concurrent.futures.ThreadPoolExecutor(1)
        asyncio.get_running_loop().set_default_executor(pool)
        entered = asyncio.Event()

        async def scope() -> None:
            async with app.store.lease("n"):
                entered.set()
                await asyncio.sleep(3600)

        task = asyncio.create_task(scope())
        await entered.wait()
        pool.submit(wait, blocked)
        await cancelled_twice(task)
        blocked.set()

    asyncio.run(hold())
    assert app.store.leases.acquire("n", "b").granted and app.store.leases.counters.held == 0


# proves: LSE-003
def test_acquisition_cancelled__leaves_nothing_held(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, blocked = threading.Event(), threading.Event()
    hold = _handle.lease.hold

    def slow(*arguments: Any) -> Any:
        inside.set()
        wait(blocked)
        return hold(*arguments)

    async def cancel() -> None:
        task = asyncio.create_task(app.store.lease("n").acquire_async())
        await asyncio.to_thread(wait, inside)
        await cancelled_twice(task)
        blocked.set()

    monkeypatch.setattr(_handle.lease, "hold", slow)
    asyncio.run(cancel())
    assert app.store.leases.acquire("n", "b").granted and app.store.leases.counters.held == 0


# proves: LSE-007
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_wait__tries_again_later_and_later(
    live: waypost.Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    attempts: List[int] = []
    hold = _handle.lease.hold

    def noted(*arguments: Any) -> Any:
        attempts.append(arguments[-1])
        if len(attempts) == 4:
            live.leases.release("n", "a")
        return hold(*arguments)

    monkeypatch.setattr(_handle.lease, "hold", noted)
    live.leases.acquire("n", "a", 3600)
    lease = live.lease("n", wait=None)
    if kind == "plain":
        lease.acquire()
    else:
        asyncio.run(lease.acquire_async())
    assert attempts == [0, 1, 2, 3]
    lease.release()
