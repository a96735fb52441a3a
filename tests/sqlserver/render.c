/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the library can send to SQL Server, as a JSON array: each script, routine and statement, in each
 * style of parameters and with plain and hostile names. For the tests beside this file, which read it with
 * Microsoft's parser. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/engine.h"

static json_t *all;

static void must(wp_status st, const wp_error *err)
{
    if (st == WP_OK)
        return;
    (void)fprintf(stderr, "render: %s\n", wp_error_message(err));
    exit(1);
}

static void add(const char *kind, const char *name, const char *names, const char *style,
                const char *text, json_t *params)
{
    json_t *item = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "kind", kind, "name", name, "names",
                             names, "style", style, "text", text, "params", params);
    if (!item || json_array_append_new(all, item) != 0)
        exit(1);
}

static void add_scripts(const char *kind, const wp__sql_source *sources, size_t count,
                        const char *called, const wp__sql_names *names)
{
    for (size_t i = 0; i < count; i++) {
        wp_error *err = NULL;
        wp__buf text = {0};
        must(wp__sql_render(&text, (const char *)sources[i].text, sources[i].len, names, &err),
             err);
        add(kind, sources[i].name, called, "", text.data, json_array());
        wp__buf_free(&text);
    }
}

/* Each value of a statement: its name, and whether it is a number. */
static json_t *params_of(const wp__sql_text *text)
{
    json_t *params = json_array();
    for (size_t i = 0; i < text->param_count; i++) {
        const wp__param param = (wp__param)text->params[i];
        if (json_array_append_new(params, json_pack("{s:s, s:b}", "name", wp__param_name(param),
                                                    "number", (int)wp__param_is_number(param))) !=
            0)
            exit(1);
    }
    return params;
}

static void add_statements(const char *called, const wp__sql_names *names)
{
    static const struct {
        wp_paramstyle style;
        bool guarded;
        const char *name;
    } styles[] = {{WP_PARAM_AT, false, "at"},
                  {WP_PARAM_AT, true, "guarded"},
                  {WP_PARAM_QMARK, false, "qmark"}};
    const wp__engine *engine = &wp__engine_sqlserver;
    wp__sql_set *set = NULL;
    wp_error *err = NULL;
    must(wp__sql_set_new(&set, engine->statements, names, &err), err);
    for (size_t s = 0; s < sizeof styles / sizeof styles[0]; s++) {
        must(styles[s].guarded ? wp__sql_set_guarded(set, styles[s].style, &err)
                               : wp__sql_set_style(set, styles[s].style, &err),
             err);
        for (int i = 0; i < WP__SQL_COUNT; i++) {
            const wp__sql_text *text =
                styles[s].guarded ? wp__sql_get_guarded(set, (wp__sql_id)i, styles[s].style)
                                  : wp__sql_get(set, (wp__sql_id)i, styles[s].style);
            if (styles[s].guarded && strncmp(wp__sql_id_name((wp__sql_id)i), "migration_", 10) == 0)
                continue; /* no operation */
            if (engine->statements[i].text)
                add("statement", wp__sql_id_name((wp__sql_id)i), called, styles[s].name, text->text,
                    params_of(text));
        }
    }
    wp__sql_set_free(set);
}

static void add_all(const char *called, wp__sql_names names)
{
    const wp__engine *engine = &wp__engine_sqlserver;
    names.quote = engine->quote;
    names.schemas = engine->schemas;
    names.max_bytes = engine->name_max;
    names.guard = engine->guard;
    add_scripts("migration", engine->migrations, *engine->migration_count, called, &names);
    add_scripts("routine", engine->routines, *engine->routine_count, called, &names);
    add_statements(called, &names);
}

int main(void)
{
    all = json_array();
    add_all("plain", (wp__sql_names){.schema = "infra", .outbox = "Outbox", .inbox = "Inbox"});
    add_all("hostile", (wp__sql_names){.schema = "a]b'; DROP TABLE t; --\\",
                                       .outbox = "o]]'\"{x} :id ?\nGO\n\xf0\x9f\x8e\x89",
                                       .inbox = "i'["});
    if (json_dumpf(all, stdout, JSON_INDENT(1)) != 0)
        return 1;
    json_decref(all);
    return 0;
}
