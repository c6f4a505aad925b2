/*
 * metric_lines.c: two forms of line, told from all others by their first bytes.
 *
 * A program may print gigabytes that are no metrics, and hundreds of thousands of lines that are: a line costs no
 * memory, and the JSON object of the event is used again.
 */
#include "trial/metric_lines.h"

#include <math.h>
#include <string.h>

#include <lineage/text.h>

static const char prefix[] = "METRIC ";

void metric_lines_init(struct metric_lines *lines, const char *const *asked, size_t n_asked, const char *score)
{
    *lines = (struct metric_lines){
        .asked = asked, .n_asked = n_asked, .score = score ? score : "score", .line = json_object()};
}

void metric_lines_release(struct metric_lines *lines)
{
    json_decref(lines->line);
    lines->line = NULL;
}

/* The value as the event's number. The object of the line before is used again if it holds this name alone, which is
 * what a program prints that prints one metric a line. */
static void set_number(struct metric_lines *lines, bool first, const char *name, double value)
{
    json_t *there = json_object_get(lines->line, name);
    if (first && (!json_is_real(there) || json_object_size(lines->line) != 2)) { /* the name and the step */
        json_object_clear(lines->line);
        there = NULL;
    }
    if (there)
        json_real_set(there, value);
    else
        json_object_set_new(lines->line, name, json_real(value));
}

/* Whether this name begins a new step: it came at this one already. Names beyond the table count for no step. */
static bool comes_again(struct metric_lines *lines, const char *name)
{
    size_t i = 0;
    while (i < lines->n_seen && strcmp(lines->seen[i].name, name) != 0)
        i++;
    if (i == METRIC_NAMES_MAX)
        return false;
    bool again = i < lines->n_seen && lines->seen[i].step == lines->step;
    strcpy(lines->seen[i].name, name);
    lines->seen[i].step = lines->step + again;
    lines->n_seen += i == lines->n_seen;
    return again;
}

struct reading {
    struct metric_lines *lines;
    struct trial_event *event;
    size_t n;
};

/* Of several values of one line that are not finite the first is named. */
static void take(struct reading *r, const char *name, double value)
{
    bool is_score = strcmp(name, r->lines->score) == 0;
    if (!isfinite(value)) {
        if (!r->event->not_finite)
            r->event->not_finite = strcpy(r->lines->lost, name);
        r->event->lost_score = r->event->lost_score || is_score;
        return;
    }
    if (strcmp(name, "step") == 0) {
        if (value >= 0 && value <= 9e15)
            r->lines->step = (int64_t)value;
        return;
    }
    if (comes_again(r->lines, name))
        r->lines->step++;
    set_number(r->lines, r->n == 0, name, value);
    r->n++;
    if (is_score) {
        r->event->has_score = true;
        r->event->score = value;
    }
}

/* Bytes of the number at text: up to a blank or what may stand behind a number in a sentence. */
static size_t number_length(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && !memchr(" \t,;)%", text[n], 6))
        n++;
    return n;
}

/* Name and number of `name=value`, `name: value`; false if it is neither. */
static bool take_pair(struct reading *r, const char *name, size_t name_length, const char *value, size_t length)
{
    char copy[METRIC_NAME_BYTES];
    double number;
    if (name_length == 0 || name_length >= sizeof copy || !lineage_number_parse(&number, value, length))
        return false;
    memcpy(copy, name, name_length);
    copy[name_length] = '\0';
    take(r, copy, number);
    return true;
}

/* A step that the line says counts for all of it, wherever in the line it stands. */
static void read_words(struct reading *r, const char *text, const char *end, bool steps)
{
    while (text < end) {
        size_t n = 0, equals = 0;
        while (text + n < end && text[n] != ' ' && text[n] != '\t' && text[n] != ',')
            n++;
        while (equals < n && text[equals] != '=')
            equals++;
        if (equals < n && (equals == 4 && memcmp(text, "step", 4) == 0) == steps)
            take_pair(r, text, equals, text + equals + 1, n - equals - 1);
        text += n + 1;
    }
}

static void read_metric(struct reading *r, const char *text, const char *end)
{
    r->event->channel = TRIAL_CHANNEL_METRIC;
    read_words(r, text, end, true);
    read_words(r, text, end, false);
}

static void read_named(struct reading *r, const char *name, const char *text, const char *end)
{
    size_t n = strlen(name);
    if ((size_t)(end - text) <= n || memcmp(text, name, n) != 0)
        return;
    text += n;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    if (text == end || *text != ':')
        return;
    text++;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    r->event->channel = TRIAL_CHANNEL_NAMED;
    take_pair(r, name, n, text, number_length(text, (size_t)(end - text)));
}

static bool finish(struct reading *r)
{
    if (r->n == 0)
        json_object_clear(r->lines->line);
    json_t *step = json_object_get(r->lines->line, "step");
    if (step)
        json_integer_set(step, (json_int_t)r->lines->step);
    else
        json_object_set_new(r->lines->line, "step", json_integer((json_int_t)r->lines->step));
    r->event->line = r->lines->line;
    r->event->has_step = r->n > 0;
    r->event->step = r->lines->step;
    return r->n > 0 || r->event->not_finite;
}

/* From behind the last carriage return on, but for one that ends the line. */
static const char *visible(const char *text, size_t *length)
{
    if (*length && text[*length - 1] == '\r')
        --*length;
    const char *again = memrchr(text, '\r', *length);
    if (!again)
        return text;
    *length -= (size_t)(again + 1 - text);
    return again + 1;
}

bool metric_lines_may_be_in(const struct metric_lines *lines, const char *text, size_t length)
{
    bool found = memmem(text, length, prefix, sizeof prefix - 1) != NULL;
    for (size_t i = 0; i < lines->n_asked && !found; i++)
        found = memmem(text, length, lines->asked[i], strlen(lines->asked[i])) != NULL;
    return found;
}

bool metric_lines_read(struct metric_lines *lines, struct trial_event *event, const char *text, size_t length)
{
    struct reading r = {lines, event, 0};
    const size_t n = sizeof prefix - 1;
    text = visible(text, &length);
    *event = (struct trial_event){.train_s = -1, .eval_s = -1};
    if (length > n && memcmp(text, prefix, n) == 0)
        read_metric(&r, text + n, text + length);
    for (size_t i = 0; i < lines->n_asked && !event->channel; i++)
        read_named(&r, lines->asked[i], text, text + length);
    return event->channel && finish(&r);
}
