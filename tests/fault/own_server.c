/* SPDX-License-Identifier: Apache-2.0 */
#include "own_server.h"

#include "fault.h"

static char directory[128];
static FILE *keeper;

/* Take over what `export NAME=VALUE` says. */
static void take_setting(char *line)
{
    char *name = line + strlen("export ");
    char *value = strchr(line, '=');
    MUST(strncmp(line, "export ", strlen("export ")) == 0 && value);
    *value++ = '\0';
    value[strcspn(value, "\n")] = '\0';
    MUST(setenv(name, value, 1) == 0);
}

static void stop(void)
{
    (void)pclose(keeper);
}

int own_server_start(void **state)
{
    char command[300], line[300];
    const char *parent = getenv("TMPDIR");
    FILE *output;
    (void)state;
    MUST(snprintf(directory, sizeof directory, "%s/waypost-server-XXXXXX",
                  parent && *parent ? parent : "/tmp") < (int)sizeof directory);
    MUST(mkdtemp(directory));
    (void)snprintf(command, sizeof command, "cat >/dev/null; exec %s/postgresql.sh stop %s", TOOLS,
                   directory);
    MUST((keeper = popen(command, "we"))); /* NOLINT(cert-env33-c) */
    (void)atexit(stop);                    /* when the databases have been dropped */
    (void)snprintf(command, sizeof command, "%s/postgresql.sh start %s", TOOLS, directory);
    MUST((output = popen(command, "re"))); /* NOLINT(cert-env33-c) */
    while (fgets(line, sizeof line, output))
        take_setting(line);
    MUST(pclose(output) == 0);
    return 0;
}

const char *own_server_directory(void)
{
    return directory;
}

void own_server_do(const char *what)
{
    char command[300];
    (void)snprintf(command, sizeof command, "%s/postgresql.sh %s %s", TOOLS, what, directory);
    MUST(system(command) == 0); /* NOLINT(cert-env33-c) */
}
