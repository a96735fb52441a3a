/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the options as the library documents them. */
#include <stdio.h>
#include <stdlib.h>
#include <waypost/config.h>

int main(void)
{
    wp_error *err = NULL;
    char *text = NULL;
    if (wp_config_describe(&text, &err) != WP_OK) {
        (void)fprintf(stderr, "%s\n", wp_error_message(err));
        wp_error_free(err);
        return EXIT_FAILURE;
    }
    (void)fputs(text, stdout);
    wp_text_free(text);
    return EXIT_SUCCESS;
}
