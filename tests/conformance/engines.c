/* SPDX-License-Identifier: Apache-2.0 */
/* The engines that the suite runs on. */
#include <sqlite3.h>

#include "bed.h"

struct app {
    sqlite3 *db;
};

static void exec(app *a, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(a->db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static int64_t number(app *a, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;
    assert_int_equal(sqlite3_prepare_v2(a->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static app *open_at(const char *location, bool patient)
{
    app *a = calloc(1, sizeof *a);
    assert_non_null(a);
    assert_int_equal(
        sqlite3_open_v2(location, &a->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL),
        SQLITE_OK);
    (void)sqlite3_busy_timeout(a->db, patient ? 60000 : 0);
    return a;
}

static app *sqlite_open(wp_store *store, bool patient)
{
    return open_at(wp_store_location(store), patient);
}

static void sqlite_close(app *a)
{
    assert_int_equal(sqlite3_close(a->db), SQLITE_OK);
    free(a);
}

static wp_conn *sqlite_lend(app *a, wp_store *store)
{
    wp_conn *conn = NULL;
    WPT_OK(wp_conn_borrow_sqlite(&conn, store, a->db, WPT_ERR));
    return conn;
}

static void file_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)snprintf(out, size, "sqlite:%s/%s.db", dir->path, name);
}

static void memory_url(char *out, size_t size, const wpt_dir *dir, const char *name)
{
    (void)dir;
    (void)name;
    (void)snprintf(out, size, "sqlite::memory:");
}

static void use_rollback_journal(const char *url)
{
    app *a = open_at(url + strlen("sqlite:"), true);
    exec(a, "PRAGMA journal_mode = DELETE");
    sqlite_close(a);
}

#define SQLITE_APP                                                                                 \
    .open = sqlite_open, .close = sqlite_close, .lend = sqlite_lend, .exec = exec,                 \
    .number = number, .begin = "BEGIN", .commit = "COMMIT", .rollback = "ROLLBACK",                \
    .savepoint = "SAVEPOINT s", .rollback_to = "ROLLBACK TO s", .one_writer = true

static const engine sqlite_file = {.name = "sqlite, a file", .url = file_url, SQLITE_APP};

static const engine sqlite_memory = {.name = "sqlite, in memory",
                                     .url = memory_url,
                                     SQLITE_APP,
                                     .opens_new = true,
                                     .writer_blocks_readers = true};

static const engine sqlite_journal = {.name = "sqlite, a file with a rollback journal",
                                      .url = file_url,
                                      .deployed = use_rollback_journal,
                                      SQLITE_APP};

static const engine sqlite_hostile = {.name = "sqlite, a file with hostile names",
                                      .schema = "a\"b; DROP TABLE orders; -- ''[`Ünï%s",
                                      .outbox = "\"; out box\\ 😀] {outbox} :id ?1",
                                      .url = file_url,
                                      SQLITE_APP};

const engine *const engines[] = {&sqlite_file, &sqlite_memory, &sqlite_journal, &sqlite_hostile};
const size_t engine_count = WPT_COUNT(engines);
