/* held_out.c: see held_out.h. */
#include "metrics/held_out.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

/* Values with fewer digits (0.5, 1) are hidden only where they have the metric's name: they are everywhere. */
enum { DIGITS_LEAST = 3, NUMBER_BYTES = 64 };

void held_out_init(struct held_out *held, const char *name, const struct metric_rule *rule)
{
    *held = (struct held_out){.name = name};
    if (!name)
        return;
    held->value.rule = *rule;
    const struct metric_query query = {.names = &held->name, .n_names = 1};
    metric_lines_init(&held->lines, &query, name);
}

void held_out_release(struct held_out *held)
{
    if (!held->name)
        return;
    metric_value_release(&held->value);
    metric_lines_release(&held->lines);
}

bool held_out_is(const char *held, const char *name)
{
    bool cut;
    const size_t length = strlen(name);
    return held && metric_scan_match(held, name, length, &cut) == length;
}

static size_t count_digits(double value)
{
    char text[NUMBER_BYTES];
    size_t n = 0, zeros = 0;
    snprintf(text, sizeof text, "%.12g", fabs(value));
    for (const char *c = text; *c && *c != 'e'; c++) {
        if (!isdigit((unsigned char)*c) || (*c == '0' && !n))
            continue;
        zeros = *c == '0' ? zeros + 1 : 0;
        n++;
    }
    return n - zeros;
}

/* Whether a number with these digits, the last of them of this unit, is the value, perhaps rounded. */
static bool is_rounded(double number, double value, double unit, size_t digits)
{
    return fabs(number - value) <= 1e-9 * fabs(value) || (digits >= DIGITS_LEAST && fabs(number - value) <= 0.5000001 * unit);
}

static bool is_seen(const struct held_out *held, double number, double unit)
{
    const size_t digits = count_digits(number), n = held->n_seen < HELD_OUT_SEEN ? held->n_seen : HELD_OUT_SEEN;
    for (size_t i = 0; i < n; i++)
        if (count_digits(held->seen[i]) >= DIGITS_LEAST &&
            (is_rounded(number, held->seen[i], unit, digits) || is_rounded(number, 100 * held->seen[i], unit, digits) ||
             is_rounded(number, held->seen[i] / 100, unit, digits)))
            return true;
    return false;
}

static void remember(struct held_out *held, double value)
{
    if (isfinite(value))
        held->seen[held->n_seen++ % HELD_OUT_SEEN] = fabs(value); /* numbers in texts are found without their signs */
}

static void blot(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (isdigit((unsigned char)text[i]))
            text[i] = 'x';
}

/* The length of the number at the text, with its exponent, and the unit of its last digit. 0: it is not a number. */
static size_t number_at(const char *text, size_t length, double *value, double *unit)
{
    char copy[NUMBER_BYTES];
    size_t n = 0, point = 0;
    while (n < length && n < sizeof copy - 1 && (isdigit((unsigned char)text[n]) || (text[n] == '.' && !point))) {
        point = text[n] == '.' ? n + 1 : point;
        n++;
    }
    const size_t digits_end = n;
    if (n + 1 < length && (text[n] == 'e' || text[n] == 'E')) {
        size_t e = n + 1 + (text[n + 1] == '-' || text[n + 1] == '+');
        if (e < length && isdigit((unsigned char)text[e]) && e + 8 < sizeof copy) {
            while (e < length && e < sizeof copy - 1 && isdigit((unsigned char)text[e]))
                e++;
            n = e;
        }
    }
    while (n && text[n - 1] == '.')
        n--;
    memcpy(copy, text, n);
    copy[n] = '\0';
    const double exponent = n > digits_end ? strtod(copy + digits_end + 1, NULL) : 0;
    *unit = pow(10, exponent - (point ? (double)(digits_end - point) : 0));
    return n && lineage_number_parse(value, copy, n) ? n : 0;
}

void held_out_hide(const struct held_out *held, char *text, size_t length)
{
    if (!held->name || !held->n_seen)
        return;
    for (size_t i = 0; i < length;) {
        double value, unit;
        size_t n = 0;
        const bool begins =
            isdigit((unsigned char)text[i]) || (text[i] == '.' && i + 1 < length && isdigit((unsigned char)text[i + 1]));
        if (begins)
            n = number_at(text + i, length - i, &value, &unit);
        if (n && is_seen(held, value, unit))
            blot(text + i, n);
        i += n ? n : 1;
    }
}

struct place {
    const struct held_out *held;
    char *line;
    size_t length;
    bool found;
};

/* Hides the number, and a number in brackets behind it: `0.9 (best 0.91)`. */
static void hide_found(void *context, const struct metric_found *found)
{
    struct place *place = context;
    bool cut;
    if (metric_scan_match(place->held->name, found->name, found->name_length, &cut) != found->name_length)
        return;
    size_t end = found->at + found->length;
    place->found = true;
    blot(place->line + found->at, found->length);
    while (end < place->length && place->line[end] == ' ')
        end++;
    const char *close = end < place->length && place->line[end] == '('   ? ")"
                        : end < place->length && place->line[end] == '[' ? "]"
                                                                         : NULL;
    while (close && end < place->length && place->line[end] != *close) {
        blot(place->line + end, 1);
        end++;
    }
}

/* In a line with colours, the places of the numbers are not those of the text that is read, so every number is hidden. */
static void hide_coloured(char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] == '\033')
            while (i + 1 < length && !isalpha((unsigned char)line[i]))
                i++;
        else
            blot(line + i, 1);
}

static void take_line(struct held_out *held, char *line, size_t length)
{
    struct trial_event event;
    struct place place = {held, line, length, false};
    const struct metric_query query = {.names = &held->name, .n_names = 1, .sentences = true};
    const bool read = metric_lines_read(&held->lines, &event, line, length) && event.has_score;
    const bool coloured = memchr(line, '\033', length) || memchr(line, '\b', length);
    char *plain = coloured ? malloc(length + 1) : NULL;
    if (read) {
        metric_value_add(&held->value, (struct metric_place){0, event.has_step ? event.step : 0}, event.score);
        remember(held, event.score);
    }
    if (plain) {
        place.line = plain;
        place.length = metric_scan_strip(plain, line, length);
    }
    if (!coloured || plain)
        metric_scan_line(&query, plain ? plain : line, place.length, hide_found, &place);
    if (coloured && (place.found || read || !plain))
        hide_coloured(line, length);
    else if (read && !place.found) /* a cell of a table, whose name is above it */
        held_out_hide(held, line, length);
    free(plain);
}

void held_out_take_lines(struct held_out *held, char *bytes, size_t length)
{
    if (!held->name || !metric_lines_may_be_in(&held->lines, bytes, length))
        return;
    for (size_t from = 0, at = 0; at <= length; at++)
        if (at == length || bytes[at] == '\n' || bytes[at] == '\r') {
            if (at > from)
                take_line(held, bytes + from, at - from);
            from = at + 1;
        }
}

static void take_members(struct held_out *held, json_t *object, int64_t step)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value) {
        if (held_out_is(held->name, name)) {
            if (json_is_number(value)) {
                metric_value_add(&held->value, (struct metric_place){0, step}, json_number_value(value));
                remember(held, json_number_value(value));
            }
            json_object_del(object, name);
        } else if (json_is_object(value)) {
            take_members(held, value, step);
        }
    }
    json_object_foreach(object, name, value) {
        char *text = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
        if (text) {
            held_out_hide(held, text, strlen(text));
            if (strcmp(text, json_string_value(value)) != 0)
                json_string_set(value, text);
            free(text);
        }
    }
}

void held_out_hide_members(const struct held_out *held, json_t *object, const struct trial_event *event,
                           const struct metric_query *asked, const char *score)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value) {
        char text[NUMBER_BYTES];
        double number, unit;
        bool needed = score && held_out_is(score, name);
        for (size_t i = 0; !needed && i < asked->n_names; i++)
            needed = held_out_is(asked->names[i], name);
        if (json_is_object(value))
            held_out_hide_members(held, value, event, asked, score);
        if (needed || !event_is_metric(event, name, value, asked))
            continue;
        const int length = snprintf(text, sizeof text, "%.12g", fabs(json_number_value(value)));
        if (number_at(text, (size_t)length, &number, &unit) && is_seen(held, number, unit))
            json_object_del(object, name);
    }
}

void held_out_take_event(struct held_out *held, json_t *line, struct trial_event *event)
{
    if (!held->name)
        return;
    take_members(held, line, event->has_step ? event->step : 0);
    if (event->not_finite && held_out_is(held->name, event->not_finite))
        event->not_finite = NULL;
    if (event->text) /* the texts may have been written anew */
        event->text = json_string_value(json_object_get(line, "text"));
    if (event->failed)
        event->failed = json_string_value(json_object_get(line, "failed"));
    if (event->phase)
        event->phase = json_string_value(json_object_get(line, "phase"));
}

void held_out_end_run(struct held_out *held)
{
    if (!held->name)
        return;
    if (held->value.count && isfinite(held->value.value)) {
        held->sum += held->value.value;
        held->runs++;
    }
    metric_value_reset(&held->value);
}
