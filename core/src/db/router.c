/* SPDX-License-Identifier: Apache-2.0 */
#include "db/router.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "db/store.h"

/* ---- places ------------------------------------------------------------------------------- */

struct wp__place {
    atomic_int refs;
    char *id;
    wp_config *config; /* NULL: the store was given */
    wp__mutex mutex;   /* held while it is opened, which may take as long as its timeouts allow */
    wp_store *store;   /* a reference; NULL: not opened yet */
};

static wp_status place_new(wp__place **out, const char *id, wp_error **err)
{
    wp__place *place = calloc(1, sizeof *place);
    if (place)
        place->id = wp__text_dup(id);
    if (!place || !place->id) {
        free(place);
        return wp__fail_nomem(err);
    }
    atomic_init(&place->refs, 1);
    wp__mutex_init(&place->mutex);
    *out = place;
    return WP_OK;
}

wp_status wp__place_of(wp__place **out, wp_store *store, const char *id, wp_error **err)
{
    wp_status st = place_new(out, id ? id : wp_store_id(store), err);
    if (st == WP_OK)
        (*out)->store = wp__store_ref(store);
    return st;
}

static wp_status place_from(wp__place **out, const wp_config *config, wp_error **err)
{
    wp__place *place = NULL;
    wp_status st = place_new(&place, config->store_id, err);
    if (st == WP_OK && (st = wp__config_copy(&place->config, config, err)) != WP_OK) {
        wp__place_unref(place);
        return st;
    }
    *out = place;
    return st;
}

wp__place *wp__place_ref(wp__place *place)
{
    atomic_fetch_add_explicit(&place->refs, 1, memory_order_relaxed);
    return place;
}

void wp__place_unref(wp__place *place)
{
    if (!place || atomic_fetch_sub_explicit(&place->refs, 1, memory_order_acq_rel) != 1)
        return;
    wp__store_unref(place->store);
    wp__mutex_destroy(&place->mutex);
    wp_config_free(place->config);
    free(place->id);
    free(place);
}

const char *wp__place_id(const wp__place *place)
{
    return place->id;
}

wp_clock *wp__place_clock(const wp__place *place)
{
    if (!place->config)
        return wp__store_clock(place->store);
    return place->config->clock ? place->config->clock : wp__clock_system();
}

wp_store *wp__place_given(const wp__place *place)
{
    return place->config ? NULL : place->store;
}

wp_status wp__place_open(wp_store **out, wp__place *place, wp_error **err)
{
    wp_status st = WP_OK;
    wp__mutex_lock(&place->mutex);
    if (!place->store)
        st = wp_store_open(&place->store, place->config, err);
    if (st == WP_OK)
        *out = place->store;
    wp__mutex_unlock(&place->mutex);
    return st;
}

/* ---- the router --------------------------------------------------------------------------- */

struct wp_router {
    atomic_int refs;
    int64_t pid;
    wp__mutex mutex; /* guards all below; not held while a store is opened */
    wp__place **places;
    size_t count;
    wp__follower *followers;
};

wp_status wp__router_check(const wp_router *router, wp_error **err)
{
    if (!router)
        return wp__fail(err, WP_E_ARGUMENT, "router is NULL");
    if (router->pid != wp__process_id())
        return wp__fail(
            err, WP_E_STATE,
            "the router was made by process %lld: fork first and make routers afterwards",
            (long long)router->pid);
    return WP_OK;
}

wp_status wp_router_new(wp_router **out, wp_error **err)
{
    wp_router *router;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if (!(router = calloc(1, sizeof *router)))
        return wp__fail_nomem(err);
    atomic_init(&router->refs, 1);
    router->pid = wp__process_id();
    wp__mutex_init(&router->mutex);
    *out = router;
    return WP_OK;
}

static void free_places(wp__place **places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        wp__place_unref(places[i]);
    free(places);
}

wp_router *wp__router_ref(wp_router *router)
{
    atomic_fetch_add_explicit(&router->refs, 1, memory_order_relaxed);
    return router;
}

void wp__router_unref(wp_router *router)
{
    if (!router || atomic_fetch_sub_explicit(&router->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_places(router->places, router->count);
    wp__mutex_destroy(&router->mutex);
    free(router);
}

void wp_router_free(wp_router *router)
{
    if (wp__router_check(router, NULL) == WP_OK)
        wp__router_unref(router);
}

/* @locks mutex */
static wp__place *find(wp__place *const *places, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(places[i]->id, id) == 0)
            return places[i];
    return NULL;
}

static wp_status check_stores(const wp_config *const *stores, size_t count, wp_error **err)
{
    wp_status st;
    if (!stores && count)
        return wp__fail(err, WP_E_ARGUMENT, "stores is NULL");
    for (size_t i = 0; i < count; i++) {
        if (!stores[i])
            return wp__fail(err, WP_E_ARGUMENT, "stores[%zu] is NULL", i);
        if ((st = wp__store_check_url(stores[i]->store_url, err)) != WP_OK) {
            wp__error_context(err, "store \"%s\"", stores[i]->store_id);
            return st;
        }
        for (size_t j = 0; j < i; j++)
            if (strcmp(stores[i]->store_id, stores[j]->store_id) == 0)
                return wp__fail(err, WP_E_ARGUMENT, "two stores have the id \"%s\"",
                                stores[i]->store_id);
    }
    return WP_OK;
}

/* The places of a list: those that it had and that are the same, and new ones. @locks mutex */
static wp_status make_places(wp__place **places, const wp_router *router,
                             const wp_config *const *stores, size_t count, wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t i = 0; i < count && st == WP_OK; i++) {
        wp__place *old = find(router->places, router->count, stores[i]->store_id);
        if (old && wp__config_is_same_store(old->config, stores[i]))
            places[i] = wp__place_ref(old);
        else
            st = place_from(&places[i], stores[i], err);
    }
    return st;
}

/* All hear of it; the first error is told. @locks mutex */
static wp_status tell_all(wp_router *router, wp_error **err)
{
    wp_status st = WP_OK;
    for (wp__follower *f = router->followers; f; f = f->next) {
        wp_status told = f->changed(f, router->places, router->count, st == WP_OK ? err : NULL);
        st = st == WP_OK ? told : st;
    }
    return st;
}

wp_status wp_router_set(wp_router *router, const wp_config *const *stores, size_t count,
                        wp_error **err)
{
    wp__place **places;
    wp_status st;
    if ((st = wp__router_check(router, err)) != WP_OK ||
        (st = check_stores(stores, count, err)) != WP_OK)
        return st;
    if (!(places = calloc(count + 1, sizeof(wp__place *))))
        return wp__fail_nomem(err);
    wp__mutex_lock(&router->mutex);
    if ((st = make_places(places, router, stores, count, err)) == WP_OK) {
        wp__place **old = router->places;
        size_t old_count = router->count;
        router->places = places;
        router->count = count;
        st = tell_all(router, err);
        places = old;
        count = old_count;
    }
    wp__mutex_unlock(&router->mutex);
    free_places(places, count); /* closes what nobody uses any more */
    return st;
}

wp_status wp_router_get(wp_store **out, wp_router *router, const char *key, wp_error **err)
{
    wp__place *place;
    wp_store *store = NULL;
    wp_status st;
    if (!out || !key)
        return wp__fail(err, WP_E_ARGUMENT, "%s is NULL", out ? "key" : "out");
    if ((st = wp__router_check(router, err)) != WP_OK)
        return st;
    wp__mutex_lock(&router->mutex);
    if ((place = find(router->places, router->count, key)))
        wp__place_ref(place);
    wp__mutex_unlock(&router->mutex);
    if (!place)
        return wp__fail(err, WP_E_NOT_FOUND, "no store has the id \"%.255s\"", key);
    if ((st = wp__place_open(&store, place, err)) == WP_OK)
        *out = wp__store_ref(store);
    wp__place_unref(place);
    return st;
}

size_t wp_router_count(wp_router *router)
{
    size_t count;
    if (wp__router_check(router, NULL) != WP_OK)
        return 0;
    wp__mutex_lock(&router->mutex);
    count = router->count;
    wp__mutex_unlock(&router->mutex);
    return count;
}

/* ---- its ids ------------------------------------------------------------------------------ */

struct wp_router_ids {
    size_t count;
    wp__place *places[]; /* a place never changes its id */
};

wp_status wp_router_list(wp_router_ids **out, wp_router *router, wp_error **err)
{
    wp_router_ids *ids;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__router_check(router, err)) != WP_OK)
        return st;
    wp__mutex_lock(&router->mutex);
    if ((ids = malloc(sizeof *ids + router->count * sizeof(wp__place *)))) {
        ids->count = router->count;
        for (size_t i = 0; i < router->count; i++)
            ids->places[i] = wp__place_ref(router->places[i]);
    }
    wp__mutex_unlock(&router->mutex);
    if (!ids)
        return wp__fail_nomem(err);
    *out = ids;
    return WP_OK;
}

size_t wp_router_ids_count(const wp_router_ids *ids)
{
    return ids ? ids->count : 0;
}

const char *wp_router_ids_at(const wp_router_ids *ids, size_t index)
{
    return ids && index < ids->count ? ids->places[index]->id : NULL;
}

void wp_router_ids_free(wp_router_ids *ids)
{
    if (!ids)
        return;
    for (size_t i = 0; i < ids->count; i++)
        wp__place_unref(ids->places[i]);
    free(ids);
}

/* ---- who is told of changes --------------------------------------------------------------- */

wp_status wp__router_follow(wp_router *router, wp__follower *follower, wp_error **err)
{
    wp_status st;
    wp__mutex_lock(&router->mutex);
    st = follower->changed(follower, router->places, router->count, err);
    if (st == WP_OK) {
        follower->next = router->followers;
        router->followers = follower;
    }
    wp__mutex_unlock(&router->mutex);
    return st;
}

void wp__router_unfollow(wp_router *router, wp__follower *follower)
{
    wp__mutex_lock(&router->mutex);
    for (wp__follower **at = &router->followers; *at; at = &(*at)->next)
        if (*at == follower) {
            *at = follower->next;
            break;
        }
    wp__mutex_unlock(&router->mutex);
}
