/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite's ground: one suite for every engine. What differs between engines is in
 * struct engine, its functions and its quirks; tests ask there and nowhere else. A further engine
 * is one more struct in `engines`. */
#ifndef BED_H
#define BED_H

#include "support/wpt.h"

/* A connection of the app's own, by whatever client library the app uses. */
typedef struct app app;

typedef struct engine {
    const char *name;
    const char *schema; /* NULL: the default */
    const char *outbox;
    const char *inbox;
    /* Whether its server is there; it says so if not. NULL: it is. */
    bool (*is_there)(void);
    /* Whether it can read texts with escapes in JSON; it says so if not. NULL: it can. */
    bool (*reads_json)(void);
    /* Whether it has stricter levels of isolation, and heeds lock hints; it says so if not. NULL: it does. */
    bool (*takes_levels)(void);
    bool (*heeds_locks)(const char *url);
    /* Whether it knows how many bytes a text has in UTF-8; else its lists tell UTF-16 units. NULL: it does. */
    bool (*counts_bytes)(void);
    /* Write the URL of a database of its own, named `name`, to `out`. It is not there yet. */
    void (*url)(char *out, size_t size, const wpt_dir *dir, const char *name);
    /* Make that database, with nothing but the app's table mine (n INTEGER), or give the URL of another
     * one in this state.
     * @param kept_for  not NULL: it may also be one that was kept for this, with its schema but no rows */
    void (*make)(char *url, size_t size, const char *kept_for);
    /* The URL of whoever may deploy; NULL: that is the bed's own. */
    void (*deployer)(char *out, size_t size, const char *url);
    /* The next test may have this database with the schema that was just deployed; may be NULL. */
    void (*keep)(const char *url, const char *kept_for);
    /* No test needs any of them now. NULL: they are in the directory. */
    void (*release)(void);
    /* A number from the database at a URL. */
    int64_t (*number_at)(const char *url, const char *sql);
    /* The database exists, and its schema is deployed: set it up as this engine has it. */
    void (*deployed)(const char *url);
    /* The app's connection: does not wait for locks unless `patient`. */
    app *(*open)(wp_store *store, bool patient);
    void (*close)(app *a);
    wp_conn *(*lend)(app *a, wp_store *store);
    void (*exec)(app *a, const char *sql);
    int64_t (*number)(app *a, const char *sql);
    /* How the app says these. */
    const char *begin, *commit, *rollback, *savepoint, *rollback_to;
    const char
        *dead_letters;  /* the view, with the seeds' names of columns; NULL: as the others do */
    const char *orders; /* makes the app's table if it is not there; NULL: as the others do */
    /* SQL: counts everything that was created; the outbox tables called %Q (schema) and %Q (table); what
     * else there is beside orders and the schema %Q; the quoted name of the journal in schema %w. */
    const char *count_objects, *count_outbox, *count_others, *journal;
    /* Where each deployment makes the procedures anew: the migration that does nothing else (0: none does), and
     * what makes one of them an older one. */
    int64_t remade_by;
    const char *older;
    /* The URL of a login that may call the procedures of a deployed schema and do nothing else; the same one until
     * release(). NULL: the bed's is such a user already, or there are no users.
     * @return whether the procedures reach the tables for it; it says so if not */
    bool (*limit)(char *out, size_t size, const char *url);
    const char *may_call; /* SQL: whether who asks may call the procedure called %s */
    /* Quirks. */
    bool made_first; /* the database must be made before the schema is deployed */
    bool due_stays;  /* what was due stays so if the clock is set back */
    bool
        starts_slowly; /* the first statements of a connection may take longer than the usual timeout */
    bool isolates_first;     /* SET TRANSACTION comes before the transaction */
    bool inbox_is_read_anew; /* also by transactions that began before; else they must begin anew */
    bool
        again; /* of an engine and a driver that another one has, too: long tests are short here, see bed_times() */
    bool unchecked; /* not run under sanitizers, to save time: fault.odbc runs its driver */
    bool hides_transactions;    /* a lent connection does not tell whether one is open */
    bool deaf;                  /* signals are lost on the way to a worker */
    bool opens_new;             /* each store that opens the URL gets a new database */
    bool one_writer;            /* while the app's transaction has written, others cannot write */
    bool writer_blocks_readers; /* nor read: that is WP_E_UNAVAILABLE */
} engine;

extern const engine *const engines[];
extern const size_t engine_count;

/* What each test starts from: a deployed database, a store on a manual clock, and the app's own
 * connection with a table of its own: orders (n INTEGER). */
typedef struct bed {
    const engine *engine;
    wpt_dir dir;
    char url[256];
    wp_clock *clock;
    wp_store *store;
    app *app;
    wp_conn *conn; /* app's, lent to store */
} bed;

int bed_setup(void **state);
int bed_teardown(void **state);
/* The same anew with more options, and for engines that keep it, the same database. */
void bed_reopen(bed *b, const char *const *options);
/* With a configuration that bed_config() made; frees it. */
void bed_reopen_with(bed *b, WP_OWN wp_config *config);
/* The options that name the bed's database and schema, with more. */
wp_config *bed_config(bed *b, const char *const *options);
/* The app runs a statement on its connection. */
void bed_exec(bed *b, const char *sql);
int64_t bed_number(bed *b, const char *sql);
/* How often to do what is done `many` times: a fifth of it on a bed whose engine has another one. */
int bed_times(const bed *b, int many);
/* The message cannot be seen from outside the app's transaction. */
void bed_is_hidden(bed *b, const wp_id *id);
/* Skip this test where lock hints mean nothing. */
void bed_needs_locks(bed *b);
/* The message is not there. */
void bed_has_no(bed *b, const wp_id *id);

/* Run the tests on each engine; the count of failures. While one works on them: WAYPOST_TEST_ENGINE names the only
 * engine, WAYPOST_TEST_FILTER is a pattern (* and ?) for the names of tests. */
int bed_run(const struct CMUnitTest *tests, size_t count);
#define BED_TEST(test) cmocka_unit_test_setup_teardown(test, bed_setup, bed_teardown)

#endif
