/* SPDX-License-Identifier: Apache-2.0 */
/* An engine: the SQL of one kind of database, and what operations must know of it. Drivers that reach
 * the same database in different ways share it. */
#ifndef WP__ENGINE_H
#define WP__ENGINE_H

#include "op/sql.h"

typedef struct wp__engine {
    const char *name; /* as wp_store_engine() gives it, and its folder in sql/ */
    const wp__sql_source *statements;
    const wp__sql_source *migrations;
    const size_t *migration_count;
    const wp__sql_source
        *routines; /* stored procedures, made anew by every deployment; NULL: none */
    const size_t *routine_count;
    const char *batch_end; /* scripts are sent in the parts that this ends; NULL: in one */
    const char *begin;     /* begins a transaction, on a server; COMMIT and ROLLBACK end it */
    const char
        *guard; /* before a statement that must be in a transaction; NULL: drivers see to that */
    const char *rollback;  /* what ends it otherwise; NULL: ROLLBACK */
    const char *steady;    /* sets a worker's connection so that plans are right at any size */
    const char *text_hint; /* how an app makes its connection send texts as UTF-8 */
    size_t name_max;       /* bytes of an object's name; 0: no limit */
    bool name_basic_plane; /* names have no characters beyond U+FFFF */
    const char *outbox;    /* what a table that is called outbox is called here; NULL: that */
    const char *inbox;     /* likewise */
    char quote;            /* around names; [ for [ and ] */
    const char *home;      /* the database that statements name, lest TEMP tables hide ours */
    bool databases;        /* names begin with the database's, lest they follow the session's */
    bool one_by_one;       /* each statement of a script commits */
    bool claim_pairs; /* lists of claims are [[seq, claim number], ...], else {seq: claim number};
                         lists of leases likewise */
    bool settles_silently; /* connection_settle returns no row */
    bool schemas;          /* tables are in a schema; else its name is a prefix of theirs */
    bool text_ids;         /* ids are text parameters and lists of them JSON; else they are bytes */
    bool own_clock;        /* statements ask the server what time it is; else they are told */
    bool claim_reads;   /* the claim returns the messages; else they are read by a statement more */
    bool joint_writes;  /* one statement writes to several tables */
    bool enqueues_many; /* one statement stores many messages */
    bool row_locks;     /* a transaction locks rows, not the whole database */
    bool signals;       /* a statement tells other processes of new work */
} wp__engine;

extern const wp__engine wp__engine_sqlite;
extern const wp__engine wp__engine_postgresql;
extern const wp__engine wp__engine_mariadb;
extern const wp__engine wp__engine_sqlserver;

#endif
