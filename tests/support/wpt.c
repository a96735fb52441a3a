/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt.h"

#include <dirent.h>
#include <unistd.h>

/* ---- statuses ----------------------------------------------------------------------------- */

static _Thread_local wp_error *last_error;
static _Thread_local char last_message[1024];
static _Thread_local int last_retriable;
static _Thread_local bool asked; /* WPT_ERR was given to the call */

wp_error **wpt_err(void)
{
    wp_error_free(last_error);
    last_error = NULL;
    asked = true;
    return &last_error;
}

const char *wpt_message_of_last(void)
{
    return last_message;
}

int wpt_last_retriable(void)
{
    return last_retriable;
}

void wpt_status(wp_status got, wp_status want, const char *call, const char *file, int line)
{
    const wp_status code = wp_error_code(last_error);
    (void)snprintf(last_message, sizeof last_message, "%s",
                   last_error ? wp_error_message(last_error) : "");
    last_retriable = wp_error_retriable(last_error);
    wp_error_free(last_error);
    last_error = NULL;
    if (got != want) {
        print_error("%s: %s: \"%s\" instead of \"%s\": %s\n", call, "the status is",
                    wp_status_name(got), wp_status_name(want), last_message);
        _fail(file, line);
    }
    /* Where WPT_ERR was given, the error must fit. */
    if (asked && (code != got || (got == WP_OK) != (*last_message == '\0'))) {
        print_error("%s: returned \"%s\" with an error \"%s\": %s\n", call, wp_status_name(got),
                    wp_status_name(code), last_message);
        _fail(file, line);
    }
    asked = false;
}

/* ---- waiting ------------------------------------------------------------------------------ */

void wpt_pause(int64_t give_up, const char *condition, const char *file, int line)
{
    if (wp__real_mono_us() > give_up) {
        print_error("not in time: %s\n", condition);
        _fail(file, line);
    }
    wp__sleep_us(200);
}

void wpt_gate_init(wpt_gate *gate)
{
    *gate = (wpt_gate){0};
    wp__mutex_init(&gate->mutex);
    wp__cond_init(&gate->cond, NULL);
}

void wpt_gate_fini(wpt_gate *gate)
{
    wp__cond_destroy(&gate->cond);
    wp__mutex_destroy(&gate->mutex);
}

void wpt_gate_pass(wpt_gate *gate)
{
    size_t turn;
    wp__mutex_lock(&gate->mutex);
    turn = gate->arrived++;
    gate->waiting++;
    while (turn >= gate->admitted)
        wp__cond_wait(&gate->cond, &gate->mutex);
    gate->waiting--;
    gate->passed++;
    wp__mutex_unlock(&gate->mutex);
}

void wpt_gate_open(wpt_gate *gate, size_t count)
{
    wp__mutex_lock(&gate->mutex);
    gate->admitted = count < SIZE_MAX - gate->admitted ? gate->admitted + count : SIZE_MAX;
    wp__cond_broadcast(&gate->cond);
    wp__mutex_unlock(&gate->mutex);
}

size_t wpt_gate_waiting(wpt_gate *gate)
{
    size_t count;
    wp__mutex_lock(&gate->mutex);
    count = gate->waiting;
    wp__mutex_unlock(&gate->mutex);
    return count;
}

size_t wpt_gate_passed(wpt_gate *gate)
{
    size_t count;
    wp__mutex_lock(&gate->mutex);
    count = gate->passed;
    wp__mutex_unlock(&gate->mutex);
    return count;
}

/* ---- places and stores -------------------------------------------------------------------- */

void wpt_dir_make(wpt_dir *dir)
{
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent)
        parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    assert_true(strlen(parent) < sizeof dir->path - 32);
    (void)snprintf(dir->path, sizeof dir->path, "%.120s/waypost-test-XXXXXX", parent);
    assert_non_null(mkdtemp(dir->path));
}

void wpt_dir_remove(const wpt_dir *dir)
{
    DIR *listing = opendir(dir->path);
    const struct dirent *entry;
    assert_non_null(listing);
    while ((entry = readdir(listing)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(listing), entry->d_name, 0);
    (void)closedir(listing);
    (void)rmdir(dir->path);
}

wp_clock *wpt_clock(void)
{
    wp_clock *clock = NULL;
    WPT_OK(wp_clock_new_manual(&clock, WPT_START_US, WPT_ERR));
    return clock;
}

void wpt_advance_ms(wp_clock *clock, int64_t ms)
{
    WPT_OK(wp_clock_advance_us(clock, ms * 1000, WPT_ERR));
}

wp_config *wpt_config(wp_clock *clock, const char *const *options)
{
    wp_config *config = NULL;
    WPT_OK(wp_config_new(&config, WPT_ERR));
    WPT_OK(wp_config_set(config, "log.level", "off", WPT_ERR));
    /* no test pulls the plug, and flushing each commit to the disk makes them slow */
    WPT_OK(wp_config_set(config, "store.sqlite_synchronous", "normal", WPT_ERR));
    WPT_OK(wp_config_set_clock(config, clock, WPT_ERR));
    for (size_t i = 0; options && options[i]; i += 2)
        WPT_OK(wp_config_set(config, options[i], options[i + 1], WPT_ERR));
    return config;
}

wp_store *wpt_store(const char *url, wp_clock *clock, const char *const *options)
{
    wp_config *config = wpt_config(clock, options);
    wp_store *store = NULL;
    WPT_OK(wp_config_set(config, "store.url", url, WPT_ERR));
    WPT_OK(wp_config_set(config, "store.deploy", "true", WPT_ERR));
    WPT_OK(wp_store_open(&store, config, WPT_ERR));
    wp_config_free(config);
    return store;
}

/* ---- the outbox --------------------------------------------------------------------------- */

wp_id wpt_owner(int n)
{
    wp_id owner;
    memset(&owner, n, sizeof owner);
    return owner;
}

wp_message *wpt_message(const char *topic, const char *payload)
{
    wp_message *message = NULL;
    WPT_OK(wp_message_new(&message, topic, payload, strlen(payload), WPT_ERR));
    return message;
}

wp_id wpt_send(wp_store *store, wp_conn *conn, wp_message *message)
{
    wp_id id = {{0}};
    WPT_OK(wp_outbox_enqueue(&id, NULL, store, conn, message, WPT_ERR));
    wp_message_free(message);
    return id;
}

wp_id wpt_enqueue(wp_store *store, const char *topic, const char *payload)
{
    return wpt_send(store, NULL, wpt_message(topic, payload));
}

wp_claim *wpt_claim(wp_store *store, int owner, int64_t batch, int64_t lease_ms)
{
    const wp_id token = wpt_owner(owner);
    wp_claim *claim = NULL;
    WPT_OK(wp_outbox_claim(&claim, store, &token, NULL, 0, batch, lease_ms, WPT_ERR));
    return claim;
}

int64_t wpt_claim_one(wp_store *store, int owner, const wp_id *id, int64_t lease_ms)
{
    wp_claim *claim = wpt_claim(store, owner, 1, lease_ms);
    int64_t number;
    assert_int_equal(wp_claim_count(claim), 1);
    assert_true(wpt_claim_is(claim, id, 1));
    number = wp_received_claim_number(wp_claim_at(claim, 0));
    wp_claim_free(claim);
    return number;
}

size_t wpt_claimable(wp_store *store)
{
    const wp_id owner = wpt_owner(255);
    wp_claim *claim = wpt_claim(store, 255, WP_BATCH_MAX, 1000);
    const size_t count = wp_claim_count(claim);
    for (size_t i = 0; i < count; i++)
        WPT_OK(wp_outbox_release(NULL, store, NULL, &owner, wp_received_id(wp_claim_at(claim, i)),
                                 NULL, 1, WPT_ERR));
    wp_claim_free(claim);
    return count;
}

bool wpt_id_equal(const wp_id *a, const wp_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool wpt_claim_is(const wp_claim *claim, const wp_id *ids, size_t count)
{
    bool same = wp_claim_count(claim) == count;
    for (size_t i = 0; i < count && same; i++)
        same = wpt_id_equal(wp_received_id(wp_claim_at(claim, i)), &ids[i]);
    return same;
}

wp_outbox_info *wpt_info(wp_store *store, const wp_id *id)
{
    wp_outbox_info *info = NULL;
    WPT_OK(wp_outbox_get(&info, store, id, WPT_ERR));
    return info;
}

wp_message_status wpt_status_of(wp_store *store, const wp_id *id)
{
    wp_outbox_info *info = wpt_info(store, id);
    const wp_message_status status = wp_outbox_info_status(info);
    wp_outbox_info_free(info);
    return status;
}

int64_t wpt_attempt_of(wp_store *store, const wp_id *id)
{
    wp_outbox_info *info = wpt_info(store, id);
    const int64_t attempt = wp_received_attempt(wp_outbox_info_message(info));
    wp_outbox_info_free(info);
    return attempt;
}

void wpt_last_error_is(wp_store *store, const wp_id *id, const char *want)
{
    wp_outbox_info *info = wpt_info(store, id);
    const char *got = wp_outbox_info_last_error(info);
    if (want) {
        assert_non_null(got);
        assert_string_equal(got, want);
    } else {
        assert_null(got);
    }
    wp_outbox_info_free(info);
}

int64_t wpt_stat(wp_store *store, const char *topic, wp_outbox_stat stat)
{
    wp_outbox_stats *stats = NULL;
    int64_t value = 0;
    WPT_OK(wp_outbox_stats_read(&stats, store, 1, WPT_ERR));
    for (size_t i = 0; i < wp_outbox_stats_count(stats); i++)
        if (strcmp(wp_outbox_stats_topic(stats, i), topic) == 0)
            value = wp_outbox_stats_value(stats, i, stat);
    wp_outbox_stats_free(stats);
    return value;
}

/* ---- the log ------------------------------------------------------------------------------ */

static void keep(void *user, wp_log_level level, const char *message, const char *fields)
{
    wpt_log *log = user;
    const char *name = level == WP_LOG_DEBUG     ? "debug"
                       : level == WP_LOG_INFO    ? "info"
                       : level == WP_LOG_WARNING ? "warning"
                                                 : "error";
    const size_t room = strlen(message) + strlen(fields) + 16;
    char *text;
    wp__mutex_lock(&log->mutex);
    text = realloc(log->text, log->len + room);
    if (text) {
        log->text = text;
        log->len += (size_t)snprintf(text + log->len, room, "%s %s %s\n", name, message, fields);
    }
    wp__mutex_unlock(&log->mutex);
}

static void forget(void *user)
{
    wpt_log *log = user;
    wp__mutex_lock(&log->mutex);
    log->destroyed++;
    wp__mutex_unlock(&log->mutex);
}

void wpt_log_init(wpt_log *log)
{
    *log = (wpt_log){0};
    wp__mutex_init(&log->mutex);
}

void wpt_log_fini(wpt_log *log)
{
    wp__mutex_destroy(&log->mutex);
    free(log->text);
}

void wpt_log_attach(wpt_log *log, wp_config *config, const char *level)
{
    WPT_OK(wp_config_set(config, "log.level", level, WPT_ERR));
    WPT_OK(wp_config_set_log(config, keep, log, forget, WPT_ERR));
}

size_t wpt_log_count(wpt_log *log, const char *start, const char *part, const char *other)
{
    size_t count = 0;
    wp__mutex_lock(&log->mutex);
    for (char *line = log->text; line && *line;) {
        char *end = strchr(line, '\n');
        *end = '\0';
        count += strncmp(line, start, strlen(start)) == 0 && (!part || strstr(line, part)) &&
                 (!other || strstr(line, other));
        *end = '\n';
        line = end + 1;
    }
    wp__mutex_unlock(&log->mutex);
    return count;
}
