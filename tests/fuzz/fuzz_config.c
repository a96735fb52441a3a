/* SPDX-License-Identifier: Apache-2.0 */
/* Options: one as "KEY=VALUE" on each line, and all of it as JSON. What is refused changes nothing; what is read
 * back is the same option's value. */
#include <string.h>
#include <waypost/config.h>

#include "fuzz/fuzz.h"

static char *read_back(const wp_config *config, const char *key)
{
    char *text = NULL;
    FUZZ_CHECK(wp_config_get(&text, config, key, NULL) == WP_OK);
    return text;
}

static void set(wp_config *config, char *line)
{
    char *value = strchr(line, '='), *first, *again, *before = NULL;
    wp_status st;
    if (!value)
        return;
    *value++ = '\0';
    (void)wp_config_get(&before, config, line, NULL);
    st = wp_config_set(config, line, value, NULL);
    FUZZ_CHECK(st == WP_OK || st == WP_E_CONFIG);
    if (before) {
        first = read_back(config, line);
        FUZZ_CHECK(st == WP_OK || strcmp(before, first) == 0);
        FUZZ_CHECK(wp_config_set(config, line, first, NULL) == WP_OK);
        again = read_back(config, line);
        FUZZ_CHECK(strcmp(first, again) == 0);
        wp_text_free(first);
        wp_text_free(again);
    }
    FUZZ_CHECK(before || st == WP_E_CONFIG);
    wp_text_free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wp_config *config = NULL, *copy = NULL;
    char *json = malloc(size + 1);
    wp_error *err = NULL;
    FUZZ_CHECK(json);
    memcpy(json, data, size);
    json[size] = '\0';
    FUZZ_CHECK(wp_config_new(&config, NULL) == WP_OK);
    FUZZ_CHECK((wp_config_load_json(config, json, &err) == WP_OK) == (err == NULL));
    FUZZ_CHECK(!err || wp_error_message(err)[0]);
    wp_error_free(err);
    for (int i = 0; i < 8 && size > 0; i++) {
        char *line = fuzz_line(&data, &size);
        set(config, line);
        free(line);
    }
    FUZZ_CHECK(wp_config_copy(&copy, config, NULL) == WP_OK);
    wp_config_free(copy);
    wp_config_free(config);
    free(json);
    return 0;
}
