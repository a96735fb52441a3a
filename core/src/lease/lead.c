/* SPDX-License-Identifier: Apache-2.0 */
/* Work that one process of many does. */
#include "lease/lease.h"

static void log_error(wp_store *store, const char *name, const wp_error *err)
{
    WP__LOG(wp__store_log(store), WP_LOG_WARNING, "leader could not be elected, will try again",
            WP__F_TEXT("StoreId", wp_store_id(store)), WP__F_TEXT("Lease", name),
            WP__F_TEXT("Exception", wp_error_message(err)));
    wp__log_pump(wp__store_log(store));
}

/* Hold it, and wait out whoever has it and errors that may pass. */
static wp_status win(wp_lease **out, wp__leases *leases, wp_store *store, const char *name,
                     const char *owner, int64_t duration_ms, int64_t wait_ms, wp_error **err)
{
    const int64_t give_up = wp__real_deadline_us(wait_ms);
    int64_t left_ms = wait_ms;
    for (unsigned attempt = 0;; attempt++) {
        wp_error *why = NULL;
        int64_t left_us, pause_us = wp_lease_retry_ms(NULL, attempt) * 1000;
        wp_status st = wp_lease_hold(out, NULL, store, WP_LEASE_EXCLUSIVE, name, owner, duration_ms,
                                     left_ms, &why);
        left_us = give_up - wp__real_mono_us();
        if (st == WP_OK || st == WP_E_TIMEOUT || !wp_error_retriable(why) || left_us <= 0) {
            wp__error_move(err, why);
            return st;
        }
        log_error(store, name, why);
        wp_error_free(why);
        if (pause_us > left_us)
            pause_us = left_us;
        if ((st = wp__leases_pause(leases, wp__real_mono_us() + pause_us, err)) != WP_OK)
            return st;
        if (wait_ms > 0) {
            left_us = give_up - wp__real_mono_us();
            left_ms = left_us > 0 ? (left_us + 999) / 1000 : 0;
        }
    }
}

wp_status wp_lease_lead(wp_store *store, const char *name, const char *owner, int64_t duration_ms,
                        int64_t wait_ms, wp_leader_fn work, void *user, wp_error **err)
{
    char fresh[WP__LEASE_OWNER_SIZE];
    wp__leases *leases = NULL;
    wp_status st;
    if (!work)
        return wp__fail(err, WP_E_ARGUMENT, "work is NULL");
    if ((st = wp__store_check(store, err)) != WP_OK ||
        (st = wp__leases_of(&leases, store, err)) != WP_OK)
        return st;
    if (!owner) {
        wp__lease_fresh_owner(fresh);
        owner = fresh;
    }
    for (;;) {
        wp_lease *lease = NULL;
        wp_error *why = NULL;
        bool lost;
        if ((st = wp__leases_pause(leases, wp__real_mono_us(), err)) != WP_OK ||
            (st = win(&lease, leases, store, name, owner, duration_ms, wait_ms, err)) != WP_OK)
            return st;
        st = work(lease, user, &why);
        if (st != WP_OK && !why)
            (void)wp__fail(&why, st, "the leader's work failed without saying why");
        lost = wp_lease_check(lease, NULL) == WP_E_LEASE_LOST;
        wp_lease_free(lease);
        if (!lost || (st != WP_OK && st != WP_E_LEASE_LOST)) {
            wp__error_move(err, why);
            return st;
        }
        wp_error_free(why);
    }
}
