# SPDX-License-Identifier: Apache-2.0
"""Workers, and the deliveries that they give out."""
from __future__ import annotations

import os
import sys
import uuid
from datetime import datetime
from sys import getrefcount
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, Type, TypeVar, Union

from waypost import errors
from waypost._ffi import ffi, lib
from waypost._handle.base import (
    DONE, NULL, OK, STOPPED, TIMEOUT, Handle, call, error_from, id_of, optional_text, text_of,
)
from waypost._handle.config import Config, keep
from waypost._handle.message import (
    hash_of, optional_time, parse_headers, received_of, trace_of,
)
from waypost._handle.operation import Operation
from waypost._handle import health, metrics
from waypost._handle.store import Router, Store
from waypost._text import from_us, name_text
from waypost._trace import Trace
from waypost.message import QueueKind, Received

class Delivery:
    """A reference to a wp_delivery. Values are read when they are asked for."""

    __slots__ = ("_pointer", "_pid", "_source", "topic", "__weakref__")

    def __init__(self, pointer: Any, pid: int, source: int, topic: str) -> None:
        self._pointer = pointer
        self._pid = pid
        self._source = source
        #: The topic.
        self.topic = topic

    def __del__(self, getpid: Any = os.getpid, is_finalizing: Any = sys.is_finalizing) -> None:
        pointer = self._give()  # in a collected cycle, another finalizer may still come here
        if pointer is not None and self._pid == getpid() and not is_finalizing():
            lib.wp_delivery_free(pointer)

    def _give(self) -> Any:
        """Give the reference away; the object is dead after that."""
        pointer, self._pointer = self._pointer, None
        return pointer

    @property
    def _key(self) -> Any:
        return self._pointer  # cdata compare and hash by address

    @property
    def queue(self) -> QueueKind:
        """The queue that it came from."""
        return QueueKind(self._source)

    @property
    def payload_bytes(self) -> bytes:
        """The payload as UTF-8."""
        length = ffi.new("size_t *")
        data = lib.wpy_payload(length, self._pointer)
        return bytes(ffi.buffer(data, length[0]))

    @property
    def payload(self) -> str:
        """The payload."""
        return self.payload_bytes.decode()

    @property
    def id(self) -> uuid.UUID:
        """The message's id."""
        return id_of(lib.wp_received_id(lib.wp_delivery_message(self._pointer)))

    @property
    def correlation_id(self) -> Optional[str]:
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_correlation_id(message))

    @property
    def ordering_key(self) -> Optional[str]:
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_ordering_key(message))

    @property
    def headers(self) -> Dict[str, str]:
        """The headers: a fresh dict at each access."""
        message = lib.wp_delivery_message(self._pointer)
        return parse_headers(text_of(lib.wp_received_headers(message)))

    @property
    def trace(self) -> Optional[Trace]:
        """The trace context of whoever enqueued it, or None."""
        return trace_of(lib.wp_received_headers(lib.wp_delivery_message(self._pointer)))

    def _has_headers(self) -> bool:
        return bool(lib.wpy_has_headers(self._pointer))

    @property
    def store_id(self) -> str:
        """The id of the store that it came from."""
        return text_of(lib.wp_delivery_store_id(self._pointer))

    @property
    def attempt(self) -> int:
        """How many attempts ended without success before this one; 0 at first."""
        return int(lib.wp_received_attempt(lib.wp_delivery_message(self._pointer)))

    @property
    def last_error(self) -> Optional[str]:
        """The reason of the last of them, or None."""
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_last_error(message))

    @property
    def claim_number(self) -> int:
        """The number of this claim of this message: a fencing token, it rises with each claim."""
        return int(lib.wp_received_claim_number(lib.wp_delivery_message(self._pointer)))

    @property
    def created(self) -> datetime:
        """When it was enqueued, by the database's clock."""
        return from_us(lib.wp_received_created_us(lib.wp_delivery_message(self._pointer)))

    @property
    def due(self) -> datetime:
        """When it was due."""
        return from_us(lib.wp_received_due_us(lib.wp_delivery_message(self._pointer)))

    @property
    def expires(self) -> Optional[datetime]:
        """When it expires."""
        return optional_time(lib.wp_received_expires_us(lib.wp_delivery_message(self._pointer)))

    @property
    def source(self) -> Optional[str]:
        """Of the inbox: where it comes from."""
        return optional_text(lib.wp_received_source(lib.wp_delivery_message(self._pointer)))

    @property
    def message_id(self) -> Optional[str]:
        """Of the inbox: its id at its source."""
        return optional_text(lib.wp_received_message_id(lib.wp_delivery_message(self._pointer)))

    @property
    def consumer(self) -> Optional[str]:
        """Of the inbox: who receives it; "" if it has no name."""
        return optional_text(lib.wp_received_consumer(lib.wp_delivery_message(self._pointer)))

    @property
    def hash(self) -> Optional[bytes]:
        """Of the inbox: the hash of its content."""
        return hash_of(lib.wp_delivery_message(self._pointer))

    @property
    def hash_algorithm(self) -> Optional[str]:
        """Of the inbox: what made the hash."""
        message = lib.wp_delivery_message(self._pointer)
        return optional_text(lib.wp_received_hash_algorithm(message))

    @property
    def job(self) -> Optional[str]:
        """Of a run: the job's name. Its occurrence is `due`."""
        return optional_text(lib.wp_received_job(lib.wp_delivery_message(self._pointer)))

    @property
    def message(self) -> Received:
        """All of it, as a value that outlives the delivery."""
        return received_of(lib.wp_delivery_message(self._pointer))

    def _cancelled(self) -> int:
        return int(lib.wp_delivery_cancelled(self._pointer))

    def _finish(self, outcome: int, reason: object, delay_ms: int) -> None:
        pointer = self._pointer
        if pointer is None:
            raise errors.StateError("the delivery was freed")
        call(lib.wp_delivery_finish, pointer, outcome, _reason(reason), delay_ms)

    def _set_output(self, output: bytes) -> None:
        if self._pointer is None:
            raise errors.StateError("the delivery was freed")
        call(lib.wp_delivery_set_output, self._pointer, output, len(output))

    def _settle(self, timeout_ms: int) -> None:
        call(lib.wp_delivery_settle, self._pointer, timeout_ms)

    def _complete_op(self, paramstyle: str) -> Operation:
        out = ffi.new("wp_op **")
        call(lib.wp_delivery_complete_op, out, self._pointer)
        return Operation(out[0], paramstyle)


def _reason(reason: object) -> Any:
    """Whatever a handler gave as its reason, as a C text; NULL if that is nothing."""
    if reason is None or (isinstance(reason, str) and not reason):
        return NULL
    kind = type(reason).__qualname__
    try:
        text = str(reason) or kind
    except Exception:
        text = kind
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\0")


DeliveryT = TypeVar("DeliveryT", bound=Delivery)


#: Handles a delivery inside drain() and step(), and answers with an outcome.
Dispatch = Callable[[Any], int]
COUNTERS = {
    "claimed": lib.WP_COUNTER_CLAIMED,
    "acked": lib.WP_COUNTER_ACKED,
    "abandoned": lib.WP_COUNTER_ABANDONED,
    "failed": lib.WP_COUNTER_FAILED,
    "released": lib.WP_COUNTER_RELEASED,
    "reaped": lib.WP_COUNTER_REAPED,
    "leases_lost": lib.WP_COUNTER_LEASES_LOST,
    "renewed": lib.WP_COUNTER_RENEWED,
    "polls": lib.WP_COUNTER_POLLS,
    "wakes": lib.WP_COUNTER_WAKES,
    "errors": lib.WP_COUNTER_ERRORS,
    "cancelled": lib.WP_COUNTER_CANCELLED,
}


@ffi.def_extern(error=lib.WP_OUTCOME_RETRY)  # type: ignore[misc]
def wpy_on_delivery(delivery: Any, user: Any) -> int:
    dispatch: Dispatch = ffi.from_handle(user)
    return dispatch(lib.wp_delivery_ref(delivery))


#: Chooses among stores, each given by its id, how many messages of it wait, and how many run: an index.
Select = Callable[[List[Tuple[str, int, int]]], int]


@ffi.def_extern(error=ffi.cast("size_t", -1))  # type: ignore[misc]
def wpy_on_select(candidates: Any, user: Any) -> int:
    select: Select = ffi.from_handle(user)
    return select(
        [
            (
                text_of(lib.wp_candidates_store_id(candidates, index)),
                lib.wp_candidates_ready(candidates, index),
                lib.wp_candidates_running(candidates, index),
            )
            for index in range(lib.wp_candidates_count(candidates))
        ]
    )


class Worker(Handle, Generic[DeliveryT]):
    """A wp_worker whose deliveries are objects of the type `kind`."""

    def __init__(
        self, store: Union[Store, Router], config: Config, kind: Type[DeliveryT]
    ) -> None:
        out = ffi.new("wp_worker **")
        new = lib.wp_worker_new_on_router if isinstance(store, Router) else lib.wp_worker_new
        call(new, out, store.pointer, config.pointer)
        super().__init__(out[0], lib.wp_worker_free)
        self._kind = kind

    def handle(
        self, queue: QueueKind, topic: str, dispatch: Optional[Callable[[DeliveryT], int]]
    ) -> None:
        """Register a topic; without `dispatch` it is only pulled."""
        name = name_text("topic", topic)
        if dispatch is None:
            call(lib.wp_worker_handle, self.pointer, queue.value, name, NULL, NULL, NULL)
            return
        kind, pid, answer, source = self._kind, self.pid, dispatch, queue.value

        def run(pointer: Any) -> int:
            return answer(kind(pointer, pid, source, topic))

        call(
            lib.wp_worker_handle,
            self.pointer,
            source,
            name,
            lib.wpy_on_delivery,
            keep(run),
            lib.wpy_on_destroy,
        )

    def topic_set(self, queue: QueueKind, topic: str, key: str, value: str) -> None:
        call(
            lib.wp_worker_topic_set,
            self.pointer,
            queue.value,
            name_text("topic", topic),
            name_text("key", key),
            name_text(key, value),
        )

    def puller(self) -> Puller[DeliveryT]:
        return Puller(self, self._kind)

    def next_cancelled(self, timeout_ms: int) -> Tuple[int, Any]:
        """The status, and the key of the next delivery whose handler should stop."""
        out = ffi.new("wp_delivery **")
        status = lib.wp_worker_next_cancelled(out, self.pointer, timeout_ms, NULL)
        key = out[0]
        if status == OK:
            lib.wp_delivery_free(key)  # the handler's own reference keeps it
        return status, key

    def stop(self, deadline_ms: int) -> int:
        abandoned = ffi.new("size_t *")
        call(lib.wp_worker_stop, abandoned, self.pointer, deadline_ms)
        return int(abandoned[0])

    def add_store(self, store: Store, id: Optional[str]) -> None:
        name = NULL if id is None else name_text("id", id)
        call(lib.wp_worker_add_store, self.pointer, store.pointer, name)

    def remove_store(self, id: str, deadline_ms: int) -> int:
        abandoned = ffi.new("size_t *")
        name = name_text("id", id)
        call(lib.wp_worker_remove_store, abandoned, self.pointer, name, deadline_ms)
        return int(abandoned[0])

    def set_selector(self, select: Select) -> None:
        call(
            lib.wp_worker_set_selector,
            self.pointer,
            lib.wpy_on_select,
            keep(select),
            lib.wpy_on_destroy,
        )

    def store_counters(self, id: str) -> Dict[str, int]:
        name = name_text("id", id)
        return {
            key: lib.wp_worker_store_counter(self.pointer, name, number)
            for key, number in COUNTERS.items()
        }

    def metrics(self, limit_ms: int) -> Tuple[str, str]:
        return metrics.read(lib.wp_metrics_read, self.pointer, limit_ms)

    def health(self, scheduler: bool, max_age_ms: int, limit_ms: int) -> Tuple[int, str, str]:
        return health.read(lib.wp_health_read_worker, self.pointer, scheduler, max_age_ms, limit_ms)

    def wake(self) -> None:
        lib.wp_worker_wake(self.pointer)

    def drain(self, timeout_ms: int) -> int:
        handled = ffi.new("size_t *")
        call(lib.wp_worker_drain, handled, self.pointer, timeout_ms)
        return int(handled[0])

    def step(self) -> int:
        handled = ffi.new("size_t *")
        call(lib.wp_worker_step, handled, self.pointer)
        return int(handled[0])

    def counters(self) -> Dict[str, int]:
        return {
            name: lib.wp_worker_counter(self.pointer, number) for name, number in COUNTERS.items()
        }


class Puller(Generic[DeliveryT]):
    """Takes deliveries on one thread."""

    __slots__ = ("_worker", "_pointer", "_slot", "_err", "_kind", "_pid")

    def __init__(self, worker: Worker[DeliveryT], kind: Type[DeliveryT]) -> None:
        self._worker = worker
        self._pointer = worker.pointer
        self._slot = ffi.new("wp_delivery **")
        self._err = ffi.new("wp_error **")
        self._kind = kind
        self._pid = worker.pid

    def next(self, timeout_ms: int) -> Union[DeliveryT, int]:
        """The next delivery, or WP_E_TIMEOUT or WP_E_STOPPED. Finishes the one before if it was
        handed to done()."""
        slot = self._slot
        status = lib.wpy_cycle(slot, self._pointer, timeout_ms, self._err)
        if status == OK:
            pointer = slot[0]
            slot[0] = NULL
            topic = ffi.string(lib.wpy_topic(pointer)).decode()
            return self._kind(pointer, self._pid, lib.wp_delivery_source(pointer), topic)
        error = error_from(status, self._err)
        if status == TIMEOUT or status == STOPPED:
            return int(status)
        raise error

    def done(self, delivery: DeliveryT) -> None:
        """Finish a delivery with success at the next call of next(), which comes at once."""
        if getrefcount(delivery) <= _ONLY_OURS:
            self._slot[0] = delivery._give()
        else:  # somebody kept it, and may still read it
            try:
                delivery._finish(DONE, None, 0)
            except errors.Error:
                pass  # lost or stopped: the core has counted and logged it

    def close(self) -> None:
        """Finish what waits in done()."""
        pointer = self._slot[0]
        self._slot[0] = NULL
        if pointer != NULL:
            lib.wp_delivery_finish(pointer, DONE, NULL, 0, NULL)
            lib.wp_delivery_free(pointer)


def _count_references() -> int:
    """What getrefcount() says, inside Puller.done(), of a delivery that nobody kept."""

    class Probe:
        def done(self, delivery: object) -> int:
            return getrefcount(delivery)

    done = Probe().done
    delivery = object()
    return done(delivery)


_ONLY_OURS = _count_references()
