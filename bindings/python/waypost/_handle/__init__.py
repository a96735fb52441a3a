# SPDX-License-Identifier: Apache-2.0
"""The handle layer: the only folder that touches pointers.

A handle is a cdata with a destructor. A call holds a reference to it while it runs, so that a
close in another thread waits for it. In a forked child, and while the interpreter ends, nothing is
freed: what it stands for belongs to the parent, or is about to vanish anyway.
"""
from waypost._handle import audit, job, join, lease
from waypost._handle.base import (
    DEFERRED,
    DELAY_MS_MAX,
    DONE,
    FAILED,
    OK,
    OUTPUT_MAX,
    REJECT,
    RELEASE,
    RETRY,
    STOPPED,
    TIMEOUT,
    Value,
    new_id,
)
from waypost._handle.config import Clock, Config, Schedule, deploy, describe_config, users
from waypost._handle.inbox import Inbox
from waypost._handle.job import Runs
from waypost._handle.lease import Lease
from waypost._handle.operation import PARAMSTYLES, Operation
from waypost._handle.queue import DeadFilter, MessageQueue, Page, Queue, Timers
from waypost._handle.store import Router, Store
from waypost._handle.worker import Delivery, DeliveryT, Puller, Select, Worker

__all__ = [
    "DEFERRED",
    "DELAY_MS_MAX",
    "DONE",
    "FAILED",
    "OK",
    "OUTPUT_MAX",
    "PARAMSTYLES",
    "REJECT",
    "RELEASE",
    "RETRY",
    "STOPPED",
    "TIMEOUT",
    "Clock",
    "Config",
    "DeadFilter",
    "Delivery",
    "DeliveryT",
    "Inbox",
    "Lease",
    "MessageQueue",
    "Operation",
    "Page",
    "Puller",
    "Queue",
    "Router",
    "Runs",
    "Schedule",
    "Select",
    "Store",
    "Timers",
    "Value",
    "Worker",
    "audit",
    "deploy",
    "describe_config",
    "job",
    "join",
    "lease",
    "new_id",
    "users",
]
