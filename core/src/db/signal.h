/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to other processes that there may be work, on engines that have them. They are hints: never
 * more than one each WP__SIGNAL_INTERVAL_US from one store, and outside the app's transaction where the
 * commit is the library's own. Where it is the app's, nobody sees it: there the signal is a statement
 * in the transaction, unless one was sent just before; then one follows outside, and a second one
 * later, for those who committed meanwhile. */
#ifndef WP__SIGNAL_H
#define WP__SIGNAL_H

#include <stdbool.h>
#include <waypost/store.h>

#include "base/thread.h"

enum { WP__SIGNAL_INTERVAL_US = 5000 };

typedef struct wp__signaller {
    wp__mutex mutex;
    wp__cond wanted;
    wp__thread thread; /* started when it is first needed */
    bool ended;
    bool running; /* the thread has not come to its end */
    bool left;    /* nobody waits for it any more */
    int64_t last_at;
    int64_t next_at; /* WP__FOREVER: none */
    int64_t late_at;
} wp__signaller;

void wp__signaller_init(wp__signaller *signaller);
/* End its thread. False: that hangs in the database; it is the one who destroys the store then. */
bool wp__signaller_end(wp__signaller *signaller);
void wp__signaller_destroy(wp__signaller *signaller);
/* Have a signal sent soon. */
void wp__signaller_request(wp__signaller *signaller, wp_store *store);
/* True: the caller sends it, in its transaction. False: others follow. */
bool wp__signaller_may_send(wp__signaller *signaller, wp_store *store);

#endif
