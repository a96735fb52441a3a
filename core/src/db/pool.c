/* SPDX-License-Identifier: Apache-2.0 */
/* A store's connections: a few, each used by one thread at a time. */
#include <stdlib.h>

#include "base/thread.h"
#include "db/store.h"

void wp__pool_init(wp__pool *pool, int64_t max)
{
    wp__mutex_init(&pool->mutex);
    wp__cond_init(&pool->freed, wp__clock_system());
    pool->free = NULL;
    pool->open = 0;
    pool->max = max;
}

void wp__pool_destroy(wp__pool *pool)
{
    while (pool->free) {
        wp_conn *conn = pool->free;
        pool->free = conn->next_free;
        wp__conn_close(conn);
    }
    wp__cond_destroy(&pool->freed);
    wp__mutex_destroy(&pool->mutex);
}

wp_status wp__pool_take(wp_conn **out, wp_store *store, bool ask, wp_error **err)
{
    wp__pool *pool = wp__store_pool(store);
    wp_conn *conn;
    wp_status st;
    wp__mutex_lock(&pool->mutex);
    while (!pool->free && pool->open >= pool->max)
        wp__cond_wait(&pool->freed, &pool->mutex);
    conn = pool->free;
    if (conn)
        pool->free = conn->next_free;
    else
        pool->open++;
    wp__mutex_unlock(&pool->mutex);
    if (conn &&
        (!wp__conn_is_sound(conn) || (conn->driver->alive && !conn->driver->alive(conn, ask)))) {
        wp__conn_close(conn);
        conn = NULL;
    }
    if (conn) {
        *out = conn;
        return WP_OK;
    }
    st = wp__store_connect(out, store, WP__OPEN_POOL, err);
    if (st != WP_OK) {
        wp__mutex_lock(&pool->mutex);
        pool->open--;
        wp__cond_signal(&pool->freed);
        wp__mutex_unlock(&pool->mutex);
    }
    return st;
}

void wp__pool_give(wp_store *store, wp_conn *conn)
{
    wp__pool *pool = wp__store_pool(store);
    bool broken = conn->broken;
    if (broken)
        wp__conn_close(conn);
    wp__mutex_lock(&pool->mutex);
    if (broken) {
        pool->open--;
    } else {
        conn->next_free = pool->free;
        pool->free = conn;
    }
    wp__cond_signal(&pool->freed);
    wp__mutex_unlock(&pool->mutex);
}

void wp__conn_close(wp_conn *conn)
{
    if (conn)
        conn->driver->close(conn);
}
