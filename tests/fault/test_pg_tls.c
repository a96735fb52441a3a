/* SPDX-License-Identifier: Apache-2.0 */
/* A PostgreSQL server that speaks TLS alone, with a certificate that it signed itself. */
#include "pg.h"

#include "own_server.h"

/* The test's database with these parameters. */
static void url_with(char *out, size_t size, const pg_place *p, const char *parameters)
{
    (void)snprintf(out, size, "%s?%s", p->url, parameters);
}

static void is_refused(const pg_place *p, const char *parameters, const char *why)
{
    char url[512];
    wp_config *config;
    wp_store *store = NULL;
    url_with(url, sizeof url, p, parameters);
    config = fault_config(url, "store.connect_timeout_ms=5000");
    WPT_FAILS(wp_store_open(&store, config, WPT_ERR), WP_E_UNAVAILABLE, why);
    assert_null(store);
    wp_config_free(config);
}

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

/* An enqueue and a worker, all of whose connections are encrypted: the server takes no others. */
static void works(const pg_place *p, const char *parameters)
{
    char url[512];
    wp_store *store;
    wp_worker *worker;
    wp_id id;
    url_with(url, sizeof url, p, parameters);
    store = fault_store(url, "");
    id = fault_enqueue(store, "t", "1");
    worker = fault_worker(store, "t", done, NULL);
    MUST_OK(wp_worker_start(worker, 1, &must_err));
    AWAIT(wpt_status_of(store, &id) == WP_MESSAGE_DONE);
    assert_true(pg_number(p->db, "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING "
                                 "(pid) WHERE a.datname = current_database() AND s.ssl AND a.pid "
                                 "<> pg_backend_pid()") >= 2);
    MUST_OK(wp_worker_stop(NULL, worker, PATIENCE_MS, &must_err));
    wp_worker_free(worker);
    wp_store_close(store);
}

/* proves: IBX-128, OBX-107 */
static void test_tls__asked_for_in_the_url__is_spoken_and_checked(void **state)
{
    const pg_place *p = *state;
    char parameters[300];
    is_refused(p, "sslmode=disable", "no encryption");
    works(p, "sslmode=require");
    /* the certificate is checked where that is asked for */
    is_refused(p, "sslmode=verify-ca&sslrootcert=/nowhere/root.crt", "/nowhere/root.crt");
    (void)snprintf(parameters, sizeof parameters, "sslmode=verify-ca&sslrootcert=%s/other.crt",
                   own_server_directory());
    is_refused(p, parameters, "certificate verify failed");
    (void)snprintf(parameters, sizeof parameters, "sslmode=verify-full&sslrootcert=%s/server.crt",
                   own_server_directory());
    works(p, parameters);
}

static int start(void **state)
{
    (void)own_server_start(state);
    own_server_do("require-tls");
    return 0;
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PG(test_tls__asked_for_in_the_url__is_spoken_and_checked),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}

int main(int argc, char **argv)
{
    return fault_main(argc, argv, NULL, 0, suite);
}
