/* SPDX-License-Identifier: Apache-2.0 */
#include "db/odbc_values.h"

#include <stdlib.h>
#include <string.h>

#include "op/sql.h"

enum {
    FIRST_PIECE = 256, /* of a text column: most fit */
    KEPT_CELL = 65536, /* a larger buffer is freed after the statement */
    SHORT_TEXT = 4000  /* more is "long" to drivers that tell them apart; bytes, or units */
};

void *wp__odbc_text(const void *data)
{
    void *pointer = NULL;
    memcpy(&pointer, &data, sizeof pointer);
    return pointer;
}

/* ---- parameters --------------------------------------------------------------------------- */

void wp__odbc_params_free(wp__odbc_params *v)
{
    for (size_t i = 0; i < WP__SQL_PARAMS_MAX; i++)
        wp__buf_free(&v->wide[i]);
}

/* Short texts have one type, however long they are, so that the server keeps one plan. */
static SQLRETURN bind_wide(wp__odbc_params *v, size_t i, wp__utf16 *utf16, SQLHSTMT handle,
                           const wp__value *value)
{
    wp__buf *wide = &v->wide[i];
    const bool null = value->type == WP_VALUE_NULL || !value->p;
    bool is_long;
    if (!wp__utf16_encode(wide, utf16, null ? "" : value->p, null ? 0 : value->len))
        return SQL_ERROR;
    is_long = wide->len / 2 > SHORT_TEXT;
    v->lengths[i] = value->type == WP_VALUE_NULL ? SQL_NULL_DATA : (SQLLEN)wide->len;
    return SQLBindParameter(handle, (SQLUSMALLINT)(i + 1), SQL_PARAM_INPUT, SQL_C_WCHAR,
                            is_long ? SQL_WLONGVARCHAR : SQL_WVARCHAR,
                            is_long ? wide->len / 2 : SHORT_TEXT, 0, wide->data, (SQLLEN)wide->len,
                            &v->lengths[i]);
}

/* Texts stay where they are: the driver reads each from there, however long it is. A null has the
 * type that its parameter always has. */
SQLRETURN wp__odbc_bind(wp__odbc_params *v, wp__utf16 *utf16, SQLHSTMT handle, const wp_op *op,
                        const wp__sql_text *text)
{
    SQLRETURN rc = SQL_SUCCESS;
    for (size_t i = 0; i < text->param_count && SQL_SUCCEEDED(rc); i++) {
        const wp__value *value = &op->params[text->params[i]];
        SQLUSMALLINT place = (SQLUSMALLINT)(i + 1);
        v->lengths[i] = value->type == WP_VALUE_NULL ? SQL_NULL_DATA : (SQLLEN)value->len;
        if (wp__param_is_number((wp__param)text->params[i])) {
            v->numbers[i] = value->i;
            rc = SQLBindParameter(handle, place, SQL_PARAM_INPUT, SQL_C_SBIGINT, SQL_BIGINT, 0, 0,
                                  &v->numbers[i], 0, &v->lengths[i]);
        } else if (utf16) {
            rc = bind_wide(v, i, utf16, handle, value);
        } else {
            bool is_long = value->len > SHORT_TEXT;
            rc = SQLBindParameter(
                handle, place, SQL_PARAM_INPUT, SQL_C_CHAR, is_long ? SQL_LONGVARCHAR : SQL_VARCHAR,
                value->len ? value->len : 1, 0, wp__odbc_text(value->p ? value->p : ""),
                (SQLLEN)value->len, &v->lengths[i]);
        }
    }
    return rc;
}

/* ---- rows --------------------------------------------------------------------------------- */

static bool is_number(SQLSMALLINT type)
{
    return type == SQL_BIGINT || type == SQL_INTEGER || type == SQL_SMALLINT ||
           type == SQL_TINYINT || type == SQL_DECIMAL || type == SQL_NUMERIC;
}

SQLRETURN wp__odbc_describe(wp__odbc_statement *s)
{
    SQLRETURN rc;
    if (s->described)
        return SQL_SUCCESS;
    rc = SQLNumResultCols(s->handle, &s->columns);
    for (SQLSMALLINT c = 0; c < s->columns && c < WP__OP_COLUMNS_MAX && SQL_SUCCEEDED(rc); c++) {
        SQLSMALLINT type = SQL_UNKNOWN_TYPE;
        rc = SQLDescribeCol(s->handle, (SQLUSMALLINT)(c + 1), NULL, 0, NULL, &type, NULL, NULL,
                            NULL);
        s->number[c] = is_number(type);
    }
    s->described = SQL_SUCCEEDED(rc);
    return rc;
}

static SQLRETURN read_number(wp__value *value, SQLHSTMT handle, SQLUSMALLINT column)
{
    SQLBIGINT number = 0;
    SQLLEN len = 0;
    SQLRETURN rc = SQLGetData(handle, column, SQL_C_SBIGINT, &number, sizeof number, &len);
    value->type = len == SQL_NULL_DATA ? WP_VALUE_NULL : WP_VALUE_INT64;
    value->i = number;
    return rc;
}

static bool reserve(wp__buf *cell, size_t size)
{
    char *grown;
    if (cell->cap >= size)
        return true;
    if (!(grown = realloc(cell->data, size)))
        return false;
    cell->data = grown;
    cell->cap = size;
    return true;
}

static size_t units_length(const char *units, size_t bytes)
{
    size_t len = 0;
    while (len + 1 < bytes && (units[len] || units[len + 1]))
        len += 2;
    return len;
}

/* Like read_text(). What is half a character is no text of ours. */
static SQLRETURN read_wide(wp__value *value, wp__buf *cell, wp__odbc_texts *texts, SQLHSTMT handle,
                           SQLUSMALLINT column, bool *no_memory)
{
    wp__buf *raw = &texts->wide;
    size_t wanted = FIRST_PIECE;
    SQLRETURN rc = SQL_SUCCESS;
    bool more = true;
    raw->len = 0;
    while (more) {
        SQLLEN left = 0;
        size_t room;
        if (!reserve(raw, wanted)) {
            *no_memory = true;
            return SQL_ERROR;
        }
        room = (raw->cap - raw->len) & ~(size_t)1;
        rc = SQLGetData(handle, column, SQL_C_WCHAR, raw->data + raw->len, (SQLLEN)room, &left);
        if (rc == SQL_NO_DATA)
            break;
        if (!SQL_SUCCEEDED(rc))
            return rc;
        if (left == SQL_NULL_DATA) {
            value->type = WP_VALUE_NULL;
            return rc;
        }
        more = left == SQL_NO_TOTAL || (size_t)left + 2 > room;
        if (more)
            wanted = left == SQL_NO_TOTAL ? raw->cap * 2 : raw->len + (size_t)left + 4;
        raw->len += more ? units_length(raw->data + raw->len, room - 2) : (size_t)left;
    }
    value->type = WP_VALUE_TEXT;
    if (!wp__utf16_decode(cell, texts->utf16, raw->data, raw->len)) {
        *no_memory = cell->failed;
        cell->len = 0;
        value->type = WP__VALUE_OTHER;
        return *no_memory ? SQL_ERROR : SQL_SUCCESS;
    }
    return SQL_SUCCESS;
}

/* In two pieces, if the driver says after the first how much is left; else in ever larger ones. */
static SQLRETURN read_text(wp__value *value, wp__buf *cell, SQLHSTMT handle, SQLUSMALLINT column,
                           bool *no_memory)
{
    size_t wanted = FIRST_PIECE;
    SQLRETURN rc;
    cell->len = 0;
    for (;;) {
        SQLLEN left = 0;
        size_t room;
        if (!reserve(cell, wanted)) {
            *no_memory = true;
            return SQL_ERROR;
        }
        room = cell->cap - cell->len;
        rc = SQLGetData(handle, column, SQL_C_CHAR, cell->data + cell->len, (SQLLEN)room, &left);
        if (!SQL_SUCCEEDED(rc))
            return rc == SQL_NO_DATA ? SQL_SUCCESS : rc;
        if (left == SQL_NULL_DATA) {
            value->type = WP_VALUE_NULL;
            return rc;
        }
        value->type = WP_VALUE_TEXT;
        if (left != SQL_NO_TOTAL && (size_t)left < room) {
            cell->len += (size_t)left;
            return rc;
        }
        /* Cut, maybe a few bytes sooner, at a character. */
        wanted = left == SQL_NO_TOTAL ? cell->cap * 2 : cell->len + (size_t)left + 1;
        cell->len += strnlen(cell->data + cell->len, room - 1);
    }
}

/* The texts of all columns stay until the row has been taken. */
SQLRETURN wp__odbc_read_row(wp__value *row, wp__odbc_texts *texts, const wp__odbc_statement *s,
                            bool *no_memory)
{
    SQLRETURN rc = SQL_SUCCESS;
    for (SQLSMALLINT c = 0; c < s->columns && SQL_SUCCEEDED(rc); c++) {
        wp__buf *cell = &texts->cells[c];
        SQLUSMALLINT column = (SQLUSMALLINT)(c + 1);
        rc = s->number[c]   ? read_number(&row[c], s->handle, column)
             : texts->utf16 ? read_wide(&row[c], cell, texts, s->handle, column, no_memory)
                            : read_text(&row[c], cell, s->handle, column, no_memory);
        row[c].p = cell->data;
        row[c].len = cell->len;
    }
    return rc;
}

void wp__odbc_texts_trim(wp__odbc_texts *texts)
{
    for (size_t c = 0; c < WP__OP_COLUMNS_MAX; c++)
        if (texts->cells[c].cap > KEPT_CELL)
            wp__buf_free(&texts->cells[c]);
    if (texts->wide.cap > KEPT_CELL)
        wp__buf_free(&texts->wide);
}

void wp__odbc_texts_free(wp__odbc_texts *texts)
{
    for (size_t c = 0; c < WP__OP_COLUMNS_MAX; c++)
        wp__buf_free(&texts->cells[c]);
    wp__buf_free(&texts->wide);
    wp__utf16_free(texts->utf16);
}
