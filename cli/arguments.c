/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

struct cli_args {
    char **argv;
    bool *used;
    int argc;
};

_Noreturn void cli_usage(const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    if (vasprintf(&text, format, list) < 0)
        abort();
    va_end(list);
    cli_tell(CLI_USAGE, "%s; see waypost help", text);
    exit(CLI_USAGE);
}

cli_args *cli_args_new(int argc, char **argv)
{
    cli_args *args = calloc(1, sizeof *args);
    bool *used = calloc((size_t)argc + 1, sizeof *used);
    if (!args || !used)
        abort();
    *args = (cli_args){.argv = argv, .used = used, .argc = argc};
    return args;
}

void cli_args_free(cli_args *args)
{
    if (!args)
        return;
    free(args->used);
    free(args);
}

/* Behind "--" all are words. */
static bool is_option(const cli_args *args, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(args->argv[i], "--") == 0)
            return false;
    return strncmp(args->argv[at], "--", 2) == 0;
}

/* Whether what follows an option is its value. */
static bool takes_value(const char *option)
{
    static const char *const flags[] = {"json",      "help",      "version",    "all",
                                        "yes",       "semaphore", "unfinished", "drain",
                                        "scheduler", "no-dead",   "dry-run"};
    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcmp(option + 2, flags[i]) == 0)
            return false;
    return !strchr(option, '=');
}

const char *cli_word(cli_args *args)
{
    for (int i = 0; i < args->argc; i++) {
        if (is_option(args, i)) {
            i += takes_value(args->argv[i]) && strcmp(args->argv[i], "--") != 0;
        } else if (!args->used[i]) {
            args->used[i] = true;
            return args->argv[i];
        }
    }
    return NULL;
}

const char *cli_option_next(cli_args *args, const char *name)
{
    const size_t len = strlen(name);
    for (int i = 0; i < args->argc; i++) {
        const char *text = args->argv[i];
        if (args->used[i] || !is_option(args, i) || strncmp(text + 2, name, len) != 0)
            continue;
        if (text[2 + len] == '=') {
            args->used[i] = true;
            return text + 2 + len + 1;
        }
        if (text[2 + len] != '\0')
            continue;
        if (i + 1 >= args->argc)
            cli_usage("--%s needs a value", name);
        args->used[i] = args->used[i + 1] = true;
        return args->argv[i + 1];
    }
    return NULL;
}

const char *cli_option(cli_args *args, const char *name)
{
    const char *last = NULL;
    for (const char *value; (value = cli_option_next(args, name));)
        last = value;
    /* somebody's variable was not set: a filter by it would let all through */
    if (last && !*last && strcmp(name, "payload") != 0)
        cli_usage("--%s is empty", name);
    return last;
}

bool cli_flag(cli_args *args, const char *name)
{
    bool found = false;
    for (int i = 0; i < args->argc; i++)
        if (!args->used[i] && is_option(args, i) && strcmp(args->argv[i] + 2, name) == 0)
            found = args->used[i] = true;
    return found;
}

char **cli_rest(cli_args *args)
{
    static char *none[] = {NULL};
    for (int i = 0; i < args->argc; i++) {
        if (strcmp(args->argv[i], "--") != 0)
            continue;
        for (int k = i; k < args->argc; k++)
            args->used[k] = true;
        return args->argv + i + 1;
    }
    return none;
}

/* A number at the beginning of `text`; what follows in *rest. */
static bool number_of(int64_t *out, const char *text, char **rest)
{
    errno = 0;
    *out = strtoll(text, rest, 10);
    return errno == 0 && *rest != text && text[0] != ' ' && text[0] != '+';
}

int64_t cli_number(cli_args *args, const char *name, int64_t otherwise)
{
    const char *text = cli_option(args, name);
    char *rest = NULL;
    int64_t value = otherwise;
    if (text && (!number_of(&value, text, &rest) || *rest))
        cli_usage("--%s is \"%s\", not a whole number", name, text);
    return value;
}

int64_t cli_duration_ms(cli_args *args, const char *name, int64_t otherwise)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    const char *text = cli_option(args, name);
    char *rest = NULL;
    int64_t value;
    if (!text)
        return otherwise;
    if (number_of(&value, text, &rest) && value >= 0)
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (strcmp(rest, units[i].unit) == 0 && value <= INT64_MAX / units[i].ms)
                return value * units[i].ms;
    cli_usage("--%s is \"%s\", not a duration such as 250ms, 30s, 5m, 2h or 7d", name, text);
}

void cli_args_end(cli_args *args)
{
    for (int i = 0; i < args->argc; i++)
        if (!args->used[i] && strcmp(args->argv[i], "--") != 0)
            cli_usage("\"%s\" is not expected here", args->argv[i]);
}
