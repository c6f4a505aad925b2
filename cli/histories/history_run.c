/* history_run.c: the form that every reader gives; see history.h. */
#define _GNU_SOURCE /* timegm, asprintf, strcasestr */
#include <ctype.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/notes.h>
#include <lineage/text.h>

#include "histories/readers.h"

enum { DEPTH = 16, FILE_BYTES = 1 << 30 };

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
    return json_pack("{s:s, s:[], s:{}, s:{}, s:{}, s:{}}", "tool", tool, "runs", "directions", "aliases", "left_out",
                     "settings_left_out");
}

json_t *history_without_ends(const char *tool)
{
    json_t *history = history_new(tool);
    json_object_set_new(history, "ends_unknown", json_true());
    return history;
}

json_t *history_add_run(json_t *history, const char *key)
{
    json_t *run = json_pack("{s:o, s:s, s:{}, s:{}, s:{}, s:{}, s:i}", "key", history_text(key), "state", "finished", "params",
                            "metrics", "curves", "steps", "left_out", 0);
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

void history_set_notes(json_t *run, const char *text)
{
    char line[300];
    size_t n = text ? strlen(text) : 0, from;
    while (n && text[n - 1] == '\n')
        n--;
    for (from = n; from && text[from - 1] != '\n';)
        from--;
    snprintf(line, sizeof line, "%.*s", (int)(n - from), text ? text + from : "");
    history_set_text(run, "notes", line);
}

void history_leave_out(json_t *history, const char *reason)
{
    json_t *counts = json_object_get(history, "left_out");
    json_object_set_new(counts, reason, json_integer(json_integer_value(json_object_get(counts, reason)) + 1));
}

void history_set_direction(json_t *history, const char *metric, bool maximize)
{
    json_object_set_new(json_object_get(history, "directions"), metric, json_string(maximize ? "maximize" : "minimize"));
}

/* ---- JSON that Python writes ---- */

json_t *history_json(const char *text)
{
    size_t length = strlen(text);
    char *quoted = cli_json_quoted(text, &length, CLI_QUOTE_INTEGERS | CLI_QUOTE_WORDS);
    json_t *value = quoted ? json_loadb(quoted, length, JSON_DECODE_ANY, NULL) : NULL;
    free(quoted);
    return value;
}

bool history_number(double *number, const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_number(value))
        return *number = json_number_value(value), true;
    return text && lineage_number_parse(number, text, strlen(text)) &&
           (!isfinite(*number) || lineage_param_is_text(text)); /* an integer that cli_json_quoted has quoted */
}

/* ---- settings and metrics ---- */

static void add_param(json_t *run, const char *name, json_t *value, int depth)
{
    const char *member;
    json_t *inner;
    size_t length;
    if (json_is_object(value) && depth < DEPTH) {
        json_object_foreach(value, member, inner) {
            char *path = NULL;
            if (asprintf(&path, "%s%s%s", name, *name ? "." : "", member) < 0)
                return;
            add_param(run, path, inner, depth + 1);
            free(path);
        }
    } else if (json_is_string(value)) {
        history_add_param_text(run, name, json_string_value(value));
    } else if (json_is_array(value) || json_is_object(value)) {
        char *text = cli_json_compact(value, &length);
        history_set_text(json_object_get(run, "params"), name, text);
        free(text);
    } else if (json_is_boolean(value)) {
        history_set_text(json_object_get(run, "params"), name, json_is_true(value) ? "true" : "false");
    } else if (json_is_integer(value)) {
        char digits[32];
        snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        history_add_param_text(run, name, digits);
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
    char own[LINEAGE_PARAM_TEXT_MAX + 1];
    double number;
    json_t *params = json_object_get(run, "params");
    const char *rest = text;
    if (!lineage_number_parse(&number, text, strlen(text)) || !isfinite(number))
        history_set_text(params, name, text);
    else if (!lineage_param_is_text(text))
        json_object_set_new(params, name, json_real(number));
    else
        history_set_text(params, name, lineage_param_text_next(own, &rest) ? own : text);
}

void history_set_metric(json_t *run, const char *name, double value)
{
    json_object_set_new(json_object_get(run, "metrics"), name, cli_json_number(value));
}

void history_add_metrics(json_t *run, const char *prefix, json_t *object, bool booleans)
{
    const char *name;
    json_t *value;
    double number;
    json_object_foreach(object, name, value) {
        char path[256];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (history_number(&number, value))
            history_set_metric(run, path, number);
        else if (booleans && json_is_boolean(value))
            history_set_metric(run, path, json_is_true(value));
        else if (json_is_object(value) && strlen(path) < 200)
            history_add_metrics(run, path, value, booleans);
    }
}

static void leave_out_value(json_t *run)
{
    json_object_set_new(run, "left_out", json_integer(json_integer_value(json_object_get(run, "left_out")) + 1));
}

/* Several writers, and runs that were resumed, leave steps in any order. */
void history_add_point(json_t *run, const char *name, int64_t step, double value)
{
    json_t *curves = json_object_get(run, "curves"), *curve = json_object_get(curves, name),
           *steps = json_object_get(run, "steps");
    const json_t *last = json_object_get(steps, name);
    if (!last || step >= json_integer_value(last)) {
        history_set_metric(run, name, value);
        json_object_set_new(steps, name, json_integer(step));
    }
    if (!isfinite(value)) {
        leave_out_value(run);
        return;
    }
    if (!curve) {
        curve = json_array();
        if (json_object_set_new(curves, name, curve) != 0)
            return;
    }
    json_array_append_new(curve, json_pack("[I, f]", (json_int_t)step, value));
}

void history_add_point_at(json_t *run, const char *name, double step, double value)
{
    if (step >= -0x1p63 && step < 0x1p63)
        history_add_point(run, name, (int64_t)step, value);
    else
        leave_out_value(run);
}

void history_drop_points(json_t *run, int64_t from)
{
    json_t *curves = json_object_get(run, "curves"), *metrics = json_object_get(run, "metrics"),
           *steps = json_object_get(run, "steps"), *step;
    const char *name;
    void *next;
    json_object_foreach_safe(steps, next, name, step) {
        json_t *curve = json_object_get(curves, name);
        for (size_t i = json_array_size(curve); i-- > 0;)
            if (json_integer_value(json_array_get(json_array_get(curve, i), 0)) >= from)
                json_array_remove(curve, i);
        const json_t *end = json_array_get(curve, json_array_size(curve) - 1);
        if (json_integer_value(step) >= from && end) {
            history_set_metric(run, name, json_number_value(json_array_get(end, 1)));
            json_object_set(steps, name, json_array_get(end, 0));
        } else if (json_integer_value(step) >= from) {
            json_object_del(metrics, name);
            json_object_del(steps, name);
        }
    }
}

/* ---- words of tools ---- */

bool history_is_one_of(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; n && !strchr(word, ',') && (at = strcasestr(at, word)); at++)
        if (at > words && at[-1] == ',' && at[n] == ',')
            return true;
    return false;
}

const char *history_state(const char *word)
{
    static const struct { /* STATE_.. are of Determined */
        const char *state, *words;
    } states[] = {{"finished",
                   ",finished,complete,completed,success,succeeded,done,ok,terminated,keep,kept,baseline,discard,discarded,"
                   "improved,accept,accepted,reject,rejected,revert,reverted,improvement,passed,finalized,"
                   "STATE_COMPLETED,"},
                  {"failed", ",failed,fail,failure,error,errored,crashed,crash,timeout,memoryout,oom,invalid,STATE_ERROR,"},
                  {"killed", ",killed,preempted,interrupted,cancelled,canceled,aborted,abandoned,harness_abort,STATE_CANCELED,"
                             "STATE_DELETED,"},
                  {"pruned", ",pruned,"},
                  {"running", ",running,waiting,scheduled,pending,paused,queued,open,preempting,started,inprogress,STATE_ACTIVE,"
                              "STATE_PAUSED,STATE_RUNNING,STATE_QUEUED,STATE_PULLING,STATE_STARTING,STATE_STOPPING_COMPLETED,"
                              "STATE_STOPPING_CANCELED,STATE_STOPPING_KILLED,STATE_STOPPING_ERROR,"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (!*word || history_is_one_of(states[i].words, word))
            return states[i].state;
    return NULL;
}

void history_set_state(json_t *run, const char *word, const char *otherwise)
{
    const char *state = word ? history_state(word) : NULL;
    history_set_text(run, "state", state ? state : otherwise);
}

/* ---- YAML ---- */

void history_yaml_cut(const char *text, char *end)
{
    while (end > text && strchr(" \r", end[-1]))
        end--;
    *end = '\0';
}

bool history_yaml_scalar(char *value)
{
    const char quote = *value;
    char *to = value, *from = value + 1, *comment = strstr(value, " #");
    if (quote == '\'' || quote == '"') {
        for (; *from && (*from != quote || (quote == '\'' && from[1] == quote)); *to++ = *from++)
            if (quote == '\'')
                from += *from == quote;
            else if (*from == '\\')
                return false;
        const bool ends = *from && !from[1];
        *to = '\0';
        return ends;
    }
    if (comment)
        history_yaml_cut(value, comment);
    return !strchr("|>&*{[!%@`", quote);
}

/* ---- times and files ---- */

double history_seconds(const char *text)
{
    double hours, minutes, seconds;
    char *rest;
    if (lineage_number_parse(&seconds, text, strlen(text)))
        return seconds;
    double days = strtod(text, &rest);
    if (strncmp(rest, " day", 4) == 0)
        rest += 4 + strspn(rest + 4, "s, ");
    else
        rest = (char *)(uintptr_t)text, days = 0;
    return sscanf(rest, "%lf:%lf:%lf", &hours, &minutes, &seconds) == 3 ? ((days * 24 + hours) * 60 + minutes) * 60 + seconds
                                                                        : (double)NAN;
}

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
    rest += strspn(rest, " ");
    if (*rest == 'Z' || *rest == '+' || *rest == '-' || strcmp(rest, "UTC") == 0)
        local = false;
    if ((*rest == '+' || *rest == '-') && sscanf(rest + 1, "%2d:%2d", &hours, &minutes) < 2 &&
        sscanf(rest + 1, "%2d%2d", &hours, &minutes) < 1)
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

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

FTS *history_tree(const char *path, char why[HISTORY_WHY_MAX])
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    if (!tree)
        history_fail(why, "cannot read %.300s: %s", path, strerror(errno));
    return tree;
}

FTSENT *history_entry(FTS *tree, int levels)
{
    FTSENT *entry = tree ? fts_read(tree) : NULL;
    if (entry && entry->fts_info == FTS_D && entry->fts_level >= levels)
        fts_set(tree, entry, FTS_SKIP);
    return entry;
}

void history_leave(FTS *tree)
{
    if (tree)
        fts_close(tree);
}

double history_written(const struct stat *st)
{
    return (double)st->st_mtim.tv_sec + 1e-9 * (double)st->st_mtim.tv_nsec;
}

bool history_in_time(const struct stat *st, const struct history_options *options)
{
    const double time = S_ISREG(st->st_mode) ? history_written(st) : (double)NAN;
    return time >= options->since && (options->until == 0 || time <= options->until);
}

bool history_each_value(const char *path, bool (*take)(void *context, json_t *value), void *context, char why[HISTORY_WHY_MAX])
{
    size_t length, at = 0, line = 1;
    json_error_t error = {.line = 0};
    char *raw = history_file_text(path, FILE_BYTES, &length, why),
         *text = raw ? cli_json_quoted(raw, &length, CLI_QUOTE_INTEGERS | CLI_QUOTE_WORDS) : NULL;
    bool good = text != NULL || (raw && history_fail(why, "out of memory"));
    free(raw);
    while (good && at + strspn(text + at, " \t\r\n") < length) {
        json_t *value = json_loadb(text + at, length - at, JSON_DISABLE_EOF_CHECK, &error);
        if (value)
            good = take(context, value);
        else if (at && text[length - 1] != '\n')
            break; /* the last line was cut off: its writer was killed, or is still writing */
        else
            good =
                history_fail(why, "%.300s:%zu: %.150s", path, line + (size_t)(error.line > 0 ? error.line - 1 : 0), error.text);
        json_decref(value);
        for (size_t end = at + (size_t)error.position; good && at < end; at++)
            line += text[at] == '\n';
    }
    free(text);
    return good;
}

static bool keep_first(void *context, json_t *value)
{
    json_t **first = context;
    if (!*first)
        *first = json_incref(value);
    return true;
}

bool history_first_value(const char *path, json_t **value, char why[HISTORY_WHY_MAX])
{
    *value = NULL;
    return history_each_value(path, keep_first, value, why);
}

const char *history_place(char place[PATH_MAX], const char *path, size_t length, bool above)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%.*s%s", (int)length, path, above ? ".." : ".");
    const char *name = realpath(dir, place) ? strrchr(place, '/') : NULL;
    while (name && name > place && name[-1] != '/')
        name--;
    return name;
}
