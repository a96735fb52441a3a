/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and health of a worker by HTTP, on libmicrohttpd: GET and HEAD, a thread for each of a bounded
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
#include "worker/vitals.h"

enum {
    CONNECTIONS_MAX = 32,
    SILENCE_S = 5,     /* a client that sends or takes nothing for so long is let go */
    MEMORY_MAX = 16384 /* of a connection: a request has no more */
};

typedef struct server {
    wp_worker *worker;                   /* which outlives it */
    struct MHD_Daemon *metrics, *health; /* may be one */
    MHD_socket metrics_socket, health_socket;
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

static enum MHD_Result route(server *s, struct MHD_Connection *connection, const char *url,
                             bool metrics, bool health)
{
    if (metrics && strcmp(url, "/metrics") == 0)
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
                              const char *method, bool metrics, bool health)
{
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return plain(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    return route(s, connection, url, metrics, health);
}

/* libmicrohttpd calls first when the headers are there, then for the body, which is not read. */
static enum MHD_Result on_metrics(void *user, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **context)
{
    server *s = user;
    (void)version, (void)upload, (void)context;
    *upload_size = 0;
    return handle(s, connection, url, method, true,
                  s->worker->config->health_port == s->worker->config->metrics_port);
}

static enum MHD_Result on_health(void *user, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *upload,
                                 size_t *upload_size, void **context)
{
    (void)version, (void)upload, (void)context;
    *upload_size = 0;
    return handle(user, connection, url, method, false, true);
}

/* ---- listening ----------------------------------------------------------------------------- */

static void quiet(void *user, const char *format, va_list arguments)
{
    (void)user, (void)format, (void)arguments;
}

static struct MHD_Daemon *listen_on(const struct addrinfo *address, MHD_AccessHandlerCallback fn,
                                    server *s, uint16_t port)
{
    const unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                           MHD_USE_ERROR_LOG | MHD_USE_ITC |
                           (address->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0U);
    return MHD_start_daemon(flags, port, NULL, NULL, fn, s, MHD_OPTION_EXTERNAL_LOGGER, quiet, NULL,
                            MHD_OPTION_SOCK_ADDR, address->ai_addr, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)SILENCE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)MEMORY_MAX, MHD_OPTION_END);
}

static wp_status begin_one(struct MHD_Daemon **out, server *s, const char *key, const char *host,
                           int64_t port, MHD_AccessHandlerCallback fn, wp_error **err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *address = NULL;
    char text[8];
    (void)snprintf(text, sizeof text, "%d", (int)port);
    if (getaddrinfo(host, text, &hints, &address) != 0)
        return wp__fail(err, WP_E_CONFIG, "http.address: \"%s\" is no address", host);
    *out = listen_on(address, fn, s, (uint16_t)port);
    freeaddrinfo(address);
    if (!*out)
        return wp__fail(err, WP_E_UNAVAILABLE, "%s: %s port %d cannot be listened on", key, host,
                        (int)port);
    return WP_OK;
}

/* On a thread of the library's, so that those that libmicrohttpd starts take no signals of the host's. */
static void *begin_main(void *arg)
{
    beginning *b = arg;
    const wp_config *c = b->config;
    server *s = b->server;
    if (c->metrics_port)
        b->status = begin_one(&s->metrics, s, "metrics.port", c->http_address, c->metrics_port,
                              on_metrics, &b->error);
    if (b->status == WP_OK && c->health_port && c->health_port != c->metrics_port)
        b->status = begin_one(&s->health, s, "health.port", c->http_address, c->health_port,
                              on_health, &b->error);
    return NULL;
}

static void close_socket(MHD_socket *socket)
{
    if (*socket != MHD_INVALID_SOCKET)
        wp__socket_close(*socket);
    *socket = MHD_INVALID_SOCKET;
}

/* Who comes from now on is refused; it is closed when no thread of libmicrohttpd may use it any more. */
static void refuse(MHD_socket *socket, struct MHD_Daemon *daemon)
{
    if (!daemon || *socket != MHD_INVALID_SOCKET)
        return;
    *socket = MHD_quiesce_daemon(daemon);
    if (*socket != MHD_INVALID_SOCKET)
        wp__socket_refuse(*socket);
}

static void http_quiesce(void *arg)
{
    server *s = arg;
    refuse(&s->metrics_socket, s->metrics);
    refuse(&s->health_socket, s->health);
}

static void http_end(void *arg)
{
    server *s = arg;
    if (!s)
        return;
    if (s->metrics)
        MHD_stop_daemon(s->metrics);
    if (s->health)
        MHD_stop_daemon(s->health);
    close_socket(&s->metrics_socket);
    close_socket(&s->health_socket);
    free(s);
}

static wp_status http_begin(void **out, wp_worker *worker, wp_error **err)
{
    server *s = calloc(1, sizeof *s);
    beginning b = {.server = s, .config = worker->config};
    wp__thread thread = {0};
    wp_status st;
    if (!s)
        return wp__fail_nomem(err);
    s->worker = worker;
    s->metrics_socket = s->health_socket = MHD_INVALID_SOCKET;
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
