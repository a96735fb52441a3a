/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/thread.h"

void fault_die(const char *file, int line, const char *what)
{
    (void)fprintf(stderr, "%s:%d: process %d: not %s\n", file, line, (int)getpid(), what);
    abort();
}

int64_t fault_now_ms(void)
{
    return wp__real_mono_us() / 1000;
}

void fault_nap_us(int64_t us)
{
    wp__sleep_us(us);
}

unsigned fault_random(unsigned below)
{
    return (unsigned)(wp__random() % below);
}

/* ---- a place ------------------------------------------------------------------------------ */

int place_setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    MUST(p);
    (void)snprintf(p->directory, sizeof p->directory, "/tmp/waypost-fault-XXXXXX");
    MUST(mkdtemp(p->directory));
    (void)snprintf(p->path, sizeof p->path, "%s/app.db", p->directory);
    *state = p;
    return 0;
}

int place_setup_deployed(void **state)
{
    (void)place_setup(state);
    fault_deploy(((place *)*state)->path);
    return 0;
}

int place_teardown(void **state)
{
    place *p = *state;
    const struct dirent *entry;
    DIR *directory;
    (void)umount2(p->directory, MNT_DETACH); /* if a test mounted a file system there */
    directory = opendir(p->directory);
    while (directory && (entry = readdir(directory))) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", p->directory, entry->d_name);
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlink(path) != 0)
            (void)rmdir(path);
    }
    if (directory)
        (void)closedir(directory);
    (void)rmdir(p->directory);
    free(p);
    return 0;
}

const char *place_file(const char *path, const char *suffix)
{
    static _Thread_local char name[160];
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    return name;
}

int64_t file_size(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (int64_t)info.st_size : -1;
}

/* ---- stores and apps ---------------------------------------------------------------------- */

wp_config *fault_config(const char *path, const char *options)
{
    wp_config *config = NULL;
    char url[512];
    (void)snprintf(url, sizeof url, "%s%s",
                   strstr(path, "://") || strncmp(path, "odbc:", 5) == 0 ? "" : "sqlite:", path);
    MUST_OK(wp_config_new(&config, &must_err));
    MUST_OK(wp_config_set(config, "store.url", url, &must_err));
    MUST_OK(wp_config_set(config, "log.level", "off", &must_err));
    MUST_OK(wp_config_set(config, "store.sqlite_synchronous", "normal", &must_err));
    while (*options) {
        char key[64], value[64];
        int used = 0;
        MUST(sscanf(options, "%63[^=]=%63s %n", key, value, &used) == 2);
        MUST_OK(wp_config_set(config, key, value, &must_err));
        options += used;
    }
    return config;
}

wp_store *fault_store(const char *path, const char *options)
{
    wp_config *config = fault_config(path, options);
    wp_store *store = NULL;
    MUST_OK(wp_store_open(&store, config, &must_err));
    wp_config_free(config);
    return store;
}

wp_store *fault_store_at(const char *url)
{
    wp_config *config = fault_config("", "");
    wp_store *store = NULL;
    MUST_OK(wp_config_set(config, "store.url", url, &must_err));
    MUST_OK(wp_config_set(config, "store.deploy", "true", &must_err));
    MUST_OK(wp_store_open(&store, config, &must_err));
    wp_config_free(config);
    return store;
}

void fault_deploy(const char *path)
{
    wp_config *config = fault_config(path, "");
    MUST_OK(wp_schema_deploy(config, &must_err));
    wp_config_free(config);
}

wp_message *fault_message(const char *topic, const char *payload)
{
    wp_message *message = NULL;
    MUST_OK(wp_message_new(&message, topic, payload, strlen(payload), &must_err));
    return message;
}

wp_id fault_enqueue(wp_store *store, const char *topic, const char *payload)
{
    wp_message *message = fault_message(topic, payload);
    wp_id id;
    MUST_OK(wp_outbox_enqueue(&id, NULL, store, NULL, message, &must_err));
    wp_message_free(message);
    return id;
}

wp_worker *fault_worker(wp_store *store, const char *topic, wp_handler_fn fn, void *user)
{
    wp_worker *worker = NULL;
    MUST_OK(wp_worker_new(&worker, store, NULL, &must_err));
    MUST_OK(wp_worker_handle(worker, WP_SOURCE_OUTBOX, topic, fn, user, NULL, &must_err));
    return worker;
}

sqlite3 *app_open(const char *path)
{
    sqlite3 *db = NULL;
    MUST(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK);
    (void)sqlite3_busy_timeout(db, PATIENCE_MS);
    app_exec(db, "PRAGMA synchronous = NORMAL");
    return db;
}

void app_exec(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fault_die(sql, 0, message);
}

int64_t app_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t value;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fault_die(sql, 0, sqlite3_errmsg(db));
    value = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return value;
}

int64_t count_of(const char *path, const char *sql)
{
    sqlite3 *db = app_open(path);
    int64_t value = app_int(db, sql);
    (void)sqlite3_close(db);
    return value;
}

/* ---- history ------------------------------------------------------------------------------ */

int history_open(const char *path)
{
    int fd = open(place_file(path, ".history"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    return fd;
}

void history_write(int fd, char what, const wp_received *message)
{
    const char *key = wp_received_ordering_key(message);
    char line[160];
    int len = snprintf(line, sizeof line, "%c %s %" PRId64 " %" PRId64 " %d %s\n", what,
                       wp_received_payload(NULL, message), wp_received_claim_number(message),
                       wp_received_attempt(message), (int)getpid(), key ? key : "-");
    MUST(len > 0 && (size_t)len < sizeof line && write(fd, line, (size_t)len) == len);
}

event *history_read(size_t *count, const char *path)
{
    FILE *file = fopen(place_file(path, ".history"), "r");
    event *events = NULL;
    size_t cap = 0;
    char line[160];
    *count = 0;
    while (file && fgets(line, sizeof line, file)) {
        event *e;
        if (*count == cap) {
            cap = cap ? cap * 2 : 1024;
            events = realloc(events, cap * sizeof *events);
            MUST(events);
        }
        e = &events[(*count)++];
        MUST(sscanf(line, "%c %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %31s", &e->what,
                    &e->number, &e->claim, &e->attempt, &e->pid, e->key) == 6);
    }
    if (file)
        (void)fclose(file);
    return events;
}

size_t history_count(const char *path, char what)
{
    size_t count;
    size_t found = 0;
    event *events = history_read(&count, path);
    for (size_t i = 0; i < count; i++)
        found += events[i].what == what;
    free(events);
    return found;
}

/* ---- handlers ----------------------------------------------------------------------------- */

static void begin(wp_delivery *delivery, const fault_handling *h)
{
    history_write(h->history, 'b', wp_delivery_message(delivery));
    parent_tell();
}

wp_outcome fault_handle(wp_delivery *delivery, void *user)
{
    const fault_handling *h = user;
    begin(delivery, h);
    fault_nap_us(fault_random(h->work_us));
    return WP_OUTCOME_DONE;
}

wp_outcome fault_handle_once(wp_delivery *delivery, void *user)
{
    const fault_handling *h = user;
    sqlite3 *db = app_open(h->path);
    wp_conn *conn = NULL;
    wp_error *err = NULL;
    char insert[80];
    wp_status st;
    (void)snprintf(insert, sizeof insert, "INSERT INTO effects (number) VALUES (%s)",
                   wp_received_payload(NULL, wp_delivery_message(delivery)));
    begin(delivery, h);
    MUST_OK(wp_conn_borrow_sqlite(&conn, h->store, db, &must_err));
    app_exec(db, "BEGIN IMMEDIATE");
    app_exec(db, insert);
    fault_nap_us(fault_random(h->work_us));
    st = wp_delivery_complete(delivery, conn, &err);
    if (st != WP_OK && st != WP_E_LEASE_LOST && st != WP_E_STOPPED)
        fault_die(__FILE__, __LINE__, wp_error_message(err));
    wp_error_free(err);
    app_exec(db, st == WP_OK ? "COMMIT" : "ROLLBACK");
    wp_conn_free(conn);
    (void)sqlite3_close(db);
    return st == WP_OK ? WP_OUTCOME_DONE : WP_OUTCOME_RETRY;
}

/* ---- children ----------------------------------------------------------------------------- */

child child_start(const char *name, const char *path, const char *argument)
{
    child c = {.pid = -1};
    int in[2], out[2];
    char *args[] = {(char *)"fault", (char *)name, (char *)path, (char *)argument, NULL};
    MUST(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    (void)fflush(NULL);
    c.pid = fork();
    MUST(c.pid >= 0);
    if (c.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execv("/proc/self/exe", args);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    c.in = in[1];
    c.out = out[0];
    return c;
}

bool child_hear(child *c)
{
    char byte;
    ssize_t n;
    do
        n = read(c->out, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

void parent_tell(void)
{
    MUST(write(STDOUT_FILENO, "!", 1) == 1);
}

void parent_await_end(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
}

static void let_go(child *c)
{
    if (c->in >= 0)
        (void)close(c->in);
    (void)close(c->out);
    c->in = c->out = -1;
}

int child_wait(child *c)
{
    int status = 0;
    MUST(waitpid(c->pid, &status, 0) == c->pid);
    let_go(c);
    return status;
}

bool child_has_ended(child *c, int *status)
{
    if (waitpid(c->pid, status, WNOHANG) != c->pid)
        return false;
    let_go(c);
    return true;
}

int child_end(child *c)
{
    (void)close(c->in);
    c->in = -1;
    return child_wait(c);
}

void child_kill(child *c)
{
    int status;
    MUST(kill(c->pid, SIGKILL) == 0);
    status = child_wait(c);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int fault_main(int argc, char **argv, const role *roles, size_t role_count, int (*suite)(void))
{
    const struct rlimit no_core = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core); /* some of these processes are meant to abort */
    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; argc == 4 && i < role_count; i++)
        if (strcmp(argv[1], roles[i].name) == 0)
            return roles[i].play(argv[2], argv[3]);
    if (argc == 2) /* only these: a pattern with * and ? */
        cmocka_set_test_filter(argv[1]);
    return suite();
}
