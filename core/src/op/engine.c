/* SPDX-License-Identifier: Apache-2.0 */
/* The engines that there are. Their texts are generated from sql/. */
#include "op/engine.h"

extern const wp__sql_source wp__sql_sqlite[WP__SQL_COUNT];
extern const wp__sql_source wp__sql_sqlite_migrations[];
extern const size_t wp__sql_sqlite_migration_count;
extern const wp__sql_source wp__sql_postgresql[WP__SQL_COUNT];
extern const wp__sql_source wp__sql_postgresql_migrations[];
extern const size_t wp__sql_postgresql_migration_count;
extern const wp__sql_source wp__sql_mariadb[WP__SQL_COUNT];
extern const wp__sql_source wp__sql_mariadb_migrations[];
extern const size_t wp__sql_mariadb_migration_count;
extern const wp__sql_source wp__sql_mariadb_routines[];
extern const size_t wp__sql_mariadb_routine_count;
extern const wp__sql_source wp__sql_sqlserver[WP__SQL_COUNT];
extern const wp__sql_source wp__sql_sqlserver_migrations[];
extern const size_t wp__sql_sqlserver_migration_count;
extern const wp__sql_source wp__sql_sqlserver_routines[];
extern const size_t wp__sql_sqlserver_routine_count;

#define TEXT(of) #of
#define NUMBER(macro) TEXT(macro)

const wp__engine wp__engine_sqlite = {
    .name = "sqlite",
    .statements = wp__sql_sqlite,
    .migrations = wp__sql_sqlite_migrations,
    .migration_count = &wp__sql_sqlite_migration_count,
    .quote = '"',
    .home = "main", /* scripts cannot: the bodies of triggers may not name databases */
};

const wp__engine wp__engine_postgresql = {
    .name = "postgresql",
    .statements = wp__sql_postgresql,
    .migrations = wp__sql_postgresql_migrations,
    .migration_count = &wp__sql_postgresql_migration_count,
    .begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    /* A worker runs the same few statements again and again on tables that are empty now and full a
     * moment later. A plan made while they were empty must not scan them when they are full: index
     * scans and nested loops are right at any size. */
    .steady = "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
              "SET plan_cache_mode = force_generic_plan; SET jit = off",
    .text_hint = "SET client_encoding TO 'UTF8'",
    .quote = '"',
    .name_max = 63, /* NAMEDATALEN - 1: longer ones would be cut silently */
    .schemas = true,
    .text_ids = true,
    .own_clock = true,
    .claim_reads = true,
    .joint_writes = true,
    .enqueues_many = true,
    .row_locks = true,
    .signals = true,
};

const wp__engine wp__engine_mariadb = {
    .name = "mariadb",
    .statements = wp__sql_mariadb,
    .migrations = wp__sql_mariadb_migrations,
    .migration_count = &wp__sql_mariadb_migration_count,
    .routines = wp__sql_mariadb_routines,
    .routine_count = &wp__sql_mariadb_routine_count,
    .begin = "START TRANSACTION READ WRITE", /* connection_settle has set the isolation */
    .batch_end = ";\n\n",
    .text_hint = "SET NAMES utf8mb4, or CHARSET=utf8mb4 in an ODBC connection string",
    .quote = '`',
    .name_max = 64,
    .name_basic_plane = true, /* its Knowledge Base, Identifier Names */
    .databases = true,
    .one_by_one = true,
    .claim_pairs = true,
    .settles_silently = true,
    .text_ids = true,
    .own_clock = true,
    .claim_reads = true,
    .joint_writes = true,
    .row_locks = true,
};

const wp__engine wp__engine_sqlserver = {
    .name = "sqlserver",
    .statements = wp__sql_sqlserver,
    .migrations = wp__sql_sqlserver_migrations,
    .migration_count = &wp__sql_sqlserver_migration_count,
    .routines = wp__sql_sqlserver_routines,
    .routine_count = &wp__sql_sqlserver_routine_count,
    .batch_end = "\nGO\n",
    .begin = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET XACT_ABORT ON; BEGIN TRANSACTION",
    /* with IMPLICIT_TRANSACTIONS (2), as ODBC drivers have them, the statement itself begins one */
    .guard = "IF @@TRANCOUNT = 0 AND @@OPTIONS & 2 = 0 THROW " NUMBER(
        WP_OP_NO_TRANSACTION) ", N'Waypost: the transaction is over', 1; ",
    .rollback = "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION", /* after some errors there is none */
    .text_hint = "send texts as NVARCHAR",
    .quote = '[',
    .name_max = 128, /* sysname */
    .outbox = "Outbox",
    .inbox = "Inbox",
    .schemas = true,
    .claim_pairs = true,
    .text_ids = true,
    .own_clock = true,
    .claim_reads = true,
    .joint_writes = true,
    .enqueues_many = true,
    .row_locks = true,
};
