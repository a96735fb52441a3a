/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"

enum { LINKS_MAX = 200, CHUNK = 16384, TEXT_MAX = 64 };

#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            perror("proxy.c: " #condition);                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* One direction of a connection. */
typedef struct way {
    int from, to;
    char data[CHUNK];
    size_t begin, end;
} way;

typedef struct tunnel {
    bool used;
    bool lost;   /* a black hole */
    bool doomed; /* to be cut when the server answers */
    way up, down;
    char tail[TEXT_MAX]; /* what the client sent last: a text may come in parts */
    size_t tail_len;
} tunnel;

struct proxy {
    wp__mutex mutex; /* guards all but the thread; not held while it waits */
    wp__thread thread;
    int listener;
    int wake[2];
    int port, target;
    bool ended;
    proxy_mode mode;
    char text[TEXT_MAX]; /* "": none */
    proxy_when when;
    bool lose;
    int fired, accepted, swallowed;
    tunnel tunnels[LINKS_MAX];
};

static void set_nonblocking(int fd)
{
    NEED(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

static struct sockaddr_in address_of(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void wake(proxy *p)
{
    (void)!write(p->wake[1], "!", 1);
}

/* ---- connections -------------------------------------------------------------------------- */

static void reset(int fd)
{
    const struct linger now = {.l_onoff = 1};
    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    (void)close(fd);
}

static void tunnel_cut(tunnel *t)
{
    reset(t->up.from);
    reset(t->up.to);
    t->used = false;
}

static void tunnel_open(proxy *p, tunnel *t, int client)
{
    const struct sockaddr_in address = address_of(p->target);
    const int one = 1;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    NEED(server >= 0);
    if (connect(server, (const struct sockaddr *)&address, sizeof address) != 0) {
        reset(server); /* the server is down, and that is what the client sees */
        reset(client);
        return;
    }
    set_nonblocking(server);
    set_nonblocking(client);
    (void)setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *t = (tunnel){.used = true, .lost = p->mode == PROXY_BLACK_HOLE};
    t->up.from = t->down.to = client;
    t->up.to = t->down.from = server;
}

static void accept_all(proxy *p)
{
    int client;
    while ((client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        size_t at = 0;
        while (at < LINKS_MAX && p->tunnels[at].used)
            at++;
        p->accepted++;
        if (p->mode == PROXY_REFUSE || at == LINKS_MAX)
            reset(client);
        else
            tunnel_open(p, &p->tunnels[at], client);
    }
}

/* ---- forwarding --------------------------------------------------------------------------- */

/* Whether a word that ends with `text` is in there. */
static bool holds(const char *data, size_t len, const char *text)
{
    const char *at = data;
    const size_t size = strlen(text);
    while (size && (at = memmem(at, len - (size_t)(at - data), text, size))) {
        at += size;
        if (at == data + len || !isalpha((unsigned char)*at))
            return true;
    }
    return false;
}

/* Whether the client has now sent the text that is waited for. */
static bool says(const proxy *p, tunnel *t, const char *data, size_t len)
{
    char joined[TEXT_MAX + CHUNK];
    bool found;
    memcpy(joined, t->tail, t->tail_len);
    memcpy(joined + t->tail_len, data, len);
    len += t->tail_len;
    found = holds(joined, len, p->text);
    t->tail_len = len < TEXT_MAX - 1 ? len : TEXT_MAX - 1;
    memcpy(t->tail, joined + len - t->tail_len, t->tail_len);
    return found;
}

/* The client has sent the text. False: the tunnel is cut. */
static bool strike(proxy *p, tunnel *t)
{
    p->text[0] = '\0';
    if (p->lose) {
        t->lost = true;
        p->fired++;
    } else if (p->when == PROXY_BEFORE) {
        tunnel_cut(t);
        p->fired++;
        return false;
    } else {
        t->doomed = true;
    }
    return true;
}

/* One side of a black hole has given up: the other one does not hear of it. */
static bool side_ended(tunnel *t, way *w)
{
    reset(w->from);
    if (w == &t->up)
        t->up.from = t->down.to = -1;
    else
        t->down.from = t->up.to = -1;
    t->used = t->up.from >= 0 || t->up.to >= 0;
    return t->used;
}

/* False: the tunnel is cut. */
static bool take_in(proxy *p, tunnel *t, way *w)
{
    ssize_t n;
    if ((w->begin < w->end && !t->lost) || w->from < 0)
        return true;
    n = recv(w->from, w->data, sizeof w->data, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0 && t->lost)
        return side_ended(t, w);
    if (n <= 0 || (t->doomed && w == &t->down)) {
        p->fired += n > 0;
        tunnel_cut(t);
        return false;
    }
    if (w == &t->up && says(p, t, w->data, (size_t)n) && !strike(p, t))
        return false;
    if (p->mode == PROXY_BLACK_HOLE)
        t->lost = true;
    p->swallowed += t->lost && w == &t->up;
    w->begin = 0;
    w->end = t->lost ? 0 : (size_t)n;
    return true;
}

static bool pass_on(tunnel *t, way *w)
{
    ssize_t n;
    if (w->begin == w->end || t->lost)
        return true;
    n = send(w->to, w->data + w->begin, w->end - w->begin, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n < 0) {
        tunnel_cut(t);
        return false;
    }
    w->begin += (size_t)n;
    return true;
}

static void forward(proxy *p, tunnel *t)
{
    way *ways[] = {&t->up, &t->down};
    for (size_t i = 0; i < 2; i++)
        if (!take_in(p, t, ways[i]) || !pass_on(t, ways[i]))
            return;
}

/* What to wait for on one socket: what comes from it, and room for what goes to it. */
static void watch(struct pollfd *fd, const tunnel *t, const way *in, const way *out)
{
    fd->fd = in->from;
    fd->events = 0;
    if (in->begin == in->end || t->lost)
        fd->events |= POLLIN;
    if (out->begin < out->end && !t->lost)
        fd->events |= POLLOUT;
    if (!fd->events)
        fd->fd = -1;
}

/* Fill in what to wait for. @locks mutex */
static nfds_t watch_all(const proxy *p, struct pollfd *fds)
{
    nfds_t count = 2;
    fds[0] = (struct pollfd){.fd = p->wake[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = p->mode == PROXY_STALL ? -1 : p->listener, .events = POLLIN};
    for (size_t i = 0; i < LINKS_MAX && p->mode != PROXY_STALL; i++) {
        const tunnel *t = &p->tunnels[i];
        if (!t->used)
            continue;
        watch(&fds[count++], t, &t->up, &t->down);
        watch(&fds[count++], t, &t->down, &t->up);
    }
    return count;
}

/* Whatever woke it, it tries everything: nothing blocks. */
static void *run(void *arg)
{
    proxy *p = arg;
    struct pollfd *fds = calloc(2 + 2 * LINKS_MAX, sizeof *fds);
    char bytes[64];
    NEED(fds);
    wp__mutex_lock(&p->mutex);
    while (!p->ended) {
        nfds_t count = watch_all(p, fds);
        wp__mutex_unlock(&p->mutex);
        (void)poll(fds, count, -1);
        wp__mutex_lock(&p->mutex);
        while (read(p->wake[0], bytes, sizeof bytes) > 0)
            continue;
        if (p->mode == PROXY_STALL)
            continue;
        accept_all(p);
        for (size_t i = 0; i < LINKS_MAX; i++)
            if (p->tunnels[i].used)
                forward(p, &p->tunnels[i]);
    }
    wp__mutex_unlock(&p->mutex);
    free(fds);
    return NULL;
}

/* ---- for tests ---------------------------------------------------------------------------- */

proxy *proxy_open(int port)
{
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof address;
    proxy *p = calloc(1, sizeof *p);
    NEED(p);
    p->target = port;
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    NEED(p->listener >= 0 && bind(p->listener, (struct sockaddr *)&address, size) == 0);
    NEED(listen(p->listener, LINKS_MAX) == 0 && pipe2(p->wake, O_CLOEXEC | O_NONBLOCK) == 0);
    NEED(getsockname(p->listener, (struct sockaddr *)&address, &size) == 0);
    p->port = ntohs(address.sin_port);
    set_nonblocking(p->listener);
    wp__mutex_init(&p->mutex);
    NEED(wp__thread_start(&p->thread, "proxy", run, p, NULL) == WP_OK);
    return p;
}

void proxy_close(proxy *p)
{
    wp__mutex_lock(&p->mutex);
    p->ended = true;
    wake(p);
    wp__mutex_unlock(&p->mutex);
    wp__thread_join(&p->thread);
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (p->tunnels[i].used)
            tunnel_cut(&p->tunnels[i]);
    (void)close(p->listener);
    (void)close(p->wake[0]);
    (void)close(p->wake[1]);
    wp__mutex_destroy(&p->mutex);
    free(p);
}

int proxy_port(const proxy *p)
{
    return p->port;
}

/* The colon before the port. */
static const char *colon_of(const char *url)
{
    const char *host = strchr(url, '@');
    const char *colon = host ? strchr(host, ':') : NULL;
    NEED(colon);
    return colon;
}

int proxy_port_of(const char *url)
{
    return atoi(colon_of(url) + 1);
}

void proxy_url(char *out, size_t size, const proxy *p, const char *url)
{
    const char *colon = colon_of(url);
    (void)snprintf(out, size, "%.*s:%d%s", (int)(colon - url), url, p->port, strchr(colon, '/'));
}

void proxy_set(proxy *p, proxy_mode mode)
{
    wp__mutex_lock(&p->mutex);
    p->mode = mode;
    wake(p);
    wp__mutex_unlock(&p->mutex);
}

void proxy_cut(proxy *p)
{
    wp__mutex_lock(&p->mutex);
    for (size_t i = 0; i < LINKS_MAX; i++)
        if (p->tunnels[i].used)
            tunnel_cut(&p->tunnels[i]);
    wake(p);
    wp__mutex_unlock(&p->mutex);
}

static void arm(proxy *p, const char *text, proxy_when when, bool lose)
{
    wp__mutex_lock(&p->mutex);
    NEED(strlen(text) < TEXT_MAX);
    memcpy(p->text, text, strlen(text) + 1);
    p->when = when;
    p->lose = lose;
    for (size_t i = 0; i < LINKS_MAX; i++)
        p->tunnels[i].tail_len = 0; /* what was said before does not count */
    wp__mutex_unlock(&p->mutex);
}

void proxy_cut_at(proxy *p, const char *text, proxy_when when)
{
    arm(p, text, when, false);
}

void proxy_lose_at(proxy *p, const char *text)
{
    arm(p, text, PROXY_BEFORE, true);
}

static int look(proxy *p, const int *number)
{
    int value;
    wp__mutex_lock(&p->mutex);
    value = *number;
    wp__mutex_unlock(&p->mutex);
    return value;
}

int proxy_fired(proxy *p)
{
    return look(p, &p->fired);
}

int proxy_swallowed(proxy *p)
{
    return look(p, &p->swallowed);
}

int proxy_accepted(proxy *p)
{
    return look(p, &p->accepted);
}

int proxy_standing(proxy *p)
{
    int count = 0;
    wp__mutex_lock(&p->mutex);
    for (size_t i = 0; i < LINKS_MAX; i++)
        count += p->tunnels[i].used;
    wp__mutex_unlock(&p->mutex);
    return count;
}
