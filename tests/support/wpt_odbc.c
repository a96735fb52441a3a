/* SPDX-License-Identifier: Apache-2.0 */
#include "wpt_odbc.h"

void wpt_odbc_url(char *out, size_t size, const char *url)
{
    char user[64], host[64], port[8], database[64];
    assert_int_equal(
        sscanf(url, "postgresql://%63[^@]@%63[^:]:%7[^/]/%63s", user, host, port, database), 4);
    assert_true(snprintf(out, size,
                         "odbc:Driver=PostgreSQL Unicode;Servername=%s;Port=%s;Database=%s;Uid=%s",
                         host, port, database, user) < (int)size);
}

void wpt_odbc_pg_url(char *out, size_t size, const char *url)
{
    char user[64], host[64], port[8], database[64];
    assert_int_equal(sscanf(url,
                            "odbc:Driver=PostgreSQL "
                            "Unicode;Servername=%63[^;];Port=%7[^;];Database=%63[^;];Uid=%63[^;]",
                            host, port, database, user),
                     4);
    assert_true(snprintf(out, size, "postgresql://%s@%s:%s/%s", user, host, port, database) <
                (int)size);
}

static void must(SQLRETURN rc, SQLSMALLINT type, SQLHANDLE handle, const char *doing)
{
    SQLCHAR state[6] = "", text[512] = "";
    SQLSMALLINT len;
    if (SQL_SUCCEEDED(rc) || rc == SQL_NO_DATA)
        return;
    (void)SQLGetDiagRec(type, handle, 1, state, NULL, text, sizeof text, &len);
    fail_msg("%s: %s %s", doing, (char *)state, (char *)text);
}

static SQLHENV environment(void)
{
    static SQLHENV env;
    if (!env) {
        assert_int_equal(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &env), SQL_SUCCESS);
        must(SQLSetEnvAttr(env, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0), SQL_HANDLE_ENV,
             env, "environment");
    }
    return env;
}

SQLHDBC wpt_odbc_connect(const char *string)
{
    SQLHDBC dbc;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_DBC, environment(), &dbc), SQL_SUCCESS);
    must(SQLDriverConnect(dbc, NULL, (SQLCHAR *)(uintptr_t)string, SQL_NTS, NULL, 0, NULL,
                          SQL_DRIVER_NOPROMPT),
         SQL_HANDLE_DBC, dbc, "connect");
    return dbc;
}

void wpt_odbc_close(SQLHDBC dbc)
{
    (void)SQLEndTran(SQL_HANDLE_DBC, dbc, SQL_ROLLBACK);
    must(SQLDisconnect(dbc), SQL_HANDLE_DBC, dbc, "disconnect");
    (void)SQLFreeHandle(SQL_HANDLE_DBC, dbc);
}

static void set_autocommit(SQLHDBC dbc, SQLULEN on)
{
    must(SQLSetConnectAttr(dbc, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)on, 0), SQL_HANDLE_DBC, dbc,
         "autocommit");
}

static SQLHSTMT run(SQLHDBC dbc, const char *sql)
{
    SQLHSTMT statement;
    assert_int_equal(SQLAllocHandle(SQL_HANDLE_STMT, dbc, &statement), SQL_SUCCESS);
    must(SQLExecDirect(statement, (SQLCHAR *)(uintptr_t)sql, SQL_NTS), SQL_HANDLE_STMT, statement,
         sql);
    return statement;
}

void wpt_odbc_exec(SQLHDBC dbc, const char *sql)
{
    bool commit = strcmp(sql, "COMMIT") == 0;
    if (strcmp(sql, "BEGIN") == 0) {
        set_autocommit(dbc, SQL_AUTOCOMMIT_OFF);
    } else if (commit || strcmp(sql, "ROLLBACK") == 0) {
        must(SQLEndTran(SQL_HANDLE_DBC, dbc, commit ? SQL_COMMIT : SQL_ROLLBACK), SQL_HANDLE_DBC,
             dbc, sql);
        set_autocommit(dbc, SQL_AUTOCOMMIT_ON);
    } else {
        SQLHSTMT statement = run(dbc, sql);
        (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    }
}

int64_t wpt_odbc_number(SQLHDBC dbc, const char *sql)
{
    SQLHSTMT statement = run(dbc, sql);
    SQLBIGINT value = 0;
    must(SQLFetch(statement), SQL_HANDLE_STMT, statement, sql);
    must(SQLGetData(statement, 1, SQL_C_SBIGINT, &value, sizeof value, NULL), SQL_HANDLE_STMT,
         statement, sql);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement);
    return value;
}
