/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: the one under construction, and the one received. */
#ifndef WP__MESSAGE_H
#define WP__MESSAGE_H

#include <stdbool.h>
#include <waypost/outbox.h>

#include "op/op.h"

struct wp_message {
    char *topic;
    char *payload;
    size_t payload_len;
    char *headers; /* JSON, or NULL */
    char *correlation_id;
    char *ordering_key;
    char *unique_key;
    bool has_due;
    bool has_expires;
    int64_t due_us;
    int64_t delay_us;
    int64_t expires_us;
    wp_id *joins; /* that it is to be a member of */
    size_t join_count;
};

wp_status wp__message_copy(wp_message **out, const wp_message *message, wp_error **err);

/* The columns of a received message, in the order in which every statement returns them. */
enum {
    WP__COL_SEQ,
    WP__COL_ATTEMPT,
    WP__COL_CLAIM_NUMBER,
    WP__COL_ID,
    WP__COL_TOPIC,
    WP__COL_PAYLOAD,
    WP__COL_HEADERS,
    WP__COL_CORRELATION_ID,
    WP__COL_ORDERING_KEY,
    WP__COL_CREATED_AT,
    WP__COL_DUE_AT,
    WP__COL_EXPIRES_AT,
    WP__RECEIVED_COLUMNS
};

/* Why a claimed run is not to be run: its job was deleted, or it was to be cancelled. */
typedef enum wp__run_end { WP__RUN_GOES_ON, WP__RUN_GONE, WP__RUN_ASKED } wp__run_end;

/* What follows for the inbox, at the end of a row. */
enum {
    WP__MORE_SOURCE,
    WP__MORE_MESSAGE_ID,
    WP__MORE_CONSUMER,
    WP__MORE_HASH,
    WP__MORE_HASH_ALGORITHM,
    WP__MORE_LAST_SEEN_AT,
    WP__INBOX_COLUMNS
};
/* What a run of a job has besides, from its job; 0: not set. */
typedef struct wp__run {
    char *job; /* its name */
    int64_t timeout_ms;
    int64_t max_attempts;
    int64_t backoff_base_ms;
    int64_t backoff_max_ms;
    wp__run_end end;
} wp__run;

/* One allocation: the texts follow the struct. */
struct wp_received {
    int64_t seq;
    int64_t attempt;
    int64_t claim_number;
    wp_id id;
    const char *topic;
    const char *payload;
    size_t payload_len;
    const char *headers;
    const char *correlation_id;
    const char *ordering_key;
    const char *last_error; /* why the attempt before failed */
    int64_t created_us;
    int64_t due_us;
    int64_t expires_us;
    /* of the inbox; NULL and 0 elsewhere */
    const char *source;
    const char *message_id;
    const char *consumer;
    const char *hash; /* bytes */
    size_t hash_len;
    const char *hash_algorithm;
    int64_t last_seen_us;
    struct wp__run *run; /* of a job; NULL: it is none */
    bool suspect;        /* the lease of the claim before ran out: it may have killed its process */
};

/* The name of the first column that cannot be read; NULL: all can. `more`: the columns that only the
 * inbox has; NULL: it is another queue's. */
const char *wp__received_unreadable(const wp__value *columns, const wp__value *more);
/* WP_E_DB: it cannot be read. A last error that is no text is none. */
wp_status wp__message_check_payload(const char *payload, size_t len, wp_error **err);
wp_status wp__received_new(wp_received **out, const wp__value *columns, const wp__value *last_error,
                           const wp__value *more, wp_error **err);
void wp__received_free(wp_received *message);

#endif
