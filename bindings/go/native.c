/* SPDX-License-Identifier: Apache-2.0 */
/* From C's callbacks to the functions that Go exports. */
#include "native.h"

#include "_cgo_export.h"

static void on_log(void *user, wp_log_level level, const char *message, const char *fields)
{
    waypostOnLog((uintptr_t)user, (int)level, (char *)message, (char *)fields);
}

static wp_outcome on_delivery(wp_delivery *delivery, void *user)
{
    return (wp_outcome)waypostOnDelivery((uintptr_t)user, delivery);
}

static size_t on_select(const wp_candidates *candidates, void *user)
{
    return waypostOnSelect((uintptr_t)user, (wp_candidates *)candidates);
}

static void on_destroy(void *user)
{
    waypostOnDestroy((uintptr_t)user);
}

wp_status wpg_config_set_log(wp_config *config, uintptr_t user, wp_error **err)
{
    return wp_config_set_log(config, on_log, (void *)user, on_destroy, err);
}

wp_status wpg_worker_handle(wp_worker *worker, wp_source source, const char *topic, uintptr_t user,
                            wp_error **err)
{
    if (!user)
        return wp_worker_handle(worker, source, topic, NULL, NULL, NULL, err);
    return wp_worker_handle(worker, source, topic, on_delivery, (void *)user, on_destroy, err);
}

wp_status wpg_worker_set_selector(wp_worker *worker, uintptr_t user, wp_error **err)
{
    return wp_worker_set_selector(worker, on_select, (void *)user, on_destroy, err);
}
