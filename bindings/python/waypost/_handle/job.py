# SPDX-License-Identifier: Apache-2.0
"""Jobs and their runs."""
from __future__ import annotations

import enum
import uuid
from datetime import timedelta
from typing import Any, Iterable, List, Optional, Type

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import (
    NULL, OK, call, error_from, id_of, id_pointer, optional_text, text_of,
)
from waypost._handle.message import optional_time
from waypost._handle.operation import Operation
from waypost._handle.queue import Page, Queue, or_null
from waypost._handle.store import Store
from waypost._text import Duration, encode, from_us, integer, name_text, optional_name, to_ms, to_us
from waypost.job import Job, JobInfo, JobRun, Misfire, Overlap, RunStatus
from waypost.message import QueueKind


def _job_new(job: Job) -> Any:
    if not isinstance(job, Job):
        raise errors.ArgumentError(f"job must be a Job, not {type(job).__name__}")
    name = name_text("name", job.name)
    topic = name if job.topic is None else name_text("topic", job.topic)
    payload = encode("payload", job.payload)
    out = ffi.new("wp_job **")
    err = ffi.new("wp_error **")
    status = lib.wp_job_new(out, name, topic, payload, len(payload), err)
    if status != OK:
        raise error_from(status, err)
    try:
        _job_fill(out[0], job)
    except BaseException:
        lib.wp_job_free(out[0])
        raise
    return out[0]


def _job_fill(pointer: Any, job: Job) -> None:
    if job.cron is not None and job.at is not None:
        raise errors.ArgumentError("cron and at exclude each other")
    if job.cron is not None:
        cron, zone = name_text("cron", job.cron), name_text("tz", job.tz)
        call(lib.wp_job_set_schedule, pointer, cron, zone)
    if job.at is not None:
        call(lib.wp_job_set_once_us, pointer, to_us("at", job.at))
    call(lib.wp_job_set_overlap, pointer, _enum("overlap", Overlap, job.overlap))
    call(
        lib.wp_job_set_misfire,
        pointer,
        _enum("misfire", Misfire, job.misfire),
        to_ms("misfire_threshold", job.misfire_threshold),
        integer("catch_up", job.catch_up),
    )
    call(lib.wp_job_set_timeout_ms, pointer, _or_0("timeout", job.timeout))
    call(
        lib.wp_job_set_retry,
        pointer,
        0 if job.max_attempts is None else integer("max_attempts", job.max_attempts),
        _or_0("backoff_base", job.backoff_base),
        _or_0("backoff_max", job.backoff_max),
    )


def _enum(name: str, kind: Type[enum.Enum], value: object) -> int:
    if not isinstance(value, kind):
        raise errors.ArgumentError(
            f"{name} must be a waypost.{kind.__name__}, not {type(value).__name__}"
        )
    return int(value.value)


def _or_0(name: str, value: Optional[Duration]) -> int:
    """0 is the core's word for the default."""
    if value is None:
        return 0
    ms = to_ms(name, value)
    if ms <= 0:
        raise errors.RangeError(f"{name} is {value}: give a longer one, or None for the default")
    return ms


class _Jobs:
    """wp_job objects, freed at the end of the block."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.pointers: List[Any] = []
        try:
            for job in jobs:
                self.pointers.append(_job_new(job))
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> List[Any]:
        return self.pointers

    def __exit__(self, *_: object) -> None:
        self.free()

    def free(self) -> None:
        for pointer in self.pointers:
            lib.wp_job_free(pointer)


def _info_of(info: Any) -> JobInfo:
    duration = lib.wp_job_info_last_duration_us(info)
    status = lib.wp_job_info_last_status(info)
    return JobInfo(
        name=text_of(lib.wp_job_info_name(info)),
        topic=text_of(lib.wp_job_info_topic(info)),
        payload=text_of(lib.wp_job_info_payload(info)),
        cron=optional_text(lib.wp_job_info_expression(info)),
        tz=optional_text(lib.wp_job_info_zone(info)),
        registrar=optional_text(lib.wp_job_info_registrar(info)),
        enabled=bool(lib.wp_job_info_enabled(info)),
        vanished=bool(lib.wp_job_info_vanished(info)),
        next_due=optional_time(lib.wp_job_info_next_due_us(info)),
        last_due=optional_time(lib.wp_job_info_last_due_us(info)),
        last_started=optional_time(lib.wp_job_info_last_started_us(info)),
        last_duration=timedelta(microseconds=duration) if duration else None,
        last_status=None if status == lib.WP_RUN_NONE else RunStatus(status),
        overlap=Overlap(lib.wp_job_info_overlap(info)),
        misfire=Misfire(lib.wp_job_info_misfire(info)),
        misfire_threshold=timedelta(milliseconds=lib.wp_job_info_misfire_ms(info)),
        catch_up=lib.wp_job_info_catch_up(info),
        timeout=_unless_0(lib.wp_job_info_timeout_ms(info)),
        max_attempts=lib.wp_job_info_max_attempts(info) or None,
        backoff_base=_unless_0(lib.wp_job_info_backoff_base_ms(info)),
        backoff_max=_unless_0(lib.wp_job_info_backoff_max_ms(info)),
    )


def _unless_0(ms: int) -> Optional[timedelta]:
    """The other way round."""
    return timedelta(milliseconds=ms) if ms else None


def _run_of(run: Any) -> JobRun:
    return JobRun(
        id=id_of(lib.wp_job_run_id(run)),
        job=text_of(lib.wp_job_run_name(run)),
        status=RunStatus(lib.wp_job_run_status(run)),
        due=from_us(lib.wp_job_run_due_us(run)),
        scheduled=bool(lib.wp_job_run_is_scheduled(run)),
        started=optional_time(lib.wp_job_run_started_us(run)),
        ended=optional_time(lib.wp_job_run_ended_us(run)),
        attempt=lib.wp_job_run_attempt(run),
        output=optional_text(lib.wp_job_run_output(run)),
        error=optional_text(lib.wp_job_run_error(run)),
    )


def put(store: Store, job: Job) -> None:
    with _Jobs((job,)) as pointers:
        call(lib.wp_job_put, store.pointer, pointers[0])


def _operation(function: Any, store: Store, paramstyle: str, *arguments: Any) -> Operation:
    out = ffi.new("wp_op **")
    call(function, out, store.pointer, *arguments)
    return Operation(out[0], paramstyle)


def put_op(store: Store, job: Job, paramstyle: str) -> Operation:
    with _Jobs((job,)) as pointers:
        return _operation(lib.wp_job_put_op, store, paramstyle, pointers[0])


def delete_op(store: Store, name: str, paramstyle: str) -> Operation:
    return _operation(lib.wp_job_delete_op, store, paramstyle, name_text("name", name))


def trigger_op(store: Store, name: str, by: Optional[str], paramstyle: str) -> Operation:
    job = name_text("name", name)
    if by is None:
        return _operation(lib.wp_job_trigger_op, store, paramstyle, job)
    return _operation(lib.wp_job_trigger_by_op, store, paramstyle, job, or_null(optional_name("by", by)))


def register(store: Store, registrar: str, jobs: Iterable[Job]) -> None:
    name = name_text("registrar", registrar)
    with _Jobs(jobs) as pointers:
        array = ffi.new("wp_job *[]", pointers or [NULL])
        call(lib.wp_job_register, store.pointer, name, array, len(pointers))


def delete(store: Store, name: str) -> bool:
    deleted = ffi.new("int *")
    call(lib.wp_job_delete, deleted, store.pointer, name_text("name", name))
    return bool(deleted[0])


def trigger(store: Store, name: str, by: Optional[str]) -> uuid.UUID:
    out = ffi.new("wp_id *")
    job = name_text("name", name)
    if by is None:
        call(lib.wp_job_trigger, out, store.pointer, job)
    else:
        call(lib.wp_job_trigger_by, out, store.pointer, job, or_null(optional_name("by", by)))
    return id_of(out)


def set_enabled(store: Store, name: str, enabled: bool, by: Optional[str]) -> None:
    call(
        lib.wp_job_set_enabled_by, store.pointer, name_text("name", name), int(enabled),
        or_null(optional_name("by", by)),
    )


def schedule_due(store: Store) -> int:
    made = ffi.new("size_t *")
    call(lib.wp_job_schedule_due, made, store.pointer)
    return int(made[0])


def get(store: Store, name: str) -> JobInfo:
    out = ffi.new("wp_jobs **")
    call(lib.wp_job_get, out, store.pointer, name_text("name", name))
    return Page(out[0], "wp_jobs", _info_of).items[0]


def get_op(store: Store, name: str, paramstyle: str) -> Operation:
    return _operation(lib.wp_job_get_op, store, paramstyle, name_text("name", name))


def result_of(operation: Operation) -> JobInfo:
    """Of get_op()."""
    out = ffi.new("wp_jobs **")
    call(lib.wp_op_result_jobs, out, operation.pointer)
    return Page(out[0], "wp_jobs", _info_of).items[0]


def listed(store: Store, after: Optional[str], limit: int) -> Page[JobInfo]:
    out = ffi.new("wp_jobs **")
    name = NULL if after is None else name_text("after", after)
    call(lib.wp_job_list, out, store.pointer, name, limit)
    return Page(out[0], "wp_jobs", _info_of)


class Runs(Queue):
    """The runs of a store's jobs."""

    __slots__ = ()

    def __init__(self, store: Store) -> None:
        super().__init__(store, "job_run", QueueKind.JOBS)

    def run(self, id: uuid.UUID) -> JobRun:
        out = ffi.new("wp_job_runs **")
        call(lib.wp_job_run_get, out, self.store.pointer, id_pointer("id", id))
        return Page(out[0], "wp_job_runs", _run_of).items[0]

    def list(
        self, name: Optional[bytes], before: Optional[Page[JobRun]], limit: int
    ) -> Page[JobRun]:
        out = ffi.new("wp_job_runs **")
        last = NULL if before is None else before.last
        call(lib.wp_job_run_list, out, self.store.pointer, or_null(name), last, limit)
        return Page(out[0], "wp_job_runs", _run_of)

    def cancel(self, id: uuid.UUID) -> bool:
        cancelled = ffi.new("int *")
        call(lib.wp_job_run_cancel, cancelled, self.store.pointer, id_pointer("id", id))
        return bool(cancelled[0])

    def purge_ended(self, older_than_ms: int) -> int:
        purged = ffi.new("size_t *")
        call(lib.wp_job_run_purge, purged, self.store.pointer, older_than_ms)
        return int(purged[0])
