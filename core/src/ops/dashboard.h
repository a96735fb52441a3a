/* SPDX-License-Identifier: Apache-2.0 */
/* The dashboard: its page, and who may ask its API. On libmicrohttpd, but for the API itself (api.h). */
#ifndef WP__DASHBOARD_H
#define WP__DASHBOARD_H

#include <stddef.h>

/* The page's files, embedded at build time. */
extern const unsigned char wp__file_index_html[], wp__file_style_css[], wp__file_app_js[];
extern const size_t wp__file_index_html_len, wp__file_style_css_len, wp__file_app_js_len;

struct MHD_Connection;
struct wp_worker;

/* Whether a path is the dashboard's. */
int wp__dashboard_has(const char *url);
/* Answer, as libmicrohttpd's access handler does; *context is NULL at a request's first call, and is freed
 * with wp__dashboard_forget(). */
int wp__dashboard_handle(struct wp_worker *worker, struct MHD_Connection *connection,
                         const char *url, const char *method, const char *upload,
                         size_t *upload_size, void **context);
void wp__dashboard_forget(void *context);

#endif
