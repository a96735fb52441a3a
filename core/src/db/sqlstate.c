/* SPDX-License-Identifier: Apache-2.0 */
#include "db/sqlstate.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

static const char read_only[] = "25006";

bool wp__sqlstate_in(const char *sqlstate, const char *prefix)
{
    return strncmp(sqlstate, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *sqlstate, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wp__sqlstate_in(sqlstate, list[i]))
            return true;
    return false;
}

#define IS_ONE_OF(sqlstate, list) is_one_of((sqlstate), (list), sizeof(list) / sizeof((list)[0]))

bool wp__sqlstate_is_passing(const char *sqlstate)
{
    static const char *const passing[] = {
        "08",      /* connection */
        "40001",   /* serialization failure */
        "40P01",   /* deadlock */
        "53",      /* insufficient resources */
        "55P03",   /* lock not available */
        "57",      /* cancelled, shut down, starting up */
        read_only, /* a standby */
        "25P03",   /* idle in transaction for too long */
        "HYT",     /* ODBC: timeout */
    };
    return IS_ONE_OF(sqlstate, passing) || wp__sqlstate_is_unprepared(sqlstate);
}

bool wp__sqlstate_ends_connection(const char *sqlstate)
{
    static const char *const ends[] = {"08", "57P", "25P03"};
    return IS_ONE_OF(sqlstate, ends);
}

bool wp__sqlstate_is_unprepared(const char *sqlstate)
{
    static const char *const unprepared[] = {"26000", "42P05"};
    return IS_ONE_OF(sqlstate, unprepared);
}

wp_status wp__sqlstate_status(const char *sqlstate)
{
    static const char *const schema[] = {"42P01", "3F000",
                                         "42703"}; /* no such table, schema, column */
    if (wp__sqlstate_is_passing(sqlstate))
        return WP_E_UNAVAILABLE;
    return IS_ONE_OF(sqlstate, schema) ? WP_E_SCHEMA : WP_E_DB;
}

wp_status wp__sqlstate_fail(const char *sqlstate, int64_t native, bool lent, const char *doing,
                            const char *message, wp_error **err)
{
    if (lent && wp__sqlstate_in(sqlstate, read_only))
        return wp__fail_db(err, WP_E_STATE, sqlstate, native, false,
                           "%s: %s: the app's transaction may only read", doing, message);
    return wp__fail_db(err, wp__sqlstate_status(sqlstate), sqlstate, native,
                       wp__sqlstate_is_passing(sqlstate), "%s: %s", doing, message);
}
