# SPDX-License-Identifier: Apache-2.0
"""Jobs: recurring ones by a schedule, and one-time ones; and their runs, with history."""
from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Iterable, Optional

from waypost import _handle
from waypost._text import Duration, Payload, optional_name, to_ms
from waypost.errors import ArgumentError
from waypost.job import Job, JobInfo, JobRun
from waypost.queue import Call, Page, Queue, item_list


class Runs(Queue):
    """The runs of a store's jobs: `store.jobs.runs`. Thread-safe.

    A worker that handles a job's topic (@worker.job(name)) does claim, ack and so on by itself.
    """

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._runs = _handle.Runs(store)
        super().__init__(self._runs, owner)

    def get(self, id: uuid.UUID) -> JobRun:
        """Look one run up; NotFoundError."""
        return self._runs.run(id)

    def list(self, job: Optional[str] = None, *, limit: int = 100) -> Page[JobRun]:
        """The first page of the runs of a job, which may be gone, or of all, the latest first; up to
        10,000 on a page."""
        name = optional_name("job", job)

        def read(before: Optional[_handle.Page[JobRun]], limit: int) -> _handle.Page[JobRun]:
            return self._runs.list(name, before, limit)

        return Page.first(limit, read)

    def cancel(self, id: uuid.UUID) -> bool:
        """Cancel a run. One that waits ends at once. The handler of one that runs is told to stop
        (Cancel.REQUESTED), within the worker's `reap`; if it then fails, the run is not tried again.
        False: it has ended, or there is none."""
        return self._runs.cancel(id)

    def purge(self, older_than: Duration) -> int:
        """Delete runs that ended so long ago or longer, whatever became of them, in batches with a
        transaction each; returns how many."""
        return self._runs.purge_ended(to_ms("older_than", older_than))


class Jobs:
    """Reached as `store.jobs`. Thread-safe.

    Workers that handle jobs (@worker.job(name)) see to it that due jobs get their runs, any number of
    workers at once: the database admits one run for each job and occurrence. What time it is, the
    database says. A schedule that is new or was changed never fires for the past.

    With `connection` (as for Outbox.enqueue()) a call belongs to the app's transaction; without, what it
    changes is committed when it returns.
    """

    def __init__(self, store: _handle.Store, owner: object) -> None:
        self._store = store
        self._owner = owner  # the Store, whose end would close `store`

    @property
    def runs(self) -> Runs:
        """The runs of all jobs."""
        return Runs(self._store, self._owner)

    # ---- change -----------------------------------------------------------------------------

    def put(self, job: Job, *, connection: Optional[object] = None) -> None:
        """Create the job, or update the one of its name. If its schedule changed it next fires at the
        first occurrence after now; otherwise what is due stays due. A job that an operator disabled
        stays so.

        ArgumentError: it has neither `cron` nor `at`, or the expression is malformed; NotFoundError: there is
        no such zone; RangeError: `at` is in the past; StateError: it is for one time, and there is a job
        of that name that has not ended.
        """
        self._put(job).run(connection)

    async def put_async(self, job: Job, *, connection: Optional[object] = None) -> None:
        """put() on an async connection; without one, on a thread."""
        await self._put(job).run_async(connection)

    def _put(self, job: Job) -> Call[None]:
        return Call(
            lambda: _handle.job.put(self._store, job),
            lambda style: _handle.job.put_op(self._store, job, style),
            lambda _: None,
        )

    def once(
        self,
        name: str,
        at: datetime,
        *,
        payload: Payload = "",
        topic: Optional[str] = None,
        connection: Optional[object] = None,
        **policy: Any,
    ) -> None:
        """put() a job for one time: Job(name, topic, payload, at=at, ...). Its name is free again once it
        has ended."""
        if at is None:
            raise ArgumentError("at is None")
        self.put(Job(name, topic, payload, at=at, **policy), connection=connection)

    def register(self, registrar: str, jobs: Iterable[Job]) -> None:
        """Store the jobs of one program's code: new ones are made, changed ones updated, and those that
        it had and has no more are switched off, until they come again. One-time jobs and those that
        were put stay as they are. `registrar` names the program. Workers do this with the jobs of
        @worker.job(name, cron=...) when they start."""
        _handle.job.register(self._store, registrar, item_list("jobs", "Job", jobs))

    def delete(self, name: str, *, connection: Optional[object] = None) -> bool:
        """Delete the job and its pending runs; False: there is none. A running run finishes, but is not
        tried again; history stays."""
        return self._delete(name).run(connection)

    async def delete_async(self, name: str, *, connection: Optional[object] = None) -> bool:
        """delete() on an async connection; without one, on a thread."""
        return await self._delete(name).run_async(connection)

    def _delete(self, name: str) -> Call[bool]:
        return Call(
            lambda: _handle.job.delete(self._store, name),
            lambda style: _handle.job.delete_op(self._store, name, style),
            lambda operation: operation.result_count() == 1,
        )

    def trigger(
        self, name: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> uuid.UUID:
        """Make one run now, also of a disabled job, whatever the schedule says; returns its id. With `by`,
        up to 255 characters, who did it is noted in the audit. NotFoundError."""
        return self._trigger(name, by).run(connection)

    async def trigger_async(
        self, name: str, *, by: Optional[str] = None, connection: Optional[object] = None
    ) -> uuid.UUID:
        """trigger() on an async connection; without one, on a thread."""
        return await self._trigger(name, by).run_async(connection)

    def _trigger(self, name: str, by: Optional[str]) -> Call[uuid.UUID]:
        return Call(
            lambda: _handle.job.trigger(self._store, name, by),
            lambda style: _handle.job.trigger_op(self._store, name, by, style),
            lambda operation: operation.results()[0][0],
        )

    def disable(self, name: str, *, by: Optional[str] = None) -> None:
        """Let a job have no more runs by its schedule, whatever is registered or put, until it is
        enabled again. It is noted in the audit, with `by`, up to 255 characters. NotFoundError."""
        _handle.job.set_enabled(self._store, name, False, by)

    def enable(self, name: str, *, by: Optional[str] = None) -> None:
        """Let it go on with the first occurrence after now; a one-time job whose time has passed
        meanwhile fires at once. Noted as disable() is. NotFoundError."""
        _handle.job.set_enabled(self._store, name, True, by)

    def schedule_due(self) -> int:
        """Make the runs of jobs that are due, as workers do; returns how many."""
        return _handle.job.schedule_due(self._store)

    # ---- looking ----------------------------------------------------------------------------

    def get(self, name: str, *, connection: Optional[object] = None) -> JobInfo:
        """The job of a name; NotFoundError."""
        return self._get(name).run(connection)

    async def get_async(self, name: str, *, connection: Optional[object] = None) -> JobInfo:
        """get() on an async connection; without one, on a thread."""
        return await self._get(name).run_async(connection)

    def _get(self, name: str) -> Call[JobInfo]:
        return Call(
            lambda: _handle.job.get(self._store, name),
            lambda style: _handle.job.get_op(self._store, name, style),
            _handle.job.result_of,
        )

    def list(self, *, after: Optional[str] = None, limit: int = 100) -> Page[JobInfo]:
        """The first page of jobs by name, in byte order, behind the name `after`; up to 10,000 on a
        page."""

        def read(page: Optional[_handle.Page[JobInfo]], limit: int) -> _handle.Page[JobInfo]:
            last = page.items[-1].name if page else after
            return _handle.job.listed(self._store, last, limit)

        return Page.first(limit, read)
