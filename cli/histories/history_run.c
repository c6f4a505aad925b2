/* history_run.c: the form that every reader gives; see history.h. */
#define _GNU_SOURCE /* timegm */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/text.h>

#include "cli.h"
#include "histories/readers.h"

enum { DEPTH = 16, NAME_BYTES = 256 };

json_t *history_fail(char why[HISTORY_WHY_MAX], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, HISTORY_WHY_MAX, format, arguments);
    va_end(arguments);
    return NULL;
}

json_t *history_text(const char *text)
{
    return text ? cli_json_text(text) : json_null();
}

json_t *history_new(const char *tool)
{
    return json_pack("{s:s, s:[], s:i}", "tool", tool, "runs", "left_out", 0);
}

json_t *history_add_run(json_t *history, const char *key)
{
    json_t *run = json_pack("{s:o, s:s, s:{}, s:{}, s:{}, s:i}", "key", history_text(key), "state", "finished", "params", "metrics",
                            "curves", "left_out", 0);
    return json_array_append_new(json_object_get(history, "runs"), run) == 0 ? run : NULL;
}

json_t *history_run_of(json_t *history, json_t *index, const char *key)
{
    json_t *run = json_object_get(index, key);
    if (!run && (run = history_add_run(history, key)))
        json_object_set(index, key, run);
    return run;
}

void history_set_text(json_t *run, const char *member, const char *text)
{
    if (text && *text)
        json_object_set_new(run, member, history_text(text));
}

void history_set_time(json_t *run, const char *member, double seconds)
{
    if (isfinite(seconds))
        json_object_set_new(run, member, json_real(seconds));
}

static void leave_out(json_t *run)
{
    json_object_set_new(run, "left_out", json_integer(json_integer_value(json_object_get(run, "left_out")) + 1));
}

/* ---- settings and metrics ---- */

static void add_param(json_t *run, const char *name, json_t *value, int depth)
{
    const char *member;
    json_t *inner;
    if (json_is_object(value) && depth < DEPTH) {
        json_object_foreach(value, member, inner) {
            char path[NAME_BYTES];
            snprintf(path, sizeof path, "%s%s%s", name, *name ? "." : "", member);
            add_param(run, path, inner, depth + 1);
        }
    } else if (json_is_string(value)) {
        history_add_param_text(run, name, json_string_value(value));
    } else if (json_is_array(value) || json_is_object(value)) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
        history_set_text(json_object_get(run, "params"), name, text);
        free(text);
    } else if (json_is_boolean(value)) {
        history_set_text(json_object_get(run, "params"), name, json_is_true(value) ? "true" : "false");
    } else if (json_is_number(value)) {
        json_object_set_new(json_object_get(run, "params"), name, json_real(json_number_value(value)));
    }
}

void history_add_param(json_t *run, const char *name, json_t *value)
{
    add_param(run, name, value, 0);
    json_decref(value);
}

void history_add_param_text(json_t *run, const char *name, const char *text)
{
    double number;
    json_t *params = json_object_get(run, "params");
    if (lineage_number_parse(&number, text, strlen(text)) && isfinite(number))
        json_object_set_new(params, name, json_real(number));
    else
        history_set_text(params, name, text);
}

void history_set_metric(json_t *run, const char *name, double value)
{
    if (isfinite(value))
        json_object_set_new(json_object_get(run, "metrics"), name, json_real(value));
    else
        leave_out(run);
}

void history_add_point(json_t *run, const char *name, int64_t step, double value)
{
    json_t *curves = json_object_get(run, "curves"), *curve = json_object_get(curves, name);
    if (!isfinite(value)) {
        leave_out(run);
        return;
    }
    if (!curve) {
        curve = json_array();
        if (json_object_set_new(curves, name, curve) != 0)
            return;
    }
    json_array_append_new(curve, json_pack("[I, f]", (json_int_t)step, value));
    history_set_metric(run, name, value);
}

/* ---- times and files ---- */

double history_time(const char *text, bool local)
{
    struct tm tm = {.tm_isdst = -1};
    double fraction = 0;
    int hours = 0, minutes = 0;
    const char *rest = text ? strptime(text, "%Y-%m-%d", &tm) : NULL;
    if (!rest || (*rest != 'T' && *rest != ' ') || !(rest = strptime(rest + 1, "%H:%M:%S", &tm)))
        return (double)NAN;
    if (*rest == '.') {
        char *end;
        fraction = strtod(rest, &end);
        rest = end;
    }
    if (*rest == 'Z' || *rest == '+' || *rest == '-')
        local = false;
    if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2d:%2d", &hours, &minutes) < 1)
        return (double)NAN;
    const double offset = (*rest == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
    const time_t seconds = local ? mktime(&tm) : timegm(&tm);
    return seconds == (time_t)-1 ? (double)NAN : (double)seconds + fraction - offset;
}

char *history_file_text(const char *path, size_t most_bytes, size_t *length, char why[HISTORY_WHY_MAX])
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    *length = 0;
    if (fd < 0 || fstat(fd, &st) != 0)
        history_fail(why, "cannot open %.300s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        history_fail(why, "%.300s is not a file", path);
    else if ((uint64_t)st.st_size > most_bytes)
        history_fail(why, "%.300s has %lld bytes, of which at most %zu are read", path, (long long)st.st_size, most_bytes);
    else if (!(text = malloc((size_t)st.st_size + 1)))
        history_fail(why, "out of memory");
    ssize_t n = 1;
    while (text && n > 0 && *length < (size_t)st.st_size)
        if ((n = read(fd, text + *length, (size_t)st.st_size - *length)) > 0)
            *length += (size_t)n;
    if (text && n < 0) {
        history_fail(why, "cannot read %.300s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (text)
        text[*length] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}
