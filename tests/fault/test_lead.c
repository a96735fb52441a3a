/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that want to lead, while the leader is killed or stopped: one works at a time. */
#include "fault.h"
#include "support/wpt_mariadb.h"
#include "support/wpt_pg.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>

enum { PROCESSES = 3, ROUNDS = FAULT_ROUNDS(20), DURATION_MS = 200, TERMS_MAX = 10000 };

/* One leader's time in office, as far as it is known to have led. */
typedef struct term {
    int64_t fence;
    int64_t pid;
    int64_t first, last; /* instants, by the clock of this machine, which is the database's */
} term;

/* ---- a leader ----------------------------------------------------------------------------- */

/* The clock is read before the check: if that says yes, it led at that instant, wherever this process was
 * stopped in between. */
static wp_status lead(wp_lease *lease, void *user, wp_error **err)
{
    const int fd = *(const int *)user;
    for (;;) {
        const int64_t at = wp_clock_utc_us(NULL);
        const wp_status st = wp_lease_check(lease, err);
        char line[96];
        int len = snprintf(line, sizeof line, "%" PRId64 " %d %" PRId64 "\n", wp_lease_fence(lease),
                           (int)getpid(), at);
        if (st != WP_OK)
            return st;
        MUST(write(fd, line, (size_t)len) == len);
        fault_nap_us(2000);
    }
}

static int play_leader(const char *path, const char *url)
{
    wp_store *store = fault_store_at(url);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    MUST(fd >= 0);
    parent_tell();
    MUST_OK(wp_lease_lead(store, "n", NULL, DURATION_MS, -1, lead, &fd, &must_err));
    return 0; /* it is killed before */
}

/* ---- what the history says ---------------------------------------------------------------- */

static int by_fence(const void *left, const void *right)
{
    const term *a = left;
    const term *b = right;
    return (a->fence > b->fence) - (a->fence < b->fence);
}

/* All terms so far, by their fences. */
static size_t read_terms(term *terms, const char *path)
{
    FILE *file = fopen(path, "r");
    size_t count = 0;
    int64_t fence, pid, at;
    if (!file)
        return 0;
    while (fscanf(file, "%" SCNd64 " %" SCNd64 " %" SCNd64, &fence, &pid, &at) == 3) {
        size_t i = count;
        while (i > 0 && terms[i - 1].fence != fence)
            i--;
        if (i == 0) {
            assert_true(count < TERMS_MAX);
            terms[count++] = (term){fence, pid, at, at};
        } else {
            terms[i - 1].last = at;
        }
    }
    (void)fclose(file);
    qsort(terms, count, sizeof *terms, by_fence);
    return count;
}

static void check_terms(const term *terms, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (terms[i].first <= terms[i - 1].last)
            fail_msg("fence %" PRId64 " was led %" PRId64 " us before the end of fence %" PRId64,
                     terms[i].fence, terms[i - 1].last - terms[i].first, terms[i - 1].fence);
}

static bool is_led_anew(term *latest, term *terms, const char *path)
{
    size_t count = read_terms(terms, path);
    bool anew = count > 0 && terms[count - 1].fence > latest->fence;
    if (anew)
        *latest = terms[count - 1];
    return anew;
}

static void rule(const char *path, const char *url)
{
    term *terms = calloc(TERMS_MAX, sizeof *terms);
    term latest = {0};
    child children[PROCESSES];
    wp_store *store = fault_store_at(url);
    assert_non_null(terms);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = child_start("leader", path, url);
        MUST(child_hear(&children[i]));
    }
    for (int round = 0; round < ROUNDS; round++) {
        int i = 0;
        AWAIT(is_led_anew(&latest, terms, path));
        while (i < PROCESSES - 1 && children[i].pid != latest.pid)
            i++;
        if (fault_random(2)) { /* for longer than its lease, perhaps */
            (void)kill(children[i].pid, SIGSTOP);
            fault_nap_us(fault_random(3 * DURATION_MS * 1000 / 2));
            (void)kill(children[i].pid, SIGCONT);
            fault_nap_us(10000); /* it goes on, or finds that it must not */
        }
        child_kill(&children[i]);
        children[i] = child_start("leader", path, url);
        MUST(child_hear(&children[i]));
    }
    AWAIT(is_led_anew(&latest, terms, path));
    for (int i = 0; i < PROCESSES; i++)
        child_kill(&children[i]);
    check_terms(terms, read_terms(terms, path));
    wp_store_close(store);
    free(terms);
}

/* proves: LSE-004, LSE-005 */
static void test_lead__leaders_die_and_stall_on_sqlite__one_works_at_a_time(void **state)
{
    place *p = *state;
    char url[128];
    (void)snprintf(url, sizeof url, "sqlite:%s", p->path);
    rule(place_file(p->path, ".history"), url);
}

/* proves: LSE-004, LSE-005 */
static void test_lead__leaders_die_and_stall_on_postgresql__one_works_at_a_time(void **state)
{
    place *p = *state;
    char url[256];
    wpt_pg_name(url, sizeof url, "lead");
    (void)wpt_pg_create(url, sizeof url, NULL);
    rule(place_file(p->path, ".history"), url);
    wpt_pg_release();
}

/* proves: LSE-004, LSE-005 */
static void test_lead__leaders_die_and_stall_on_mariadb__one_works_at_a_time(void **state)
{
    place *p = *state;
    char url[256];
    wpt_mariadb_name(url, sizeof url, "lead");
    (void)wpt_mariadb_create(url, sizeof url, NULL);
    rule(place_file(p->path, ".history"), url);
    wpt_mariadb_release();
}

static int suite(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PLACE(test_lead__leaders_die_and_stall_on_sqlite__one_works_at_a_time),
        WITH_PLACE(test_lead__leaders_die_and_stall_on_postgresql__one_works_at_a_time),
        WITH_PLACE(test_lead__leaders_die_and_stall_on_mariadb__one_works_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const role roles[] = {{"leader", play_leader}};
    return fault_main(argc, argv, roles, WPT_COUNT(roles), suite);
}
