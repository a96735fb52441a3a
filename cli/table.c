/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

struct cli_table {
    const char *const *columns;
    size_t count;
    size_t at;
    json_t *rows;
    bool json;
};

cli_table *cli_table_new(const cli *c, const char *const *columns, size_t count)
{
    cli_table *table = calloc(1, sizeof *table);
    if (!table || !(table->rows = json_array()))
        abort();
    table->columns = columns;
    table->count = count;
    table->json = c->json;
    return table;
}

static void add(cli_table *table, json_t *cell)
{
    json_t *row;
    if (table->at % table->count == 0)
        (void)json_array_append_new(table->rows, json_object());
    row = json_array_get(table->rows, json_array_size(table->rows) - 1);
    (void)json_object_set_new(row, table->columns[table->at % table->count], cell);
    table->at++;
}

void cli_text(cli_table *table, const char *text)
{
    add(table, text ? json_string(text) : json_null());
}

void cli_int(cli_table *table, int64_t value)
{
    add(table, json_integer(value));
}

void cli_bool(cli_table *table, bool value)
{
    add(table, json_boolean(value));
}

void cli_time(cli_table *table, int64_t us)
{
    const time_t seconds = (time_t)(us / 1000000);
    struct tm tm;
    char text[64];
    size_t len;
    if (us == 0 || !gmtime_r(&seconds, &tm)) {
        cli_text(table, NULL);
        return;
    }
    len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + len, sizeof text - len, ".%06lldZ", (long long)(us % 1000000));
    cli_text(table, text);
}

void cli_id(cli_table *table, const wp_id *id)
{
    char text[37];
    wp_id_format(text, id);
    cli_text(table, id ? text : NULL);
}

/* ---- for people --------------------------------------------------------------------------- */

/* A cell as it is printed, without what would move the cursor. */
static char *shown(const json_t *cell)
{
    const char *text = json_string_value(cell);
    char *out;
    size_t len = 0;
    if (!text)
        return json_is_null(cell) ? strdup("-") : json_dumps(cell, JSON_ENCODE_ANY);
    out = malloc(4 * strlen(text) + 1);
    if (!out)
        abort();
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            len += (size_t)sprintf(out + len, "\\x%02x", *p);
        else
            out[len++] = (char)*p;
    out[len] = '\0';
    return out;
}

/* How many characters: those bytes that do not continue one. */
static size_t width(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void print_cell(const char *text, size_t wide, bool last)
{
    (void)printf("%s%*s", text, last ? 0 : (int)(wide - width(text) + 2), "");
}

static void print_rows(const cli_table *table)
{
    size_t *wide = calloc(table->count, sizeof *wide);
    size_t i;
    const json_t *row;
    if (!wide)
        abort();
    for (size_t c = 0; c < table->count; c++) {
        wide[c] = width(table->columns[c]);
        json_array_foreach(table->rows, i, row)
        {
            char *text = shown(json_object_get(row, table->columns[c]));
            if (width(text) > wide[c])
                wide[c] = width(text);
            free(text);
        }
    }
    for (size_t c = 0; c < table->count; c++)
        print_cell(table->columns[c], wide[c], c + 1 == table->count);
    (void)putchar('\n');
    json_array_foreach(table->rows, i, row)
    {
        for (size_t c = 0; c < table->count; c++) {
            char *text = shown(json_object_get(row, table->columns[c]));
            print_cell(text, wide[c], c + 1 == table->count);
            free(text);
        }
        (void)putchar('\n');
    }
    free(wide);
}

static void print_one(const cli_table *table)
{
    const json_t *row = json_array_get(table->rows, 0);
    size_t wide = 0;
    for (size_t c = 0; c < table->count; c++)
        if (width(table->columns[c]) > wide)
            wide = width(table->columns[c]);
    for (size_t c = 0; row && c < table->count; c++) {
        char *text = shown(json_object_get(row, table->columns[c]));
        print_cell(table->columns[c], wide, false);
        (void)printf("%s\n", text);
        free(text);
    }
}

void cli_json(const json_t *value)
{
    (void)json_dumpf(value, stdout, JSON_INDENT(2) | JSON_ENCODE_ANY);
    (void)putchar('\n');
}

void cli_json_line(const json_t *value)
{
    (void)json_dumpf(value, stdout, JSON_COMPACT);
    (void)putchar('\n');
}

static void end(cli_table *table)
{
    json_decref(table->rows);
    free(table);
}

void cli_table_end(cli_table *table)
{
    if (table->json)
        cli_json(table->rows);
    else
        print_rows(table);
    end(table);
}

void cli_table_end_line(cli_table *table)
{
    if (table->json)
        cli_json_line(table->rows);
    else
        print_rows(table);
    end(table);
}

void cli_table_end_one(cli_table *table)
{
    if (table->json)
        cli_json(json_array_get(table->rows, 0));
    else
        print_one(table);
    end(table);
}

void cli_changed(const cli *c, bool changed)
{
    if (c->json)
        (void)printf("{\"changed\": %s}\n", changed ? "true" : "false");
}

int cli_changed_or_not_found(const cli *c, bool changed, const char *what, const char *name)
{
    if (!changed)
        return cli_not_found(what, name);
    cli_changed(c, true);
    return CLI_OK;
}

void cli_count(const cli *c, const char *name, size_t count)
{
    if (c->json)
        (void)printf("{\"%s\": %zu}\n", name, count);
    else
        (void)printf("%s: %zu\n", name, count);
}
