/* SPDX-License-Identifier: Apache-2.0 */
/* Stores under their ids, opened when they are first needed. */
#ifndef WP__ROUTER_H
#define WP__ROUTER_H

#include <stdbool.h>
#include <waypost/router.h>

/* One store of a router, or one that a worker was given. Counted by reference; thread-safe. The last
 * reference goes on a host thread, with no lock held: it may close the store. */
typedef struct wp__place wp__place;
/* `id` NULL: the store's own. */
wp_status wp__place_of(wp__place **out, wp_store *store, const char *id, wp_error **err);
wp__place *wp__place_ref(wp__place *place);
void wp__place_unref(wp__place *place);
const char *wp__place_id(const wp__place *place);
/* The clock that its store goes by. */
wp_clock *wp__place_clock(const wp__place *place);
/* The store that it was made of, or NULL: it is to be opened. Borrowed from the place. */
wp_store *wp__place_given(const wp__place *place);
/* Its store, opened now if it was not. *out is borrowed from the place. */
wp_status wp__place_open(wp_store **out, wp__place *place, wp_error **err);

/* Someone who is told of a router's stores: all of them at once, and again after each change. A place
 * that stays the same is the same object. Called with the router's lock held. */
typedef struct wp__follower {
    wp_status (*changed)(struct wp__follower *follower, wp__place *const *places, size_t count,
                         wp_error **err);
    struct wp__follower *next;
} wp__follower;
wp_router *wp__router_ref(wp_router *router);
void wp__router_unref(wp_router *router);
/* WP_E_ARGUMENT: NULL; WP_E_STATE: another process's (a fork). */
wp_status wp__router_check(const wp_router *router, wp_error **err);
wp_status wp__router_follow(wp_router *router, wp__follower *follower, wp_error **err);
/* It is told nothing more once this has returned. */
void wp__router_unfollow(wp_router *router, wp__follower *follower);

#endif
