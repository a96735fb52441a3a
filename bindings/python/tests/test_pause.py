# SPDX-License-Identifier: Apache-2.0
"""Paused topics: scenarios PAU-001 and PAU-002 of tests/conformance/scenarios.md."""
from __future__ import annotations

import asyncio

import pytest
from conftest import NOW, App, connect_async

from waypost import ArgumentError, Delivery, PausedTopic


# scenario: PAU-001
# proves: WRK-008
def test_paused_it_is_left_alone_until_it_is_resumed(app: App) -> None:
    outbox, seen = app.store.outbox, []
    worker = app.store.worker()

    @worker.handler("left")
    @worker.handler("other")
    def handle(delivery: Delivery) -> None:
        seen.append(delivery.topic)

    assert outbox.pause("left", by="me") is True
    assert outbox.pause("left") is False
    assert outbox.paused() == [PausedTopic("left", NOW, "me")]
    assert app.store.timers.paused() == []
    outbox.enqueue("left", "1")
    outbox.enqueue("other", "1")
    assert worker.drain() == 1 and seen == ["other"]
    stats = outbox.stats().topics["left"]
    assert (stats.ready, stats.paused) == (0, 1)
    assert outbox.resume("left") is True and outbox.resume("left") is False
    assert worker.drain() == 1 and seen == ["other", "left"]
    with pytest.raises(ArgumentError, match="topic"):
        outbox.pause("")


# scenario: PAU-002
# proves: WRK-008, BND-002
def test_paused_in_the_apps_transaction(app: App) -> None:
    timers = app.store.timers
    connection = app.connect()
    for commit in (False, True):
        assert timers.pause("t", connection=connection) is True
        connection.commit() if commit else connection.rollback()
        assert len(timers.paused()) == commit

    async def resume() -> None:
        async with connect_async(app.url) as connection:
            assert await timers.resume_async("t", connection=connection) is True
            await connection.commit()
        assert await timers.pause_async("t") is True

    asyncio.run(resume())
    assert timers.paused() == [PausedTopic("t", NOW, None)]
