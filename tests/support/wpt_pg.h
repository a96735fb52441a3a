/* SPDX-License-Identifier: Apache-2.0 */
/* The PostgreSQL server that tests share, as tools/postgresql.sh starts it: each test has a database of
 * its own on it. */
#ifndef WPT_PG_H
#define WPT_PG_H

#include <libpq-fe.h>

#include "wpt.h"

/* The URL for a database of this test's own on the server that WAYPOST_TEST_POSTGRESQL names. */
void wpt_pg_name(char *url, size_t size, const char *name);
/* Make it, or empty one that an earlier test has let go of, whose URL is then written to `url`. Gives a
 * connection to it, which stays ours.
 * @param kept_for  if one was kept for this, it may come with its schema, without rows; NULL: none may */
PGconn *wpt_pg_create(char *url, size_t size, const char *kept_for);
/* Deploy it with names that are not set, and let the URL be that of a role that has the rights of
 * sql/rights/postgresql.sql; and the URL of whoever deployed. */
void wpt_pg_limit(char *url, size_t size);
void wpt_pg_unlimited(char *out, size_t size, const char *url);
/* The database, whose schema has just been deployed, may be had again with that. */
void wpt_pg_keep(const char *url, const char *kept_for);
/* Let go of all of them, and cut off whoever is connected to them. */
void wpt_pg_release(void);
/* Cut off whoever is connected to a database that a test has now, but not the server process `spared`. */
void wpt_pg_cut_off_but(int64_t spared);
/* The same database through the proxy that WAYPOST_TEST_PGBOUNCER names. */
void wpt_pg_through_pgbouncer(char *out, size_t size, const char *url);
/* A connection; fails the test if there is none. */
PGconn *wpt_pg_connect(const char *url);
/* Run a statement that must succeed. */
void wpt_pg_exec(PGconn *pg, const char *sql);
/* Its first column as a number. */
int64_t wpt_pg_number(PGconn *pg, const char *sql);

#endif
