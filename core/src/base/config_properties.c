/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config_properties.h"

#include "base/config_values.h"

static const wp__choice sync_choices[] = {
    {"normal", WP__SYNC_NORMAL}, {"full", WP__SYNC_FULL}, {NULL, 0}};
static const wp__choice selection_choices[] = {
    {"round-robin", WP__SELECT_ROUND_ROBIN}, {"drain-first", WP__SELECT_DRAIN_FIRST}, {NULL, 0}};
static const wp__choice level_choices[] = {{"debug", WP_LOG_DEBUG},     {"info", WP_LOG_INFO},
                                           {"warning", WP_LOG_WARNING}, {"error", WP_LOG_ERROR},
                                           {"off", WP__LOG_OFF},        {NULL, 0}};

#define AT(field) offsetof(wp_config, field)
#define DAY_MS 86400000
#define HOUR_MS 3600000
#define CENTURY_MS 3153600000000
#define MONTH "2592000000" /* 30 days */

const wp__property wp__properties[] = {
    {"store.url", WP__PROP_TEXT, AT(store_url), 0, 4096, "", NULL, false,
     "The database: `sqlite:PATH`, `sqlite::memory:`, `postgresql://USER@HOST:PORT/DATABASE` with "
     "any libpq parameter, or `odbc:` and an ODBC connection string. Must be set before a store is "
     "opened."},
    {"store.id", WP__PROP_TEXT, AT(store_id), 1, 255, "default", NULL, false,
     "Names the store in log records and metrics."},
    {"store.schema", WP__PROP_PREFIX, AT(store_schema), 1, 63, "infra", NULL, false,
     "The schema that holds Waypost's tables. On SQLite, which has none, every table's name "
     "starts with it and an underscore; a name that would start with `sqlite_` is refused."},
    {"store.outbox_table", WP__PROP_NAME, AT(outbox_table), 1, 63, "outbox", NULL, false,
     "The name of the outbox table; the outbox's other tables are named after it."},
    {"store.inbox_table", WP__PROP_NAME, AT(inbox_table), 1, 63, "inbox", NULL, false,
     "The name of the inbox table, likewise."},
    {"store.deploy", WP__PROP_BOOL, AT(store_deploy), 0, 1, "false", NULL, false,
     "Create or upgrade the schema when the store is opened."},
    {"store.pool_size", WP__PROP_INT, AT(pool_size), 1, 64, "4", NULL, false,
     "The most database connections the store keeps for itself."},
    {"store.busy_timeout_ms", WP__PROP_INT, AT(busy_ms), 0, 600000, "10000", NULL, false,
     "How long to wait for another writer before giving up, in milliseconds."},
    {"store.connect_timeout_ms", WP__PROP_INT, AT(connect_ms), 1, 600000, "10000", NULL, false,
     "How long to wait for a connection to a database server, in milliseconds."},
    {"store.response_timeout_ms", WP__PROP_INT, AT(answer_ms), 1, DAY_MS, "30000", NULL, false,
     "How long a database server may take to answer a statement before its connection is given up "
     "as dead, in milliseconds. A worker's own connections wait a third of its lease at most."},
    {"store.prepared_statements", WP__PROP_BOOL, AT(prepare), 0, 1, "true", NULL, false,
     "Prepare statements on connections of the store's own to a database server. Where a proxy "
     "does "
     "not keep them, this is found out and they are used no more; switch it off to not even try."},
    {"store.signals", WP__PROP_BOOL, AT(signals), 0, 1, "true", NULL, false,
     "Tell workers in other processes of new messages where the database has a way to (PostgreSQL: "
     "NOTIFY, without data, at most one every 5 ms from one store). Off: they find them by "
     "polling. "
     "A transaction that has signalled cannot be prepared for a two-phase commit."},
    {"store.sqlite_synchronous", WP__PROP_ENUM, AT(synchronous), 0, 0, "full", sync_choices, false,
     "SQLite's `synchronous` for what the store itself commits. With `normal`, a power failure may "
     "undo the last commits (in WAL mode); never with `full`. What the app commits is the app's "
     "choice. Workers always use `normal`: a claim or an outcome that is undone means that work is "
     "done again, not that it is lost."},
    {"outbox.keep_ms", WP__PROP_INT, AT(outbox_keep_ms), 0, CENTURY_MS, MONTH, NULL, false,
     "How long messages of the outbox that are done stay in the database, in milliseconds; then a "
     "worker deletes them. Dead letters stay. 0: for ever. The default is 30 days."},
    {"inbox.keep_ms", WP__PROP_INT, AT(inbox_keep_ms), 0, CENTURY_MS, MONTH, NULL, false,
     "The same for the inbox, from when a message was done and has last arrived. One that arrives "
     "after it was deleted is new: keep them for longer than their sender repeats them."},
    {"timer.keep_ms", WP__PROP_INT, AT(timer_keep_ms), 0, CENTURY_MS, MONTH, NULL, false,
     "The same for timers that are done or were cancelled."},
    {"job.keep_ms", WP__PROP_INT, AT(job_keep_ms), 0, CENTURY_MS, MONTH, NULL, false,
     "The same for runs of jobs that succeeded, were cancelled or skipped."},
    {"join.keep_ms", WP__PROP_INT, AT(join_keep_ms), 0, CENTURY_MS, MONTH, NULL, false,
     "The same for joins that are over."},
    {"inbox.revive_dead", WP__PROP_BOOL, AT(revive_dead), 0, 1, "false", NULL, false,
     "A dead message of the inbox that is enqueued again becomes ready again, with no attempts. "
     "Off: it "
     "takes the new values and stays dead."},
    {"log.level", WP__PROP_ENUM, AT(log_level), 0, 0, "warning", level_choices, false,
     "The least level that is logged."},
    {"schedule.zone_directory", WP__PROP_TEXT, AT(zone_directory), 1, 4096, "/usr/share/zoneinfo",
     NULL, false,
     "Where the files of the IANA time zone database are. Schedules in UTC need none."},
    {"job.cron_overrides", WP__PROP_TEXT, AT(job_cron_overrides), 0, 1000000, "", NULL, false,
     "Cron expressions that are used instead of those in the code, as a JSON object: the job's "
     "name to "
     "the expression."},
    {"worker.name", WP__PROP_TEXT, AT(worker_name), 0, 255, "", NULL, false,
     "Names the worker in claims and log records. Empty: host name, colon, process id."},
    {"worker.concurrency", WP__PROP_INT, AT(worker.concurrency), 1, 1024, "16", NULL, true,
     "The most deliveries in progress at once."},
    {"worker.batch_size", WP__PROP_INT, AT(worker.batch_size), 1, 10000, "500", NULL, true,
     "The most messages taken in one claim. Fewer are taken where handlers are slow or messages "
     "large: "
     "what they use up within a second, and no more than 16 MiB ahead."},
    {"worker.lease_ms", WP__PROP_INT, AT(worker.lease_ms), 100, DAY_MS, "30000", NULL, true,
     "How long a claim lasts unless renewed, in milliseconds. Claims of running handlers are "
     "renewed."},
    {"worker.job_lease_ms", WP__PROP_INT, AT(worker_job_lease_ms), 100, DAY_MS, "300000", NULL,
     false,
     "The lease of runs of jobs whose topic sets none: a run whose worker died is tried again "
     "after so "
     "long, in milliseconds."},
    {"worker.timeout_ms", WP__PROP_INT, AT(worker.timeout_ms), 0, DAY_MS, "0", NULL, true,
     "How long a handler may take, in milliseconds; then its delivery is cancelled. 0: no limit."},
    {"worker.max_attempts", WP__PROP_INT, AT(worker.max_attempts), 1, 1000000, "10", NULL, true,
     "After so many attempts a message is given up as failed."},
    {"worker.backoff_base_ms", WP__PROP_INT, AT(worker.backoff_base_ms), 1, DAY_MS, "1000", NULL,
     true,
     "The delay before the first retry, in milliseconds; it doubles with each further one. One of "
     "a "
     "few milliseconds may pass unseen, and then lasts until the next poll: see "
     "`worker.poll_min_ms`."},
    {"worker.backoff_max_ms", WP__PROP_INT, AT(worker.backoff_max_ms), 1, DAY_MS, "60000", NULL,
     true, "The longest delay before a retry, in milliseconds."},
    {"worker.poll_min_ms", WP__PROP_INT, AT(worker.poll_min_ms), 1, HOUR_MS, "250", NULL, true,
     "The shortest time between polls, in milliseconds; `worker.poll_max_ms` where that is "
     "shorter."},
    {"worker.poll_max_ms", WP__PROP_INT, AT(worker.poll_max_ms), 0, HOUR_MS, "0", NULL, true,
     "The longest time between polls, in milliseconds. 0: 30000 while a wake-up channel works, "
     "else 1000."},
    {"worker.backoff_jitter", WP__PROP_REAL, AT(worker_jitter), 0, 1, "0.2", NULL, false,
     "Each retry's delay is shortened at random by up to this part of it."},
    {"worker.all_topics", WP__PROP_BOOL, AT(worker_all_topics), 0, 1, "false", NULL, false,
     "Claim topics that have no handler too: their messages are logged and abandoned."},
    {"worker.flush_ms", WP__PROP_INT, AT(flush_ms), 0, 1000, "2", NULL, false,
     "How long a finished delivery may wait to be written together with others, in milliseconds."},
    {"worker.reap_ms", WP__PROP_INT, AT(reap_ms), 10, HOUR_MS, "1000", NULL, false,
     "The time between looks for expired claims, in milliseconds."},
    {"worker.cleanup_interval_ms", WP__PROP_INT, AT(cleanup_ms), 1000, DAY_MS, "3600000", NULL,
     false,
     "The time between looks for what was finished long ago, in milliseconds: see "
     "`outbox.keep_ms`. Of the workers on a store, one does it at a time."},
    {"worker.wakeups", WP__PROP_BOOL, AT(wakeups), 0, 1, "true", NULL, false,
     "Use wake-up channels where there are any. Off: poll only."},
    {"worker.selection", WP__PROP_ENUM, AT(selection), 0, 0, "round-robin", selection_choices,
     false,
     "With several stores, whose message goes to the next free handler: `round-robin`, each store "
     "in "
     "turn; `drain-first`, one store until it has no more, then the next one."},
    {"worker.turn", WP__PROP_INT, AT(turn), 1, 10000, "1", NULL, false,
     "With `round-robin`, how many messages of a store are handed out before it is the next one's "
     "turn."},
    {"worker.discovery_interval_ms", WP__PROP_INT, AT(discovery_ms), 100, DAY_MS, "300000", NULL,
     false,
     "The time between looks for new, changed and removed stores, where the app discovers them, in "
     "milliseconds."},
    {"lease.renew_percent", WP__PROP_INT, AT(lease_renew_percent), 10, 75, "60", NULL, false,
     "The part of its duration after which a lease that is kept is renewed, in percent; up to a "
     "tenth of it earlier, at random."},
    {"lease.guard_percent", WP__PROP_INT, AT(lease_guard_percent), 1, 20, "10", NULL, false,
     "The part of its duration, in percent, before the end of which a lease that could not be "
     "renewed counts as lost, so that work stops before another one can begin. More where clocks "
     "drift or work is slow to stop."},
    {"lease.poll_max_ms", WP__PROP_INT, AT(lease_poll_ms), 1, HOUR_MS, "500", NULL, false,
     "The longest time between two tries to acquire a lease that is waited for, in milliseconds."},
    {"lease.keep_ms", WP__PROP_INT, AT(lease_keep_ms), 0, 31536000000, "3600000", NULL, false,
     "How long leases that nobody holds any more stay in the database, in milliseconds."},
    {"health.overdue_ms", WP__PROP_INT, AT(health_overdue_ms), 0, CENTURY_MS, "300000", NULL, false,
     "Health is degraded while a message has been ready for longer, or a job has been due for "
     "longer "
     "and its run is not made, in milliseconds. 0: never."},
    {"health.timeout_ms", WP__PROP_INT, AT(health_timeout_ms), 1, HOUR_MS, "3000", NULL, false,
     "How long health waits for a database, in milliseconds. One that has not answered by then is "
     "not "
     "reachable."},
    {"health.pump_ms", WP__PROP_INT, AT(health_pump_ms), 1, DAY_MS, "15000", NULL, false,
     "A worker is unhealthy while its pump, the thread that claims and writes outcomes, is late by "
     "more, in milliseconds."},
    {"health.handler_ms", WP__PROP_INT, AT(health_handler_ms), 0, CENTURY_MS, "600000", NULL, false,
     "Health is degraded while messages wait and each handler has been at its message for longer, "
     "in "
     "milliseconds. 0: never."},
    {"health.clock_ms", WP__PROP_INT, AT(health_clock_ms), 0, CENTURY_MS, "10000", NULL, false,
     "Health is degraded while the database's clock and the host's differ by more, in "
     "milliseconds. "
     "0: never."},
    {"health.snapshot_ms", WP__PROP_INT, AT(health_snapshot_ms), 0, CENTURY_MS, "3600000", NULL,
     false,
     "Health is degraded while a transaction on a PostgreSQL database has held its snapshot for "
     "longer, in milliseconds: what was finished since cannot be vacuumed. 0: never."},
    {"health.wal_mib", WP__PROP_INT, AT(health_wal_mib), 0, 1000000000, "1024", NULL, false,
     "Health is degraded while SQLite's write-ahead log is larger, in MiB. 0: never."},
    {"health.free_mib", WP__PROP_INT, AT(health_free_mib), 0, 1000000000, "100", NULL, false,
     "Health is degraded while the disk of a SQLite file has less space, in MiB. 0: never."},
    {"health.port", WP__PROP_INT, AT(health_port), 0, 65535, "0", NULL, false,
     "While it runs, a worker answers `/health`, `/health/live`, `/health/ready` and "
     "`/health/scheduler` by HTTP on this port. It may be that of the metrics. 0: it does not."},
    {"metrics.port", WP__PROP_INT, AT(metrics_port), 0, 65535, "0", NULL, false,
     "While it runs, a worker answers `/metrics` by HTTP on this port. 0: it does not."},
    {"dashboard.port", WP__PROP_INT, AT(dashboard_port), 0, 65535, "0", NULL, false,
     "While it runs, a worker shows the dashboard by HTTP on this port, which may be one of those "
     "above. 0: it does not."},
    {"dashboard.token", WP__PROP_TEXT, AT(dashboard_token), 0, 255, "", NULL, false,
     "Who has it may change things in the dashboard and see payloads: 16 characters or more, "
     "secret. Empty: the dashboard only shows."},
    {"dashboard.payloads", WP__PROP_BOOL, AT(dashboard_payloads), 0, 1, "false", NULL, false,
     "The dashboard shows payloads, headers and what runs returned to whoever reaches it, without "
     "the token."},
    {"dashboard.hosts", WP__PROP_TEXT, AT(dashboard_hosts), 0, 1024, "", NULL, false,
     "The host names, with commas, by which browsers may ask for the dashboard, besides localhost "
     "and addresses in numbers."},
    {"http.address", WP__PROP_TEXT, AT(http_address), 1, 64, "127.0.0.1", NULL, false,
     "The address of this host on which it does so, as a number. There is no access control: "
     "others than this host should reach it by a network that is trusted only."},
    {"scaling.min_instances", WP__PROP_INT, AT(scaling.min_instances), 0, 10000, "1", NULL, false,
     "The fewest workers that the scaling controller asks for."},
    {"scaling.max_instances", WP__PROP_INT, AT(scaling.max_instances), 1, 10000, "8", NULL, false,
     "The most."},
    {"scaling.target_latency_ms", WP__PROP_INT, AT(scaling.target_ms), 1, DAY_MS, "5000", NULL,
     false,
     "How long a message may wait, in milliseconds: depth by processing rate is held against it."},
    {"scaling.scale_up_threshold", WP__PROP_REAL, AT(scaling.up_threshold), 0, 1000, "1", NULL,
     false, "Above this part of the target latency there should be more workers."},
    {"scaling.scale_down_threshold", WP__PROP_REAL, AT(scaling.down_threshold), 0, 1000, "0.3",
     NULL, false, "Below this part of the target latency there should be fewer."},
    {"scaling.cooldown_ms", WP__PROP_INT, AT(scaling.cooldown_ms), 0, DAY_MS, "60000", NULL, false,
     "How long nothing is changed after a change, in milliseconds."},
    {"scaling.weight", WP__PROP_REAL, AT(scaling.weight), 0, 1, "0.5", NULL, false,
     "The weight of the newest depth and rate in their averages; 1: they alone count."},
    {"scaling.interval_ms", WP__PROP_INT, AT(scaling.interval_ms), 100, HOUR_MS, "5000", NULL,
     false, "The time between decisions of `waypost supervise`, in milliseconds."},
};

const size_t wp__property_count = sizeof wp__properties / sizeof wp__properties[0];
_Static_assert(sizeof wp__properties / sizeof wp__properties[0] <= WP__PROPERTY_MAX, "too many");

const wp__alias wp__aliases[] = {
    {"Sql:ConnectionString", "store.url", 1},
    {"Queue:BatchSize", "worker.batch_size", 1},
    {"Queue:VisibilityTimeoutSeconds", "worker.lease_ms", 1000},
    {"RetryPolicy:MaxAttempts", "worker.max_attempts", 1},
    {"RetryPolicy:BaseDelayMs", "worker.backoff_base_ms", 1},
    {"RetryPolicy:MaxDelayMs", "worker.backoff_max_ms", 1},
    {"Metrics:Port", "metrics.port", 1},
    {"Health:Port", "health.port", 1},
    {"Scaling:TargetLatencyMs", "scaling.target_latency_ms", 1},
    {"Scaling:MinInstances", "scaling.min_instances", 1},
    {"Scaling:MaxInstances", "scaling.max_instances", 1},
    {"Scaling:ScaleUpThreshold", "scaling.scale_up_threshold", 1},
    {"Scaling:ScaleDownThreshold", "scaling.scale_down_threshold", 1},
};

const size_t wp__alias_count = sizeof wp__aliases / sizeof wp__aliases[0];
