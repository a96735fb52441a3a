# SPDX-License-Identifier: Apache-2.0
"""Handlers of topics, and what their results and exceptions mean."""
from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from typing import Any, Callable, Dict, Optional

from waypost import _handle, errors
from waypost._log import LOGGER
from waypost._text import encode
from waypost._trace import traced, traced_async
from waypost.delivery import Delivery
from waypost.message import QueueKind


class Handler:
    """A topic of a queue, how it is handled, and its options."""

    __slots__ = ("queue", "topic", "function", "is_async", "options")

    def __init__(
        self,
        queue: QueueKind,
        topic: str,
        function: Optional[Callable[[Delivery], Any]],
        options: Dict[str, str],
    ) -> None:
        self.queue = queue
        self.topic = topic
        self.is_async = function is not None and is_async_function(function)
        self.function = None if function is None else (traced_async if self.is_async else traced)(function)
        self.options = options


def is_async_function(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)
    )


def check_handler(topic: str, function: object) -> None:
    """Refuse what cannot be called with a delivery."""
    if not callable(function):
        raise errors.ArgumentError(f"the handler of topic {topic!r} is not callable")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin that does not tell
    try:
        signature.bind(None)
    except TypeError as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        raise errors.ArgumentError(
            f"the handler of topic {topic!r} must take one argument, the delivery:"
            f" {name}{signature}: {error}"
        ) from None


def program_of(function: object = None) -> str:
    """What the program of a function is called, the same at each of its starts: the package that the
    function is in, or the main module."""
    package = str(getattr(function, "__module__", None) or "__main__").partition(".")[0]
    if package != "__main__":
        return package
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:  # python -m
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return os.path.splitext(os.path.basename(str(file)))[0] if file else "python"


def output_of(result: object) -> Optional[bytes]:
    """What a run's handler returned, as text that can be stored; None: it has no such form."""
    try:
        plain = result if isinstance(result, (str, bytes)) else json.dumps(result, ensure_ascii=False)
        text = encode("output", plain)
        text.decode("utf-8")
    except Exception as error:  # RecursionError, or one of the app's own
        LOGGER.warning("output of a run is left out, it has no form as text: %s", reason_of(error))
        return None
    if b"\0" in text:
        LOGGER.warning("output of a run is left out, it holds a NUL character")
        return None
    if len(text) <= _handle.OUTPUT_MAX:
        return text
    LOGGER.warning("output of %d bytes is cut to %d", len(text), _handle.OUTPUT_MAX)
    return text[: _handle.OUTPUT_MAX].decode("utf-8", "ignore").encode()


def reason_of(error: BaseException) -> str:
    """An exception as the reason of a retry."""
    name = type(error).__qualname__
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{name}: {text}" if text else name
