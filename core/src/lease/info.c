/* SPDX-License-Identifier: Apache-2.0 */
/* What the database said of a lease. */
#include <stdlib.h>

#include "base/text.h"
#include "base/thread.h"
#include "lease/lease.h"

wp_status wp__lease_info_read(wp_lease_info *info, const wp__value *columns, wp_error **err)
{
    int64_t granted = 0;
    wp_status st;
    wp__lease_info_fini(info);
    if ((st = wp__column_int(&granted, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&info->fence, &columns[2], err)) != WP_OK ||
        (st = wp__column_int(&info->until_us, &columns[3], err)) != WP_OK ||
        (st = wp__column_int(&info->now_us, &columns[4], err)) != WP_OK ||
        (st = wp__column_int(&info->limit, &columns[5], err)) != WP_OK ||
        (st = wp__column_int(&info->holders, &columns[6], err)) != WP_OK)
        return st;
    info->granted = granted != 0;
    if (columns[1].type != WP_VALUE_TEXT)
        return WP_OK;
    info->owner = wp__text_ndup(columns[1].p, columns[1].len);
    return info->owner ? WP_OK : wp__fail_nomem(err);
}

void wp__lease_info_fini(wp_lease_info *info)
{
    free(info->owner);
    *info = (wp_lease_info){0};
}

wp_status wp__lease_info_copy(wp_lease_info **out, const wp_lease_info *info, wp_error **err)
{
    wp_lease_info *copy = malloc(sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    *copy = *info;
    copy->owner = wp__text_dup(info->owner);
    if (info->owner && !copy->owner) {
        free(copy);
        return wp__fail_nomem(err);
    }
    *out = copy;
    return WP_OK;
}

bool wp__lease_info_is_taken(const wp_lease_info *info)
{
    return !info->granted && info->holders >= info->limit;
}

int wp_lease_info_granted(const wp_lease_info *info)
{
    return info && info->granted;
}

int64_t wp_lease_info_fence(const wp_lease_info *info)
{
    return info ? info->fence : 0;
}

int64_t wp_lease_info_until_us(const wp_lease_info *info)
{
    return info ? info->until_us : 0;
}

int64_t wp_lease_info_now_us(const wp_lease_info *info)
{
    return info ? info->now_us : 0;
}

const char *wp_lease_info_owner(const wp_lease_info *info)
{
    return info && info->owner ? info->owner : "";
}

int64_t wp_lease_info_limit(const wp_lease_info *info)
{
    return info ? info->limit : 0;
}

int64_t wp_lease_info_holders(const wp_lease_info *info)
{
    return info ? info->holders : 0;
}

void wp_lease_info_free(wp_lease_info *info)
{
    if (info)
        free(info->owner);
    free(info);
}

int64_t wp_lease_retry_ms(const wp_lease_info *refused, unsigned attempt)
{
    enum { FIRST_MS = 10, AFTER_ERRORS_MAX_MS = 500 };
    const int64_t most = refused ? refused->poll_max_ms : AFTER_ERRORS_MAX_MS;
    int64_t wait = FIRST_MS * (INT64_C(1) << (attempt < 20 ? attempt : 20));
    if (wait > most)
        wait = most;
    wait -= (int64_t)(wp__random() % (uint64_t)(wait / 4 + 1));
    /* Not long after it is over, if that is known. */
    if (refused && refused->until_us > refused->now_us &&
        (refused->until_us - refused->now_us) / 1000 + 1 < wait)
        wait = (refused->until_us - refused->now_us) / 1000 + 1;
    return wait > 0 ? wait : 1;
}
