/* SPDX-License-Identifier: Apache-2.0 */
/* Reading expressions. */
#include "cron/cron.h"

#include <stdio.h>
#include <string.h>

/* ---- fields ------------------------------------------------------------------------------- */

typedef enum field_kind { TIME, DAY, MONTH, WEEKDAY } field_kind;

typedef struct field {
    const char *name;
    field_kind kind;
    int32_t min, max;
    int32_t size;      /* different values: 7 stands for Sunday, as 0 does */
    const char *names; /* of values from `min` on, three letters each; or NULL */
    const char *allowed;
} field;

enum { SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH_OF_YEAR, DAY_OF_WEEK, FIELDS };

static const field fields[FIELDS] = {
    {"second", TIME, 0, 59, 60, NULL, "a number from 0 to 59"},
    {"minute", TIME, 0, 59, 60, NULL, "a number from 0 to 59"},
    {"hour", TIME, 0, 23, 24, NULL, "a number from 0 to 23"},
    {"day of month", DAY, 1, 31, 31, NULL, "a number from 1 to 31, or L"},
    {"month", MONTH, 1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC",
     "a number from 1 to 12, or a name from JAN to DEC"},
    {"day of week", WEEKDAY, 0, 7, 7, "SUNMONTUEWEDTHUFRISAT",
     "a number from 0 to 7, or a name from SUN to SAT"},
};

/* ---- the text ----------------------------------------------------------------------------- */

typedef struct parser {
    const char *text;
    const char *at;
    const field *field;
    wp__cron *cron;
    wp_error **err;
} parser;

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_end(char c)
{
    return c == '\0' || is_space(c);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool take(parser *p, char c)
{
    if (upper(*p->at) != c)
        return false;
    p->at++;
    return true;
}

static void skip_spaces(parser *p)
{
    while (is_space(*p->at))
        p->at++;
}

/* What stands at `at`, up to the next comma or blank, is not `wanted`. */
static wp_status bad(const parser *p, const char *at, const char *wanted)
{
    const size_t len = strcspn(at, ", \t");
    const size_t position = (size_t)(at - p->text) + 1;
    if (len == 0)
        return wp__fail(p->err, WP_E_ARGUMENT, "expression: %s, position %zu: %s is missing",
                        p->field->name, position, wanted);
    return wp__fail(p->err, WP_E_ARGUMENT, "expression: %s, position %zu: \"%.*s\" is not %s",
                    p->field->name, position, (int)(len < 40 ? len : 40), at, wanted);
}

/* Digits; a number that does not fit is only told to be large. */
static bool read_digits(int64_t *out, parser *p)
{
    int64_t number = 0;
    if (!is_digit(*p->at))
        return false;
    for (; is_digit(*p->at); p->at++)
        if (number < INT64_C(1000000000000))
            number = number * 10 + (*p->at - '0');
    *out = number;
    return true;
}

/* A number that is no value of the field: a step, an offset, the k in n#k. */
static wp_status read_count(int32_t *out, parser *p, int32_t min, int32_t max, const char *what)
{
    const char *start = p->at;
    char wanted[60];
    int64_t number = 0;
    if (!read_digits(&number, p) || number < min || number > max) {
        (void)snprintf(wanted, sizeof wanted, "%s from %d to %d", what, (int)min, (int)max);
        return bad(p, start, wanted);
    }
    *out = (int32_t)number;
    return WP_OK;
}

/* A name of three letters; -1 if it is none. */
static int32_t read_name(parser *p)
{
    const char *name = p->field->names;
    for (int32_t i = 0; name && *name; i++, name += 3) {
        if (upper(p->at[0]) == name[0] && upper(p->at[1]) == name[1] &&
            upper(p->at[2]) == name[2]) {
            p->at += 3;
            return p->field->min + i;
        }
    }
    return -1;
}

static wp_status read_value(int32_t *out, parser *p)
{
    const char *start = p->at;
    int64_t number = 0;
    if (!read_digits(&number, p))
        number = read_name(p);
    if (number < p->field->min || number > p->field->max)
        return bad(p, start, p->field->allowed);
    *out = (int32_t)number;
    return WP_OK;
}

/* ---- items -------------------------------------------------------------------------------- */

/* Every `step`-th value from `low` to `high`, going round if that is lower. */
static void add_range(uint64_t *set, const field *f, int32_t low, int32_t high, int32_t step)
{
    if (low > high && f->kind == WEEKDAY && low == 7)
        low = 0;
    if (low > high)
        high += f->size;
    for (int32_t value = low; value <= high; value += step)
        *set |= UINT64_C(1) << (f->min + (value - f->min) % f->size);
}

/* What follows the first value of a range or a step; `low` to `high` is what it is so far. */
static wp_status read_rest(uint64_t *set, parser *p, int32_t low, int32_t high)
{
    int32_t step = 1;
    wp_status st = WP_OK;
    if (take(p, '/')) {
        p->cron->interval |= p->field->kind == TIME;
        if ((st = read_count(&step, p, 1, p->field->max, "a step")) != WP_OK)
            return st;
    }
    add_range(set, p->field, low, high, step);
    return WP_OK;
}

static wp_status read_star(uint64_t *set, parser *p)
{
    p->cron->interval |= p->field->kind == TIME;
    return read_rest(set, p, p->field->min, p->field->min + p->field->size - 1);
}

/* L, L-n, LW, L-nW: the L is taken. */
static wp_status read_last_day(parser *p)
{
    int32_t before = 0;
    wp_status st = WP_OK;
    if (take(p, '-') && (st = read_count(&before, p, 0, 30, "a number of days")) != WP_OK)
        return st;
    if (take(p, 'W'))
        p->cron->last_workdays |= UINT64_C(1) << before;
    else
        p->cron->last_days |= UINT64_C(1) << before;
    return WP_OK;
}

static wp_status read_nth_weekday(parser *p, int32_t weekday)
{
    int32_t nth = 0; /* L: the last */
    wp_status st = WP_OK;
    if (!take(p, 'L')) {
        p->at++; /* # */
        st = read_count(&nth, p, 1, 5, "a number");
    }
    if (st == WP_OK)
        p->cron->nth_weekdays[nth] |= UINT64_C(1) << weekday % 7;
    return st;
}

static wp_status read_item(uint64_t *set, parser *p)
{
    const field_kind kind = p->field->kind;
    int32_t low = 0, high = 0;
    wp_status st = WP_OK;
    if (take(p, '*'))
        return read_star(set, p);
    if (kind == DAY && take(p, 'L'))
        return read_last_day(p);
    if ((st = read_value(&low, p)) != WP_OK)
        return st;
    if (kind == DAY && take(p, 'W')) {
        p->cron->workdays |= UINT64_C(1) << low;
        return WP_OK;
    }
    if (kind == WEEKDAY && (upper(*p->at) == 'L' || *p->at == '#'))
        return read_nth_weekday(p, low);
    high = *p->at == '/' ? p->field->max : low;
    if (take(p, '-')) {
        p->cron->interval |= kind == TIME;
        if ((st = read_value(&high, p)) != WP_OK)
            return st;
    }
    return read_rest(set, p, low, high);
}

/* The field at hand, and the blanks behind it. */
static wp_status read_field(uint64_t *set, parser *p, const field *f)
{
    wp_status st = WP_OK;
    p->field = f;
    if ((f->kind == DAY || f->kind == WEEKDAY) && take(p, '?')) {
        add_range(set, f, f->min, f->max, 1);
    } else {
        do {
            if ((st = read_item(set, p)) != WP_OK)
                return st;
        } while (take(p, ','));
    }
    if (!is_end(*p->at))
        return bad(p, p->at, "expected here");
    skip_spaces(p);
    return WP_OK;
}

/* ---- macros ------------------------------------------------------------------------------- */

/* If the text continues with `word` in any case, and there it or a blank ends, go behind it. */
static bool take_word(parser *p, const char *word)
{
    size_t len = 0;
    while (word[len] && upper(p->at[len]) == upper(word[len]))
        len++;
    if (word[len] || !is_end(p->at[len]))
        return false;
    p->at += len;
    return true;
}

/* The seconds in a unit of a duration; 0 if it is none. */
static int32_t unit_of(char c)
{
    switch (upper(c)) {
    case 'S':
        return 1;
    case 'M':
        return 60;
    case 'H':
        return 3600;
    case 'D':
        return 86400;
    default:
        return 0;
    }
}

/* "1h30m": numbers with units, in any order. */
static wp_status read_duration(parser *p)
{
    static const field duration = {.name = "duration"};
    static const char wanted[] = "a duration from 1s to 3660d, such as 90s or 1h30m";
    const char *start = NULL;
    int64_t number = 0, total = 0;
    p->field = &duration;
    skip_spaces(p);
    start = p->at;
    do {
        if (!read_digits(&number, p) || number > INT64_C(1000000000) || !unit_of(*p->at))
            return bad(p, start, wanted);
        total += number * unit_of(*p->at++);
    } while (!is_end(*p->at));
    if (total < 1 || total > INT64_C(3660) * 86400)
        return bad(p, start, wanted);
    skip_spaces(p);
    if (*p->at)
        return bad(p, p->at, "expected here");
    p->cron->period = total;
    return WP_OK;
}

static wp_status read_fields(parser *p);

static wp_status read_macro(parser *p)
{
    static const char *const macros[][2] = {
        {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    };
    static const field macro = {.name = "macro"};
    parser inner = *p;
    p->field = &macro;
    if (take_word(p, "@every"))
        return read_duration(p);
    for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++) {
        if (take_word(p, macros[i][0])) {
            skip_spaces(p);
            if (*p->at)
                return bad(p, p->at, "expected here");
            inner.text = inner.at = macros[i][1];
            return read_fields(&inner);
        }
    }
    return bad(p, p->at,
               "@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly or @every");
}

/* ---- expressions -------------------------------------------------------------------------- */

/* How many fields there are; *end is where they end, or the seventh begins. */
static int count_fields(const char **end, const char *text)
{
    int count = 0;
    const char *at = text;
    for (;;) {
        while (is_space(*at))
            at++;
        *end = at;
        if (*at == '\0' || ++count > FIELDS)
            return count;
        while (!is_end(*at))
            at++;
    }
}

static wp_status read_fields(parser *p)
{
    wp__cron *cron = p->cron;
    uint64_t *const sets[FIELDS] = {&cron->seconds, &cron->minutes, &cron->hours,
                                    &cron->days,    &cron->months,  &cron->weekdays};
    const char *end = NULL;
    const int count = count_fields(&end, p->at);
    bool restricted[FIELDS] = {false};
    wp_status st = WP_OK;
    if (count < FIELDS - 1 || count > FIELDS)
        return wp__fail(p->err, WP_E_ARGUMENT,
                        "expression: it %s at position %zu: 5 fields are needed (minute, hour, day "
                        "of month, month, day of week), or 6 with the second before them",
                        count > FIELDS ? "has more than 6 fields, the next one"
                        : count == 0   ? "has no field, and ends"
                                       : "has too few fields, and ends",
                        (size_t)(end - p->text) + 1);
    if (count < FIELDS)
        cron->seconds = 1;
    for (int i = FIELDS - count; i < FIELDS; i++) {
        restricted[i] = *p->at != '*' && *p->at != '?';
        if ((st = read_field(sets[i], p, &fields[i])) != WP_OK)
            return st;
    }
    cron->either = restricted[DAY_OF_MONTH] && restricted[DAY_OF_WEEK];
    if (!wp__cron_has_day(cron))
        return wp__fail(p->err, WP_E_ARGUMENT,
                        "expression: it never fires: no day of month, month and day of week are as "
                        "it wants them");
    return WP_OK;
}

wp_status wp__cron_parse(wp__cron *out, const char *expression, wp_error **err)
{
    wp__cron cron = {.period = 0};
    parser p = {expression, expression, NULL, &cron, err};
    wp_status st = WP_OK;
    skip_spaces(&p);
    st = *p.at == '@' ? read_macro(&p) : read_fields(&p);
    if (st == WP_OK)
        *out = cron;
    return st;
}
