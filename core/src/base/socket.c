/* SPDX-License-Identifier: Apache-2.0 */
#include "base/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

bool wp__socket_wait(int fd, unsigned events, int64_t timeout_us)
{
    struct pollfd p = {.fd = fd};
    const struct timespec limit = {(time_t)(timeout_us / 1000000),
                                   (long)(timeout_us % 1000000) * 1000};
    int n;
    if (events & WP__SOCKET_READ)
        p.events |= POLLIN;
    if (events & WP__SOCKET_WRITE)
        p.events |= POLLOUT;
    n = ppoll(&p, 1, &limit, NULL);
    return n > 0 || (n < 0 && errno != EINTR);
}

void wp__socket_refuse(int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
}

void wp__socket_close(int fd)
{
    (void)close(fd);
}

int wp__socket_share(int fd)
{
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}
