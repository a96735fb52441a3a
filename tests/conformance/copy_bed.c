/* SPDX-License-Identifier: Apache-2.0 */
#include "copy_bed.h"

wp_store *cb_file_beside(bed *b, const char *name)
{
    char url[300];
    (void)snprintf(url, sizeof url, "sqlite:%s/%s.db", b->dir.path, name);
    return wpt_store(url, b->clock, WPT_OPTIONS("store.id", name));
}

static wp_store *schema_beside(bed *b)
{
    wp_config *config = bed_config(b, WPT_OPTIONS("store.id", "beside", "store.deploy", "true"));
    wp_store *store = NULL;
    WPT_OK(wp_config_set(config, "store.schema", "beside", WPT_ERR));
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    wp_config_free(config);
    return store;
}

static void open_pair(pair *p, bed *b, int way)
{
    /* in memory, or where the app may not deploy, there is no other schema */
    const bool schema = way == TO_SCHEMA && !b->engine->opens_new && !b->engine->deployer;
    wp_store *other = schema ? schema_beside(b) : cb_file_beside(b, "beside");
    *p = (pair){.b = b, .own = other};
    p->from = way == FROM_FILE ? other : b->store;
    p->to = way == FROM_FILE ? b->store : other;
}

static void close_pair(pair *p)
{
    wp_store_close(p->own);
}

wp_copy *cb_copy(pair *p)
{
    wp_copy *copy = NULL;
    WPT_OK(wp_copy_new(&copy, p->from, p->to, WPT_ERR));
    return copy;
}

void cb_run(wp_copy *copy)
{
    int steps = 0;
    for (int more = 1; more;) {
        WPT_OK(wp_copy_step(&more, copy, WPT_ERR));
        assert_true(++steps < 1000); /* it ends */
    }
}

/* All that can be moved; how many were. */
int64_t cb_move(pair *p)
{
    wp_copy *copy = cb_copy(p);
    int64_t moved;
    cb_run(copy);
    moved = wp_copy_count(copy, WP_SOURCE_ALL, WP_COPY_MOVED);
    assert_string_equal(wp_copy_checksum(copy, 0), wp_copy_checksum(copy, 1));
    wp_copy_free(copy);
    return moved;
}

void cb_with_pair(void **state, int way, void (*scenario)(pair *))
{
    pair p;
    open_pair(&p, *state, way);
    scenario(&p);
    close_pair(&p);
}

bool cb_moves_joins(const pair *p)
{
    return strcmp(wp_store_engine(p->from), "sqlserver") != 0 &&
           strcmp(wp_store_engine(p->to), "sqlserver") != 0;
}

void cb_with_joins(void **state, int way, void (*scenario)(pair *))
{
    if (strcmp(wp_store_engine(((bed *)*state)->store), "sqlserver") == 0)
        return; /* they stay: test_copy.c */
    cb_with_pair(state, way, scenario);
}
