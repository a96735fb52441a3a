/* SPDX-License-Identifier: Apache-2.0 */
/* Databases for tests on the SQL Server that WAYPOST_TEST_MSSQL leads to: an ODBC connection string without a
 * database, of a login that may create some. */
#ifndef WPT_MSSQL_H
#define WPT_MSSQL_H

#include <stdbool.h>

#include "wpt_odbc.h"

/* Whether there is one. If not, the first call says so. */
bool wpt_mssql_is_there(void);
/* Whether names with a ] in them are taken in CREATE SCHEMA, as they are by SQL Server; if not, the first call says so. */
bool wpt_mssql_takes_brackets(void);
/* Whether OPENJSON gives texts without their escapes, as SQL Server does; if not, the first call says so. */
bool wpt_mssql_reads_json(void);
/* Whether it has all levels of isolation; says so if not. */
bool wpt_mssql_takes_levels(void);
/* Whether lock hints mean something; says so if not. The database has the table mine. */
bool wpt_mssql_heeds_locks(const char *url);
/* Whether it knows UTF-8, as SQL Server 2019 and newer do. */
bool wpt_mssql_counts_bytes(void);
/* The URL of a database that is not there yet. */
void wpt_mssql_name(char *url, size_t size, const char *name);
/* Make that database, or give the URL of another, which nobody uses, and which is empty or was kept for the same. */
SQLHDBC wpt_mssql_create(char *url, size_t size, const char *kept_for);
/* Its schema was deployed: it may be used again. */
void wpt_mssql_keep(const char *url, const char *kept_for);
/* No test uses any of them now. */
void wpt_mssql_release(void);
SQLHDBC wpt_mssql_connect(const char *url);
/* The URL by which a login reaches that database that got what sql/rights/sqlserver.sql grants on the schema infra.
 * @return whether the procedures reach the tables for it, as the owner's; if not, the first call says so */
bool wpt_mssql_limit(char *out, size_t size, const char *url);

#endif
