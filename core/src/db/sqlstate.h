/* SPDX-License-Identifier: Apache-2.0 */
/* What a SQLSTATE means to us, whichever driver it came by. Sources: ISO 9075-2 (24.1);
 * postgresql.org/docs/current/errcodes-appendix.html; ODBC, appendix A. */
#ifndef WP__SQLSTATE_H
#define WP__SQLSTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <waypost/base.h>

/* True if it begins so: a class is the first two characters. */
bool wp__sqlstate_in(const char *sqlstate, const char *prefix);
/* Another connection was in the way, or the server is not itself at the moment: worth a retry. */
bool wp__sqlstate_is_passing(const char *sqlstate);
/* The server is about to close the connection, or has. */
bool wp__sqlstate_ends_connection(const char *sqlstate);
/* A proxy gave another server connection: what was prepared is not there, or is there already. */
bool wp__sqlstate_is_unprepared(const char *sqlstate);
/* The status that an error with it has. */
wp_status wp__sqlstate_status(const char *sqlstate);
/* Fail with what a server said. On a `lent` connection a transaction that may only read is the app's own doing, which
 * no retry mends; elsewhere it is a standby's, which may be the next primary. */
wp_status wp__sqlstate_fail(const char *sqlstate, int64_t native, bool lent, const char *doing,
                            const char *message, wp_error **err);

#endif
