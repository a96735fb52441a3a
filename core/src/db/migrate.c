/* SPDX-License-Identifier: Apache-2.0 */
/* Numbered, journaled migrations. All that are missing run in one write transaction, which the
 * engine serialises, by itself or by a lock that is taken first: of many processes that start at
 * once, one does the work and the others find it done. */
#include <stdlib.h>
#include <string.h>

#include "db/store.h"

/* Which migrations were applied: bit n for number n. Those with numbers between may come later. */
typedef uint64_t applied_set;

/* The tables whose names are options, outbox and inbox, and the migration that makes each. */
enum { NAMED = 2 };
static const int64_t made_by[NAMED] = {1, 2};

/* Reads the journal, and whether the tables that it tells of have the names that this store knows. */
typedef struct journal_op {
    wp_op base;
    char *tables[1 + NAMED]; /* bare names: the journal's, and those with options */
    const char *name;
    int64_t found; /* 1 if the table that was asked for exists */
    bool is_there; /* the journal */
    applied_set applied;
    const char *absent; /* a table that should be there */
    int64_t number;     /* for record */
    int step;
} journal_op;

static void journal_rewind(wp_op *op)
{
    ((journal_op *)op)->step = 0;
    ((journal_op *)op)->found = 0;
    ((journal_op *)op)->is_there = false;
    ((journal_op *)op)->applied = 0;
    ((journal_op *)op)->absent = NULL;
}

static void ask_for(journal_op *self, const char *table)
{
    wp__op_set_text(&self->base, WP__P_NAME, table);
    wp__op_set_text(&self->base, WP__P_SCHEMA, wp__store_names(self->base.store)->schema);
    wp__op_use(&self->base, WP__SQL_MIGRATION_EXISTS, 1);
}

/* Steps: 1 is there a journal; 2 what is in it; from 3 on, is the table there that it tells of. */
static wp_status read_next(wp_op *op, wp_error **err)
{
    journal_op *self = (journal_op *)op;
    (void)err;
    if (self->step == 1)
        self->is_there = self->found != 0;
    if (self->step > 2 && !self->found)
        self->absent = self->tables[self->step - 2];
    self->step++;
    if (self->step == 1)
        ask_for(self, self->tables[0]);
    else if (self->step == 2 && self->is_there)
        wp__op_use(op, WP__SQL_MIGRATION_LIST, 2);
    while (self->step > 2 && self->step < 3 + NAMED && !self->absent) {
        if (self->applied >> made_by[self->step - 3] & 1) {
            ask_for(self, self->tables[self->step - 2]);
            break;
        }
        self->step++;
    }
    return WP_OK;
}

static wp_status read_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    journal_op *self = (journal_op *)op;
    int64_t number = 0;
    if (self->step != 2)
        return wp__column_int(&self->found, &columns[0], err);
    if (wp__column_int(&number, &columns[0], err) != WP_OK)
        return WP_E_DB;
    if (number > 0 && number < 64)
        self->applied |= UINT64_C(1) << number;
    return WP_OK;
}

static const wp__op_class read_class = {
    .next = read_next, .row = read_row, .rewind = journal_rewind, .writes = true, .single = true};

/* Creates the journal; where the engine has them, with the lock held and in its schema. */
static wp_status create_next(wp_op *op, wp_error **err)
{
    journal_op *self = (journal_op *)op;
    (void)err;
    self->step++;
    if (self->step == 1 && !wp__op_has(op, WP__SQL_MIGRATION_LOCK))
        self->step = 2;
    if (!op->engine->schemas && self->step > 1 && self->step < 4)
        self->step = 4;
    wp__op_set_text(op, WP__P_SCHEMA, wp__store_names(op->store)->schema);
    if (self->step == 1)
        wp__op_use(op, WP__SQL_MIGRATION_LOCK, 1);
    else if (self->step == 2)
        wp__op_use(op, WP__SQL_MIGRATION_SCHEMA_EXISTS, 1);
    else if (self->step == 3 && !self->found)
        wp__op_use(op, WP__SQL_MIGRATION_SCHEMA_CREATE, 0); /* asks for a right: only if need be */
    else if (self->step <= 4) {
        self->step = 4;
        wp__op_use(op, WP__SQL_MIGRATION_CREATE, 0);
    }
    return WP_OK;
}

static wp_status create_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    journal_op *self = (journal_op *)op;
    return self->step == 2 ? wp__column_int(&self->found, &columns[0], err) : WP_OK;
}

/* Notes one migration as applied. */
static wp_status record_next(wp_op *op, wp_error **err)
{
    journal_op *self = (journal_op *)op;
    (void)err;
    if (self->step++ == 0) {
        wp__op_set_int(op, WP__P_NUMBER, self->number);
        wp__op_set_text(op, WP__P_NAME, self->name);
        wp__op_set_now(op);
        wp__op_use(op, WP__SQL_MIGRATION_RECORD, 0);
    }
    return WP_OK;
}

static const wp__op_class create_class = {.next = create_next,
                                          .row = create_row,
                                          .rewind = journal_rewind,
                                          .writes = true,
                                          .single = true};
static const wp__op_class record_class = {
    .next = record_next, .rewind = journal_rewind, .writes = true, .single = true};

/* Run one of these inside the transaction that is open, or in none. The class says `single`, so
 * that no transaction is begun. */
static wp_status run(wp_conn *conn, journal_op *op, const wp__op_class *cls, wp_error **err)
{
    wp_status st;
    wp__op_init(&op->base, cls, conn->store);
    st = wp__conn_run(conn, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

/* *found: there is a journal.
 * @return also WP_E_SCHEMA: it was made with tables of other names */
static wp_status read_journal(bool *found, applied_set *applied, wp_conn *conn, wp_error **err)
{
    static const char *const nouns[1 + NAMED] = {"migration", "outbox", "inbox"};
    journal_op op = {0};
    wp_status st = WP_OK;
    for (size_t i = 0; i < 1 + NAMED && st == WP_OK; i++) {
        wp__buf name = {0};
        wp__sql_object_name(&name, nouns[i], strlen(nouns[i]), wp__store_names(conn->store));
        if (!(op.tables[i] = wp__buf_take(&name)))
            st = wp__fail_nomem(err);
    }
    if (st == WP_OK)
        st = run(conn, &op, &read_class, err);
    if (st == WP_OK && op.absent)
        st = wp__fail(err, WP_E_SCHEMA,
                      "the Waypost schema \"%s\" has no table \"%s\": it was deployed with another "
                      "store.outbox_table or store.inbox_table; give each its own store.schema",
                      wp__store_names(conn->store)->schema, op.absent);
    for (size_t i = 0; i < 1 + NAMED; i++)
        free(op.tables[i]);
    *found = op.is_there;
    *applied = op.applied;
    return st;
}

/* "0001_outbox" -> 1 */
static int64_t number_of(const wp__sql_source *migration)
{
    return strtoll(migration->name, NULL, 10);
}

static bool has(applied_set applied, const wp__sql_source *migration)
{
    return applied >> number_of(migration) & 1;
}

/* The first migration that the database lacks, or NULL. */
static const wp__sql_source *missing(const wp_conn *conn, applied_set applied)
{
    const wp__engine *engine = wp__store_engine(conn->store);
    for (size_t i = 0; i < *engine->migration_count; i++)
        if (!has(applied, &engine->migrations[i]))
            return &engine->migrations[i];
    return NULL;
}

static wp_status run_batch(wp_conn *conn, const char *source, size_t len, wp_error **err)
{
    wp__buf text = {0};
    wp_status st = wp__sql_render(&text, source, len, wp__store_names(conn->store), err);
    if (st == WP_OK)
        st = conn->driver->script(conn, text.data, err);
    wp__buf_free(&text);
    return st;
}

/* All at once, or in the engine's batches: those of the source, for a name may have their end in it. */
static wp_status run_script(wp_conn *conn, const wp__sql_source *script, wp_error **err)
{
    const char *end = wp__store_engine(conn->store)->batch_end;
    const char *next = (const char *)script->text; /* ends with a NUL */
    const char *last = next + script->len;
    wp_status st = WP_OK;
    while (st == WP_OK && next < last) {
        const char *found = end ? strstr(next, end) : NULL;
        st = run_batch(conn, next, (size_t)((found ? found : last) - next), err);
        next = found ? found + strlen(end) : last;
    }
    return st;
}

/* Stored procedures are replaced by those of this library: a change of one comes with a migration. They are made
 * after the last one, before it is noted: a deployment that was cut off makes them again. */
static wp_status make_routines(wp_conn *conn, wp_error **err)
{
    const wp__engine *engine = wp__store_engine(conn->store);
    wp_status st = WP_OK;
    for (size_t i = 0; engine->routines && i < *engine->routine_count && st == WP_OK; i++) {
        const wp__sql_source *routine = &engine->routines[i];
        if (engine->one_by_one) /* semicolons are of its body */
            st = run_batch(conn, (const char *)routine->text, routine->len, err);
        else
            st = run_script(conn, routine, err);
        if (st != WP_OK)
            wp__error_context(err, "procedure %s", routine->name);
    }
    return st;
}

static wp_status apply(wp_conn *conn, const wp__sql_source *migration, bool routines,
                       wp_error **err)
{
    journal_op op = {.name = migration->name, .number = number_of(migration)};
    wp_status st = run_script(conn, migration, err);
    if (st == WP_OK && routines)
        st = make_routines(conn, err);
    if (st == WP_OK)
        st = run(conn, &op, &record_class, err);
    if (st != WP_OK)
        wp__error_context(err, "migration %s", migration->name);
    return st;
}

static wp_status deploy_in_transaction(wp_conn *conn, wp_error **err)
{
    journal_op create = {0};
    /* Once. Where each migration stands by itself with the first, before it is noted: one that is cut off leaves no version
     * with procedures that its migrations do not have. They are looked into when they are called. */
    const bool at_once = wp__store_engine(conn->store)->one_by_one;
    applied_set applied = 0;
    bool found = false, first = true;
    wp_status st;
    if ((st = run(conn, &create, &create_class, err)) != WP_OK ||
        (st = read_journal(&found, &applied, conn, err)) != WP_OK)
        return st;
    for (const wp__sql_source *migration = missing(conn, applied), *next; migration && st == WP_OK;
         migration = next) {
        applied |= UINT64_C(1) << number_of(migration);
        next = missing(conn, applied);
        st = apply(conn, migration, at_once ? first : !next, err);
        first = false;
        if (st == WP_OK)
            WP__LOG(wp__store_log(conn->store), WP_LOG_INFO, "schema migrated",
                    WP__F_TEXT("StoreId", wp_store_id(conn->store)),
                    WP__F_TEXT("Migration", migration->name));
    }
    return st;
}

wp_status wp__migrate_deploy(wp_conn *conn, wp_error **err)
{
    applied_set applied = 0;
    bool found = false;
    wp_status st = read_journal(&found, &applied, conn, err);
    if (st != WP_OK || (found && !missing(conn, applied)))
        return st; /* nothing to do: do not even take the write lock */
    if ((st = conn->driver->begin(conn, true, err)) != WP_OK)
        return st;
    if ((st = deploy_in_transaction(conn, err)) == WP_OK)
        st = conn->driver->commit(conn, err);
    if (st != WP_OK)
        conn->driver->rollback(conn);
    return st;
}

wp_status wp__migrate_verify(int64_t *newest, wp_conn *conn, wp_error **err)
{
    const wp__sql_source *lacks;
    applied_set applied = 0;
    bool found = false;
    wp_status st = read_journal(&found, &applied, conn, err);
    if (st != WP_OK)
        return st;
    if (!found)
        return wp__fail(err, WP_E_SCHEMA,
                        "the database has no Waypost schema named \"%s\": deploy it with "
                        "the deploy call or the option store.deploy",
                        wp__store_names(conn->store)->schema);
    lacks = missing(conn, applied);
    if (lacks)
        return wp__fail(err, WP_E_SCHEMA,
                        "the Waypost schema \"%s\" lacks migration %s, which this library needs: "
                        "deploy it with the deploy call or the option store.deploy",
                        wp__store_names(conn->store)->schema, lacks->name);
    for (int64_t number = 1; newest && number < 64; number++)
        if (applied >> number & 1)
            *newest = number;
    return WP_OK;
}
