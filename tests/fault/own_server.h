/* SPDX-License-Identifier: Apache-2.0 */
/* A PostgreSQL server of a test program's own, with a pgbouncer, or a MariaDB server, that it may do anything to. */
#ifndef FAULT_OWN_SERVER_H
#define FAULT_OWN_SERVER_H

/* A fixture for a group of tests: start it, so that WAYPOST_TEST_POSTGRESQL and the like name it. It is
 * stopped when this process has ended, however it ends. */
int own_server_start(void **state);
/* The same with MariaDB, whose commits outlast a crash, and WAYPOST_TEST_MARIADB. */
int own_mariadb_start(void **state);
/* Where it keeps its files. */
const char *own_server_directory(void);
/* What tools/postgresql.sh or tools/mariadb.sh can do to it; it must succeed. */
void own_server_do(const char *what);

#endif
