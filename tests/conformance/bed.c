/* SPDX-License-Identifier: Apache-2.0 */
#include "bed.h"

static const engine *current;

wp_config *bed_config(bed *b, const char *const *options)
{
    wp_config *config = wpt_config(b->clock, options);
    bool timed = !b->engine->starts_slowly;
    for (size_t i = 0; options && options[i]; i += 2)
        timed = timed || strcmp(options[i], "store.response_timeout_ms") == 0;
    if (!timed)
        WPT_OK(wp_config_set(config, "store.response_timeout_ms", "120000", WPT_ERR));
    WPT_OK(wp_config_set(config, "store.url", b->url, WPT_ERR));
    if (b->engine->schema)
        WPT_OK(wp_config_set(config, "store.schema", b->engine->schema, WPT_ERR));
    if (b->engine->outbox)
        WPT_OK(wp_config_set(config, "store.outbox_table", b->engine->outbox, WPT_ERR));
    if (b->engine->inbox)
        WPT_OK(wp_config_set(config, "store.inbox_table", b->engine->inbox, WPT_ERR));
    return config;
}

static void open_all(bed *b, WP_OWN wp_config *config)
{
    if (b->engine->opens_new || !b->store)
        WPT_OK(wp_config_set(config, "store.deploy", "true", WPT_ERR));
    WPT_OK(wp_store_open(&b->store, config, WPT_ERR));
    wp_config_free(config);
    b->app = b->engine->open(b->store, false);
    b->conn = b->engine->lend(b->app, b->store);
    bed_exec(b, b->engine->orders ? b->engine->orders
                                  : "CREATE TABLE IF NOT EXISTS orders (n INTEGER)");
}

static void close_all(bed *b)
{
    wp_conn_free(b->conn);
    b->engine->close(b->app);
    wp_store_close(b->store);
}

int bed_setup(void **state)
{
    bed *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->engine = current;
    wpt_dir_make(&b->dir);
    b->engine->url(b->url, sizeof b->url, &b->dir, "app");
    b->clock = wpt_clock();
    if (b->engine->made_first)
        b->engine->make(b->url, sizeof b->url, b->engine->name);
    if (b->engine->deployed) {
        wp_config *config = bed_config(b, NULL);
        WPT_OK(wp_schema_deploy(config, WPT_ERR));
        wp_config_free(config);
        b->engine->deployed(b->url);
    }
    open_all(b, bed_config(b, NULL));
    if (b->engine->keep)
        b->engine->keep(b->url, b->engine->name);
    *state = b;
    return 0;
}

int bed_teardown(void **state)
{
    bed *b = *state;
    close_all(b);
    wp_clock_free(b->clock);
    wpt_dir_remove(&b->dir);
    if (b->engine->release)
        b->engine->release();
    free(b);
    return 0;
}

void bed_reopen(bed *b, const char *const *options)
{
    bed_reopen_with(b, bed_config(b, options));
}

void bed_reopen_with(bed *b, WP_OWN wp_config *config)
{
    close_all(b);
    open_all(b, config);
}

void bed_exec(bed *b, const char *sql)
{
    b->engine->exec(b->app, sql);
}

int64_t bed_number(bed *b, const char *sql)
{
    return b->engine->number(b->app, sql);
}

int bed_times(const bed *b, int many)
{
    return b->engine->again ? many / 5 : many;
}

void bed_is_hidden(bed *b, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    WPT_STATUS(wp_outbox_get(&info, b->store, id, WPT_ERR),
               b->engine->writer_blocks_readers ? WP_E_UNAVAILABLE : WP_E_NOT_FOUND);
}

void bed_needs_locks(bed *b)
{
    if (b->engine->heeds_locks && !b->engine->heeds_locks(b->url)) {
        print_message("skipped: this server heeds no lock hints\n");
        skip();
    }
}

void bed_has_no(bed *b, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    WPT_STATUS(wp_outbox_get(&info, b->store, id, WPT_ERR), WP_E_NOT_FOUND);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool checked = true;
#else
static const bool checked = false;
#endif

int bed_run(const struct CMUnitTest *tests, size_t count)
{
    const char *only = getenv("WAYPOST_TEST_ENGINE");
    bool known = !only; /* else it is a name that none has */
    int failed = 0;
    cmocka_set_test_filter(getenv("WAYPOST_TEST_FILTER"));
    for (size_t i = 0; i < engine_count; i++) {
        if (only && strncmp(only, engines[i]->name, strlen(only)) != 0)
            continue;
        known = true;
        if (checked && engines[i]->unchecked)
            continue;
        if (engines[i]->is_there && !engines[i]->is_there())
            continue;
        current = engines[i];
        print_message("# %s\n", current->name);
        failed += _cmocka_run_group_tests(current->name, tests, count, NULL, NULL);
    }
    return failed + !known;
}
