/* SPDX-License-Identifier: Apache-2.0 */
/* The network between a client and a server on this machine, with its faults: any number of TCP
 * connections, forwarded by one thread. */
#ifndef PROXY_H
#define PROXY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct proxy proxy;

typedef enum proxy_mode {
    PROXY_FORWARD,
    PROXY_STALL,      /* all stay open, nothing moves; what was sent arrives later */
    PROXY_BLACK_HOLE, /* what is sent is lost, and so is the connection, but neither side hears of it */
    PROXY_REFUSE      /* new connections end at once; those that stand go on */
} proxy_mode;

typedef enum proxy_when {
    PROXY_BEFORE, /* the server does not get the text */
    PROXY_AFTER   /* the server gets it and answers; the client does not get the answer */
} proxy_when;

/* Towards a port of 127.0.0.1. */
proxy *proxy_open(int port);
/* Ends all connections. */
void proxy_close(proxy *p);
int proxy_port(const proxy *p);
/* `url`, but by way of the proxy. */
void proxy_url(char *out, size_t size, const proxy *p, const char *url);
/* The port that a URL names. */
int proxy_port_of(const char *url);

/* A mode lasts until the next one is set. Connections that came in while it is PROXY_BLACK_HOLE or sent
 * something then stay silent for ever. */
void proxy_set(proxy *p, proxy_mode mode);
/* Reset all connections that stand. */
void proxy_cut(proxy *p);
/* Reset the next connection on which a client sends `text` (at most 63 bytes), with no letter behind it:
 * COMMIT is not COMMITTED. */
void proxy_cut_at(proxy *p, const char *text, proxy_when when);
/* The next connection on which a client sends `text`: it becomes a black hole before it gets there. */
void proxy_lose_at(proxy *p, const char *text);
/* How many of these have come to pass. */
int proxy_fired(proxy *p);
/* How many times a black hole has swallowed something that a client sent. */
int proxy_swallowed(proxy *p);
/* How many connections there were so far, and how many stand. */
int proxy_accepted(proxy *p);
int proxy_standing(proxy *p);

#endif
