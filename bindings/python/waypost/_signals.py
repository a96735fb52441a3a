# SPDX-License-Identifier: Apache-2.0
"""Signals that stop a worker while it runs in the foreground."""
from __future__ import annotations

import os
import queue
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Callable, Dict, Optional, Type

#: What each signal does when nobody has set a handler for it.
_DEFAULTS: Dict[int, Any] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
}


class StopOnSignal:
    """For the length of a block, the first of some signals calls `stop` on a thread of its own. A
    further SIGINT raises KeyboardInterrupt, as it does by default.

    Only on the main thread, and only those signals that the app left at their default.
    """

    def __init__(self, stop: Callable[[], object], *signals: int) -> None:
        self._stop = stop
        self._signals = signals
        self._pid = os.getpid()
        self._ours: Dict[int, Any] = {}
        # put() may interrupt itself: unlike an Event's or a Thread's methods, in a signal handler.
        self._seen: queue.SimpleQueue[bool] = queue.SimpleQueue()
        #: Whether a signal came.
        self.came = False

    def __enter__(self) -> StopOnSignal:
        if threading.current_thread() is not threading.main_thread():
            return self
        free = [n for n in self._signals if signal.getsignal(n) == _DEFAULTS[n]]
        if free:
            self._thread = threading.Thread(target=self._wait, name="waypost-signals", daemon=True)
            self._thread.start()
        for number in free:
            self._ours[number] = self._on_signal  # a bound method is made anew at each access
            signal.signal(number, self._ours[number])
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        ours, self._ours = self._ours, {}
        if not ours:
            return
        self._seen.put(False)
        if threading.current_thread() is threading.main_thread():
            for number, handler in ours.items():
                if signal.getsignal(number) is handler:  # not replaced meanwhile
                    signal.signal(number, _DEFAULTS[number])

    def _on_signal(self, number: int, frame: Optional[FrameType]) -> None:
        if os.getpid() != self._pid:  # a forked child, which has no worker to stop
            signal.signal(number, _DEFAULTS[number])
            signal.raise_signal(number)
        elif not self.came:
            self.came = True
            self._seen.put(True)
        elif number == signal.SIGINT:
            signal.default_int_handler(number, frame)

    def _wait(self) -> None:
        if self._seen.get():
            self._stop()
