# SPDX-License-Identifier: Apache-2.0
"""How a delivery ends: what its handler returned or raised, as an outcome."""
from __future__ import annotations

import asyncio
import logging
from typing import Optional, Tuple

from waypost import _handle, errors
from waypost._handler import output_of, reason_of
from waypost._log import LOGGER, logged
from waypost.delivery import Cancel, Deferred, Delivery, delay_to_ms
from waypost.message import QueueKind

_JOBS = QueueKind.JOBS.value


def finish(
    delivery: Delivery, result: object, error: Optional[BaseException]
) -> Optional[int]:
    """Finish a delivery; returns the outcome, None if it was deferred."""
    outcome: int = _handle.DONE
    reason: object = None
    delay_ms = 0
    if error is None and result is not None and delivery._source == _JOBS:
        result = _keep_output(delivery, result)
    if error is not None:
        outcome, reason, delay_ms = _outcome_of(delivery, error)
    elif isinstance(result, Deferred):
        return None
    elif result is not None:
        outcome = _handle.FAILED
        reason = f"the handler returned a {type(result).__name__}, not None"
        LOGGER.error("handler of topic %r: %s", delivery.topic, reason)
    try:
        delivery._finish(outcome, reason, delay_ms)
    except errors.Error as refused:  # finished by the handler, lost or stopped: as it should
        LOGGER.debug("topic %r: the outcome does not count: %s", delivery.topic, refused)
    return outcome


def _keep_output(delivery: Delivery, result: object) -> object:
    """Store what the handler of a run returned, and give what is left of the result. The run has
    succeeded, whatever that is."""
    if isinstance(result, Deferred):
        return result
    output = output_of(result)
    try:
        if output is not None:
            delivery._set_output(output)
    except (errors.StateError, errors.LeaseLostError, errors.StoppedError) as refused:
        LOGGER.debug("job %r: the output does not count: %s", delivery.topic, refused)
    except errors.Error as bad:
        LOGGER.warning("job %r: the output is left out: %s", delivery.topic, bad)
    return None


def _outcome_of(delivery: Delivery, error: BaseException) -> Tuple[int, object, int]:
    if isinstance(error, errors.Reject):
        return _handle.REJECT, error.reason, 0
    if isinstance(error, errors.Release):
        return _handle.RELEASE, None, 0
    if isinstance(error, errors.Retry):
        try:
            delay_ms = delay_to_ms(error.delay)
            if not 0 <= delay_ms <= _handle.DELAY_MS_MAX:
                raise errors.RangeError(f"delay is {error.delay}")
            return _handle.RETRY, error.reason, delay_ms
        except errors.Error as bad:
            LOGGER.error("handler of topic %r: bad Retry: %s", delivery.topic, bad)
            return _handle.RETRY, error.reason, 0
    if isinstance(error, (errors.Cancelled, asyncio.CancelledError)):
        why = delivery.cancel_reason
        if why is Cancel.STOP:  # it did as it was told, and is not to blame
            return _handle.RELEASE, None, 0
        name = why.name.lower().replace("_", " ") if why else "by itself"
        return _handle.RETRY, f"cancelled: {name}", 0
    reason = reason_of(error)
    if LOGGER.logger.isEnabledFor(logging.ERROR):
        LOGGER.error(
            "handler of topic %r failed, message %s, attempt %d: %s",
            delivery.topic,
            delivery.id,
            delivery.attempt,
            reason,
            exc_info=(type(error), error, error.__traceback__),
        )
        logged(delivery.id)
    return _handle.FAILED, reason, 0
