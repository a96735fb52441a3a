/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of other programs, and the clock that they are waited for by. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { EXIT_NOT_RUN = 127 }; /* as shells have it */

int64_t cli_now_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

bool cli_can_run(const char *name)
{
    const char *path = getenv("PATH");
    bool found = strchr(name, '/') && access(name, X_OK) == 0;
    for (path = path ? path : "/usr/bin:/bin"; !strchr(name, '/') && path && !found;) {
        const size_t len = strcspn(path, ":");
        char *full = NULL;
        if (asprintf(&full, "%.*s/%s", len ? (int)len : 1, len ? path : ".", name) < 0)
            abort();
        found = access(full, X_OK) == 0;
        free(full);
        path = path[len] ? path + len + 1 : NULL;
    }
    return found;
}

/* In the child, between fork and exec: nothing that takes a lock. */
static _Noreturn void become(char **argv, char **env, const int fds[3], int death, pid_t parent)
{
    sigset_t none;
    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, death);
    if (getppid() != parent)
        _exit(EXIT_NOT_RUN);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0 && dup2(fds[i], i) < 0)
            _exit(EXIT_NOT_RUN);
    (void)execvpe(argv[0], argv, env);
    _exit(EXIT_NOT_RUN);
}

pid_t cli_spawn(char **argv, char **env, const int fds[3], int death)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0)
        become(argv, env, fds, death, parent);
    if (pid > 0)
        (void)setpgid(pid, pid); /* whoever comes first */
    return pid;
}
