/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a statement of ODBC and comes out of it: parameters, and the values of rows. Texts are UTF-8 here;
 * where a kind is wide they travel as UTF-16. */
#ifndef WP__ODBC_VALUES_H
#define WP__ODBC_VALUES_H

#include <sql.h>
#include <sqlext.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/utf16.h"
#include "op/op.h"

/* ODBC takes text as if it were written to. */
void *wp__odbc_text(const void *data);

/* A statement, prepared or about to be run once. */
typedef struct wp__odbc_statement {
    SQLHSTMT handle;
    bool described;
    SQLSMALLINT columns;
    bool number[WP__OP_COLUMNS_MAX];
} wp__odbc_statement;

/* The parameters of one statement; they stay until it has been run. All zero to begin with. */
typedef struct wp__odbc_params {
    SQLBIGINT numbers[WP__SQL_PARAMS_MAX];
    SQLLEN lengths[WP__SQL_PARAMS_MAX];
    wp__buf wide[WP__SQL_PARAMS_MAX];
} wp__odbc_params;

/* The texts of one row, kept by a connection. All zero to begin with, but for utf16. */
typedef struct wp__odbc_texts {
    wp__utf16 *utf16; /* where the kind is wide; else NULL */
    wp__buf cells[WP__OP_COLUMNS_MAX];
    wp__buf wide; /* one text of it as it came */
} wp__odbc_texts;

/* Bind what the operation gives. @return what ODBC said; SQL_ERROR, too, where there is no memory */
SQLRETURN wp__odbc_bind(wp__odbc_params *v, wp__utf16 *utf16, SQLHSTMT handle, const wp_op *op,
                        const wp__sql_text *text);
void wp__odbc_params_free(wp__odbc_params *v);

/* Find out its columns, once. */
SQLRETURN wp__odbc_describe(wp__odbc_statement *s);

/* Read the row that was fetched. The values' texts stay until the next one is read. */
SQLRETURN wp__odbc_read_row(wp__value *row, wp__odbc_texts *texts, const wp__odbc_statement *s,
                            bool *no_memory);
/* After the last row: free what is large. */
void wp__odbc_texts_trim(wp__odbc_texts *texts);
/* utf16, too. */
void wp__odbc_texts_free(wp__odbc_texts *texts);

#endif
