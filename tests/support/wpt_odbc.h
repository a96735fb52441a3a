/* SPDX-License-Identifier: Apache-2.0 */
/* The shared PostgreSQL server by ODBC: URLs, and connections as an app has them. */
#ifndef WPT_ODBC_H
#define WPT_ODBC_H

#include <sql.h>
#include <sqlext.h>

#include "wpt.h"

/* The store URL that reaches by psqlodbc what postgresql://USER@HOST:PORT/DATABASE reaches; and back. */
void wpt_odbc_url(char *out, size_t size, const char *url);
void wpt_odbc_pg_url(char *out, size_t size, const char *url);
/* An app's connection by a connection string, and its end. */
SQLHDBC wpt_odbc_connect(const char *string);
void wpt_odbc_close(SQLHDBC dbc);
/* Run a statement that must succeed. BEGIN, COMMIT and ROLLBACK are said by attribute and SQLEndTran(), as
 * ODBC has it. */
void wpt_odbc_exec(SQLHDBC dbc, const char *sql);
/* Its first column as a number. */
int64_t wpt_odbc_number(SQLHDBC dbc, const char *sql);

#endif
