/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the servers and drivers behind ODBC, and the connection strings that lead to
 * them: "Driver=PostgreSQL Unicode;Servername=db;Pwd={a;b}}c}". */
#ifndef WP__ODBC_KIND_H
#define WP__ODBC_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "op/engine.h"

typedef struct wp__odbc_setting {
    const char *key;
    const char *value;
} wp__odbc_setting;

typedef struct wp__odbc_code {
    long native;
    const char *sqlstate;
} wp__odbc_code;

typedef struct wp__odbc_kind {
    const char *dbms;   /* SQL_DBMS_NAME */
    const char *driver; /* how SQL_DRIVER_NAME begins, whatever the case */
    const wp__engine *engine;
    const char *oldest; /* version of the server */
    /* What its connection string needs, unless it is there. */
    const wp__odbc_setting *settings;
    bool wide; /* texts go in UTF-16: what narrow ones mean depends on the driver and the locale */
    /* Statements are not prepared: each is sent with its parameters in one round trip. */
    bool direct;
    bool dead_asks; /* SQL_ATTR_CONNECTION_DEAD is a round trip to the server */
    /* The setting that ends a connection whose server has vanished; its value is printed with the
     * milliseconds. Without a key: none, the time limit of statements does it. */
    wp__odbc_setting vanished;
    int64_t vanished_unit_ms; /* what it is counted in */
    /* What its own numbers of errors mean, where the SQLSTATE does not tell; the last one is 0. */
    const wp__odbc_code *codes;
    /* From this number on errors are raised by the app's own triggers; 0: they are told by their SQLSTATE. */
    long apps_own;
} wp__odbc_kind;

/* The SQLSTATE that an error is treated as. */
const char *wp__odbc_kind_sqlstate(const wp__odbc_kind *kind, const char *sqlstate, long native);

/* Whether a server of this version (SQL_DBMS_VER) is as new as its kind needs it. */
bool wp__odbc_kind_takes(const wp__odbc_kind *kind, const char *version);

/* The kind that goes by these names; NULL: none that we know. */
const wp__odbc_kind *wp__odbc_kind_find(const char *dbms, const char *driver);

/* The kind that a connection string's Driver=... tells by itself; NULL: it does not. */
const wp__odbc_kind *wp__odbc_kind_guess(const char *string);

/* Look a key up, whatever its case. *value is inside `string`, without its braces, but with "}}" for
 * each "}" of it. False: it is not there. */
bool wp__odbc_string_find(const char **value, size_t *len, const char *string, const char *key);

/* Append `string` with the settings that it lacks. `kind` NULL: it stays as it is. */
void wp__odbc_string_complete(wp__buf *out, const char *string, const wp__odbc_kind *kind,
                              int64_t vanished_ms);

/* True if `message` has a password of `string` in it, or a part of one. */
bool wp__odbc_string_betrayed(const char *string, const char *message);

#endif
