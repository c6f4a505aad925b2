/*
 * Reading is lenient and never fails: commands print what they like, versions differ, and a trial must not be lost
 * because of a member that is not understood. A member whose type differs from schema/events.schema.json is ignored.
 */
#include "metrics/event_lines.h"

#include "cli.h"

/* Names of numbers that have a meaning of their own and are therefore not metrics. */
static const char *const reserved[] = {"step", "score", "steps", "train_s", "eval_s", "status"};

enum { N_RESERVED = sizeof reserved / sizeof *reserved, N_RESERVED_PRINTED = 2 };

static const char *const failures[] = {"other", "input", "size"};

enum { N_FAILURES = sizeof failures / sizeof *failures };

const char *trial_failure_name(enum trial_failure failure)
{
    return failures[failure];
}

/* Every other number is a metric; nothing has to be declared. */
bool event_is_metric(const struct trial_event *event, const char *name, const json_t *value, const struct metric_query *asked)
{
    const size_t n = event->channel == TRIAL_CHANNEL_EVENTS ? N_RESERVED : N_RESERVED_PRINTED;
    bool is_reserved = false, is_asked = false;
    for (size_t i = 0; i < n; i++)
        is_reserved = is_reserved || strcmp(reserved[i], name) == 0;
    for (size_t i = 0; is_reserved && asked && i < asked->n_names; i++)
        is_asked = is_asked || strcmp(asked->names[i], name) == 0;
    return json_is_number(value) && (!is_reserved || is_asked); /* numbers in JSON are finite */
}

static enum trial_failure failure_of(const char *kind)
{
    for (int i = 0; kind && i < N_FAILURES; i++)
        if (strcmp(failures[i], kind) == 0)
            return (enum trial_failure)i;
    return TRIAL_FAILURE_OTHER;
}

/* Returns -1 if the member is missing, because 0 s is a valid value. */
static double seconds_member(const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    return json_is_number(value) ? json_number_value(value) : -1;
}

/* Returns the member if it has this type (a list or an object), else NULL. */
static const json_t *container_member(const json_t *line, const char *name, json_type type)
{
    const json_t *value = json_object_get(line, name);
    return value && json_typeof(value) == type ? value : NULL;
}

/* Accepts numbers up to 9e15, below which doubles represent every whole number. A negative count is read as 0. */
int64_t event_count(const json_t *line, const char *name)
{
    double value = json_number_value(json_object_get(line, name)); /* 3 and 3.0 */
    return value >= 0 && value <= 9e15 ? (int64_t)value : 0;
}

bool event_says_not_finite(const json_t *value)
{
    static const char *const words[] = {"nan", "NaN", "inf", "-inf", "Infinity", "-Infinity", NULL};
    const char *text = json_string_value(value);
    for (size_t i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return true;
    return false;
}

static const char *find_not_finite(const json_t *line)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, name, value)
        if (event_says_not_finite(value))
            return name;
    return NULL;
}

/* The four hexadecimal digits of the escape \uXXXX at text; -1 if there is none. */
static int escaped_unit(const char *text, const char *end)
{
    char digits[5] = "";
    char *rest;
    if (end - text < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    memcpy(digits, text + 2, 4);
    long unit = strtol(digits, &rest, 16);
    return rest == digits + 4 ? (int)unit : -1;
}

/*
 * Replaces halves of surrogate pairs by U+FFFD: Python writes one for each byte of a file name that is not UTF-8, and models say
 * them. The escape has as many bytes.
 */
static void mend_surrogates(char *text, size_t length)
{
    char *end = text + length;
    for (char *at = text; at < end; at++) {
        int unit = escaped_unit(at, end), next = escaped_unit(at + 6 < end ? at + 6 : end, end);
        if (unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000)
            at += 11;
        else if (unit >= 0xd800 && unit < 0xe000)
            memcpy(at + 2, "fffd", 4), at += 5;
        else if (*at == '\\')
            at++;
    }
}

/* Reads what Python and other writers write although it is not JSON: NaN, bytes that are not UTF-8, halves of surrogate pairs. */
static json_t *load_mended(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    json_t *utf8 = copy ? cli_json_text(copy) : NULL, *line = NULL;
    size_t n = json_string_length(utf8);
    char *quoted = utf8 ? cli_json_quoted(json_string_value(utf8), &n, CLI_QUOTE_WORDS) : NULL;
    if (quoted) {
        mend_surrogates(quoted, n);
        line = json_loadb(quoted, n, JSON_ALLOW_NUL, NULL);
    }
    free(quoted);
    json_decref(utf8);
    free(copy);
    return line;
}

static json_t *load(const char *text, size_t length)
{
    const bool has_mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    text += has_mark ? 3 : 0;
    length -= has_mark ? 3 : 0;
    json_t *line = json_loadb(text, length, JSON_ALLOW_NUL, NULL);
    return line ? line : load_mended(text, length);
}

json_t *event_line_read(struct trial_event *event, const char *text, size_t length, const char *score_name)
{
    json_t *line = load(text, length);
    if (!json_is_object(line)) {
        json_decref(line);
        return NULL;
    }
    const json_t *score = json_object_get(line, "score");
    if (!score && score_name)
        score = json_object_get(line, score_name);
    *event = (struct trial_event){
        .line = line,
        .channel = TRIAL_CHANNEL_EVENTS,
        .phase = cli_json_string(line, "phase"),
        .text = cli_json_string(line, "text"),
        .has_step = json_is_number(json_object_get(line, "step")),
        .names_step = json_is_number(json_object_get(line, "step")),
        .step = event_count(line, "step"),
        .steps = event_count(line, "steps"),
        .has_score = json_is_number(score),
        .score = json_number_value(score),
        .lost_score = event_says_not_finite(score),
        .not_finite = find_not_finite(line),
        .train_s = seconds_member(line, "train_s"),
        .eval_s = seconds_member(line, "eval_s"),
        .param = container_member(line, "param", JSON_OBJECT),
        .turns = container_member(line, "turns", JSON_ARRAY),
        .kernels = cli_json_string(line, "kernels"),
        .inert = container_member(line, "inert", JSON_ARRAY),
        .failed = cli_json_string(line, "failed"),
        .failure = failure_of(cli_json_string(line, "kind")),
    };
    return line;
}
