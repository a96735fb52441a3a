/* SPDX-License-Identifier: Apache-2.0 */
/* The operations that joins are moved by, with their messages: each is one transaction in one of the stores, which begins as
 * those of ops.c do. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "copy/copy.h"
#include "join/join.h"
#include "queue/pause.h"

void wp__copy_joins_free(wp__copy_joins *joins)
{
    free(joins->items);
    memset(joins, 0, sizeof *joins);
}

void wp__copy_group_free(wp__copy_group *group)
{
    wp__copy_rows_free(&group->joins);
    wp__copy_rows_free(&group->nexts);
    free(group->members);
    memset(group, 0, sizeof *group);
}

/* ---- what is read of them ----------------------------------------------------------------- */

static wp_status joins_add(wp__copy_joins *joins, const wp_id *id, int64_t seq, bool arrived,
                           wp_error **err)
{
    if (joins->count == joins->cap) {
        const size_t cap = joins->cap ? joins->cap * 2 : 8;
        wp__copy_join *grown = realloc(joins->items, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        joins->items = grown;
        joins->cap = cap;
    }
    joins->items[joins->count++] = (wp__copy_join){.seq = seq, .id = *id, .arrived = arrived};
    return WP_OK;
}

static wp_status sum_row(wp__copy_group *group, const wp__copy_rows *rows, wp_error **err)
{
    unsigned char hash[WP__COPY_HASH_BYTES];
    const wp_status st = wp__copy_row_hash(hash, &rows->items[rows->count - 1], err);
    if (st == WP_OK)
        wp__copy_sum_add(&group->sum, hash);
    return st;
}

static wp_status members_add(wp__copy_group *group, const wp__value *columns, wp_error **err)
{
    unsigned char hash[WP__COPY_HASH_BYTES];
    wp__copy_member *member;
    wp_status st;
    if (group->count == group->cap) {
        const size_t cap = group->cap ? group->cap * 2 : 64;
        wp__copy_member *grown = realloc(group->members, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        group->members = grown;
        group->cap = cap;
    }
    member = &group->members[group->count];
    *member = (wp__copy_member){.place = group->count};
    if ((st = wp__column_id(&member->id, &columns[1], err)) != WP_OK ||
        (st = wp__column_id(&member->join, &columns[2], err)) != WP_OK ||
        (st = wp__column_int(&member->status, &columns[3], err)) != WP_OK ||
        (st = wp__column_int(&member->attached_us, &columns[4], err)) != WP_OK ||
        (st = wp__column_int_or(&member->counted_us, &columns[5], INT64_MIN, err)) != WP_OK ||
        (st = wp__copy_member_hash(hash, member, err)) != WP_OK)
        return st;
    wp__copy_sum_add(&group->sum, hash);
    group->count++;
    return WP_OK;
}

static int by_join(const void *a, const void *b)
{
    const wp__copy_member *x = a, *y = b;
    const int order = memcmp(x->join.bytes, y->join.bytes, sizeof x->join.bytes);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* ---- a list of statements ----------------------------------------------------------------- */

typedef enum how {
    JUST_RUN, /* also where it is not on this engine, which needs none then */
    NONE,     /* it must give no row, else nothing is done */
    LOCKED,   /* it must give all joins, else nothing is done */
    JOINS,    /* rows of a group */
    NEXTS,
    MEMBERS,
    WAITS, /* messages that wait for the joins: all must be held, else nothing is done */
    ABOUT, /* a queue's, about messages; left out if there are none, or where the engine has it not */
    ALL_HELD, /* likewise, and it must give all, else nothing is done */
} how;

typedef struct step {
    how how;
    wp__sql_id join; /* one of these two */
    wp__queue_sql message;
    uint8_t columns;
} step;

typedef struct join_op {
    wp_op base;
    const wp__copy_end *end;
    const step *steps;
    size_t count;
    const wp__copy_seqs *messages;
    const wp__buf *numbers;     /* of joins to note, or NULL */
    size_t joins;               /* so many must be there */
    const wp__copy_sum *wanted; /* or NULL: what the group's rows come to */
    wp__copy_group *group;      /* of the rows */
    /* under way */
    size_t at;
    const step *current;
    bool fenced;
    bool held;
    size_t rows; /* of the current one */
    wp__copy_joins locked;
    bool missed;
} join_op;

static wp_status miss(join_op *self, wp_error **err)
{
    self->missed = true;
    return wp__fail(err, WP_E_STATE, "joins are not as they were any more");
}

/* What the rows of the last one come to. */
static wp_status look_back(join_op *self, wp_error **err)
{
    const how was = self->current ? self->current->how : JUST_RUN;
    if ((was == NONE && self->rows) || (was == LOCKED && self->rows != self->joins) ||
        (was == ALL_HELD && self->rows < self->messages->count) ||
        (was == MEMBERS && self->wanted &&
         memcmp(self->wanted, &self->group->sum, sizeof *self->wanted) != 0))
        return miss(self, err);
    return WP_OK;
}

static bool is_left_out(const join_op *self, const step *next)
{
    if (next->how == JUST_RUN)
        return !wp__op_has(&self->base, next->join);
    return next->how >= ABOUT &&
           (!self->messages->count ||
            !wp__op_has(&self->base, wp__queue_sql_id(&wp__copy_joined, next->message)));
}

static void set_params(join_op *self)
{
    wp_op *op = &self->base;
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_set_text(op, WP__P_NAME, wp__copy_word(&wp__copy_joined));
    wp__op_set_text(op, WP__P_TOPIC, WP_JOIN_WAIT_TOPIC);
    wp__op_set_text(op, WP__P_SOURCE, wp__store_channel(op->store));
    wp__op_set_int(op, WP__P_UNTIL, WP_TIME_US_MAX); /* how long they are held */
    wp__op_set_text(op, WP__P_WORKER, WP__COPY_OWNER);
    wp__op_set_now(op);
    wp__op_set_null(op, WP__P_STATUS);
    if (self->numbers)
        wp__op_set_textn(op, WP__P_MESSAGES, self->numbers->data, self->numbers->len);
    if (self->messages->count)
        wp__op_set_textn(op, WP__P_SEQS, self->messages->json.data, self->messages->json.len);
}

static wp_status join_next(wp_op *op, wp_error **err)
{
    join_op *self = (join_op *)op;
    wp_status st;
    if (op->cls->writes && !self->fenced) {
        self->fenced = true;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (op->cls->writes && !self->held)
        return wp__copy_fail_fenced(self->end, err);
    if ((st = look_back(self, err)) != WP_OK)
        return st;
    while (self->at < self->count && is_left_out(self, &self->steps[self->at]))
        self->at++;
    self->current = self->at < self->count ? &self->steps[self->at++] : NULL;
    self->rows = 0;
    if (!self->current)
        return WP_OK;
    set_params(self);
    if (self->current->how < ABOUT)
        wp__op_use(op, self->current->join, self->current->columns);
    else
        wp__op_use_queue(op, self->current->message, self->current->columns);
    return WP_OK;
}

static wp_status locked_row(join_op *self, const wp__value *columns, wp_error **err)
{
    int64_t seq = 0;
    wp_id id;
    wp_status st;
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_id(&id, &columns[1], err)) != WP_OK)
        return st;
    return joins_add(&self->locked, &id, seq, false, err);
}

/* One that names one of the joins has to go along. */
static wp_status wait_row(join_op *self, const wp__value *columns, wp_error **err)
{
    wp__copy_waits one = {0};
    const wp_status st = wp__copy_waits_add(&one, columns, err);
    bool stray = false;
    for (size_t i = 0; st == WP_OK && one.items[0].names && !one.items[0].held &&
                       i < self->locked.count && !stray;
         i++)
        stray = memcmp(&one.items[0].id, &self->locked.items[i].id, sizeof(wp_id)) == 0;
    free(one.items);
    return stray ? miss(self, err) : st;
}

static wp_status join_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    join_op *self = (join_op *)op;
    wp_status st;
    if (op->cls->writes && !self->current) {
        self->held = true;
        return WP_OK;
    }
    self->rows++;
    switch (self->current->how) {
    case LOCKED:
        return locked_row(self, columns, err);
    case JOINS:
        st = wp__copy_rows_add(&self->group->joins, &wp__copy_of_joins, columns, err);
        return st == WP_OK ? sum_row(self->group, &self->group->joins, err) : st;
    case NEXTS:
        st = wp__copy_rows_add(&self->group->nexts, &wp__copy_of_nexts, columns, err);
        return st == WP_OK ? sum_row(self->group, &self->group->nexts, err) : st;
    case MEMBERS:
        return members_add(self->group, columns, err);
    case WAITS:
        return wait_row(self, columns, err);
    default:
        return WP_OK;
    }
}

static void join_rewind(wp_op *op)
{
    join_op *self = (join_op *)op;
    self->at = self->rows = 0;
    self->current = NULL;
    self->fenced = self->held = self->missed = false;
    self->locked.count = 0;
    if (self->group)
        wp__copy_group_free(self->group);
}

static wp_status run(bool *missed, join_op *op, const wp__copy_end *end, bool writes,
                     wp_error **err)
{
    static const wp__op_class changes = {
        .next = join_next, .row = join_row, .rewind = join_rewind, .writes = true, .races = true};
    static const wp__op_class reads = {.next = join_next, .row = join_row, .rewind = join_rewind};
    static const wp__copy_seqs none = {.count = 0};
    wp_error *cause = NULL;
    wp_status st;
    op->end = end;
    if (!op->messages)
        op->messages = &none;
    wp__op_init(&op->base, writes ? &changes : &reads, end->store);
    op->base.queue = &wp__copy_joined;
    st = wp__store_run(end->store, NULL, &op->base, &cause);
    wp__op_fini(&op->base);
    wp__copy_joins_free(&op->locked);
    if (missed)
        *missed = st == WP_E_STATE && op->missed;
    if (missed && *missed) {
        wp_error_free(cause);
        return WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    return st;
}

#define OF_JOIN(name, columns) WP__SQL_COPY_JOIN_##name, 0, columns
#define OF_MESSAGES(name, columns) 0, WP__QUEUE_##name, columns
#define STEPS(list_) .steps = (list_), .count = sizeof(list_) / sizeof(list_)[0]

#define FORGET                                                                                     \
    {ABOUT, OF_MESSAGES(COPY_FORGET, 0)}, {JUST_RUN, OF_JOIN(FORGET_MEMBER, 0)},                   \
        {JUST_RUN, OF_JOIN(FORGET_NEXT, 0)},                                                       \
    {                                                                                              \
        JUST_RUN, OF_JOIN(FORGET, 0)                                                               \
    }

wp_status wp__copy_join_take(bool *missed, const wp__copy_end *end, const wp__copy_seqs *joins,
                             const wp__copy_seqs *messages, wp_error **err)
{
    static const step steps[] = {{JUST_RUN, OF_JOIN(NOTE, 0)},
                                 {LOCKED, OF_JOIN(LOCK, 2)},
                                 {ABOUT, OF_MESSAGES(COPY_TAKE, 0)},
                                 {ABOUT, OF_MESSAGES(COPY_NOTE, 0)},
                                 {ALL_HELD, OF_MESSAGES(COPY_HELD, 2)},
                                 {NONE, OF_JOIN(STRAYS, 1)},
                                 {NONE, OF_JOIN(SPLIT, 1)},
                                 {WAITS, OF_JOIN(WAITS, 4)}};
    join_op op = {STEPS(steps), .messages = messages, .numbers = &joins->json,
                  .joins = joins->count};
    return run(missed, &op, end, true, err);
}

wp_status wp__copy_join_read(wp__copy_group *out, const wp__copy_end *end, bool arrived,
                             wp_error **err)
{
    static const step there[] = {{JOINS, OF_JOIN(READ, WP__COPY_JOIN_COLUMNS)},
                                 {NEXTS, OF_JOIN(READ_NEXT, WP__COPY_NEXT_COLUMNS)},
                                 {MEMBERS, OF_JOIN(READ_MEMBERS, 6)}};
    static const step came[] = {{JOINS, OF_JOIN(BACK, WP__COPY_JOIN_COLUMNS)},
                                {NEXTS, OF_JOIN(BACK_NEXT, WP__COPY_NEXT_COLUMNS)},
                                {MEMBERS, OF_JOIN(BACK_MEMBERS, 6)}};
    join_op op = {STEPS(there), .group = out};
    wp_status st;
    if (arrived)
        op.steps = came;
    st = run(NULL, &op, end, false, err);
    if (st == WP_OK && out->count > 1)
        qsort(out->members, out->count, sizeof *out->members, by_join);
    return st;
}

wp_status wp__copy_join_settle(bool *missed, const wp__copy_end *end, const wp__copy_joins *joins,
                               const wp__copy_seqs *messages, const wp__copy_sum *as_read,
                               wp_error **err)
{
    static const step steps[] = {{LOCKED, OF_JOIN(LOCK, 2)},
                                 {ALL_HELD, OF_MESSAGES(COPY_HELD, 2)},
                                 {JOINS, OF_JOIN(READ, WP__COPY_JOIN_COLUMNS)},
                                 {NEXTS, OF_JOIN(READ_NEXT, WP__COPY_NEXT_COLUMNS)},
                                 {MEMBERS, OF_JOIN(READ_MEMBERS, 6)},
                                 {NONE, OF_JOIN(STRAYS, 1)},
                                 {WAITS, OF_JOIN(WAITS, 4)},
                                 {JUST_RUN, OF_JOIN(REMOVE_NEXT, 0)},
                                 {JUST_RUN, OF_JOIN(REMOVE_MEMBER, 0)},
                                 {JUST_RUN, OF_JOIN(REMOVE_WAIT, 0)},
                                 {JUST_RUN, OF_JOIN(REMOVE, 0)},
                                 {ABOUT, OF_MESSAGES(COPY_CLEAR, 0)},
                                 {ABOUT, OF_MESSAGES(COPY_REMOVE, 0)},
                                 {ABOUT, OF_MESSAGES(REMOVE_REPLAYED, 0)},
                                 FORGET};
    wp__copy_group now = {.count = 0};
    join_op op = {STEPS(steps), .messages = messages, .joins = joins->count, .wanted = as_read,
                  .group = &now};
    const wp_status st = run(missed, &op, end, true, err);
    wp__copy_group_free(&now);
    return st;
}

wp_status wp__copy_join_drop(const wp__copy_end *end, const wp__copy_seqs *messages, wp_error **err)
{
    static const step steps[] = {{ABOUT, OF_MESSAGES(COPY_CLEAR, 0)},
                                 {ABOUT, OF_MESSAGES(COPY_REMOVE, 0)},
                                 {ABOUT, OF_MESSAGES(REMOVE_REPLAYED, 0)},
                                 FORGET};
    join_op op = {STEPS(steps), .messages = messages};
    return run(NULL, &op, end, true, err);
}

wp_status wp__copy_join_free(const wp__copy_end *end, const wp__copy_seqs *messages, wp_error **err)
{
    static const step steps[] = {
        {JUST_RUN, OF_JOIN(OPEN, 0)},         {JUST_RUN, OF_JOIN(OPEN_NEXT, 0)},
        {JUST_RUN, OF_JOIN(OPEN_MEMBERS, 0)}, {JUST_RUN, OF_JOIN(OPEN_WAITS, 0)},
        {JUST_RUN, OF_JOIN(OPEN_WORK, 0)},    {ABOUT, OF_MESSAGES(COPY_FREE, 0)},
        {ABOUT, OF_MESSAGES(UNBLOCK, 0)},     FORGET};
    join_op op = {STEPS(steps), .messages = messages};
    return run(NULL, &op, end, true, err);
}

/* ---- lists -------------------------------------------------------------------------------- */

typedef struct list_op {
    wp_op base;
    const wp__copy_end *end;
    wp__sql_id statement;
    uint8_t columns;
    const wp__buf *seqs;
    int64_t after;
    /* one of these */
    wp__copy_joins *joins;
    wp__copy_pairs *pairs;
    wp__copy_waits *waits;
    int step;
} list_op;

static wp_status list_next(wp_op *op, wp_error **err)
{
    list_op *self = (list_op *)op;
    (void)err;
    if (self->step++)
        return WP_OK;
    wp__op_set_id(op, WP__P_OWNER, &self->end->peer);
    wp__op_set_text(op, WP__P_TOPIC, WP_JOIN_WAIT_TOPIC);
    wp__op_set_int(op, WP__P_NUMBER, self->after);
    if (self->seqs)
        wp__op_set_textn(op, WP__P_SEQS, self->seqs->data, self->seqs->len);
    wp__op_use(op, self->statement, self->columns);
    return WP_OK;
}

wp_status wp__copy_pairs_add(wp__copy_pairs *pairs, int64_t seq, int64_t state, wp_error **err)
{
    if (pairs->count == pairs->cap) {
        const size_t cap = pairs->cap ? pairs->cap * 2 : 64;
        wp__copy_pair *grown = realloc(pairs->items, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        pairs->items = grown;
        pairs->cap = cap;
    }
    pairs->items[pairs->count++] = (wp__copy_pair){seq, state};
    return WP_OK;
}

static wp_status pair_row(wp__copy_pairs *pairs, const wp__value *columns, wp_error **err)
{
    int64_t seq = 0, state = 0;
    wp_status st;
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&state, &columns[1], err)) != WP_OK)
        return st;
    return wp__copy_pairs_add(pairs, seq, state, err);
}

static wp_status list_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    list_op *self = (list_op *)op;
    int64_t seq = 0, arrived = 0;
    wp_id id;
    wp_status st;
    if (self->pairs)
        return pair_row(self->pairs, columns, err);
    if (self->waits)
        return wp__copy_waits_add(self->waits, columns, err);
    if ((st = wp__column_int(&seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_id(&id, &columns[1], err)) != WP_OK ||
        (self->columns > 2 && (st = wp__column_int(&arrived, &columns[2], err)) != WP_OK))
        return st;
    return joins_add(self->joins, &id, seq, arrived != 0, err);
}

static void list_rewind(wp_op *op)
{
    list_op *self = (list_op *)op;
    self->step = 0;
    if (self->joins)
        self->joins->count = 0;
    if (self->pairs)
        self->pairs->count = 0;
    if (self->waits)
        self->waits->count = 0;
}

static wp_status list(list_op *op, const wp__copy_end *end, wp_error **err)
{
    static const wp__op_class cls = {
        .next = list_next, .row = list_row, .rewind = list_rewind, .single = true};
    wp_status st;
    op->end = end;
    wp__op_init(&op->base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op->base, err);
    wp__op_fini(&op->base);
    return st;
}

wp_status wp__copy_join_list(wp__copy_joins *out, const wp__copy_end *end, wp_error **err)
{
    list_op op = {.statement = WP__SQL_COPY_JOIN_LIST, .columns = 3, .joins = out};
    return list(&op, end, err);
}

wp_status wp__copy_join_after(wp__copy_joins *out, const wp__copy_end *end, int64_t after,
                              wp_error **err)
{
    list_op op = {.statement = WP__SQL_COPY_JOIN_FIND, .columns = 2, .joins = out, .after = after};
    return list(&op, end, err);
}

wp_status wp__copy_join_pairs(wp__copy_pairs *out, const wp__copy_end *end, wp__sql_id statement,
                              const wp__buf *seqs, wp_error **err)
{
    list_op op = {.statement = statement, .columns = 2, .pairs = out, .seqs = seqs};
    return list(&op, end, err);
}

wp_status wp__copy_waits_add(wp__copy_waits *waits, const wp__value *columns, wp_error **err)
{
    wp__copy_wait *wait;
    int64_t held = 0;
    wp_status st;
    if (waits->count == waits->cap) {
        const size_t cap = waits->cap ? waits->cap * 2 : 8;
        wp__copy_wait *grown = realloc(waits->items, cap * sizeof *grown);
        if (!grown)
            return wp__fail_nomem(err);
        waits->items = grown;
        waits->cap = cap;
    }
    wait = &waits->items[waits->count];
    *wait = (wp__copy_wait){.seq = 0};
    if ((st = wp__column_int(&wait->seq, &columns[0], err)) != WP_OK ||
        (st = wp__column_int(&wait->state, &columns[1], err)) != WP_OK ||
        (st = wp__column_int(&held, &columns[2], err)) != WP_OK)
        return st;
    wait->held = held != 0;
    wait->names =
        columns[3].type == WP_VALUE_TEXT && wp__join_named(&wait->id, columns[3].p, columns[3].len);
    waits->count++;
    return WP_OK;
}

wp_status wp__copy_join_waits(wp__copy_waits *out, const wp__copy_end *end, wp_error **err)
{
    list_op op = {.statement = WP__SQL_COPY_JOIN_WAITS, .columns = 4, .waits = out};
    return list(&op, end, err);
}

/* ---- storing ------------------------------------------------------------------------------ */

enum { CHUNK = 500 };

typedef struct put_op {
    wp_op base;
    const wp__copy_end *end;
    const wp__copy_group *group;
    enum { FENCE, KNOWN, PUT, NEXT, MEMBER } step;
    size_t at;
    bool held_fence;
    bool known; /* the join that was asked for is there */
    wp__buf ids;
    wp__buf json;
    wp_id *chunk;
} put_op;

static void set_columns(wp_op *op, const wp__copy_row *row, const uint8_t (*map)[2], size_t count)
{
    for (size_t i = 0; i < count; i++)
        op->params[map[i][0]] = row->columns[map[i][1]];
}

static void use_put(put_op *self, const wp__copy_row *row)
{
    static const uint8_t map[][2] = {
        {WP__P_STATUS, WP__COPY_JOIN_STATUS},       {WP__P_NUMBER, WP__COPY_JOIN_EXPECTED},
        {WP__P_ATTEMPTS, WP__COPY_JOIN_COMPLETED},  {WP__P_VERSION, WP__COPY_JOIN_FAILED},
        {WP__P_COUNT_, WP__COPY_JOIN_FAIL_IF_ANY},  {WP__P_NAME, WP__COPY_JOIN_GROUP},
        {WP__P_PAYLOAD, WP__COPY_JOIN_METADATA},    {WP__P_SINCE, WP__COPY_JOIN_CREATED_AT},
        {WP__P_EXPIRES_AT, WP__COPY_JOIN_DEADLINE}, {WP__P_UNTIL, WP__COPY_JOIN_ENDED_AT},
        {WP__P_REASON, WP__COPY_JOIN_REASON},
    };
    set_columns(&self->base, row, map, sizeof map / sizeof map[0]);
    wp__op_set_id(&self->base, WP__P_ID, &row->id);
    wp__op_set_id(&self->base, WP__P_OWNER, &self->end->peer);
    wp__op_use(&self->base, WP__SQL_COPY_JOIN_PUT, 0);
}

static void use_put_next(put_op *self, const wp__copy_row *row)
{
    static const uint8_t map[][2] = {
        {WP__P_STATUS, WP__COPY_NEXT_STATUS},
        {WP__P_TOPIC, WP__COPY_NEXT_TOPIC},
        {WP__P_PAYLOAD, WP__COPY_NEXT_PAYLOAD},
        {WP__P_HEADERS, WP__COPY_NEXT_HEADERS},
        {WP__P_CORRELATION_ID, WP__COPY_NEXT_CORRELATION},
        {WP__P_ORDERING_KEY, WP__COPY_NEXT_ORDERING_KEY},
    };
    set_columns(&self->base, row, map, sizeof map / sizeof map[0]);
    wp__op_set_id(&self->base, WP__P_ID, &row->job_id);
    wp__op_set_id(&self->base, WP__P_OWNER, &row->id);
    wp__op_use(&self->base, WP__SQL_COPY_JOIN_PUT_NEXT, 0);
}

/* The next members of one join. */
static wp_status use_put_members(put_op *self, wp_error **err)
{
    const wp__copy_member *first = &self->group->members[self->at];
    size_t count = 0;
    wp_status st;
    wp__buf_clear(&self->json);
    for (; count < CHUNK && self->at + count < self->group->count &&
           memcmp(&first[count].join, &first->join, sizeof(wp_id)) == 0;
         count++) {
        const wp__copy_member *m = &first[count];
        self->chunk[count] = m->id;
        wp__buf_fmt(&self->json, "%s[%lld,%lld,", count ? "," : "[", (long long)m->status,
                    (long long)m->attached_us);
        if (m->counted_us == INT64_MIN)
            wp__buf_text(&self->json, "null]");
        else
            wp__buf_fmt(&self->json, "%lld]", (long long)m->counted_us);
    }
    wp__buf_text(&self->json, "]");
    if (self->json.failed)
        return wp__fail_nomem(err);
    if ((st = wp__op_set_ids(&self->base, &self->ids, self->chunk, count, err)) != WP_OK)
        return st;
    wp__op_set_id(&self->base, WP__P_ID, &first->join);
    wp__op_set_int(&self->base, WP__P_NUMBER, (int64_t)self->at);
    wp__op_set_textn(&self->base, WP__P_MESSAGES, self->json.data, self->json.len);
    wp__op_use(&self->base, WP__SQL_COPY_JOIN_PUT_MEMBERS, 0);
    self->at += count;
    return WP_OK;
}

/* The next one of `count`, or on to the next step. */
static bool has_next(put_op *self, size_t count)
{
    if (self->at < count)
        return true;
    self->at = 0;
    self->step++;
    return false;
}

static wp_status put_next(wp_op *op, wp_error **err)
{
    put_op *self = (put_op *)op;
    const wp__copy_group *group = self->group;
    if (self->step == FENCE) {
        self->step = KNOWN;
        wp__copy_use_fence(op, self->end);
        return WP_OK;
    }
    if (self->step == KNOWN && !self->at && !self->held_fence)
        return wp__copy_fail_fenced(self->end, err);
    if (self->known)
        return wp__fail(err, WP_E_STATE, "a join is there already");
    if (self->step == KNOWN && has_next(self, group->joins.count)) {
        wp__op_set_id(op, WP__P_ID, &group->joins.items[self->at++].id);
        wp__op_use(op, WP__SQL_COPY_JOIN_KNOWN, 1);
        return WP_OK;
    }
    if (self->step == PUT && has_next(self, group->joins.count)) {
        use_put(self, &group->joins.items[self->at++]);
        return WP_OK;
    }
    if (self->step == NEXT && has_next(self, group->nexts.count)) {
        use_put_next(self, &group->nexts.items[self->at++]);
        return WP_OK;
    }
    if (self->step == MEMBER && self->at < group->count)
        return use_put_members(self, err);
    return WP_OK;
}

static wp_status put_row(wp_op *op, const wp__value *columns, wp_error **err)
{
    put_op *self = (put_op *)op;
    (void)columns;
    (void)err;
    if (self->at) /* a join was asked for */
        self->known = true;
    else
        self->held_fence = true;
    return WP_OK;
}

static void put_rewind(wp_op *op)
{
    put_op *self = (put_op *)op;
    self->step = FENCE;
    self->at = 0;
    self->held_fence = self->known = false;
}

wp_status wp__copy_join_put(bool *known, const wp__copy_group *group, const wp__copy_end *end,
                            wp_error **err)
{
    static const wp__op_class cls = {
        .next = put_next, .row = put_row, .rewind = put_rewind, .writes = true, .races = true};
    put_op op = {.end = end, .group = group};
    wp_error *cause = NULL;
    wp_status st;
    op.chunk = calloc(CHUNK, sizeof *op.chunk);
    if (!op.chunk)
        return wp__fail_nomem(err);
    wp__op_init(&op.base, &cls, end->store);
    st = wp__store_run(end->store, NULL, &op.base, &cause);
    wp__op_fini(&op.base);
    wp__buf_free(&op.ids);
    wp__buf_free(&op.json);
    free(op.chunk);
    *known = st == WP_E_STATE && op.known;
    if (*known) {
        wp_error_free(cause);
        return WP_OK;
    }
    if (cause)
        wp__error_move(err, cause);
    return st;
}
