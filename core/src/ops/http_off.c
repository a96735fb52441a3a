/* SPDX-License-Identifier: Apache-2.0 */
/* In place of http.c where the library is built without libmicrohttpd. */
#include "worker/worker.h"

static wp_status none(void **out, wp_worker *worker, wp_error **err)
{
    (void)out;
    (void)worker;
    return wp__fail(
        err, WP_E_CONFIG,
        "metrics.port, health.port and dashboard.port: this library was built without HTTP");
}

static void nothing(void *server)
{
    (void)server;
}

const wp__server_class wp__worker_server = {none, nothing, nothing};
