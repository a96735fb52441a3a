/* SPDX-License-Identifier: Apache-2.0 */
/* Rendering embedded statements: object names quoted, parameters in the style asked for. */
#include "op/sql.h"

#include <stdlib.h>
#include <string.h>

struct wp__sql_set {
    wp__sql_statement statements[WP__SQL_COUNT];
};

static const char *const param_names[WP__P_COUNT] = {
#define WP__PARAM_NAME(id, name) name,
    WP__PARAMS(WP__PARAM_NAME)
#undef WP__PARAM_NAME
};

const char *wp__param_name(wp__param param)
{
    return param_names[param];
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool starts_with(const char *text, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    return len >= n && memcmp(text, prefix, n) == 0;
}

void wp__sql_object_name(wp__buf *out, const char *object, size_t len, const wp__sql_names *names)
{
    static const char outbox[] = "outbox";
    size_t noun = sizeof outbox - 1;
    wp__buf_text(out, names->schema);
    wp__buf_text(out, "_");
    if (starts_with(object, len, outbox) && (len == noun || object[noun] == '_')) {
        wp__buf_text(out, names->outbox);
        object += noun;
        len -= noun;
    }
    wp__buf_add(out, object, len);
}

/* Append an object's name as a quoted identifier (SQL-92: a quote is doubled). */
static wp_status add_quoted(wp__buf *out, const char *object, size_t len,
                            const wp__sql_names *names, wp_error **err)
{
    wp__buf bare = {0};
    wp__sql_object_name(&bare, object, len, names);
    if (bare.failed) {
        wp__buf_free(&bare);
        return wp__fail_nomem(err);
    }
    wp__buf_text(out, "\"");
    for (size_t i = 0; i < bare.len; i++)
        wp__buf_add(out, bare.data[i] == '"' ? "\"\"" : &bare.data[i], bare.data[i] == '"' ? 2 : 1);
    wp__buf_text(out, "\"");
    wp__buf_free(&bare);
    return WP_OK;
}

/* Read the {object} that starts at `pos`, append its quoted name and move `pos` past it. */
static wp_status add_placeholder(wp__buf *out, const char *source, size_t len, size_t *pos,
                                 const wp__sql_names *names, wp_error **err)
{
    size_t start = *pos + 1;
    size_t end = start;
    while (end < len && is_word(source[end]))
        end++;
    if (end == start || end == len || source[end] != '}')
        return wp__fail(err, WP_E_INTERNAL, "malformed placeholder in an embedded statement");
    *pos = end + 1;
    return add_quoted(out, source + start, end - start, names, err);
}

wp_status wp__sql_render(wp__buf *out, const char *source, size_t len, const wp__sql_names *names,
                         wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t pos = 0; pos < len && st == WP_OK;) {
        if (source[pos] == '{')
            st = add_placeholder(out, source, len, &pos, names, err);
        else
            wp__buf_add(out, &source[pos++], 1);
    }
    if (st == WP_OK && out->failed)
        st = wp__fail_nomem(err);
    return st;
}

static bool find_param(uint8_t *out, const char *name, size_t len)
{
    for (unsigned i = 0; i < WP__P_COUNT; i++) {
        if (strlen(param_names[i]) == len && memcmp(param_names[i], name, len) == 0) {
            *out = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* Note the parameter at the next position; named ones that stand there already are not repeated. */
static bool note_param(wp__sql_text *text, uint8_t param, wp_paramstyle style)
{
    if (style == WP_PARAM_NAMED)
        for (size_t i = 0; i < text->param_count; i++)
            if (text->params[i] == param)
                return true;
    if (text->param_count == WP__SQL_PARAMS_MAX)
        return false;
    text->params[text->param_count++] = param;
    return true;
}

/* Render one statement: skip the comment in its first line, name objects, write parameters. */
static wp_status render_statement(wp__sql_text *text, const wp__sql_source *source,
                                  wp_paramstyle style, const wp__sql_names *names, wp_error **err)
{
    const char *sql = (const char *)source->text;
    const char *line = memchr(sql, '\n', source->len);
    size_t len = source->len;
    size_t pos = line ? (size_t)(line - sql) + 1 : 0;
    wp_status st = WP_OK;
    wp__buf out = {0};
    while (len > pos && (sql[len - 1] == '\n' || sql[len - 1] == ' '))
        len--;
    while (pos < len && st == WP_OK) {
        size_t end = pos + 1;
        uint8_t param = 0;
        if (sql[pos] == '{') {
            st = add_placeholder(&out, sql, len, &pos, names, err);
            continue;
        }
        if (sql[pos] != ':') {
            wp__buf_add(&out, &sql[pos++], 1);
            continue;
        }
        while (end < len && is_word(sql[end]))
            end++;
        if (!find_param(&param, sql + pos + 1, end - pos - 1) || !note_param(text, param, style))
            st = wp__fail(err, WP_E_INTERNAL, "statement %s: unknown parameter :%.*s", source->name,
                          (int)(end - pos - 1), sql + pos + 1);
        if (style == WP_PARAM_NAMED)
            wp__buf_add(&out, sql + pos, end - pos);
        else
            wp__buf_text(&out, "?");
        pos = end;
    }
    text->text = wp__buf_take(&out);
    if (st == WP_OK && !text->text)
        st = wp__fail_nomem(err);
    return st;
}

wp_status wp__sql_set_new(wp__sql_set **out, const wp__sql_source *sources,
                          const wp__sql_names *names, wp_error **err)
{
    wp_status st = WP_OK;
    wp__sql_set *set = calloc(1, sizeof *set);
    if (!set)
        return wp__fail_nomem(err);
    for (int i = 0; i < WP__SQL_COUNT && st == WP_OK; i++) {
        wp__sql_statement *statement = &set->statements[i];
        statement->name = sources[i].name;
        for (int s = 0; s < WP__PARAMSTYLES && st == WP_OK; s++)
            st = render_statement(&statement->style[s], &sources[i], (wp_paramstyle)(s + 1), names,
                                  err);
        if (st == WP_OK) {
            const char *text = statement->style[0].text;
            statement->returns_rows = starts_with(text, strlen(text), "SELECT") ||
                                      starts_with(text, strlen(text), "WITH") ||
                                      strstr(text, "\nRETURNING ");
        }
    }
    if (st != WP_OK) {
        wp__sql_set_free(set);
        return st;
    }
    *out = set;
    return WP_OK;
}

void wp__sql_set_free(wp__sql_set *set)
{
    if (!set)
        return;
    for (int i = 0; i < WP__SQL_COUNT; i++)
        for (int s = 0; s < WP__PARAMSTYLES; s++)
            free(set->statements[i].style[s].text);
    free(set);
}

const wp__sql_statement *wp__sql_get(const wp__sql_set *set, wp__sql_id id)
{
    return &set->statements[id];
}
