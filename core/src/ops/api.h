/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard's JSON API: what is asked, and its answer. It knows nothing of HTTP but its codes. */
#ifndef WP__API_H
#define WP__API_H

#include <jansson.h>

#include "worker/vitals.h"

/* The answer's code: HTTP's. */
enum {
    WP__API_OK = 200,
    WP__API_BAD = 400,
    WP__API_NOT_FOUND = 404,
    WP__API_CONFLICT = 409,
    WP__API_FAILED = 500,
    WP__API_UNAVAILABLE = 503,
    WP__API_TIMEOUT = 504
};

typedef struct wp__api_call {
    const char *path; /* behind /api/ */
    bool writes;      /* it was a POST, and may change something */
    bool payloads;    /* it may show them */
    json_t *args;     /* an object; borrowed */
} wp__api_call;

/* Whether there is such a path, and whether it changes something. */
bool wp__api_knows(const char *path, bool *writes);
/* Answer: *code, and JSON that is the caller's; NULL: out of memory. It takes no longer than the
 * option health.timeout_ms. */
char *wp__api_answer(int *code, wp_worker *worker, const wp__api_call *call);

#endif
