/* SPDX-License-Identifier: Apache-2.0 */
#include "own_server.h"

#include "fault.h"

static char directory[128];
static const char *script;
static FILE *keeper;

/* Take over what `export NAME=VALUE` says. */
static void take_setting(char *line)
{
    char *name = line + strlen("export ");
    char *value = strchr(line, '=');
    MUST(strncmp(line, "export ", strlen("export ")) == 0 && value);
    *value++ = '\0';
    if (*value == '\'') /* quoted for the shell */
        value++;
    value[strcspn(value, "'\n")] = '\0';
    MUST(setenv(name, value, 1) == 0);
}

static void stop(void)
{
    (void)pclose(keeper);
}

static int start(const char *by)
{
    char command[300], line[300];
    const char *parent = getenv("TMPDIR");
    FILE *output;
    script = by;
    MUST(snprintf(directory, sizeof directory, "%s/waypost-server-XXXXXX",
                  parent && *parent ? parent : "/tmp") < (int)sizeof directory);
    MUST(mkdtemp(directory));
    (void)snprintf(command, sizeof command, "cat >/dev/null; exec %s/%s stop %s", TOOLS, script,
                   directory);
    MUST((keeper = popen(command, "we"))); /* NOLINT(cert-env33-c) */
    (void)atexit(stop);                    /* when the databases have been dropped */
    (void)snprintf(command, sizeof command, "%s/%s start %s", TOOLS, script, directory);
    MUST((output = popen(command, "re"))); /* NOLINT(cert-env33-c) */
    while (fgets(line, sizeof line, output))
        take_setting(line);
    MUST(pclose(output) == 0);
    return 0;
}

int own_server_start(void **state)
{
    (void)state;
    return start("postgresql.sh");
}

int own_mariadb_start(void **state)
{
    (void)state;
    MUST(setenv("WAYPOST_TEST_FSYNC", "on", 1) == 0);
    return start("mariadb.sh");
}

const char *own_server_directory(void)
{
    return directory;
}

void own_server_do(const char *what)
{
    char command[300];
    (void)snprintf(command, sizeof command, "%s/%s %s %s", TOOLS, script, what, directory);
    MUST(system(command) == 0); /* NOLINT(cert-env33-c) */
}
