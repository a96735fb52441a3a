# SPDX-License-Identifier: Apache-2.0
"""Joins: so many outbox messages are steps of one thing, and a message follows the last of them."""
from __future__ import annotations

import uuid
from datetime import datetime
from typing import Iterable, List, Optional, Union

from waypost import _handle
from waypost._text import Duration, integer, name_text, optional_name, to_ms, to_us
from waypost.errors import ArgumentError
from waypost.join import JoinInfo, JoinMember
from waypost.message import Enqueued, Message, Received
from waypost.queue import Call, Page, item_list

#: The topic of messages that wait for a join: see Joins.
JOIN_WAIT: str = _handle.join.WAIT_TOPIC

#: Members of a join, by their ids or by what enqueue() returned.
Members = Iterable[Union[uuid.UUID, Enqueued, Received]]


class Joins:
    """Reached as `store.joins`. Thread-safe.

        join = store.joins.start(1000, success=Message("report", "{}"), connection=connection)
        store.outbox.enqueue_many(
            [Message("step", str(n), joins=[join]) for n in range(1000)], connection=connection
        )

    A message that is a member of a join counts there once: as completed when it is acked, as failed when it
    is failed for ever, in the transaction that does that. A retry or a lost lease counts nothing, and a dead
    letter that is replayed does not count again. When as many as were expected have counted, the join is
    over, and its success or failure message is enqueued, once, in the same transaction.

    A message waits for a join with the topic JOIN_WAIT and the payload '{"join": "<id>"}': it is given to
    the handler of that topic when the join is over. To wait is no failed attempt.

    With `connection` (as for Outbox.enqueue()) a call belongs to the app's transaction; without, what it
    does is committed when it returns.
    """

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._store = store
        self._owner = owner  # the Store, whose end would close `store`

    # ---- start ------------------------------------------------------------------------------

    def start(
        self,
        expected: int,
        *,
        grouping_key: Optional[str] = None,
        metadata: Optional[str] = None,
        fail_if_any: bool = False,
        success: Optional[Message] = None,
        failure: Optional[Message] = None,
        deadline: Optional[datetime] = None,
        timeout: Optional[Duration] = None,
        connection: Optional[object] = None,
    ) -> uuid.UUID:
        """Start a join; returns its id.

        expected      how many members are to finish, 1 to 1,000,000,000
        grouping_key  by which joins can be listed, up to 255 UTF-16 code units; "" is None
        metadata      text of the app's own, of any form, up to 64 KiB of UTF-8
        fail_if_any   it fails if any member failed; otherwise it completes all the same
        success       is enqueued when it completes; without due time, expiry, unique key and joins
        failure       the same when it fails, or its deadline passes
        deadline      it fails with the reason "timeout" if it is not over at that instant ...
        timeout       ... or so long after its start, by the database's clock
        """
        join = self._new(
            expected, grouping_key, metadata, fail_if_any, success, failure, deadline, timeout
        )
        return self._start(join).run(connection)

    async def start_async(
        self,
        expected: int,
        *,
        grouping_key: Optional[str] = None,
        metadata: Optional[str] = None,
        fail_if_any: bool = False,
        success: Optional[Message] = None,
        failure: Optional[Message] = None,
        deadline: Optional[datetime] = None,
        timeout: Optional[Duration] = None,
        connection: Optional[object] = None,
    ) -> uuid.UUID:
        """start() on an async connection; without one, on a thread."""
        join = self._new(
            expected, grouping_key, metadata, fail_if_any, success, failure, deadline, timeout
        )
        return await self._start(join).run_async(connection)

    @staticmethod
    def _new(
        expected: int,
        grouping_key: Optional[str],
        metadata: Optional[str],
        fail_if_any: bool,
        success: Optional[Message],
        failure: Optional[Message],
        deadline: Optional[datetime],
        timeout: Optional[Duration],
    ) -> _handle.join.NewJoin:
        if not isinstance(fail_if_any, bool):
            raise ArgumentError(f"fail_if_any must be a bool, not {type(fail_if_any).__name__}")
        if deadline is not None and timeout is not None:
            raise ArgumentError("deadline and timeout exclude each other")
        join = _handle.join.NewJoin(
            integer("expected", expected),
            optional_name("grouping_key", grouping_key),
            None if metadata is None else name_text("metadata", metadata),
            fail_if_any,
            success,
            failure,
        )
        if deadline is not None:
            join.set_deadline(to_us("deadline", deadline))
        if timeout is not None:
            join.set_timeout(to_ms("timeout", timeout))
        return join

    def _start(self, join: _handle.join.NewJoin) -> Call[uuid.UUID]:
        return Call(
            lambda: _handle.join.start(self._store, join),
            lambda style: _handle.join.start_op(self._store, join, style),
            lambda operation: operation.results()[0][0],
        )

    # ---- members ----------------------------------------------------------------------------

    def attach(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """Make outbox messages members of a join, up to 10,000; returns how many became so. Those that are
        members stay so. One that is finished counts at once. There may be more members than expected: the
        first ones to finish count.

        NotFoundError: there is no such join, or no such message, and nothing was changed; StateError: the
        join is over, and one of them is no member. To do it with the enqueue: Message.joins.
        """
        return self._members("attach", join, messages).run(connection)

    async def attach_async(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """attach() on an async connection; without one, on a thread."""
        return await self._members("attach", join, messages).run_async(connection)

    def report_completed(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """Report members as completed, whatever their messages do: they count as if they were acked, once;
        returns how many counted now. What is no member or has counted is ignored, and so is all of a join
        that is over. NotFoundError: there is no such join."""
        return self._members("report", join, messages, 0).run(connection)

    async def report_completed_async(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """report_completed() on an async connection; without one, on a thread."""
        return await self._members("report", join, messages, 0).run_async(connection)

    def report_failed(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """Report members as failed: as report_completed()."""
        return self._members("report", join, messages, 1).run(connection)

    async def report_failed_async(
        self, join: uuid.UUID, messages: Members, *, connection: Optional[object] = None
    ) -> int:
        """report_failed() on an async connection; without one, on a thread."""
        return await self._members("report", join, messages, 1).run_async(connection)

    def _members(self, verb: str, join: uuid.UUID, messages: Members, *rest: int) -> Call[int]:
        handle = _handle.join.MembersCall(self._store, verb, join, _ids(messages), *rest)
        return Call(handle.run, handle.operation, _handle.Operation.result_count)

    # ---- end it otherwise -------------------------------------------------------------------

    def cancel(self, id: uuid.UUID, *, connection: Optional[object] = None) -> bool:
        """Cancel a join that is not over: its messages go on, and none is enqueued for it. False: there is
        none, or it is over; then nothing is changed."""
        return self._cancel(id).run(connection)

    async def cancel_async(
        self, id: uuid.UUID, *, connection: Optional[object] = None
    ) -> bool:
        """cancel() on an async connection; without one, on a thread."""
        return await self._cancel(id).run_async(connection)

    def _cancel(self, id: uuid.UUID) -> Call[bool]:
        return Call(
            lambda: _handle.join.cancel(self._store, id),
            lambda style: _handle.join.cancel_op(self._store, id, style),
            lambda operation: operation.result_count() == 1,
        )

    def reap(self) -> int:
        """Fail the joins that are past their deadline, as workers do while they run; returns how many."""
        return _handle.join.reap(self._store)

    def cleanup(self, older_than: Duration) -> int:
        """Delete joins that were over so long ago or longer, with all that is known of their members, in
        batches with a transaction each and short pauses; returns how many. Workers do this by themselves
        after the option `join.keep_ms`."""
        return _handle.join.cleanup(self._store, to_ms("older_than", older_than))

    # ---- looking ----------------------------------------------------------------------------

    def get(self, id: uuid.UUID) -> JoinInfo:
        """Look one join up; NotFoundError."""
        return _handle.join.get(self._store, id)

    def list(
        self, *, grouping_key: Optional[str] = None, limit: int = 100
    ) -> Page[JoinInfo]:
        """The first page of the joins that have a grouping key, or of all, in the order in which they were
        started; up to 10,000 on a page."""
        key = optional_name("grouping_key", grouping_key)

        def read(after: Optional[_handle.Page[JoinInfo]], limit: int) -> _handle.Page[JoinInfo]:
            return _handle.join.listed(self._store, key, after, limit)

        return Page.first(limit, read)

    def members(self, join: uuid.UUID, *, limit: int = 100) -> Page[JoinMember]:
        """The first page of the members of a join, in the order in which their messages were enqueued; up to
        10,000 on a page. A join that there is not has none."""

        def read(
            after: Optional[_handle.Page[JoinMember]], limit: int
        ) -> _handle.Page[JoinMember]:
            return _handle.join.members(self._store, join, after, limit)

        return Page.first(limit, read)


def _ids(messages: Members) -> List[uuid.UUID]:
    ids = []
    for item in item_list("messages", "UUID", messages):
        id = item.id if isinstance(item, (Enqueued, Received)) else item
        if not isinstance(id, uuid.UUID):
            raise ArgumentError(f"messages must hold UUIDs, not {type(id).__name__}")
        ids.append(id)
    return ids
