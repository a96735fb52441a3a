/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file trace.h
 * Trace contexts: a message carries that of whoever enqueued it to its handler, in the headers
 * `traceparent` and `tracestate` of W3C's Trace Context. The core passes them on and makes no spans.
 */
#ifndef WAYPOST_TRACE_H
#define WAYPOST_TRACE_H

#include <waypost/outbox.h>

WP_BEGIN_DECLS

/** Give a message the trace context of the caller, unless it has a header `traceparent`: one that was set
 * by hand stays. It is left out where the headers have no room for it.
 * @param traceparent  such as `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`
 * @param tracestate   may be NULL or empty: none. Left out if it is not printable ASCII of at most 512
 *                     bytes, as W3C wants it
 * @return WP_OK; WP_E_ARGUMENT: traceparent is not as W3C says. */
WP_API wp_status wp_message_set_trace(wp_message *message, const char *traceparent,
                                      const char *tracestate, wp_error **err);
/** Read the trace context out of the headers of a message, as wp_received_headers() gives them.
 * @param traceparent  gets it, the caller's: wp_text_free(); or NULL: there is none, or it is not as W3C says
 * @param tracestate   may be NULL; gets it likewise, or NULL
 * @return WP_OK; WP_E_ARGUMENT: headers are no JSON object. */
WP_API wp_status wp_trace_read(char **traceparent, char **tracestate, const char *headers,
                               wp_error **err);

WP_END_DECLS

#endif
