/* SPDX-License-Identifier: Apache-2.0 */
/* What tests share: statuses checked with their messages, temporary directories, stores on a
 * manual clock, messages in one line, gates for handlers, conditions awaited, log records kept.
 * All but the gates, the log and WPT_AWAIT are for the thread that runs the tests. */
#ifndef WPT_H
#define WPT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

#include "base/thread.h"

#define WPT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- statuses ----------------------------------------------------------------------------- */

/* The place for the error of the call that is checked: WPT_OK(wp_store_open(&s, c, WPT_ERR)). */
#define WPT_ERR (wpt_err())
wp_error **wpt_err(void);
/* The message of the last call that was checked; "" if it succeeded. */
const char *wpt_message_of_last(void);
/* Whether the last call that was checked may be repeated. */
int wpt_last_retriable(void);

/* The call returns `want`, and where it fails it sets an error of the same code with a message. */
#define WPT_STATUS(call, want) wpt_status((call), (want), #call, __FILE__, __LINE__)
#define WPT_OK(call) WPT_STATUS(call, WP_OK)
/* ... and the message holds `text`. */
#define WPT_FAILS(call, want, text)                                                                \
    do {                                                                                           \
        WPT_STATUS(call, want);                                                                    \
        if (!strstr(wpt_message_of_last(), (text)))                                                \
            fail_msg("\"%s\" does not say \"%s\"", wpt_message_of_last(), (text));                 \
    } while (0)
void wpt_status(wp_status got, wp_status want, const char *call, const char *file, int line);

/* ---- waiting ------------------------------------------------------------------------------ */

/* Wait until the expression is true, in real time; fails after three minutes. */
#define WPT_AWAIT(condition)                                                                       \
    do {                                                                                           \
        const int64_t give_up_ = wp__real_mono_us() + 180000000;                                   \
        while (!(condition))                                                                       \
            wpt_pause(give_up_, #condition, __FILE__, __LINE__);                                   \
    } while (0)
void wpt_pause(int64_t give_up, const char *condition, const char *file, int line);

/* Where handlers wait until the test lets them go, in the order in which they came. */
typedef struct wpt_gate {
    wp__mutex mutex;
    wp__cond cond;
    size_t arrived;
    size_t admitted; /* so many of them */
    size_t waiting;  /* now */
    size_t passed;
} wpt_gate;
void wpt_gate_init(wpt_gate *gate);
void wpt_gate_fini(wpt_gate *gate);
/* For the handler: wait to be let through. */
void wpt_gate_pass(wpt_gate *gate);
/* For the test: let `count` more through; SIZE_MAX: everyone from now on. */
void wpt_gate_open(wpt_gate *gate, size_t count);
size_t wpt_gate_waiting(wpt_gate *gate);
size_t wpt_gate_passed(wpt_gate *gate);

/* ---- places and stores -------------------------------------------------------------------- */

/* 2027-01-15T08:00:00Z: where manual clocks begin. */
#define WPT_START_US INT64_C(1800000000000000)
#define WPT_SECOND_US INT64_C(1000000)

/* In $TMPDIR, else in memory where there is such a place: the tests that fill these directories are
 * not about disks, and several hundred databases that wait for one take minutes. */
typedef struct wpt_dir {
    char path[160];
} wpt_dir;
void wpt_dir_make(wpt_dir *dir);
/* With the files in it. */
void wpt_dir_remove(const wpt_dir *dir);

wp_clock *wpt_clock(void);
void wpt_advance_ms(wp_clock *clock, int64_t ms);

/* A configuration without log; keys and values in turn, ended by NULL. */
wp_config *wpt_config(wp_clock *clock, const char *const *options);
/* Open the store at `url`, deploying the schema. */
wp_store *wpt_store(const char *url, wp_clock *clock, const char *const *options);
#define WPT_OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- the outbox, in one line each --------------------------------------------------------- */

/* An owner token: `n` in all its bytes, 1 to 255. */
wp_id wpt_owner(int n);
/* A message with a text payload. */
wp_message *wpt_message(const char *topic, const char *payload);
/* Enqueue `message` and free it. */
wp_id wpt_send(wp_store *store, wp_conn *conn, WP_OWN wp_message *message);
wp_id wpt_enqueue(wp_store *store, const char *topic, const char *payload);
wp_claim *wpt_claim(wp_store *store, int owner, int64_t batch, int64_t lease_ms);
/* Claim one message; its claim number. */
int64_t wpt_claim_one(wp_store *store, int owner, const wp_id *id, int64_t lease_ms);
/* How many a claim would give now; they are given back. */
size_t wpt_claimable(wp_store *store);
/* Whether the claim's messages are these, in order. */
bool wpt_claim_is(const wp_claim *claim, const wp_id *ids, size_t count);
bool wpt_id_equal(const wp_id *a, const wp_id *b);
wp_outbox_info *wpt_info(wp_store *store, const wp_id *id);
wp_message_status wpt_status_of(wp_store *store, const wp_id *id);
int64_t wpt_attempt_of(wp_store *store, const wp_id *id);
/* The message's last error is `want` (NULL: none). */
void wpt_last_error_is(wp_store *store, const wp_id *id, const char *want);
/* One number of a topic; 0 if the topic is not there. */
int64_t wpt_stat(wp_store *store, const char *topic, wp_outbox_stat stat);

/* ---- the log ------------------------------------------------------------------------------ */

/* Keeps the records of a configuration. */
typedef struct wpt_log {
    wp__mutex mutex;
    char *text; /* a line each: level, message, fields */
    size_t len;
    int destroyed;
} wpt_log;
void wpt_log_init(wpt_log *log);
void wpt_log_fini(wpt_log *log);
void wpt_log_attach(wpt_log *log, wp_config *config, const char *level);
/* How many records hold all of these texts: the level's name and message, and parts of fields. */
size_t wpt_log_count(wpt_log *log, const char *start, const char *part, const char *other);

#endif
