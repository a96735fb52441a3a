/* SPDX-License-Identifier: Apache-2.0 */
/* What SWIG makes of the C API for .NET: one internal P/Invoke class, no proxies. Handles are
 * SafeHandles, texts are UTF-8 bytes, ids are 16-byte structs, callbacks are unmanaged function
 * pointers, and size_t keeps its size. */
%module Native
%{
#include "helpers.h"
%}

%pragma(csharp) imclassclassmodifiers="internal unsafe class"
%pragma(csharp) moduleclassmodifiers="internal static unsafe class"
%typemap(csclassmodifiers) enum SWIGTYPE "internal enum"
%csconst(1); /* enumerators keep their values, without a call */

/* ---- the types ---- */

/* A type by its C and its C# name; `out` stands in front of what is filled. */
%define PASS(TYPE, C, CS)
%typemap(ctype) TYPE "C"
%typemap(imtype) TYPE "CS"
%typemap(cstype) TYPE "CS"
%typemap(in) TYPE %{ $1 = ($1_ltype)$input; %}
%typemap(out) TYPE %{ $result = (C)$1; %}
%typemap(csin) TYPE "$csinput"
%typemap(csout) TYPE { return $imcall; }
%enddef

/* A handle: borrowed as a SafeHandle, filled as a new one. An argument that is consumed, marked
 * WP_OWN in the headers (here: volatile), is a plain pointer: only a SafeHandle's own release
 * passes it. */
%define HANDLE(TYPE, CS)
PASS(TYPE *, void *, CS)
PASS(const TYPE *, const void *, CS)
PASS(TYPE **, void *, out CS)
%typemap(csin) TYPE ** "out $csinput"
PASS(volatile TYPE *, void *, nint)
%enddef

HANDLE(wp_config, ConfigHandle)
HANDLE(wp_clock, ClockHandle)
HANDLE(wp_schedule, ScheduleHandle)
HANDLE(wp_store, StoreHandle)
HANDLE(wp_router, RouterHandle)
HANDLE(wp_router_ids, RouterIdsHandle)
HANDLE(wp_op, OperationHandle)
HANDLE(wp_message, MessageHandle)
HANDLE(wp_claim, ClaimHandle)
HANDLE(wp_outbox_info, InfoHandle)
HANDLE(wp_outbox_stats, StatsHandle)
HANDLE(wp_worker, WorkerHandle)
HANDLE(wp_delivery, DeliveryHandle)
HANDLE(wp_inbox_key, InboxKeyHandle)
HANDLE(wp_dead_filter, DeadFilterHandle)
HANDLE(wp_dead_list, DeadListHandle)
HANDLE(wp_timers, TimersHandle)
HANDLE(wp_job, JobHandle)
HANDLE(wp_jobs, JobsHandle)
HANDLE(wp_job_runs, JobRunsHandle)
HANDLE(wp_lease_info, LeaseInfoHandle)
HANDLE(wp_lease, LeaseHandle)
HANDLE(wp_join, JoinHandle)
HANDLE(wp_join_info, JoinInfoHandle)
HANDLE(wp_joins, JoinsHandle)
HANDLE(wp_join_members, JoinMembersHandle)
HANDLE(wp_health, HealthHandle)
HANDLE(wp_metrics, MetricsHandle)
HANDLE(wp_pauses, PausesHandle)
HANDLE(wp_audit, AuditHandle)
HANDLE(wp_leases, LeasesHandle)
PASS(const wp_join_info *, const void *, nint)

/* Pointers that handles lend, and that only the handle layer touches. */
PASS(const wp_received *, const void *, nint)
PASS(wp_error *, void *, nint)
PASS(const wp_error *, const void *, nint)
PASS(wp_error **, void *, nint*)
PASS(volatile wp_error *, void *, nint)
PASS(const wp_message *const *, const void *, nint*)
PASS(const wp_config *const *, const void *, nint*)
PASS(const wp_inbox_key *const *, const void *, nint*)
PASS(const wp_job *const *, const void *, nint*)
PASS(const wp_job_info *, const void *, nint)
PASS(const wp_job_run *, const void *, nint)
PASS(wp_inbox_state *, void *, wp_inbox_state*)
PASS(const wp_candidates *, const void *, nint)
PASS(const wp_id *, const void *, WpId*)
PASS(wp_id *, void *, WpId*)
PASS(wpn_message *, void *, NativeMessage*)
PASS(wpn_info *, void *, NativeInfo*)
PASS(wpn_param *, void *, NativeParameter*)

PASS(const char *, const void *, byte*)
PASS(char *, void *, byte*)
PASS(volatile char *, void *, byte*)
PASS(char **, void *, byte**)
PASS(const char *const *, const void *, byte**)
PASS(char out[37], void *, byte*)
PASS(void *, void *, nint)
PASS(const void *, const void *, byte*)

PASS(size_t, size_t, nuint)
PASS(int64_t, int64_t, long)
PASS(size_t *, void *, nuint*)
PASS(int64_t *, void *, long*)
PASS(const int64_t *, const void *, long*)
PASS(int *, void *, int*)

/* Callbacks: unmanaged function pointers, typed where they are made. */
PASS(wp_log_fn, void *, nint)
PASS(wp_handler_fn, void *, nint)
PASS(wp_select_fn, void *, nint)
PASS(void (*destroy)(void *user), void *, nint)

/* ---- the declarations: the real headers ---- */

/* Lent native connections are for C. */
%ignore wp_conn_borrow_sqlite;
%ignore wp_conn_borrow_odbc;
%ignore wp_conn_borrow_pq;
%ignore wp_conn_free;
%ignore wp_delivery_complete;
%ignore wp_lease_lead; /* it blocks its thread */
%ignore wp_delivery_store; /* borrowed: see wpn_delivery_engine() */
PASS(wp_conn *, void *, nint)
/* What pages lend is read by helpers. */
%ignore wp_dead_list_at;
%ignore wp_timers_at;
%ignore wp_timer_list;
%ignore wp_timer_list_brief;
%ignore wp_job_run_list;
%ignore wp_join_list;

%ignore wp_id; /* WpId in C# */
%ignore WP_DELAY_MS_MAX; /* more than an int: SWIG writes it as one */
%ignore WP_TIME_US_MAX;
%ignore WP_HEALTH_NOT_KNOWN;
%ignore WP_JOIN_WAIT_TOPIC; /* JoinExtensions.WaitTopic in C# */

#define WAYPOST_SWIG
%include <waypost/base.h>
#undef WP_OWN
#define WP_OWN volatile
#undef WP_API
#define WP_API
%include <waypost/config.h>
%include <waypost/schedule.h>
%include <waypost/store.h>
%include <waypost/router.h>
%include <waypost/op.h>
%include <waypost/outbox.h>
%include <waypost/worker.h>
%include <waypost/inbox.h>
%include <waypost/dead.h>
%include <waypost/timer.h>
%include <waypost/job.h>
%include <waypost/lease.h>
%include <waypost/join.h>
%include <waypost/health.h>
%include <waypost/metrics.h>
%include <waypost/trace.h>
%include <waypost/pause.h>
%include <waypost/audit.h>
%include "helpers.h"
