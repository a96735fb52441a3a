/* SPDX-License-Identifier: Apache-2.0 */
/* What a message is known by: checked as it is built, so that nothing is left to refuse. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inbox/inbox.h"

static bool is_whole(const wp_inbox_key *key)
{
    return key->source && key->message_id && key->consumer;
}

wp_status wp_inbox_key_new(wp_inbox_key **out, const char *source, const char *message_id,
                           wp_error **err)
{
    wp_inbox_key *key;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__check_text(NULL, "source", source, WP_NAME_MAX, true, err)) != WP_OK ||
        (st = wp__check_text(NULL, "message_id", message_id, WP_NAME_MAX, true, err)) != WP_OK)
        return st;
    key = calloc(1, sizeof *key);
    if (!key)
        return wp__fail_nomem(err);
    key->source = wp__text_dup(source);
    key->message_id = wp__text_dup(message_id);
    key->consumer = wp__text_dup("");
    if (!is_whole(key)) {
        wp_inbox_key_free(key);
        return wp__fail_nomem(err);
    }
    *out = key;
    return WP_OK;
}

void wp_inbox_key_free(wp_inbox_key *key)
{
    if (!key)
        return;
    free(key->source);
    free(key->message_id);
    free(key->consumer);
    free(key->hash);
    free(key->hash_algorithm);
    free(key);
}

wp_status wp_inbox_key_set_consumer(wp_inbox_key *key, const char *consumer, wp_error **err)
{
    char *copy;
    wp_status st;
    if (!key)
        return wp__fail(err, WP_E_ARGUMENT, "key is NULL");
    if ((st = wp__check_text(NULL, "consumer", consumer, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    copy = wp__text_dup(consumer ? consumer : "");
    if (!copy)
        return wp__fail_nomem(err);
    free(key->consumer);
    key->consumer = copy;
    return WP_OK;
}

wp_status wp_inbox_key_set_hash(wp_inbox_key *key, const void *hash, size_t len,
                                const char *algorithm, wp_error **err)
{
    const bool there = hash && len;
    char *hex = NULL;
    char *name = NULL;
    wp_status st;
    if (!key)
        return wp__fail(err, WP_E_ARGUMENT, "key is NULL");
    if (!hash && len)
        return wp__fail(err, WP_E_ARGUMENT, "hash is NULL");
    if (len > WP_HASH_MAX)
        return wp__fail(err, WP_E_ARGUMENT, "hash is %zu bytes long, more than %d", len,
                        WP_HASH_MAX);
    if ((st = wp__check_text(NULL, "algorithm", algorithm, WP_NAME_MAX, false, err)) != WP_OK)
        return st;
    if (there) {
        hex = malloc(2 * len + 1);
        name = wp__text_dup(algorithm && *algorithm ? algorithm : "sha256");
        if (!hex || !name) {
            free(hex);
            free(name);
            return wp__fail_nomem(err);
        }
        wp__hex_encode(hex, hash, len);
    }
    free(key->hash);
    free(key->hash_algorithm);
    key->hash = hex;
    key->hash_algorithm = name;
    return WP_OK;
}

wp_status wp__inbox_key_copy(wp_inbox_key **out, const wp_inbox_key *key, wp_error **err)
{
    wp_inbox_key *copy = calloc(1, sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    copy->source = wp__text_dup(key->source);
    copy->message_id = wp__text_dup(key->message_id);
    copy->consumer = wp__text_dup(key->consumer);
    copy->hash = wp__text_dup(key->hash);
    copy->hash_algorithm = wp__text_dup(key->hash_algorithm);
    if (!is_whole(copy) || (key->hash && (!copy->hash || !copy->hash_algorithm))) {
        wp_inbox_key_free(copy);
        return wp__fail_nomem(err);
    }
    *out = copy;
    return WP_OK;
}

int wp__inbox_key_compare(const wp_inbox_key *left, const wp_inbox_key *right)
{
    int order = strcmp(left->source, right->source);
    if (order == 0)
        order = strcmp(left->message_id, right->message_id);
    return order ? order : strcmp(left->consumer, right->consumer);
}

void wp__inbox_key_use(wp_op *op, const wp_inbox_key *key)
{
    wp__op_set_text(op, WP__P_SOURCE, key->source);
    wp__op_set_text(op, WP__P_MESSAGE_ID, key->message_id);
    wp__op_set_text(op, WP__P_CONSUMER, key->consumer);
}
