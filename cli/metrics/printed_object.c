#include "metrics/metric_lines.h"

#include <stdio.h>
#include <string.h>

static size_t skip_blanks(const char *line, size_t at, size_t length)
{
    while (at < length && strchr(" \t\r", line[at]))
        at++;
    return at;
}

static void leave_all(struct printed_object *object)
{
    object->depth = 0;
    object->path[0] = '\0';
}

/* Enters an object with the name [n], which may be "". An object that is too deep for a result ends all of them. */
static void enter(struct printed_object *object, const char *name, size_t n)
{
    const size_t length = strlen(object->path);
    if (object->depth == OBJECT_DEPTH || length + n + 2 > OBJECT_PATH_BYTES) {
        leave_all(object);
        return;
    }
    object->ends[object->depth++] = length;
    if (n)
        snprintf(object->path + length, OBJECT_PATH_BYTES - length, "%s%.*s", length ? "/" : "", (int)n, name);
}

static void leave(struct printed_object *object)
{
    if (object->depth)
        object->path[object->ends[--object->depth]] = '\0';
}

struct object_scan {
    const struct printed_object *object;
    const struct metric_query *query;
    const char *line;
    size_t length;
    metric_found_fn *report;
    void *context;
};

/* Reports the number at `at`, the value of the key [n], to each name that ends with the key and begins in the path. */
static bool report_value(const struct object_scan *s, const char *key, size_t n, size_t at)
{
    char full[2 * OBJECT_PATH_BYTES];
    const int length = snprintf(full, sizeof full, "%s/%.*s", s->object->path, (int)(n < OBJECT_PATH_BYTES ? n : 0), key);
    bool found = false, cut;
    for (size_t i = 0; i < s->query->n_names && s->object->path[0]; i++) {
        const char *name = s->query->names[i];
        const size_t bytes = strlen(name), from = (size_t)length - bytes;
        struct metric_found number = {.name = name, .name_length = bytes, .source = METRIC_BY_NAME, .unit = ""};
        if (bytes <= (size_t)length &&
            from > 1) { /* env_runners/return is not evaluation/env_runners/return, if both are there */
            size_t word = from - 1;
            while (word > 0 && full[word - 1] != '/')
                word--;
            number.before = full + word;
            number.before_length = from - 1 - word;
        }
        const size_t value = metric_scan_call(s->line, at, s->length);
        if (bytes > n && bytes <= (size_t)length && (from == 0 || full[from - 1] == '/') &&
            metric_scan_match(name, full + from, bytes, &cut) == bytes && metric_scan_value(&number, s->line, value, s->length)) {
            s->report(s->context, &number);
            found = true;
        }
    }
    return found;
}

/* Whether the line may be one of the open objects. A program that was cut off may leave them open for ever. */
static bool goes_on(const struct printed_object *object, const char *line, size_t at)
{
    if (strchr("-.0123456789", line[at]))
        return object->lists;
    return strchr("\"'{}[],", line[at]) && (at > 0 || (line[0] != '{' && line[0] != '['));
}

static bool ends_in_list(const char *line, size_t length)
{
    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    return length > 0 && (line[length - 1] == '[' || line[length - 1] == ',');
}

static const char *closing_quote(const char *line, size_t at, size_t length, char quote)
{
    while (at < length && line[at] != quote)
        at += line[at] == '\\' ? 2 : 1;
    return at < length ? line + at : NULL;
}

bool printed_object_scan(struct printed_object *object, const struct metric_query *query, const char *line, size_t length,
                         metric_found_fn *report, void *context)
{
    const struct object_scan scan = {object, query, line, length, report, context};
    size_t at = skip_blanks(line, 0, length);
    bool found = false;
    if (object->depth && at < length && !goes_on(object, line, at))
        leave_all(object);
    if (!object->depth && !memchr(line, '{', length))
        return false;
    if (at < length)
        object->lists = ends_in_list(line, length);
    while (at < length) {
        const char c = line[at++];
        if (c == '{') {
            enter(object, "", 0);
        } else if (c == '}') {
            leave(object);
        } else if (c == '"' || c == '\'') {
            const char *close = closing_quote(line, at, length, c);
            if (!close) { /* the line was cut off, or is a sentence */
                leave_all(object);
                break;
            }
            const size_t end = (size_t)(close - line), colon = skip_blanks(line, end + 1, length);
            const size_t value = colon < length && line[colon] == ':' ? skip_blanks(line, colon + 1, length) : length;
            if (value < length && line[value] == '{')
                enter(object, line + at, end - at);
            else if (value < length)
                found = report_value(&scan, line + at, end - at, value) || found;
            at = value < length && line[value] == '{' ? value + 1 : value < length ? value : end + 1;
        }
    }
    return found;
}
