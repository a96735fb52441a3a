/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file waypost.h
 * Everything: `#include <waypost/waypost.h>`, `pkg-config --cflags --libs waypost`.
 */
#ifndef WAYPOST_WAYPOST_H
#define WAYPOST_WAYPOST_H

#include <waypost/audit.h>
#include <waypost/base.h>
#include <waypost/config.h>
#include <waypost/copy.h>
#include <waypost/dead.h>
#include <waypost/health.h>
#include <waypost/inbox.h>
#include <waypost/job.h>
#include <waypost/join.h>
#include <waypost/lease.h>
#include <waypost/metrics.h>
#include <waypost/op.h>
#include <waypost/outbox.h>
#include <waypost/pause.h>
#include <waypost/router.h>
#include <waypost/scaling.h>
#include <waypost/schedule.h>
#include <waypost/store.h>
#include <waypost/timer.h>
#include <waypost/trace.h>
#include <waypost/unfinished.h>
#include <waypost/worker.h>

#endif
