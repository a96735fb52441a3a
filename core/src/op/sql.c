/* SPDX-License-Identifier: Apache-2.0 */
/* Rendering embedded statements: object names quoted, parameters in the style asked for. */
#include "op/sql.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

/* Every statement in one style. */
typedef struct wp__sql_texts {
    wp__sql_text items[WP__SQL_COUNT];
} wp__sql_texts;

struct wp__sql_set {
    const wp__sql_source *sources;
    wp__sql_names names; /* as statements have them */
    wp__mutex mutex;     /* one thread renders */
    _Atomic(wp__sql_texts *)
        texts[2][WP__PARAMSTYLES]; /* plain, guarded; wp_paramstyle - 1; NULL: not yet */
};

static const char body_begin[] = "{body}";
static const char body_end[] = "{end}";

static const char *const param_names[WP__P_COUNT] = {
#define WP__PARAM_NAME(id, name) name,
    WP__PARAMS(WP__PARAM_NAME)
#undef WP__PARAM_NAME
};

const char *wp__param_name(wp__param param)
{
    return param_names[param];
}

bool wp__param_is_number(wp__param param)
{
    switch ((int)param) {
    case WP__P_NOW:
    case WP__P_COUNT_:
    case WP__P_DUE_AT:
    case WP__P_DELAY:
    case WP__P_EXPIRES_AT:
    case WP__P_LEASE:
    case WP__P_BATCH:
    case WP__P_MAX_ATTEMPTS:
    case WP__P_SINCE:
    case WP__P_STATUS:
    case WP__P_ATTEMPTS:
    case WP__P_NUMBER:
    case WP__P_FENCE:
    case WP__P_SLOTS:
    case WP__P_VERSION:
    case WP__P_OCCURRENCE:
    case WP__P_FIRED_AT:
    case WP__P_UNTIL:
    case WP__P_PAYLOADS:
        return true;
    default:
        return false;
    }
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_object(char c)
{
    return is_word(c) || (c >= 'A' && c <= 'Z');
}

static bool starts_with(const char *text, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    return len >= n && memcmp(text, prefix, n) == 0;
}

void wp__sql_object_name(wp__buf *out, const char *object, size_t len, const wp__sql_names *names)
{
    static const char *const nouns[] = {"outbox", "inbox"};
    const char *const called[] = {names->outbox, names->inbox};
    if (!names->schemas) {
        wp__buf_text(out, names->schema);
        wp__buf_text(out, "_");
    }
    for (size_t i = 0; i < sizeof nouns / sizeof nouns[0]; i++) {
        const size_t noun = strlen(nouns[i]);
        if (starts_with(object, len, nouns[i]) && (len == noun || object[noun] == '_')) {
            wp__buf_text(out, called[i]);
            object += noun;
            len -= noun;
            break;
        }
    }
    wp__buf_add(out, object, len);
}

/* Append a name as a quoted identifier (SQL-92: a quote is doubled). */
static wp_status add_quoted(wp__buf *out, const char *name, size_t len, const wp__sql_names *names,
                            wp_error **err)
{
    const char open = names->quote ? names->quote : '"';
    const char quote = open == '[' ? ']' : open;
    if (names->max_bytes && len > names->max_bytes)
        return wp__fail(err, WP_E_CONFIG,
                        "store.schema, store.outbox_table or store.inbox_table makes the name "
                        "\"%.*s\" of %zu bytes, "
                        "the database's limit is %zu",
                        (int)len, name, len, names->max_bytes);
    wp__buf_add(out, &open, 1);
    for (size_t i = 0; i < len; i++) {
        if (names->basic_plane && (unsigned char)name[i] >= 0xF0) /* begins four bytes of UTF-8 */
            return wp__fail(err, WP_E_CONFIG,
                            "store.schema, store.outbox_table or store.inbox_table makes the name "
                            "\"%.*s\": the database admits no characters beyond U+FFFF in names",
                            (int)len, name);
        if (name[i] == quote)
            wp__buf_add(out, &quote, 1); /* doubled */
        wp__buf_add(out, &name[i], 1);
    }
    wp__buf_add(out, &quote, 1);
    return WP_OK;
}

static wp_status add_object(wp__buf *out, const char *object, size_t len, bool qualified,
                            const wp__sql_names *names, wp_error **err)
{
    wp__buf bare = {0};
    wp_status st = WP_OK;
    wp__sql_object_name(&bare, object, len, names);
    if (bare.failed)
        st = wp__fail_nomem(err);
    if (st == WP_OK && qualified && (names->schemas || names->database)) {
        const char *space = names->schemas ? names->schema : names->database;
        st = add_quoted(out, space, strlen(space), names, err);
        wp__buf_text(out, ".");
    }
    if (st == WP_OK)
        st = add_quoted(out, bare.data, bare.len, names, err);
    wp__buf_free(&bare);
    return st;
}

/* Append a text as a literal. On PostgreSQL it depends on a setting (standard_conforming_strings) whether a
 * backslash is an ordinary character: with one it is a literal in which it never is. */
static wp_status add_literal(wp__buf *out, const wp__buf *text, const wp__sql_names *names,
                             wp_error **err)
{
    const bool escapes = names->quote != '[' && text->len && memchr(text->data, '\\', text->len);
    wp__buf_text(out, escapes ? "E'" : "'");
    for (size_t i = 0; i < text->len; i++) {
        if (text->data[i] == '\'' || (escapes && text->data[i] == '\\'))
            wp__buf_add(out, &text->data[i], 1); /* doubled */
        wp__buf_add(out, &text->data[i], 1);
    }
    wp__buf_text(out, "'");
    return text->failed ? wp__fail_nomem(err) : WP_OK;
}

static wp_status add_name_literal(wp__buf *out, const char *object, size_t len,
                                  const wp__sql_names *names, wp_error **err)
{
    wp__buf name = {0};
    wp_status st = add_object(&name, object, len, true, names, err);
    if (st == WP_OK)
        st = add_literal(out, &name, names, err);
    wp__buf_free(&name);
    return st;
}

/* Replace the placeholder that starts at `pos`, and move `pos` past it. */
static wp_status add_placeholder(wp__buf *out, const char *source, size_t len, size_t *pos,
                                 const wp__sql_names *names, wp_error **err)
{
    static const char schema[] = "schema";
    size_t start = *pos + 1;
    bool bare = starts_with(source + start, len - start, "name:");
    bool literal = starts_with(source + start, len - start, "text:");
    size_t end;
    if (bare || literal)
        start += 5;
    end = start;
    while (end < len && is_object(source[end]))
        end++;
    if (end == start || end == len || source[end] != '}')
        return wp__fail(err, WP_E_INTERNAL, "malformed placeholder in an embedded statement");
    *pos = end + 1;
    if (end - start == sizeof schema - 1 && memcmp(source + start, schema, end - start) == 0)
        return add_quoted(out, names->schema, strlen(names->schema), names, err);
    if (literal)
        return add_name_literal(out, source + start, end - start, names, err);
    return add_object(out, source + start, end - start, !bare, names, err);
}

/* Append what stands between {body} at `pos` and {end} as a text literal, and move `pos` past it. */
static wp_status add_body(wp__buf *out, const char *source, size_t len, size_t *pos,
                          const wp__sql_names *names, wp_error **err)
{
    const size_t start = *pos + sizeof body_begin - 1;
    wp__buf text = {0};
    size_t end = start;
    wp_status st;
    while (end < len && !starts_with(source + end, len - end, body_end))
        end++;
    if (end == len)
        return wp__fail(err, WP_E_INTERNAL, "a body without an end in an embedded script");
    *pos = end + sizeof body_end - 1;
    st = wp__sql_render(&text, source + start, end - start, names, err);
    if (st == WP_OK)
        st = add_literal(out, &text, names, err);
    wp__buf_free(&text);
    return st;
}

wp_status wp__sql_render(wp__buf *out, const char *source, size_t len, const wp__sql_names *names,
                         wp_error **err)
{
    wp_status st = WP_OK;
    for (size_t pos = 0; pos < len && st == WP_OK;) {
        if (starts_with(source + pos, len - pos, body_begin))
            st = add_body(out, source, len, &pos, names, err);
        else if (source[pos] == '{')
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

/* In these styles each name stands once in the list of values, wherever it stands in the text. */
static bool repeats_share(wp_paramstyle style)
{
    return style != WP_PARAM_QMARK && style != WP_PARAM_FORMAT;
}

/* The position (from 1) of the parameter's value; 0: there are too many. */
static size_t note_param(wp__sql_text *text, uint8_t param, wp_paramstyle style)
{
    if (repeats_share(style))
        for (size_t i = 0; i < text->param_count; i++)
            if (text->params[i] == param)
                return i + 1;
    if (text->param_count == WP__SQL_PARAMS_MAX)
        return 0;
    text->params[text->param_count++] = param;
    return text->param_count;
}

static void add_param(wp__buf *out, wp_paramstyle style, uint8_t param, size_t position)
{
    const char *name = param_names[param];
    switch (style) {
    case WP_PARAM_NAMED:
        wp__buf_fmt(out, ":%s", name);
        break;
    case WP_PARAM_NUMERIC:
        wp__buf_fmt(out, "$%zu", position);
        break;
    case WP_PARAM_FORMAT:
        wp__buf_text(out, "%s");
        break;
    case WP_PARAM_PYFORMAT:
        wp__buf_fmt(out, "%%(%s)s", name);
        break;
    case WP_PARAM_AT:
        wp__buf_fmt(out, "@%s", name);
        break;
    case WP_PARAM_QMARK:
    default:
        wp__buf_text(out, "?");
        break;
    }
}

/* Append one character of the text itself. */
static void add_plain(wp__buf *out, wp_paramstyle style, const char *c)
{
    wp__buf_add(out, c, 1);
    if (*c == '%' && (style == WP_PARAM_FORMAT || style == WP_PARAM_PYFORMAT))
        wp__buf_add(out, c, 1);
}

/* Where the statement begins after the comment at its top. */
static size_t skip_comment(const char *sql, size_t len)
{
    size_t pos = 0;
    while (starts_with(sql + pos, len - pos, "--")) {
        const char *line = memchr(sql + pos, '\n', len - pos);
        pos = line ? (size_t)(line - sql) + 1 : len;
    }
    return pos;
}

/* Render one statement: skip the comment at its top, name objects, write parameters. */
static wp_status render_statement(wp__sql_text *text, const wp__sql_source *source,
                                  wp_paramstyle style, bool guarded, const wp__sql_names *names,
                                  wp_error **err)
{
    const char *sql = (const char *)source->text;
    size_t len = source->len;
    size_t pos = skip_comment(sql, len);
    wp_status st = WP_OK;
    wp__buf out = {0};
    if (guarded && names->guard)
        wp__buf_text(&out, names->guard);
    while (len > pos && (sql[len - 1] == '\n' || sql[len - 1] == ' '))
        len--;
    while (pos < len && st == WP_OK) {
        size_t end = pos + 1;
        size_t position = 0;
        uint8_t param = 0;
        if (sql[pos] == '{') {
            st = add_placeholder(&out, sql, len, &pos, names, err);
            continue;
        }
        if (sql[pos] != ':') {
            add_plain(&out, style, &sql[pos++]);
            continue;
        }
        while (end < len && is_word(sql[end]))
            end++;
        if (find_param(&param, sql + pos + 1, end - pos - 1))
            position = note_param(text, param, style);
        if (position)
            add_param(&out, style, param, position);
        else
            st = wp__fail(err, WP_E_INTERNAL, "statement %s: unknown parameter :%.*s", source->name,
                          (int)(end - pos - 1), sql + pos + 1);
        pos = end;
    }
    text->text = wp__buf_take(&out);
    if (st == WP_OK && !text->text)
        st = wp__fail_nomem(err);
    return st;
}

/* ---- sets --------------------------------------------------------------------------------- */

static void texts_free(wp__sql_texts *texts)
{
    if (!texts)
        return;
    for (int i = 0; i < WP__SQL_COUNT; i++)
        free(texts->items[i].text);
    free(texts);
}

static wp_status texts_new(wp__sql_texts **out, const wp__sql_set *set, wp_paramstyle style,
                           bool guarded, wp_error **err)
{
    wp_status st = WP_OK;
    wp__sql_texts *texts = calloc(1, sizeof *texts);
    if (!texts)
        return wp__fail_nomem(err);
    for (int i = 0; i < WP__SQL_COUNT && st == WP_OK; i++)
        if (set->sources[i].text) /* the engine has it */
            st = render_statement(&texts->items[i], &set->sources[i], style, guarded, &set->names,
                                  err);
    if (st != WP_OK) {
        texts_free(texts);
        return st;
    }
    *out = texts;
    return WP_OK;
}

static wp_status have_texts(wp__sql_set *set, wp_paramstyle style, bool guarded, wp_error **err)
{
    _Atomic(wp__sql_texts *) *place = &set->texts[guarded][style - 1];
    wp_status st = WP_OK;
    if (atomic_load_explicit(place, memory_order_acquire))
        return WP_OK;
    wp__mutex_lock(&set->mutex);
    if (!atomic_load(place)) {
        wp__sql_texts *texts = NULL;
        st = texts_new(&texts, set, style, guarded, err);
        atomic_store_explicit(place, texts, memory_order_release);
    }
    wp__mutex_unlock(&set->mutex);
    return st;
}

wp_status wp__sql_set_style(wp__sql_set *set, wp_paramstyle style, wp_error **err)
{
    return have_texts(set, style, false, err);
}

wp_status wp__sql_set_guarded(wp__sql_set *set, wp_paramstyle style, wp_error **err)
{
    return have_texts(set, style, true, err);
}

wp_status wp__sql_set_new(wp__sql_set **out, const wp__sql_source *sources,
                          const wp__sql_names *names, wp_error **err)
{
    wp_status st;
    wp__sql_set *set = calloc(1, sizeof *set);
    if (!set)
        return wp__fail_nomem(err);
    set->sources = sources;
    set->names = *names;
    if (names->home)
        set->names.database = names->home;
    wp__mutex_init(&set->mutex);
    for (int i = 0; i < WP__PARAMSTYLES; i++)
        for (int guarded = 0; guarded < 2; guarded++)
            atomic_init(&set->texts[guarded][i], NULL);
    st = wp__sql_set_style(set, WP_PARAM_QMARK, err);
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
    for (int i = 0; i < WP__PARAMSTYLES; i++)
        for (int guarded = 0; guarded < 2; guarded++)
            texts_free(atomic_load(&set->texts[guarded][i]));
    wp__mutex_destroy(&set->mutex);
    free(set);
}

const wp__sql_text *wp__sql_get(const wp__sql_set *set, wp__sql_id id, wp_paramstyle style)
{
    return &atomic_load_explicit(&set->texts[false][style - 1], memory_order_acquire)->items[id];
}

const wp__sql_text *wp__sql_get_guarded(const wp__sql_set *set, wp__sql_id id, wp_paramstyle style)
{
    return &atomic_load_explicit(&set->texts[true][style - 1], memory_order_acquire)->items[id];
}

const char *wp__sql_id_name(wp__sql_id id)
{
    static const char *const names[] = {WP__SQL_NAMES};
    return names[id];
}

const char *wp__sql_name(const wp__sql_set *set, wp__sql_id id)
{
    return set->sources[id].name;
}
