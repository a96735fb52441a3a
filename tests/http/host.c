/* SPDX-License-Identifier: Apache-2.0 */
/* A worker for test_http.py, with options from the environment: says "started", and stops when its standard
 * input ends; "stop" on it stops the worker and leaves it there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/waypost.h>

/* By its address: the call that sets it may be an argument too. */
static void must(wp_status status, wp_error **err)
{
    if (status == WP_OK)
        return;
    (void)fprintf(stderr, "%s: %s\n", wp_status_name(status), wp_error_message(*err));
    exit(1);
}

static wp_outcome done(wp_delivery *delivery, void *user)
{
    (void)delivery;
    (void)user;
    return WP_OUTCOME_DONE;
}

int main(void)
{
    wp_config *config = NULL;
    wp_store *store = NULL;
    wp_worker *worker = NULL;
    wp_error *err = NULL;
    char line[16];
    must(wp_config_new(&config, &err), &err);
    must(wp_config_load_env(config, &err), &err);
    must(wp_store_open(&store, config, &err), &err);
    must(wp_worker_new(&worker, store, config, &err), &err);
    must(wp_worker_handle(worker, WP_SOURCE_OUTBOX, "t \"quoted\"\\", done, NULL, NULL, &err),
         &err);
    must(wp_worker_handle(worker, WP_SOURCE_TIMER, "t", done, NULL, NULL, &err), &err);
    must(wp_worker_start(worker, 2, &err), &err);
    (void)puts("started");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        if (strcmp(line, "stop\n") == 0) {
            must(wp_worker_stop(NULL, worker, 10000, &err), &err);
            (void)puts("stopped");
            (void)fflush(stdout);
        }
    wp_worker_free(worker);
    wp_store_close(store);
    wp_config_free(config);
    return 0;
}
