/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file router.h
 * Several stores: an app finds the one that it means by its id, and a worker serves all of them.
 *
 * The list may change while everything runs. An app that discovers its databases does so on a timer of
 * its own, every `worker.discovery_interval_ms`, and gives what it found to wp_router_set(). When the
 * discovery fails it gives nothing, and all stays as it is.
 */
#ifndef WAYPOST_ROUTER_H
#define WAYPOST_ROUTER_H

#include <waypost/store.h>

WP_BEGIN_DECLS

/** Stores by their ids. Thread-safe but for wp_router_free(). */
typedef struct wp_router wp_router;

/** Make a router without stores. */
WP_API wp_status wp_router_new(wp_router **out, wp_error **err);
/** Free it. Workers that follow it go on with the stores that it has. */
WP_API void wp_router_free(WP_OWN wp_router *router);

/** Give the whole list of stores, each by the configuration to open it with; `store.id` is its key.
 *
 * A store is opened when it is first needed, so that one which cannot be reached holds up nobody. One
 * whose id and other `store.*` options are those that it had stays open as it is; a changed one is
 * opened anew; workers let go of those that are gone as wp_worker_remove_store() does, without this
 * call waiting for it. All or nothing.
 * @param stores  may be NULL if count is 0; copied
 * @return WP_OK; WP_E_ARGUMENT: two have the same id; WP_E_CONFIG: a `store.url` is
 *         not set, or of no kind that there is. Whether a database can be reached is not asked. */
WP_API wp_status wp_router_set(wp_router *router, const wp_config *const *stores, size_t count,
                               wp_error **err);
/** The store of a key, opened now if it is not open yet.
 * @param out  the caller's: wp_store_close() it. It works on, also when the list changes.
 * @return WP_OK; WP_E_NOT_FOUND: no store has this id; as wp_store_open(). */
WP_API wp_status wp_router_get(wp_store **out, wp_router *router, const char *key, wp_error **err);
/** How many stores it has. */
WP_API size_t wp_router_count(wp_router *router);

/** The ids of a router's stores, as they were when they were asked for. */
typedef struct wp_router_ids wp_router_ids;

/** List the ids, in the order in which the stores were given.
 * @return WP_OK; WP_E_ARGUMENT; WP_E_STATE: another process made the router (a fork). */
WP_API wp_status wp_router_list(wp_router_ids **out, wp_router *router, wp_error **err);
/** How many they are. */
WP_API size_t wp_router_ids_count(const wp_router_ids *ids);
/** One of them, 0 to count - 1; NULL past the end. Borrowed from the list. */
WP_API const char *wp_router_ids_at(const wp_router_ids *ids, size_t index);
/** Free the list. */
WP_API void wp_router_ids_free(WP_OWN wp_router_ids *ids);

WP_END_DECLS

#endif
