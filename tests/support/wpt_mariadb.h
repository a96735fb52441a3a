/* SPDX-License-Identifier: Apache-2.0 */
/* The shared MariaDB server: a database a test. */
#ifndef WPT_MARIADB_H
#define WPT_MARIADB_H

#include "wpt_odbc.h"

/* The store URL of a database of its own, which is not there yet. */
void wpt_mariadb_name(char *url, size_t size, const char *name);
/* Make it, or give the URL of one that is empty, or was kept for this and has no rows; a connection to it,
 * which is ours. */
SQLHDBC wpt_mariadb_create(char *url, size_t size, const char *kept_for);
/* It may be used again with the schema that it has now. */
void wpt_mariadb_keep(const char *url, const char *kept_for);
/* Deploy it with names that are not set, and let the URL be that of a user who has the rights of
 * sql/rights/mariadb.sql; and the URL of whoever deployed. */
void wpt_mariadb_limit(char *url, size_t size);
void wpt_mariadb_unlimited(char *out, size_t size, const char *url);
/* An app's connection to it. */
SQLHDBC wpt_mariadb_connect(const char *url);
/* No test needs any of them now. */
void wpt_mariadb_release(void);

#endif
