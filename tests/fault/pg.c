/* SPDX-License-Identifier: Apache-2.0 */
#include "pg.h"

int pg_setup(void **state)
{
    pg_place *p = calloc(1, sizeof *p);
    void *files = NULL;
    MUST(p);
    (void)place_setup(&files);
    p->files = *(place *)files;
    free(files);
    wpt_pg_name(p->url, sizeof p->url, "fault");
    (void)wpt_pg_create(p->url, sizeof p->url, NULL);
    p->db = wpt_pg_connect(p->url);
    fault_deploy(p->url);
    wpt_pg_exec(p->db, "CREATE TABLE effects (number bigint NOT NULL)");
    wpt_pg_exec(p->db, "CREATE TABLE orders (number bigint NOT NULL)");
    wpt_pg_exec(p->db, "CREATE TABLE unsure (number bigint NOT NULL)");
    *state = p;
    return 0;
}

int pg_teardown(void **state)
{
    pg_place *p = *state;
    place *files = malloc(sizeof *files);
    void *handed = files;
    MUST(files);
    *files = p->files;
    (void)place_teardown(&handed);
    PQfinish(p->db);
    wpt_pg_release();
    free(p);
    return 0;
}

/* ---- statements --------------------------------------------------------------------------- */

static void expand(char *sql, size_t size, const char *format, va_list args)
{
    int len = vsnprintf(sql, size, format, args);
    MUST(len >= 0 && (size_t)len < size);
}

void pg_exec(PGconn *pg, const char *format, ...)
{
    char sql[1000];
    va_list args;
    va_start(args, format);
    expand(sql, sizeof sql, format, args);
    va_end(args);
    wpt_pg_exec(pg, sql);
}

int64_t pg_number(PGconn *pg, const char *format, ...)
{
    char sql[1000];
    va_list args;
    va_start(args, format);
    expand(sql, sizeof sql, format, args);
    va_end(args);
    return wpt_pg_number(pg, sql);
}

bool pg_try(PGconn *pg, const char *format, ...)
{
    char sql[1000];
    PGresult *result;
    ExecStatusType status;
    va_list args;
    va_start(args, format);
    expand(sql, sizeof sql, format, args);
    va_end(args);
    result = PQexec(pg, sql);
    status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

int64_t pg_try_number(PGconn *pg, const char *format, ...)
{
    char sql[1000];
    PGresult *result;
    int64_t value = -1;
    va_list args;
    va_start(args, format);
    expand(sql, sizeof sql, format, args);
    va_end(args);
    result = PQexec(pg, sql);
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return value;
}

wp_conn *pg_lend(wp_store *store, PGconn *pg)
{
    wp_conn *conn = NULL;
    MUST_OK(wp_conn_borrow_pq(&conn, store, pg, &must_err));
    return conn;
}

void pg_enqueue_numbers(wp_store *store, const char *topic, int first, int count)
{
    for (int i = first; i < first + count; i++) {
        char number[16];
        (void)snprintf(number, sizeof number, "%d", i);
        (void)fault_enqueue(store, topic, number);
    }
}

/* ---- handlers ----------------------------------------------------------------------------- */

wp_outcome pg_handle(wp_delivery *delivery, void *user)
{
    const pg_handling *h = user;
    history_write(h->history, 'b', wp_delivery_message(delivery));
    if (h->work_us)
        fault_nap_us(fault_random(h->work_us));
    history_write(h->history, 'e', wp_delivery_message(delivery));
    return WP_OUTCOME_DONE;
}

static bool effect(wp_delivery *delivery, const pg_handling *h, PGconn *pg)
{
    const char *number = wp_received_payload(NULL, wp_delivery_message(delivery));
    wp_conn *conn;
    wp_status st;
    if (!pg_try(pg, "BEGIN") || !pg_try(pg, "INSERT INTO effects VALUES (%s)", number))
        return false;
    if (h->work_us)
        fault_nap_us(fault_random(h->work_us));
    conn = pg_lend(h->store, pg);
    st = wp_delivery_complete(delivery, conn, NULL);
    wp_conn_free(conn);
    return st == WP_OK && pg_try(pg, "COMMIT");
}

static PGconn *take_connection(pg_handling *h)
{
    PGconn *pg = NULL;
    for (size_t i = 0; !pg && i < WPT_COUNT(h->idle); i++)
        pg = atomic_exchange(&h->idle[i], NULL);
    return pg ? pg : PQconnectdb(h->url);
}

static void give_connection(pg_handling *h, PGconn *pg, bool sound)
{
    for (size_t i = 0; sound && pg && i < WPT_COUNT(h->idle); i++)
        pg = atomic_exchange(&h->idle[i], pg);
    PQfinish(pg); /* rolls back what was not committed */
}

void pg_handling_end(pg_handling *h)
{
    for (size_t i = 0; i < WPT_COUNT(h->idle); i++)
        PQfinish(atomic_exchange(&h->idle[i], NULL));
    (void)close(h->history);
}

wp_outcome pg_handle_once(wp_delivery *delivery, void *user)
{
    pg_handling *h = user;
    PGconn *pg = take_connection(h);
    bool done;
    history_write(h->history, 'b', wp_delivery_message(delivery));
    done = PQstatus(pg) == CONNECTION_OK && effect(delivery, h, pg);
    history_write(h->history, 'e', wp_delivery_message(delivery));
    give_connection(h, pg, done);
    return done ? WP_OUTCOME_DONE : WP_OUTCOME_RETRY;
}

void pg_check_history(const char *path, int total)
{
    bool *busy = calloc((size_t)total, sizeof *busy);
    size_t count = 0;
    event *events = history_read(&count, path);
    MUST(busy);
    for (size_t i = 0; i < count; i++) {
        const event *e = &events[i];
        assert_in_range(e->number, 0, total - 1);
        assert_int_equal(busy[e->number], e->what == 'e');
        busy[e->number] = e->what == 'b';
    }
    for (int i = 0; i < total; i++)
        assert_false(busy[i]);
    free(events);
    free(busy);
}

void pg_check_effects(PGconn *pg, int total)
{
    assert_int_equal(pg_number(pg, "SELECT count(*) FROM effects"), total);
    assert_int_equal(pg_number(pg, "SELECT count(DISTINCT number) FROM effects"), total);
}
