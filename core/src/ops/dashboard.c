/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard by HTTP: three files, and a JSON API under /api/.
 *
 * Who may: reading is free as metrics are, but for payloads; changing needs the token. A page of another origin
 * can do neither: changes need a header that no form can send, no origin but our own, and there are no cookies;
 * and a name that its owner lets point to this host (DNS rebinding) is no name that we answer to. */
#include "ops/dashboard.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "ops/api.h"

enum { TOO_LARGE = 413, MISDIRECTED = 421 }; /* which libmicrohttpd has had by several names */
enum { BODY_MAX = 3 << 20 /* of a request: a payload of 1 MiB, whatever JSON makes of it */ };

static const char api_prefix[] = "/api/";

static const struct {
    const char *url, *type;
    const unsigned char *data;
    const size_t *len;
} files[] = {
    {"/", "text/html; charset=utf-8", wp__file_index_html, &wp__file_index_html_len},
    {"/style.css", "text/css; charset=utf-8", wp__file_style_css, &wp__file_style_css_len},
    {"/app.js", "text/javascript; charset=utf-8", wp__file_app_js, &wp__file_app_js_len},
};
enum { FILES = sizeof files / sizeof files[0] };

/* A request whose body is coming in. */
typedef struct body {
    wp__buf text;
    bool too_long;
} body;

void wp__dashboard_forget(void *context)
{
    body *b = context;
    if (!b)
        return;
    wp__buf_free(&b->text);
    free(b);
}

static size_t find_file(const char *url)
{
    size_t i = 0;
    while (i < FILES && strcmp(files[i].url, url) != 0)
        i++;
    return i;
}

static bool is_api(const char *url)
{
    return strncmp(url, api_prefix, sizeof api_prefix - 1) == 0;
}

int wp__dashboard_has(const char *url)
{
    return is_api(url) || find_file(url) < FILES;
}

/* ---- answers ------------------------------------------------------------------------------- */

static enum MHD_Result answer_with(struct MHD_Connection *connection, unsigned code,
                                   const char *type, struct MHD_Response *response)
{
    enum MHD_Result result;
    if (!response)
        return MHD_NO;
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "X-Frame-Options", "DENY");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    (void)MHD_add_response_header(
        response, "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
    if (code == MHD_HTTP_UNAUTHORIZED)
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
    result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

/* Takes over `text`; NULL: out of memory. */
static enum MHD_Result send_json(struct MHD_Connection *connection, unsigned code, char *text)
{
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response)
        free(text);
    return answer_with(connection, code, "application/json", response);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
    json_t *json = json_pack("{s:s}", "error", why);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return send_json(connection, code, text);
}

/* ---- who may ------------------------------------------------------------------------------- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Whether `name` is one of a list with commas. */
static bool is_listed(const char *list, const char *name, size_t len)
{
    while (*list) {
        size_t n;
        list += strspn(list, ", ");
        n = strcspn(list, ", ");
        if (n == len && n && strncasecmp(list, name, n) == 0)
            return true;
        list += n;
    }
    return false;
}

/* A number is no name that somebody could let point here. */
static bool is_address(const char *host, size_t len)
{
    char text[64];
    unsigned char address[16];
    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof text)
        return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* The host that was asked for, without the port. */
static bool host_is_ours(const wp_worker *worker, struct MHD_Connection *connection)
{
    const char *host = header(connection, MHD_HTTP_HEADER_HOST);
    const char *colon;
    size_t len;
    if (!host)
        return false;
    len = strlen(host);
    colon = strrchr(host, ':');
    if (colon && !strchr(colon, ']'))
        len = (size_t)(colon - host);
    return is_address(host, len) || is_listed("localhost", host, len) ||
           is_listed(worker->config->dashboard_hosts, host, len);
}

/* No origin, as programs ask, or the one that was asked. */
static bool origin_is_ours(struct MHD_Connection *connection)
{
    const char *origin = header(connection, MHD_HTTP_HEADER_ORIGIN);
    const char *host = header(connection, MHD_HTTP_HEADER_HOST);
    const char *site = header(connection, "Sec-Fetch-Site");
    if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
        return false;
    if (!origin)
        return true;
    origin = strncmp(origin, "https://", 8) == 0  ? origin + 8
             : strncmp(origin, "http://", 7) == 0 ? origin + 7
                                                  : NULL;
    return origin && host && strcasecmp(origin, host) == 0;
}

/* How long it takes tells nothing of how much of it was right. */
static bool has_token(const wp_worker *worker, struct MHD_Connection *connection)
{
    static const char scheme[] = "Bearer ";
    const char *want = worker->config->dashboard_token;
    const char *got = header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    const size_t want_len = strlen(want);
    volatile unsigned char differs = 0;
    size_t got_len;
    if (!want_len || !got || strncasecmp(got, scheme, sizeof scheme - 1) != 0)
        return false;
    got += sizeof scheme - 1;
    got_len = strlen(got);
    differs = got_len != want_len;
    for (size_t i = 0; i < want_len; i++)
        differs |= (unsigned char)(want[i] ^ (i < got_len ? got[i] : 0));
    return differs == 0;
}

/* Why a change is not made; NULL: it is. */
static const char *denied(unsigned *code, const wp_worker *worker,
                          struct MHD_Connection *connection)
{
    const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    *code = MHD_HTTP_FORBIDDEN;
    if (!worker->config->dashboard_token[0])
        return "this dashboard is read-only: no dashboard.token is set";
    if (!header(connection, "X-Waypost") || !origin_is_ours(connection))
        return "a change comes from the dashboard's own page, or has the header X-Waypost";
    *code = MHD_HTTP_UNAUTHORIZED;
    if (!has_token(worker, connection))
        return "the token is missing, or it is not the one";
    *code = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    if (!type || strncasecmp(type, "application/json", 16) != 0)
        return "a change is application/json";
    return NULL;
}

/* ---- the API ------------------------------------------------------------------------------- */

static enum MHD_Result add_argument(void *user, enum MHD_ValueKind kind, const char *key,
                                    const char *value)
{
    json_t *text = value ? json_string(value) : NULL;
    (void)kind;
    if (text)
        (void)json_object_set_new(user, key, text);
    return MHD_YES;
}

static enum MHD_Result ask(wp_worker *worker, struct MHD_Connection *connection,
                           const wp__api_call *call)
{
    int code = WP__API_FAILED;
    char *text = wp__api_answer(&code, worker, call);
    return send_json(connection, (unsigned)code, text);
}

static enum MHD_Result read_api(wp_worker *worker, struct MHD_Connection *connection,
                                const char *path)
{
    const bool trusted = has_token(worker, connection);
    json_t *args;
    wp__api_call call = {.path = path, .payloads = trusted || worker->config->dashboard_payloads};
    enum MHD_Result result;
    bool writes = false;
    if (!wp__api_knows(path, &writes) && strcmp(path, "session") != 0)
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such call");
    if (writes)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "a change is a POST");
    if (header(connection, MHD_HTTP_HEADER_AUTHORIZATION) && !trusted)
        return refuse(connection, MHD_HTTP_UNAUTHORIZED, "the token is not the one");
    if (strcmp(path, "session") == 0) {
        json_t *json =
            json_pack("{s:b,s:b,s:b}", "writable", worker->config->dashboard_token[0] != '\0',
                      "trusted", trusted, "payloads", call.payloads);
        char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
        json_decref(json);
        return send_json(connection, MHD_HTTP_OK, text);
    }
    if (!(args = json_object()))
        return MHD_NO;
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_argument, args);
    call.args = args;
    result = ask(worker, connection, &call);
    json_decref(args);
    return result;
}

static enum MHD_Result write_api(wp_worker *worker, struct MHD_Connection *connection,
                                 const char *path, body *b)
{
    wp__api_call call = {.path = path, .writes = true, .payloads = true};
    enum MHD_Result result;
    json_t *args;
    if (b->too_long)
        return refuse(connection, TOO_LARGE, "the request is too long");
    if (b->text.failed)
        return MHD_NO;
    args = b->text.len ? json_loadb(b->text.data, b->text.len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (!json_is_object(args)) {
        json_decref(args);
        return refuse(connection, MHD_HTTP_BAD_REQUEST, "the request is no JSON object");
    }
    call.args = args;
    result = ask(worker, connection, &call);
    json_decref(args);
    return result;
}

/* The first call of a POST: what is refused needs no body. */
static enum MHD_Result begin_write(wp_worker *worker, struct MHD_Connection *connection,
                                   const char *path, void **context)
{
    unsigned code = 0;
    bool writes = false;
    const char *why = denied(&code, worker, connection);
    body *b;
    if (why)
        return refuse(connection, code, why);
    if (!wp__api_knows(path, &writes))
        return refuse(connection, MHD_HTTP_NOT_FOUND, "there is no such call");
    if (!writes)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "reading is a GET");
    if (!(b = calloc(1, sizeof *b)))
        return MHD_NO;
    *context = b;
    return MHD_YES;
}

int wp__dashboard_handle(wp_worker *worker, struct MHD_Connection *connection, const char *url,
                         const char *method, const char *upload, size_t *upload_size,
                         void **context)
{
    const bool reads =
        strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    const bool writes = strcmp(method, MHD_HTTP_METHOD_POST) == 0 && is_api(url);
    const size_t file = find_file(url);
    body *b = *context;
    if (writes && b && *upload_size) {
        if (b->text.len + *upload_size > BODY_MAX)
            b->too_long = true;
        else
            wp__buf_add(&b->text, upload, *upload_size);
        *upload_size = 0;
        return MHD_YES;
    }
    *upload_size = 0;
    if (writes && b)
        return write_api(worker, connection, url + sizeof api_prefix - 1, b);
    if (!host_is_ours(worker, connection))
        return refuse(connection, MISDIRECTED, "this host has another name: dashboard.hosts");
    if (writes)
        return begin_write(worker, connection, url + sizeof api_prefix - 1, context);
    if (!reads)
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET, HEAD and POST");
    if (is_api(url))
        return read_api(worker, connection, url + sizeof api_prefix - 1);
    return answer_with(connection, MHD_HTTP_OK, files[file].type,
                       MHD_create_response_from_buffer(*files[file].len, (void *)files[file].data,
                                                       MHD_RESPMEM_PERSISTENT));
}
