# SPDX-License-Identifier: Apache-2.0
"""Outbox and workers in the database that the app already has.

    store = waypost.Store.open("sqlite:app.db", deploy=True)
    store.outbox.enqueue("orders.created", "{}", connection=connection)

    worker = store.worker()

    @worker.handler("orders.created")
    def created(delivery: waypost.Delivery) -> None:
        print(delivery.payload)

    worker.run()
"""
from waypost import drivers
from waypost._ffi import version as __version__
from waypost._handle import new_id
from waypost._text import decode_base64, encode_base64
from waypost.clock import ManualClock
from waypost.config import Config
from waypost.delivery import DEFERRED, Cancel, Deferred, Delivery
from waypost.errors import (
    ArgumentError,
    Cancelled,
    ConfigError,
    DatabaseError,
    Error,
    InternalError,
    LeaseLostError,
    NoMemoryError,
    NotFoundError,
    RangeError,
    Reject,
    Release,
    Retry,
    SchemaError,
    StateError,
    StoppedError,
    TimeoutError,
    UnavailableError,
)
from waypost.health import Health, HealthStatus
from waypost.inbox import Inbox, InboxCounters
from waypost.job import Job, JobInfo, JobRun, Misfire, Overlap, RunStatus
from waypost.jobs import Jobs, Runs
from waypost.join import JoinInfo, JoinMember, JoinStatus, MemberStatus
from waypost.joins import JOIN_WAIT, Joins
from waypost.lease import Lease, LeaseCounters, Leases, Semaphore, Semaphores
from waypost.message import (
    Arrival,
    AuditEntry,
    Claim,
    Enqueued,
    InboxKey,
    InboxState,
    Info,
    LeaseInfo,
    ListedLease,
    Message,
    PausedTopic,
    QueueKind,
    QueueStats,
    Received,
    Stats,
    Status,
)
from waypost.metrics import Metrics, Sample
from waypost.outbox import Outbox
from waypost.queue import AllQueues, DeadLetters, Page
from waypost.router import Router
from waypost.schedule import Schedule
from waypost.store import Store, deploy
from waypost.timers import Timers
from waypost._select import Candidate
from waypost._trace import Trace, current_trace, use_trace
from waypost.worker import Counters, Worker

__all__ = [
    "AllQueues",
    "ArgumentError",
    "Arrival",
    "AuditEntry",
    "Cancel",
    "Cancelled",
    "Candidate",
    "Claim",
    "Config",
    "ConfigError",
    "Counters",
    "DEFERRED",
    "DatabaseError",
    "DeadLetters",
    "Deferred",
    "Delivery",
    "Enqueued",
    "Error",
    "Health",
    "HealthStatus",
    "Inbox",
    "InboxCounters",
    "InboxKey",
    "InboxState",
    "Info",
    "InternalError",
    "JOIN_WAIT",
    "Job",
    "JobInfo",
    "JobRun",
    "Jobs",
    "JoinInfo",
    "JoinMember",
    "JoinStatus",
    "Joins",
    "Lease",
    "LeaseCounters",
    "LeaseInfo",
    "LeaseLostError",
    "Leases",
    "ListedLease",
    "ManualClock",
    "MemberStatus",
    "Message",
    "Metrics",
    "Misfire",
    "NoMemoryError",
    "NotFoundError",
    "Outbox",
    "Overlap",
    "Page",
    "QueueKind",
    "PausedTopic",
    "QueueStats",
    "RangeError",
    "Received",
    "Reject",
    "Release",
    "Retry",
    "Router",
    "RunStatus",
    "Runs",
    "Sample",
    "Schedule",
    "SchemaError",
    "Semaphore",
    "Semaphores",
    "StateError",
    "Stats",
    "Status",
    "StoppedError",
    "Store",
    "TimeoutError",
    "Timers",
    "Trace",
    "UnavailableError",
    "Worker",
    "__version__",
    "current_trace",
    "decode_base64",
    "deploy",
    "drivers",
    "encode_base64",
    "new_id",
    "use_trace",
]
