# SPDX-License-Identifier: Apache-2.0
"""Deliveries: one message on its way through a handler."""
from __future__ import annotations

import enum
from typing import Optional

from waypost import _handle, drivers
from waypost._text import Duration, Payload, encode, to_ms
from waypost.errors import Cancelled


class Cancel(enum.Enum):
    """Why a handler should stop."""

    #: Someone else may have the message; this outcome will not count.
    LEASE_LOST = 1
    #: The handler's timeout passed; the message will be tried again.
    TIMEOUT = 2
    #: The worker is stopping; finishing in time still counts.
    STOP = 3
    #: The run was cancelled by Jobs.cancel(): if its handler fails now, it is not tried again.
    REQUESTED = 4


class Deferred(enum.Enum):
    """The type of DEFERRED."""

    DEFERRED = "deferred"


#: What a handler returns that keeps the delivery and finishes it later, from any thread or task.
DEFERRED = Deferred.DEFERRED


def delay_to_ms(delay: Optional[Duration]) -> int:
    """The delay of a retry for the core, where 0 means the backoff."""
    if delay is None:
        return 0
    ms = to_ms("delay", delay)
    return 1 if ms == 0 else ms


class Delivery(_handle.Delivery):
    """One message on its way through a handler. Thread-safe."""

    __slots__ = ()

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop. `async` handlers are cancelled instead, but not when
        the worker is only stopping."""
        return self._cancelled() != 0

    @property
    def cancel_reason(self) -> Optional[Cancel]:
        """Why the handler should stop, or None."""
        reason = self._cancelled()
        return Cancel(reason) if reason else None

    def raise_if_cancelled(self) -> None:
        """Raise Cancelled if the handler should stop."""
        reason = self._cancelled()
        if reason:
            raise Cancelled(Cancel(reason).name.lower().replace("_", " "))

    # ---- for deliveries that were deferred, or taken with Worker.next() ----------------------

    def done(self) -> None:
        """Finish it with success. StateError: it is finished already; LeaseLostError."""
        self._finish(_handle.DONE, None, 0)

    def retry(self, reason: object = None, *, delay: Optional[Duration] = None) -> None:
        """Finish it as failed, to be tried again after the delay, by default the backoff. The
        reason is a text, or an exception, whose text it is."""
        self._finish(_handle.RETRY, reason, delay_to_ms(delay))

    def reject(self, reason: object = None) -> None:
        """Finish it as a dead letter. The reason is as for retry()."""
        self._finish(_handle.REJECT, reason, 0)

    def release(self) -> None:
        """Give it back at once as if never started: its attempt stays as it was."""
        self._finish(_handle.RELEASE, None, 0)

    def set_output(self, output: Payload) -> None:
        """Of a run: set what it returns, up to 64 KiB, to be stored in its history with the outcome; the
        last one counts. For handlers that return nothing. StateError: it is no run, or is finished."""
        self._set_output(encode("output", output))

    def settle(self, timeout: Duration) -> None:
        """Wait until the outcome is written. LeaseLostError: it changed nothing; TimeoutError;
        StateError: not finished yet."""
        self._settle(to_ms("timeout", timeout))

    # ---- completion in the app's transaction ------------------------------------------------

    def complete(self, connection: object) -> None:
        """Acknowledge it inside the app's transaction, so that the handler's writes and the
        acknowledgement commit together; then return None from the handler. If the transaction
        does not commit, the message is tried again. LeaseLostError: roll back."""
        drivers.run(connection, self._complete_op, lambda _: None)

    async def complete_async(self, connection: object) -> None:
        """complete() on an async connection."""
        await drivers.run_async(connection, self._complete_op, lambda _: None)

    def __repr__(self) -> str:
        return f"<waypost.Delivery of {self.topic!r}>"
