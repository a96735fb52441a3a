/* SPDX-License-Identifier: Apache-2.0 */
/* Moving unfinished work from one store to another: the public calls. */
#include "copy/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waypost/join.h>
#include <waypost/lease.h>
#include <waypost/pause.h>

#include "base/clock.h"
#include "base/text.h"
#include "job/job.h"
#include "queue/dead.h"

enum { PAGE = 500, AGAIN = 5, ROUNDS = 10 };

/* A key may be there later than it was done: a long transaction of an app's, hosts whose clocks differ. */
#define LATE_US INT64_C(600000000)

/* What is moved, in this order. */
static const wp__queue *const moved[] = {&wp__outbox, &wp__timer, &wp__inbox};
enum { MOVED = sizeof moved / sizeof moved[0] };

/* What comes after these. */
enum { JOBS = MOVED, JOINS, MEMORY };

static bool is_moved(const wp__queue *queue)
{
    bool found = queue == &wp__job_run;
    for (size_t i = 0; i < MOVED; i++)
        found |= moved[i] == queue;
    return found;
}

static bool same_names(const wp_store *a, const wp_store *b)
{
    const wp__sql_names *x = wp__store_names(a), *y = wp__store_names(b);
    return strcmp(wp_store_engine(a), wp_store_engine(b)) == 0 &&
           strcmp(wp_store_location(a), wp_store_location(b)) == 0 &&
           strcmp(x->schema, y->schema) == 0 && strcmp(x->outbox, y->outbox) == 0;
}

static wp_status fail_same(wp_error **err)
{
    return wp__fail(err, WP_E_ARGUMENT,
                    "source and target are the same store, or one is a copy of the other's file");
}

wp_status wp_copy_new(wp_copy **out, wp_store *source, wp_store *target, wp_error **err)
{
    wp_copy *copy;
    wp_status st;
    if (!out)
        return wp__fail(err, WP_E_ARGUMENT, "out is NULL");
    if ((st = wp__store_check(source, err)) != WP_OK ||
        (st = wp__store_check(target, err)) != WP_OK)
        return st;
    if (source == target || same_names(source, target))
        return fail_same(err);
    copy = calloc(1, sizeof *copy);
    if (!copy)
        return wp__fail_nomem(err);
    copy->source.store = wp__store_ref(source);
    copy->target.store = wp__store_ref(target);
    copy->page = PAGE;
    copy->dead = true;
    copy->stop_after = -1;
    *out = copy;
    return WP_OK;
}

static wp_status check(const wp_copy *copy, wp_error **err)
{
    wp_status st;
    if (!copy)
        return wp__fail(err, WP_E_ARGUMENT, "copy is NULL");
    st = wp__store_check(copy->source.store, err);
    return st == WP_OK ? wp__store_check(copy->target.store, err) : st;
}

wp_status wp_copy_set_page(wp_copy *copy, int64_t messages, wp_error **err)
{
    wp_status st = check(copy, err);
    if (st != WP_OK)
        return st;
    if (messages < 1 || messages > WP_BATCH_MAX)
        return wp__fail(err, WP_E_RANGE, "messages is %lld, not in 1..%d", (long long)messages,
                        WP_BATCH_MAX);
    copy->page = messages;
    return WP_OK;
}

wp_status wp_copy_set_dead_letters(wp_copy *copy, int also, wp_error **err)
{
    wp_status st = check(copy, err);
    if (st == WP_OK)
        copy->dead = also != 0;
    return st;
}

/* ---- counting ----------------------------------------------------------------------------- */

static wp_status look_at(wp_copy *copy, const wp__queue *queue, const wp_id *peer, wp_error **err)
{
    enum { WAITING, HELD, DEAD, GOING, DEAD_GOING, NUMBERS };
    int64_t *counts = copy->counts[wp__queue_index(queue)];
    int64_t numbers[NUMBERS] = {0};
    const wp_status st = wp__copy_look_at(numbers, copy->source.store, peer, queue, err);
    const int64_t unfinished = numbers[WAITING] + numbers[GOING];
    const int64_t dead = numbers[DEAD] + numbers[DEAD_GOING];
    counts[WP_COPY_WAITING] = is_moved(queue) ? unfinished : 0;
    counts[WP_COPY_DEAD] = is_moved(queue) ? dead : 0;
    counts[WP_COPY_HELD] = numbers[HELD];
    counts[WP_COPY_NOT_MOVED] = is_moved(queue) ? 0 : unfinished + dead;
    return st;
}

static wp_status look_at_all(wp_copy *copy, wp_error **err)
{
    int64_t *outbox = copy->counts[wp__queue_index(&wp__outbox)];
    int64_t joined[2] = {0}, going = 0;
    wp_id target = {{0}};
    bool there = false;
    wp_status st = wp__copy_self(&target, &there, copy->target.store, false, err);
    for (size_t i = 0; i < WP__QUEUES && st == WP_OK; i++)
        st = look_at(copy, wp__queues[i], &target, err);
    if (st == WP_OK && (st = wp__copy_look_at_joins(joined, copy->source.store, err)) == WP_OK &&
        (st = wp__copy_look_at_joined(&going, copy->source.store, &target, err)) == WP_OK)
        st = wp__copy_look_at_jobs(&copy->jobs, copy->source.store, err);
    outbox[WP_COPY_JOINED] = joined[0] + going;
    outbox[WP_COPY_WAITING] -=
        joined[0] < outbox[WP_COPY_WAITING] ? joined[0] : outbox[WP_COPY_WAITING];
    copy->joins = joined[1];
    return st;
}

wp_status wp_copy_look(wp_copy *copy, wp_error **err)
{
    wp_status st = check(copy, err);
    return st == WP_OK ? look_at_all(copy, err) : st;
}

int64_t wp_copy_count(const wp_copy *copy, wp_source source, wp_copy_kind kind)
{
    const wp__queue *queue = wp__source_queue(source);
    int64_t sum = 0;
    if (!copy || (int)kind < 0 || kind >= WP_COPY_KINDS || (!queue && source != WP_SOURCE_ALL))
        return 0;
    for (size_t i = 0; i < WP__QUEUES; i++)
        if (!queue || wp__queue_index(queue) == i)
            sum += copy->counts[i][kind];
    return sum;
}

int64_t wp_copy_jobs(const wp_copy *copy)
{
    return copy ? copy->jobs : 0;
}

int64_t wp_copy_jobs_moved(const wp_copy *copy)
{
    return copy ? copy->jobs_moved : 0;
}

int64_t wp_copy_joins(const wp_copy *copy)
{
    return copy ? copy->joins : 0;
}

int64_t wp_copy_joins_moved(const wp_copy *copy)
{
    return copy ? copy->joins_moved : 0;
}

size_t wp_copy_refused_count(const wp_copy *copy)
{
    return copy ? copy->refused_count : 0;
}

const char *wp_copy_refused_at(const wp_copy *copy, size_t index)
{
    return copy && index < copy->refused_count ? copy->refused[index] : NULL;
}

const char *wp_copy_checksum(wp_copy *copy, int target)
{
    char *text;
    unsigned char bytes[WP__COPY_HASH_BYTES];
    if (!copy)
        return "";
    text = copy->texts[target != 0];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(copy->sums[target != 0].words[i / 8] >> (56 - 8 * (i % 8)));
    wp__hex_encode(text, bytes, sizeof bytes);
    return text;
}

/* ---- moving ------------------------------------------------------------------------------- */

/* Whoever takes the lease last goes on, and those before him write no more. */
static wp_status take_lease(wp__copy_end *end, const wp_id *source, const wp_id *target,
                            wp_error **err)
{
    const bool swapped = memcmp(source, target, sizeof *source) > 0; /* one for both directions */
    wp_lease_info *info = NULL;
    char from[37], to[37];
    wp_status st;
    wp_id_format(from, swapped ? target : source);
    wp_id_format(to, swapped ? source : target);
    (void)snprintf(end->lease, sizeof end->lease, "waypost.copy.%s.%s", from, to);
    st = wp_lease_acquire(&info, end->store, NULL, WP_LEASE_EXCLUSIVE, end->lease, WP__COPY_OWNER,
                          WP__COPY_LEASE_US / 1000, err);
    if (st == WP_OK && !wp_lease_info_granted(info))
        st = wp__fail(err, WP_E_STATE, "store %s: \"%s\" holds the lease \"%s\"",
                      wp_store_id(end->store), wp_lease_info_owner(info), end->lease);
    if (st == WP_OK)
        end->fence = wp_lease_info_fence(info);
    wp_lease_info_free(info);
    return st;
}

/* Of two that begin at once each may have got one of the two leases: neither goes on then. */
static wp_status still_held(const wp__copy_end *end, wp_error **err)
{
    return wp_lease_renew(NULL, end->store, NULL, WP_LEASE_EXCLUSIVE, end->lease, WP__COPY_OWNER,
                          end->fence, WP__COPY_LEASE_US / 1000, err);
}

/* Before anything can be claimed there; each comes once, and may be resumed there, until it was over here. */
static wp_status move_pauses(wp_copy *copy, wp_error **err)
{
    wp_pauses *pauses = NULL;
    wp_status st = wp_pauses_read(&pauses, copy->source.store, err);
    for (size_t i = 0; i < wp_pauses_count(pauses) && st == WP_OK; i++)
        st = wp__copy_pause(&copy->target, wp__source_queue(wp_pauses_source(pauses, i)),
                            wp_pauses_topic(pauses, i), wp_pauses_by(pauses, i), err);
    if (st == WP_OK)
        st = wp__copy_forget_pauses(&copy->target, pauses, err);
    if (wp_pauses_count(pauses) && st == WP_OK)
        wp__store_announce(copy->target.store);
    wp_pauses_free(pauses);
    return st;
}

/* Of what a pass is about. */
static int64_t moved_so_far(const wp_copy *copy)
{
    if (copy->at < MOVED)
        return copy->counts[wp__queue_index(moved[copy->at])][WP_COPY_MOVED];
    return copy->at == JOBS    ? copy->jobs_moved
           : copy->at == JOINS ? copy->groups_moved
                               : copy->counts[wp__queue_index(&wp__inbox)][WP_COPY_REMEMBERED];
}

static void start_pass(wp_copy *copy)
{
    copy->place = (wp__copy_place){INT64_MIN, INT64_MIN, INT64_MIN};
    copy->before = moved_so_far(copy);
    copy->changed = false;
    if (copy->at == MEMORY)
        copy->memory.began = wp_clock_utc_us(wp__store_clock(copy->source.store));
}

/* Keys that are done while others are looked through come in a further pass, which must find nothing new, and no message on
 * its way when it begins. */
static wp_status end_memory(bool *more, wp_copy *copy, wp_error **err)
{
    const bool all = copy->memory.quiet && moved_so_far(copy) == copy->before;
    wp_status st = WP_OK;
    *more = !all && copy->again < AGAIN;
    if (!*more)
        return WP_OK;
    copy->again++;
    if ((st = look_at_all(copy, err)) != WP_OK)
        return st;
    copy->memory.quiet = copy->counts[wp__queue_index(&wp__inbox)][WP_COPY_HELD] == 0;
    if (copy->memory.newest > INT64_MIN + LATE_US) /* one may be from a clock that was ahead */
        copy->memory.since =
            (copy->memory.newest < copy->memory.began ? copy->memory.newest : copy->memory.began) -
            LATE_US;
    start_pass(copy);
    return WP_OK;
}

/* Nobody else moves between the two from now on. */
static wp_status enter(wp_copy *copy, wp_error **err)
{
    bool there = false;
    wp_status st;
    if ((st = wp__copy_self(&copy->source.self, &there, copy->source.store, true, err)) != WP_OK ||
        (st = wp__copy_self(&copy->target.self, &there, copy->target.store, true, err)) != WP_OK)
        return st;
    if (memcmp(&copy->source.self, &copy->target.self, sizeof(wp_id)) == 0)
        return fail_same(err);
    copy->source.peer = copy->target.self;
    copy->target.peer = copy->source.self;
    if ((st = take_lease(&copy->source, &copy->source.self, &copy->target.self, err)) != WP_OK ||
        (st = take_lease(&copy->target, &copy->source.self, &copy->target.self, err)) != WP_OK ||
        (st = still_held(&copy->source, err)) != WP_OK)
        return st;
    return wp__copy_limit(&copy->target.most_bytes, copy->target.store, err);
}

static wp_status begin(wp_copy *copy, wp_error **err)
{
    wp_status st;
    if ((st = enter(copy, err)) != WP_OK || (st = move_pauses(copy, err)) != WP_OK)
        return st;
    for (size_t i = 0; i < MOVED && st == WP_OK; i++) /* nobody else may do so there any more */
        st = wp__queue_reap(NULL, copy->source.store, moved[i], err);
    if (st == WP_OK)
        st = wp__queue_reap(NULL, copy->source.store, &wp__job_run, err);
    if (st == WP_OK) /* what the target does not see any more, as `fired_at` stays here */
        st = wp__job_go_on(copy->source.store, err);
    if (st == WP_OK && (st = look_at_all(copy, err)) == WP_OK) {
        copy->begun = true;
        copy->at = 0;
        copy->again = copy->rounds = 0;
        copy->moving = false;
        copy->memory.newest = copy->memory.since = INT64_MIN;
        copy->memory.quiet = false;
        start_pass(copy);
    }
    return st;
}

wp_status wp__copy_committed(wp_copy *copy, wp_status st, wp_error **err)
{
    if (st == WP_OK && copy->between)
        copy->between(copy->between_user);
    if (st != WP_OK || copy->stop_after < 0 || copy->stop_after-- > 0)
        return st;
    return wp__fail(err, WP_E_STOPPED, "stopped between two transactions");
}

void wp__copy_stop_after(wp_copy *copy, int64_t transactions)
{
    copy->stop_after = transactions;
}

void wp__copy_do_between(wp_copy *copy, void (*between)(void *user), void *user)
{
    copy->between = between;
    copy->between_user = user;
}

static wp_status note(wp_copy *copy, wp__buf *text, wp_error **err)
{
    char **grown = realloc(copy->refused, (copy->refused_count + 1) * sizeof *grown);
    if (grown)
        copy->refused = grown;
    if (!grown || !(grown[copy->refused_count] = wp__buf_take(text))) {
        wp__buf_free(text);
        return wp__fail_nomem(err);
    }
    copy->refused_count++;
    return WP_OK;
}

wp_status wp__copy_note_refused(wp_copy *copy, const wp__queue *queue, const wp_id *id,
                                const char *why, wp_error **err)
{
    wp__buf text = {0};
    char formatted[37];
    wp_id_format(formatted, id);
    wp__buf_fmt(&text, "%s %s: %s", queue->name, formatted, why);
    return note(copy, &text, err);
}

static const char a_job[] = "job \"";

wp_status wp__copy_note_job(wp_copy *copy, const char *name, const char *why, wp_error **err)
{
    wp__buf text = {0};
    wp__buf_fmt(&text, "%s%s\": %s", a_job, name ? name : "", why);
    return note(copy, &text, err);
}

static const char a_join[] = "join"; /* or a message with WP_JOIN_WAIT_TOPIC */

wp_status wp__copy_note_join(wp_copy *copy, const wp_id *id, const char *why, wp_error **err)
{
    wp__buf text = {0};
    char formatted[37];
    wp_id_format(formatted, id);
    wp__buf_fmt(&text, "%s %s: %s", a_join, formatted, why);
    return note(copy, &text, err);
}

wp_status wp__copy_note_wait(wp_copy *copy, const wp_id *id, const char *why, wp_error **err)
{
    wp__buf text = {0};
    char formatted[37];
    wp__buf_text(&text, WP_JOIN_WAIT_TOPIC);
    if (id) {
        wp_id_format(formatted, id);
        wp__buf_fmt(&text, " %s", formatted);
    }
    wp__buf_fmt(&text, ": %s", why);
    return note(copy, &text, err);
}

/* Those that begin so, or (NULL) all. */
static void forget_refused(wp_copy *copy, const char *begin)
{
    const size_t len = begin ? strlen(begin) : 0;
    size_t kept = 0;
    for (size_t i = 0; i < copy->refused_count; i++)
        if (begin && strncmp(copy->refused[i], begin, len) != 0)
            copy->refused[kept++] = copy->refused[i];
        else
            free(copy->refused[i]);
    copy->refused_count = kept;
}

static wp_status finish(wp_copy *copy, wp_error **err)
{
    wp__copy_end *const ends[2] = {&copy->target, &copy->source};
    wp_status st = look_at_all(copy, err);
    for (size_t i = 0; i < 2 && st == WP_OK; i++)
        st = wp_lease_release(NULL, ends[i]->store, NULL, WP_LEASE_EXCLUSIVE, ends[i]->lease,
                              WP__COPY_OWNER, ends[i]->fence, err);
    copy->begun = false;
    copy->at = 0;
    return st;
}

/* A queue is gone through again for what changed meanwhile, and all are while something is moved, which may make way for
 * others; but not for ever, where an app goes on storing in the source. */
static void end_pass(wp_copy *copy)
{
    copy->moving = copy->moving || moved_so_far(copy) != copy->before;
    if (copy->changed && copy->again < AGAIN) {
        copy->again++;
        forget_refused(copy, copy->at < MOVED   ? moved[copy->at]->name
                             : copy->at == JOBS ? a_job
                                                : a_join);
    } else {
        copy->at++;
        copy->again = 0;
    }
    if (copy->at == MEMORY && copy->moving && copy->rounds < ROUNDS) {
        copy->at = 0;
        copy->rounds++;
        copy->moving = false;
        forget_refused(copy, NULL); /* it tries them again */
    }
    start_pass(copy);
}

/* The next page. */
wp_status wp_copy_step(int *more, wp_copy *copy, wp_error **err)
{
    bool pages = false;
    wp_status st = check(copy, err);
    if (st != WP_OK)
        return st;
    if (!more)
        return wp__fail(err, WP_E_ARGUMENT, "more is NULL");
    if (!copy->begun) {
        forget_refused(copy, NULL);
        if ((st = begin(copy, err)) != WP_OK)
            return st;
    }
    if (copy->at == MEMORY) {
        if ((st = wp__copy_memory_page(&pages, copy, err)) == WP_OK && !pages)
            st = end_memory(&pages, copy, err);
        copy->begun = copy->begun && st != WP_E_LEASE_LOST;
        *more = st != WP_OK || pages;
        return *more ? st : finish(copy, err);
    }
    st = copy->at == JOBS    ? wp__copy_job_page(&pages, copy, err)
         : copy->at == JOINS ? wp__copy_join_page(&pages, copy, err)
                             : wp__copy_page(&pages, copy, moved[copy->at], err);
    if (st == WP_E_LEASE_LOST)
        copy->begun = false;
    if (st != WP_OK)
        return st;
    if (!pages)
        end_pass(copy);
    *more = 1;
    return WP_OK;
}

wp_status wp_copy_cancel(int64_t *let_go, wp_copy *copy, wp_error **err)
{
    int64_t count = 0;
    wp_status st = check(copy, err);
    if (st != WP_OK)
        return st;
    copy->begun = false;
    forget_refused(copy, NULL);
    st = enter(copy, err);
    for (size_t i = 0; i < MOVED && st == WP_OK; i++)
        st = wp__copy_give_up(&count, copy, moved[i], err);
    if (st == WP_OK)
        st = wp__copy_give_up_jobs(&count, copy, err);
    if (st == WP_OK)
        st = wp__copy_give_up_joins(&count, copy, err);
    if (st == WP_OK)
        st = finish(copy, err);
    if (st == WP_OK && let_go)
        *let_go = count;
    return st;
}

void wp_copy_free(wp_copy *copy)
{
    if (!copy)
        return;
    forget_refused(copy, NULL);
    free(copy->refused);
    wp__store_unref(copy->source.store);
    wp__store_unref(copy->target.store);
    free(copy);
}
