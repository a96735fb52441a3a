/* SPDX-License-Identifier: Apache-2.0 */
#include "db/odbc_kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* ---- kinds -------------------------------------------------------------------------------- */

/* psqlodbc: an error aborts the transaction, as it does on the server, and nothing is done about it
 * behind our back (7.4-0); statements are prepared on the server; results come without a cursor, which
 * could not take what a WITH ... UPDATE returns; text is UTF-8 in any locale, and stays as it is. */
static const wp__odbc_setting psqlodbc[] = {{"Protocol", "7.4-0"},
                                            {"UseServerSidePrepare", "1"},
                                            {"UseDeclareFetch", "0"},
                                            {"LFConversion", "0"},
                                            {"ConnSettings", "{SET client_encoding TO 'UTF8'}"},
                                            {"KeepaliveTime", "15"},
                                            {"KeepaliveInterval", "5"},
                                            {NULL, NULL}};

/* MariaDB Connector/ODBC: row counts are of matched rows (OPTION 2), text is utf8mb4. */
static const wp__odbc_setting maodbc[] = {
    {"OPTION", "2"}, {"CHARSET", "utf8mb4"}, {"CONN_TIMEOUT", "10"}, {NULL, NULL}};

/* Sources: mariadb.com/kb/en/mariadb-error-codes. */
static const wp__odbc_code mariadb_codes[] = {
    {1020, "40001"}, /* a row was changed since it was read (snapshot isolation) */
    {1040, "53300"}, /* too many connections */
    {1048, "23502"}, /* NOT NULL; this and the next ones are no race that is lost, as 23000 is */
    {1053, "08S01"}, /* the server is shutting down */
    {1062, "23000"}, /* a unique key */
    {1146, "42P01"}, /* no such table */
    {1153, "22001"}, /* larger than max_allowed_packet */
    {1205, "55P03"}, /* waited for a lock for too long */
    {1213, "40001"}, /* deadlock */
    {1290, "25006"}, /* read only */
    {1305, "42P01"}, /* no such procedure */
    {1317, "57014"}, /* interrupted */
    {1451, "23503"}, /* a foreign key */
    {1452, "23503"}, /* likewise */
    {1792, "25006"}, /* read only */
    {1927, "08S01"}, /* the connection was killed */
    {1969, "57014"}, /* the statement took too long */
    {2006, "08S01"}, /* the server has gone away */
    {2013, "08S01"}, /* lost in a query */
    {2055, "08S01"}, /* the same */
    {4025, "23514"}, /* CHECK */
    {4031, "08S01"}, /* disconnected by the server */
    {0, NULL},
};

/* Microsoft's driver needs nothing. */
static const wp__odbc_setting msodbcsql[] = {{"APP", "waypost"}, {NULL, NULL}};

static const wp__odbc_setting freetds[] = {
    {"APP", "waypost"}, {"TDS_Version", "7.4"}, {"ClientCharset", "UTF-8"}, {NULL, NULL}};

/* Source: learn.microsoft.com/sql/relational-databases/errors-events; 20xxx are FreeTDS's own. */
static const wp__odbc_code sqlserver_codes[] = {
    {64, "08S01"},    /* the network name is gone */
    {121, "08S01"},   /* the semaphore timeout of the network */
    {208, "42P01"},   /* no such table */
    {220, "22003"},   /* out of the type's range */
    {229, "42501"},   /* permission denied */
    {233, "08S01"},   /* no process at the other end of the pipe */
    {245, "22018"},   /* cannot be converted */
    {266, "25000"},   /* a procedure left another count of transactions */
    {511, "54000"},   /* larger than a row may be */
    {515, "23502"},   /* NOT NULL; this and the next one are no race that is lost */
    {517, "22008"},   /* no such time */
    {547, "23514"},   /* CHECK, or a foreign key */
    {550, "44000"},   /* WITH CHECK OPTION */
    {596, "08S01"},   /* the session is being killed */
    {601, "40001"},   /* data moved under a scan that takes no locks */
    {701, "53200"},   /* memory */
    {802, "53200"},   /* the same */
    {1105, "53100"},  /* disk full */
    {1204, "53200"},  /* locks */
    {1205, "40001"},  /* deadlock */
    {1222, "55P03"},  /* waited for a lock for too long */
    {1946, "54000"},  /* larger than the key of an index may be */
    {2601, "23505"},  /* a unique index */
    {2627, "23505"},  /* a unique key */
    {2628, "22001"},  /* too long */
    {2812, "42P01"},  /* no such procedure */
    {3906, "25006"},  /* the database may only be read */
    {3908, "25006"},  /* the same */
    {3948, "40001"},  /* a snapshot transaction ran into a change of the schema */
    {3951, "40001"},  /* the same */
    {3960, "40001"},  /* a row was changed since the snapshot */
    {3961, "40001"},  /* the schema was */
    {3966, "40001"},  /* the row version is gone */
    {6005, "57P01"},  /* shutting down */
    {8114, "22018"},  /* cannot be converted */
    {8115, "22003"},  /* out of the type's range */
    {8152, "22001"},  /* too long */
    {8645, "53200"},  /* waited for memory for too long */
    {9002, "53100"},  /* the log is full */
    {10053, "08S01"}, /* network */
    {10054, "08S01"}, /* network */
    {10060, "08S01"}, /* network */
    {10928, "53300"}, /* a limit of the service */
    {10929, "53300"}, /* the same */
    {20003, "08S01"}, /* no answer in time: what comes next would be read as the answer */
    {20004, "08S01"}, /* read */
    {20006, "08S01"}, /* write */
    {20017, "08S01"}, /* end of the stream */
    {20047, "08S01"}, /* dead */
    {40197, "08S01"}, /* the service moves */
    {40501, "53300"}, /* the service is busy */
    {40613, "57P03"}, /* the database is not there now */
    {0, NULL},
};

static const wp__odbc_kind kinds[] = {
    {.dbms = "PostgreSQL",
     .driver = "psqlodbc",
     .engine = &wp__engine_postgresql,
     .oldest = "12",
     .settings = psqlodbc,
     .vanished = {"pqopt", "{fallback_application_name=waypost tcp_user_timeout=%lld}"},
     .vanished_unit_ms = 1},
    {.dbms = "MariaDB",
     .driver = "libmaodbc",
     .engine = &wp__engine_mariadb,
     .oldest = "10.6",
     .settings = maodbc,
     .vanished = {"READ_TIMEOUT", "%lld"},
     .vanished_unit_ms = 1000,
     .dead_asks = true,
     .codes = mariadb_codes},
    {.dbms = "Microsoft SQL Server",
     .driver = "libmsodbcsql",
     .engine = &wp__engine_sqlserver,
     .oldest = "13", /* 2016 */
     .settings = msodbcsql,
     .wide = true,
     .direct = true,
     .codes = sqlserver_codes,
     .apps_own = 50000},
    {.dbms = "Microsoft SQL Server",
     .driver = "libtdsodbc",
     .engine = &wp__engine_sqlserver,
     .oldest = "13",
     .settings = freetds,
     .wide = true,
     .direct = true,
     .codes = sqlserver_codes,
     .apps_own = 50000},
};

/* Versions are numbers with dots between, maybe with more behind; "10" is before "10.6". */
bool wp__odbc_kind_takes(const wp__odbc_kind *kind, const char *version)
{
    const char *oldest = kind->oldest;
    for (;;) {
        char *rest = NULL, *oldest_rest = NULL;
        const long number = strtol(version, &rest, 10);
        const long needed = strtol(oldest, &oldest_rest, 10);
        if (number != needed || *oldest_rest != '.')
            return number >= needed;
        oldest = oldest_rest + 1;
        version = *rest == '.' ? rest + 1 : rest;
    }
}

const wp__odbc_kind *wp__odbc_kind_find(const char *dbms, const char *driver)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcasecmp(dbms, kinds[i].dbms) == 0 &&
            strncasecmp(driver, kinds[i].driver, strlen(kinds[i].driver)) == 0)
            return &kinds[i];
    return NULL;
}

const char *wp__odbc_kind_sqlstate(const wp__odbc_kind *kind, const char *sqlstate, long native)
{
    for (const wp__odbc_code *code = kind ? kind->codes : NULL; code && code->native; code++)
        if (code->native == native)
            return code->sqlstate;
    return kind && kind->apps_own && native >= kind->apps_own ? "45000" : sqlstate;
}

/* ---- connection strings ------------------------------------------------------------------- */

typedef struct pair {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
} pair;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *len)
{
    while (*len && is_blank(**text)) {
        ++*text;
        --*len;
    }
    while (*len && is_blank((*text)[*len - 1]))
        --*len;
}

/* Take the next "key=value;" at *at, and move past it. False at the end. */
static bool next_pair(pair *out, const char **at)
{
    const char *p = *at;
    while (is_blank(*p) || *p == ';')
        p++;
    if (!*p)
        return false;
    out->key = p;
    out->key_len = strcspn(p, "=;");
    p += out->key_len;
    trim(&out->key, &out->key_len);
    if (*p == '=')
        p++;
    while (is_blank(*p))
        p++;
    out->value = p;
    if (*p == '{') {
        out->value = ++p;
        while (*p && (*p != '}' || p[1] == '}'))
            p += *p == '}' ? 2 : 1;
        out->value_len = (size_t)(p - out->value);
        p += strcspn(p, ";");
    } else {
        out->value_len = strcspn(p, ";");
        p += out->value_len;
        trim(&out->value, &out->value_len);
    }
    *at = p;
    return true;
}

static bool has_key(const pair *p, const char *key)
{
    return p->key_len == strlen(key) && strncasecmp(p->key, key, p->key_len) == 0;
}

bool wp__odbc_string_find(const char **value, size_t *len, const char *string, const char *key)
{
    pair p;
    while (next_pair(&p, &string))
        if (has_key(&p, key)) {
            *value = p.value;
            *len = p.value_len;
            return true;
        }
    return false;
}

static bool has(const char *string, const char *key)
{
    const char *value;
    size_t len;
    return wp__odbc_string_find(&value, &len, string, key);
}

void wp__odbc_string_complete(wp__buf *out, const char *string, const wp__odbc_kind *kind,
                              int64_t vanished_ms)
{
    wp__buf_text(out, string);
    if (!kind)
        return;
    for (const wp__odbc_setting *s = kind->settings; s->key; s++)
        if (!has(string, s->key))
            wp__buf_fmt(out, ";%s=%s", s->key, s->value);
    if (kind->vanished.key && !has(string, kind->vanished.key)) {
        const char *mark = strstr(kind->vanished.value, "%lld");
        wp__buf_fmt(out, ";%s=", kind->vanished.key);
        wp__buf_add(out, kind->vanished.value, (size_t)(mark - kind->vanished.value));
        wp__buf_int(out, (vanished_ms + kind->vanished_unit_ms - 1) / kind->vanished_unit_ms);
        wp__buf_text(out, mark + strlen("%lld"));
    }
}

/* MariaDB's driver is the one that waits for ever unless its own settings end that; it is named as distributions
 * name it ("MariaDB", "MariaDB Unicode"), or by its file. */
const wp__odbc_kind *wp__odbc_kind_guess(const char *string)
{
    static const char *const names[] = {"maria", "maodbc"};
    const char *value;
    size_t len = 0;
    if (!wp__odbc_string_find(&value, &len, string, "Driver"))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (size_t at = 0; at + strlen(names[i]) <= len; at++)
            if (strncasecmp(value + at, names[i], strlen(names[i])) == 0)
                return wp__odbc_kind_find("MariaDB", "libmaodbc");
    return NULL;
}

/* True if `message` has `len` bytes of `text` in it. */
static bool contains(const char *message, const char *text, size_t len)
{
    for (; *message; message++)
        if (strncmp(message, text, len) == 0)
            return true;
    return false;
}

/* Drivers quote what they cannot read: any word of the value is taken for secret. */
static bool has_word_of(const char *message, const char *value, size_t len)
{
    static const char between[] = " \t={}'\"\\";
    for (size_t pos = 0, end; pos < len; pos = end + 1) {
        for (end = pos; end < len && !strchr(between, value[end]);)
            end++;
        if (end - pos > 2 && contains(message, value + pos, end - pos))
            return true;
    }
    return false;
}

bool wp__odbc_string_betrayed(const char *string, const char *message)
{
    static const char *const secret[] = {"pwd", "password", "pqopt"};
    pair p;
    while (next_pair(&p, &string))
        for (size_t i = 0; i < sizeof secret / sizeof secret[0]; i++)
            if (has_key(&p, secret[i]) &&
                ((p.value_len && contains(message, p.value, p.value_len)) ||
                 has_word_of(message, p.value, p.value_len)))
                return true;
    return false;
}
