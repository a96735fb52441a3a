# SPDX-License-Identifier: Apache-2.0
"""Handle COUNT messages that are in the database at URL with handlers that do nothing, and print the
rate.

    handlers.py URL COUNT sync|async THREADS 1|all
"""
from __future__ import annotations

import json
import os
import sys
import time

import waypost

TOPIC = "bench.topic"
LIMIT_SECONDS = 120.0


def plain(delivery: waypost.Delivery) -> None:
    pass


async def coroutine(delivery: waypost.Delivery) -> None:
    pass


def main() -> int:
    url, count, kind, threads, cores = sys.argv[1:]
    if cores == "1":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with waypost.Store.open(url) as store:
        worker = store.worker(concurrency=16, threads=int(threads))
        worker.add_handler(TOPIC, plain if kind == "sync" else coroutine)
        started = time.perf_counter()
        cpu = time.process_time()
        worker.start()
        while worker.counters.acked < int(count):
            if time.perf_counter() - started > LIMIT_SECONDS:
                print(f"only {worker.counters} within {LIMIT_SECONDS} s")
                return 1
            time.sleep(0.002)
        seconds = time.perf_counter() - started
        cpu = time.process_time() - cpu
        worker.stop()
    print(json.dumps({"rate": int(count) / seconds, "cpu_seconds": cpu}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
