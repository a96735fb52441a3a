# SPDX-License-Identifier: Apache-2.0
"""Leases and semaphores."""
from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

import waypost
from conftest import App, until, wait

SECOND = timedelta(seconds=1)


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


# proves: LSE-005
def test_run_while_leader__begins_anew_after_a_loss(app: App) -> None:
    fences = []

    def work(lease: waypost.Lease) -> str:
        fences.append(lease.fence)
        if len(fences) == 1:
            app.clock.advance(10 * SECOND)
            lease.throw_if_lost()
        return "done"

    assert app.store.lease("n", seconds=10, wait=None).run_while_leader(work) == "done"
    assert len(fences) == 2 and fences[1] > fences[0]
