/* SPDX-License-Identifier: Apache-2.0 */
#include "inbox_bed.h"

wp_inbox_key *ib_key(const char *source, const char *message_id)
{
    wp_inbox_key *key = NULL;
    WPT_OK(wp_inbox_key_new(&key, source, message_id, WPT_ERR));
    return key;
}

wp_inbox_state ib_check(wp_store *store, wp_conn *conn, const char *source, const char *message_id)
{
    wp_inbox_key *key = ib_key(source, message_id);
    wp_inbox_state found = (wp_inbox_state)-1;
    WPT_OK(wp_inbox_check(&found, NULL, store, conn, key, WPT_ERR));
    wp_inbox_key_free(key);
    return found;
}

wp_inbox_state ib_enqueue(wp_store *store, wp_conn *conn, const char *source,
                          const char *message_id, const char *topic, const char *payload)
{
    wp_inbox_key *key = ib_key(source, message_id);
    wp_message *message = wpt_message(topic, payload);
    wp_inbox_state found = (wp_inbox_state)-1;
    WPT_OK(wp_inbox_enqueue(NULL, &found, NULL, store, conn, key, message, WPT_ERR));
    wp_message_free(message);
    wp_inbox_key_free(key);
    return found;
}

int ib_once(wp_store *store, wp_conn *conn, const char *source, const char *message_id,
            wp_inbox_state *found)
{
    wp_inbox_key *key = ib_key(source, message_id);
    int proceed = -1;
    WPT_OK(wp_inbox_once(&proceed, found, NULL, store, conn, key, WPT_ERR));
    wp_inbox_key_free(key);
    return proceed;
}

static wp_outbox_info *info_of(wp_store *store, const char *source, const char *message_id)
{
    wp_inbox_key *key = ib_key(source, message_id);
    wp_outbox_info *info = NULL;
    WPT_OK(wp_inbox_get(&info, store, key, WPT_ERR));
    wp_inbox_key_free(key);
    return info;
}

wp_message_status ib_status(wp_store *store, const char *source, const char *message_id)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    const wp_message_status status = wp_outbox_info_status(info);
    wp_outbox_info_free(info);
    return status;
}

int64_t ib_attempt(wp_store *store, const char *source, const char *message_id)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    const int64_t attempt = wp_received_attempt(wp_outbox_info_message(info));
    wp_outbox_info_free(info);
    return attempt;
}

wp_id ib_id(wp_store *store, const char *source, const char *message_id)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    const wp_id id = *wp_received_id(wp_outbox_info_message(info));
    wp_outbox_info_free(info);
    return id;
}

ib_times ib_times_of(wp_store *store, const char *source, const char *message_id)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    const wp_received *message = wp_outbox_info_message(info);
    const ib_times times = {wp_received_created_us(message), wp_received_last_seen_us(message)};
    wp_outbox_info_free(info);
    return times;
}

void ib_payload_is(wp_store *store, const char *source, const char *message_id, const char *want)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    assert_string_equal(wp_received_payload(NULL, wp_outbox_info_message(info)), want);
    wp_outbox_info_free(info);
}

void ib_last_error_is(wp_store *store, const char *source, const char *message_id, const char *want)
{
    wp_outbox_info *info = info_of(store, source, message_id);
    if (want)
        assert_string_equal(wp_outbox_info_last_error(info), want);
    else
        assert_null(wp_outbox_info_last_error(info));
    wp_outbox_info_free(info);
}

void ib_is_unknown(wp_store *store, const char *source, const char *message_id)
{
    wp_inbox_key *key = ib_key(source, message_id);
    wp_outbox_info *info = NULL;
    WPT_STATUS(wp_inbox_get(&info, store, key, WPT_ERR), WP_E_NOT_FOUND);
    wp_inbox_key_free(key);
}

wp_claim *ib_claim(wp_store *store, int owner, int64_t batch, int64_t lease_ms)
{
    const wp_id token = wpt_owner(owner);
    wp_claim *claim = NULL;
    WPT_OK(wp_inbox_claim(&claim, store, &token, NULL, 0, batch, lease_ms, WPT_ERR));
    return claim;
}

wp_id ib_claim_one(wp_store *store, int owner, int64_t lease_ms)
{
    wp_claim *claim = ib_claim(store, owner, 10, lease_ms);
    wp_id id;
    assert_int_equal(wp_claim_count(claim), 1);
    id = *wp_received_id(wp_claim_at(claim, 0));
    wp_claim_free(claim);
    return id;
}

size_t ib_claimable(wp_store *store)
{
    const wp_id owner = wpt_owner(255);
    wp_claim *claim = ib_claim(store, 255, WP_BATCH_MAX, 1000);
    const size_t count = wp_claim_count(claim);
    for (size_t i = 0; i < count; i++)
        WPT_OK(wp_inbox_release(NULL, store, NULL, &owner, wp_received_id(wp_claim_at(claim, i)),
                                NULL, 1, WPT_ERR));
    wp_claim_free(claim);
    return count;
}

size_t ib_ack(wp_store *store, int owner, const wp_id *ids, size_t count)
{
    const wp_id token = wpt_owner(owner);
    size_t changed = 0;
    WPT_OK(wp_inbox_ack(&changed, store, NULL, &token, ids, NULL, count, NULL, WPT_ERR));
    return changed;
}

void ib_abandon(wp_store *store, int owner, const wp_id *id, int64_t delay_ms, const char *reason)
{
    const wp_id token = wpt_owner(owner);
    size_t changed = 0;
    WPT_OK(wp_inbox_abandon(&changed, store, NULL, &token, id, NULL, 1, delay_ms, reason, WPT_ERR));
    assert_int_equal(changed, 1);
}

void ib_reopen_logged(bed *b, wpt_log *log, const char *level)
{
    ib_reopen_logged_with(b, log, level, NULL);
}

void ib_reopen_logged_with(bed *b, wpt_log *log, const char *level, const char *const *options)
{
    wp_config *config = bed_config(b, options);
    wpt_log_attach(log, config, level);
    bed_reopen_with(b, config);
}

void ib_close_logged(bed *b, wpt_log *log)
{
    bed_reopen(b, NULL);
    wpt_log_fini(log);
}
