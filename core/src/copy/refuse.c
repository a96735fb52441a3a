/* SPDX-License-Identifier: Apache-2.0 */
/* What a target says when it cannot store a row, and would store another one. All else ends the move: a full disk,
 * a missing right, a lock. */
#include <string.h>
#include <waypost/lease.h>

#include "copy/copy.h"
#include "db/sqlstate.h"

/* A server may hang up on what is larger than it takes, while it is being sent. */
enum { LARGE_BYTES = 64 * 1024, SQLITE_TOO_BIG = 18, SQLITE_CONSTRAINT_ = 19 };

static bool is_about_data(const wp_error *cause)
{
    static const char *const classes[] = {
        "22", /* data exception: too long, cannot be read so */
        "23", /* a constraint */
        "44", /* WITH CHECK OPTION */
        "45", /* a trigger says no */
        "54", /* a limit of the server */
        "P0", /* PostgreSQL: likewise a trigger */
    };
    const char *sqlstate = wp_error_sqlstate(cause);
    const int64_t sqlite = wp_error_native_code(cause) & 0xff;
    if (wp_error_code(cause) != WP_E_DB || wp_error_retriable(cause))
        return false;
    if (!*sqlstate)
        return sqlite == SQLITE_TOO_BIG || sqlite == SQLITE_CONSTRAINT_;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (wp__sqlstate_in(sqlstate, classes[i]))
            return true;
    return false;
}

/* Not while it was committing: the rows may be there. */
static bool is_hung_up(const wp_error *cause)
{
    return wp_error_code(cause) == WP_E_UNAVAILABLE && !wp_error_outcome_unknown(cause) &&
           wp__sqlstate_in(wp_error_sqlstate(cause), "08");
}

bool wp__copy_may_be_refused(const wp_error *cause)
{
    return is_about_data(cause) || is_hung_up(cause);
}

static size_t bytes_of(const wp__copy_row *row)
{
    size_t bytes = 0;
    for (size_t i = 0; i < wp__copy_columns(row->queue); i++)
        if (row->columns[i].type == WP_VALUE_TEXT)
            bytes += row->columns[i].len;
    return bytes;
}

const char *wp__copy_too_large(const wp__copy_end *end, const wp__copy_row *row)
{
    return end->most_bytes && bytes_of(row) >= (size_t)end->most_bytes
               ? "it is larger than the target takes (max_allowed_packet)"
               : NULL;
}

bool wp__copy_is_refused(const wp__copy_end *end, const wp__copy_row *row, const wp_error *cause)
{
    if (is_about_data(cause))
        return true;
    return is_hung_up(cause) && bytes_of(row) > LARGE_BYTES &&
           wp_lease_renew(NULL, end->store, NULL, WP_LEASE_EXCLUSIVE, end->lease, WP__COPY_OWNER,
                          end->fence, WP__COPY_LEASE_US / 1000, NULL) == WP_OK;
}
