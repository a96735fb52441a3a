/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics, health and the dashboard of a worker by HTTP, on libmicrohttpd: a thread for each of a bounded
 * number of connections, each for one answer. */
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <waypost/health.h>
#include <waypost/metrics.h>

#include "base/socket.h"
#include "base/text.h"
#include "ops/dashboard.h"
#include "ops/visits.h"
#include "worker/vitals.h"

enum {
    CONNECTIONS_MAX = 32,
    SILENCE_S = 5,     /* a client that sends or takes nothing for so long is let go, */
    REQUEST_S = 5,     /* and one whose request is not there after so long, */
    ANSWER_S = 30,     /* or that has not taken the answer after so long more */
    MEMORY_MAX = 16384 /* of a connection: a request has no more */
};

typedef struct port {
    struct server *server;
    const char *key; /* the first option that names it */
    int64_t number;
    unsigned answers;
    struct MHD_Daemon *daemon;
    MHD_socket socket;
} port;

enum { PORTS_MAX = 3 };

typedef struct server {
    wp_worker *worker; /* which outlives it */
    port ports[PORTS_MAX];
    wp__visits *visits;
    size_t count;
} server;

/* What is to be listened on, for the thread that begins it. */
typedef struct beginning {
    server *server;
    const wp_config *config;
    wp_status status;
    wp_error *error;
} beginning;

/* ---- answers ------------------------------------------------------------------------------- */

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned code, const char *type,
                              const char *text)
{
    char *copy = wp__text_dup(text);
    struct MHD_Response *response =
        copy ? MHD_create_response_from_buffer(strlen(copy), copy, MHD_RESPMEM_MUST_FREE) : NULL;
    enum MHD_Result result;
    if (!response) {
        free(copy);
        return MHD_NO;
    }
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result plain(struct MHD_Connection *connection, unsigned code, const char *text)
{
    return answer(connection, code, "text/plain; charset=utf-8", text);
}

static enum MHD_Result tell_metrics(server *s, struct MHD_Connection *connection)
{
    wp_metrics *metrics = NULL;
    enum MHD_Result result;
    if (wp_metrics_read(&metrics, s->worker, -1, NULL) != WP_OK)
        return plain(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    result = answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                    wp_metrics_text(metrics));
    wp_metrics_free(metrics);
    return result;
}

/* Degraded is no error: whoever takes the worker out of service for it makes it worse. */
static enum MHD_Result tell_health(server *s, struct MHD_Connection *connection,
                                   wp_health_scope scope)
{
    wp_health *health = NULL;
    enum MHD_Result result;
    if (wp_health_read_worker(&health, s->worker, scope, -1, -1, NULL) != WP_OK)
        return plain(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
    result =
        answer(connection,
               wp_health_get_status(health) == WP_HEALTH_UNHEALTHY ? MHD_HTTP_SERVICE_UNAVAILABLE
                                                                   : MHD_HTTP_OK,
               "application/json", wp_health_json(health));
    wp_health_free(health);
    return result;
}

/* Whether a restart would help: asks no database. */
static enum MHD_Result tell_live(server *s, struct MHD_Connection *connection)
{
    const bool lives = wp__worker_is_live(s->worker);
    return answer(connection, lives ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                  "application/json",
                  lives ? "{\"status\":\"healthy\"}" : "{\"status\":\"unhealthy\"}");
}

/* What a port answers. */
enum { METRICS = 1, HEALTH = 2, DASHBOARD = 4 };

static enum MHD_Result route(server *s, struct MHD_Connection *connection, const char *url,
                             unsigned answers)
{
    const bool health = answers & HEALTH;
    if ((answers & METRICS) && strcmp(url, "/metrics") == 0)
        return tell_metrics(s, connection);
    if (health && (strcmp(url, "/health") == 0 || strcmp(url, "/health/ready") == 0))
        return tell_health(s, connection, WP_HEALTH_OF_ALL);
    if (health && strcmp(url, "/health/live") == 0)
        return tell_live(s, connection);
    if (health && strcmp(url, "/health/scheduler") == 0 && wp__worker_schedules(s->worker))
        return tell_health(s, connection, WP_HEALTH_OF_SCHEDULER);
    return plain(connection, MHD_HTTP_NOT_FOUND, "not found\n");
}

static enum MHD_Result handle(server *s, struct MHD_Connection *connection, const char *url,
                              const char *method, unsigned answers)
{
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return plain(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    return route(s, connection, url, answers);
}

static wp__visit *visit_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void on_connection(void *user, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    const port *p = user;
    const union MHD_ConnectionInfo *info;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        wp__visit_free(*context);
        *context = NULL;
        return;
    }
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    *context = info ? wp__visit_new(p->server->visits, info->connect_fd) : NULL;
    wp__visit_limit(*context, REQUEST_S * INT64_C(1000000));
}

/* libmicrohttpd calls first when the headers are there, then for the body, which only the dashboard
 * reads. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    const port *p = user;
    const bool dashboard = (p->answers & DASHBOARD) && wp__dashboard_has(url);
    const bool arrives =
        dashboard && strcmp(method, MHD_HTTP_METHOD_POST) == 0 && (!*context || *upload_size);
    enum MHD_Result result;
    (void)version;
    /* When the request is there, how long its answer takes is up to us, and then to the client. */
    if (!arrives)
        wp__visit_limit(visit_of(connection), 0);
    if (dashboard) {
        result = (enum MHD_Result)wp__dashboard_handle(p->server->worker, connection, url, method,
                                                       upload, upload_size, context);
    } else {
        *upload_size = 0;
        result = handle(p->server, connection, url, method, p->answers);
    }
    if (!arrives || !*context)
        wp__visit_limit(visit_of(connection), ANSWER_S * INT64_C(1000000));
    return result;
}

static void on_completed(void *user, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode why)
{
    (void)user, (void)connection, (void)why;
    wp__dashboard_forget(*context);
    *context = NULL;
}

/* ---- listening ----------------------------------------------------------------------------- */

static void quiet(void *user, const char *format, va_list arguments)
{
    (void)user, (void)format, (void)arguments;
}

static struct MHD_Daemon *listen_on(const struct addrinfo *address, port *p)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                           MHD_USE_ERROR_LOG | MHD_USE_ITC |
                           (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0U);
    return MHD_start_daemon(
        flags, (uint16_t)p->number, NULL, NULL, on_request, p, MHD_OPTION_EXTERNAL_LOGGER, quiet,
        NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_SOCK_ADDR,
        address->ai_addr, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)MEMORY_MAX, MHD_OPTION_NOTIFY_CONNECTION, on_connection, p, MHD_OPTION_END);
}

static wp_status begin_one(port *p, const char *host, wp_error **err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *address = NULL;
    char text[8];
    (void)snprintf(text, sizeof text, "%d", (int)p->number);
    if (getaddrinfo(host, text, &hints, &address) != 0)
        return wp__fail(err, WP_E_CONFIG, "http.address: \"%s\" is no address", host);
    p->daemon = listen_on(address, p);
    freeaddrinfo(address);
    if (!p->daemon)
        return wp__fail(err, WP_E_UNAVAILABLE, "%s: %s port %d cannot be listened on", p->key, host,
                        (int)p->number);
    return WP_OK;
}

/* Options may name one port. */
static void add_port(server *s, const char *key, int64_t number, unsigned answers)
{
    if (!number)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->ports[i].number == number) {
            s->ports[i].answers |= answers;
            return;
        }
    s->ports[s->count++] = (port){.server = s,
                                  .key = key,
                                  .number = number,
                                  .answers = answers,
                                  .socket = MHD_INVALID_SOCKET};
}

/* On a thread of the library's, so that those that libmicrohttpd starts take no signals of the host's. */
static void *begin_main(void *arg)
{
    beginning *b = arg;
    for (size_t i = 0; i < b->server->count && b->status == WP_OK; i++)
        b->status = begin_one(&b->server->ports[i], b->config->http_address, &b->error);
    return NULL;
}

static void close_socket(MHD_socket *socket)
{
    if (*socket != MHD_INVALID_SOCKET)
        wp__socket_close(*socket);
    *socket = MHD_INVALID_SOCKET;
}

/* Who comes from now on is refused; it is closed when no thread of libmicrohttpd may use it any more. */
static void http_quiesce(void *arg)
{
    server *s = arg;
    for (size_t i = 0; i < s->count; i++) {
        port *p = &s->ports[i];
        if (!p->daemon || p->socket != MHD_INVALID_SOCKET)
            continue;
        p->socket = MHD_quiesce_daemon(p->daemon);
        if (p->socket != MHD_INVALID_SOCKET)
            wp__socket_refuse(p->socket);
    }
}

static void http_end(void *arg)
{
    server *s = arg;
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->ports[i].daemon)
            MHD_stop_daemon(s->ports[i].daemon);
    for (size_t i = 0; i < s->count; i++)
        close_socket(&s->ports[i].socket);
    wp__visits_end(s->visits);
    free(s);
}

/* A token that could be guessed is none. */
static wp_status check(const wp_config *config, wp_error **err)
{
    enum { TOKEN_MIN = 16 };
    const size_t len = strlen(config->dashboard_token);
    if (len && len < TOKEN_MIN)
        return wp__fail(err, WP_E_CONFIG, "dashboard.token has less than %d characters", TOKEN_MIN);
    return WP_OK;
}

static wp_status http_begin(void **out, wp_worker *worker, wp_error **err)
{
    const wp_config *config = worker->config;
    server *s;
    beginning b = {.config = config};
    wp__thread thread = {0};
    wp_status st = check(config, err);
    if (st != WP_OK)
        return st;
    if (!(b.server = s = calloc(1, sizeof *s)))
        return wp__fail_nomem(err);
    s->worker = worker;
    add_port(s, "metrics.port", config->metrics_port, METRICS);
    add_port(s, "health.port", config->health_port, HEALTH);
    add_port(s, "dashboard.port", config->dashboard_port, DASHBOARD);
    if ((st = wp__visits_begin(&s->visits, err)) == WP_OK)
        st = wp__thread_start(&thread, "waypost-http", begin_main, &b, err);
    wp__thread_join(&thread);
    if (st == WP_OK && (st = b.status) != WP_OK)
        wp__error_move(err, b.error);
    if (st != WP_OK) {
        http_end(s);
        return st;
    }
    *out = s;
    return WP_OK;
}

const wp__server_class wp__worker_server = {http_begin, http_quiesce, http_end};
