/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting on a socket that a client library owns. */
#ifndef WP__SOCKET_H
#define WP__SOCKET_H

#include <stdbool.h>
#include <stdint.h>

enum { WP__SOCKET_READ = 1, WP__SOCKET_WRITE = 2 }; /* bits */

/* Wait until one of `events` is there, for up to `timeout_us` (0: not at all). True: it is, or the
 * socket has failed, which its owner will find. */
bool wp__socket_wait(int fd, unsigned events, int64_t timeout_us);

/* A socket that listens does so no more, a connection is at its end; and is closed. */
void wp__socket_refuse(int fd);
void wp__socket_close(int fd);
/* Another descriptor of the same socket; negative: there is none. */
int wp__socket_share(int fd);

#endif
