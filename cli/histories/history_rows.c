/* history_rows.c: see history_rows.h. */
#define _GNU_SOURCE
#include "histories/history_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/notes.h>

#include "cli.h"
#include "support/secrets.h"

enum { STEPS = 2000, PROSE = 2000, NAMES_SHOWN = 12 };

/* ---- memory ---- */

static const char *own_text(struct history_rows *rows, const char *text)
{
    json_t *copy = cli_json_text(text);
    return copy && json_array_append_new(rows->texts, copy) == 0 ? json_string_value(copy) : NULL;
}

static void *own_array(struct history_rows *rows, size_t n, size_t size)
{
    void **arrays = realloc(rows->arrays, (rows->n_arrays + 1) * sizeof *arrays);
    void *array = arrays ? calloc(n ? n : 1, size) : NULL;
    rows->arrays = arrays ? arrays : rows->arrays;
    if (array)
        rows->arrays[rows->n_arrays++] = array;
    return array;
}

/* ---- names and texts ---- */

/* Other tools allow any character in a name: `val/loss` becomes val.loss, and `2nd layer` n2nd_layer. */
static void row_name(char out[LINEAGE_NAME_MAX], const char *name)
{
    size_t n = 0;
    if (!isalpha((unsigned char)name[0]) || (unsigned char)name[0] >= 0x80)
        out[n++] = 'n';
    for (; *name && n < LINEAGE_NAME_MAX - 1; name++) {
        const unsigned char c = (unsigned char)*name;
        if ((c & 0xc0) != 0x80) /* one for a character of several bytes */
            out[n++] = (char)(c == '/' ? '.' : c < 0x80 && (isalnum(c) || strchr("_.-", c)) ? c : '_');
    }
    out[n] = '\0';
    const char *canonical = lineage_param_canonical(out);
    if (canonical != out)
        snprintf(out, LINEAGE_NAME_MAX, "%s", canonical);
}

/* A setting's text has at most 128 bytes, no semicolon and no control character. */
static const char *row_text(struct history_rows *rows, const char *text)
{
    char copy[LINEAGE_PARAM_TEXT_MAX + 1];
    size_t n = strlen(text);
    if (n > LINEAGE_PARAM_TEXT_MAX)
        for (n = LINEAGE_PARAM_TEXT_MAX, rows->n_cut++; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] == ';' ? ',' : (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    copy[n] = '\0';
    return lineage_param_text_ok(copy) ? own_text(rows, copy) : NULL;
}

/* Prose of a run, as one piece of notes that sets nothing. */
static void prose(char out[PROSE + 1], const char *text)
{
    size_t n = strlen(text);
    if (n > PROSE)
        for (n = PROSE; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = text[i] == ';' ? ',' : (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    out[n] = '\0';
}

static bool has_name(const struct lineage_param *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

/* ---- the score ---- */

/* Returns the only metric that the runs have, or NULL with the reason, which names them. */
static const char *only_metric(const json_t *history, char why[HISTORY_WHY_MAX])
{
    json_t *names = json_object();
    const json_t *run;
    json_t *value;
    size_t i, length = 0, n = 0;
    const char *name, *only = NULL;
    char text[HISTORY_WHY_MAX - 100] = "";
    json_array_foreach(json_object_get(history, "runs"), i, run)
        json_object_foreach(json_object_get(run, "metrics"), name, value)
            if (!json_object_get(names, name)) {
                json_object_set(names, name, value);
                only = name; /* of the history, which lives on */
                if (n++ < NAMES_SHOWN && length < sizeof text)
                    length += (size_t)snprintf(text + length, sizeof text - length, "%s%.60s", length ? ", " : "", name);
            }
    json_decref(names);
    if (n == 1)
        return only;
    if (n)
        snprintf(why, HISTORY_WHY_MAX, "which metric is the score? Choose one by --metric: %s%s", text, n > NAMES_SHOWN ? ", .." : "");
    else
        snprintf(why, HISTORY_WHY_MAX, "the runs have no metric");
    return NULL;
}

static struct lineage_number last_of(const json_t *curve, const char *take)
{
    struct lineage_number best = {false, 0};
    size_t i;
    const json_t *point;
    json_array_foreach(curve, i, point) {
        double value = json_number_value(json_array_get(point, 1));
        bool better = !best.present || (strcmp(take, "min") == 0 ? value < best.value : value > best.value);
        if (better)
            best = (struct lineage_number){true, value};
    }
    return best;
}

static struct lineage_number score_of(const json_t *run, const char *metric, const char *take)
{
    const json_t *value = json_object_get(json_object_get(run, "metrics"), metric);
    const json_t *curve = json_object_get(json_object_get(run, "curves"), metric);
    if (take && strcmp(take, "last") != 0 && json_array_size(curve))
        return last_of(curve, take);
    return (struct lineage_number){value != NULL, json_number_value(value)};
}

/* ---- one row ---- */

static bool add_params(struct history_rows *rows, struct lineage_trial *trial, const json_t *run, const char *const *harmless)
{
    json_t *params = json_object_get(run, "params"), *value;
    struct lineage_param *list = own_array(rows, json_object_size(params), sizeof *list);
    const char *raw;
    char name[LINEAGE_NAME_MAX];
    size_t n = 0;
    if (!list)
        return false;
    json_object_foreach(params, raw, value) {
        row_name(name, raw);
        struct lineage_param param = {NULL, json_is_number(value) ? json_number_value(value) : (double)NAN, NULL};
        if (json_is_string(value) && !(param.text = row_text(rows, json_string_value(value))))
            continue;
        param.name = name;
        if (!lineage_param_name_ok(name) || has_name(list, n, name) || (!param.text && !isfinite(param.value)))
            continue;
        if (secret_param(&param, harmless)) {
            json_object_set_new(rows->left_out, name, json_true());
            continue;
        }
        if (!(param.name = own_text(rows, name)))
            return false;
        list[n++] = param;
    }
    trial->params = list;
    trial->n_params = n;
    return true;
}

static bool add_metrics(struct history_rows *rows, struct lineage_trial *trial, const json_t *run)
{
    json_t *metrics = json_object_get(run, "metrics"), *value;
    struct lineage_param *list = own_array(rows, json_object_size(metrics), sizeof *list);
    const char *raw;
    char name[LINEAGE_NAME_MAX];
    size_t n = 0;
    if (!list)
        return false;
    json_object_foreach(metrics, raw, value) {
        row_name(name, raw);
        if (strcmp(name, rows->score) == 0 || !lineage_param_name_ok(name) || has_name(list, n, name))
            continue;
        if (!(list[n].name = own_text(rows, name)))
            return false;
        list[n++].value = json_number_value(value);
    }
    trial->metrics = list;
    trial->n_metrics = n;
    return true;
}

static int64_t last_step(const json_t *run)
{
    int64_t last = 0;
    const char *name;
    json_t *curve;
    json_object_foreach(json_object_get(run, "curves"), name, curve) {
        const json_t *point = json_array_get(curve, json_array_size(curve) - 1);
        json_int_t step = json_integer_value(json_array_get(point, 0));
        last = step > last ? step : last;
    }
    return last;
}

/* Decides the label, and writes what the notes say about it. */
static void set_label(struct history_rows *rows, struct lineage_trial *trial, bool *by_score, const json_t *run, const char *tool,
                      char reason[160])
{
    const char *state = json_string_value(json_object_get(run, "state"));
    reason[0] = '\0';
    *by_score = strcmp(state, "finished") == 0 && trial->core_metric.present;
    trial->status = LINEAGE_DISCARD;
    if (*by_score)
        return;
    if (strcmp(state, "pruned") == 0) {
        snprintf(reason, 160, "pruned at step %lld: as %s recorded", (long long)last_step(run), tool);
    } else if (strcmp(state, "killed") == 0) {
        trial->status = LINEAGE_HARNESS_ABORT;
        snprintf(reason, 160, "killed, as %s recorded", tool);
    } else {
        const bool finished = strcmp(state, "finished") == 0;
        trial->status = LINEAGE_CRASH;
        rows->n_without_score += finished;
        snprintf(reason, 160, finished ? "failed: it finished without %s" : "failed: as %s recorded", finished ? rows->score : tool);
    }
    trial->core_metric.present = false;
}

static bool set_times(struct history_rows *rows, struct lineage_trial *trial, const json_t *run)
{
    const json_t *started = json_object_get(run, "started"), *ended = json_object_get(run, "ended"), *seconds = json_object_get(run, "seconds");
    double total = seconds ? json_number_value(seconds) : started && ended ? json_number_value(ended) - json_number_value(started) : -1;
    char text[32];
    struct tm tm;
    trial->total_s = (struct lineage_number){total >= 0 && isfinite(total), total};
    if (!started)
        return true;
    const time_t time = (time_t)json_number_value(started);
    if (!gmtime_r(&time, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return true;
    return (trial->timestamp = own_text(rows, text)) != NULL;
}

static bool set_texts(struct history_rows *rows, struct lineage_trial *trial, const json_t *run, const char *tool, const char *reason)
{
    const char *name = json_string_value(json_object_get(run, "name")), *notes = json_string_value(json_object_get(run, "notes"));
    char words[PROSE + 1], *text = NULL;
    prose(words, notes ? notes : "");
    int n = asprintf(&text, "%s%s%s%s", reason, *reason && *words ? "; " : "", *words ? "as recorded: " : "", words);
    trial->notes = n > 0 ? own_text(rows, text) : NULL;
    bool good = n >= 0 && (n == 0 || trial->notes);
    if (n >= 0)
        free(text);
    text = NULL;
    prose(words, name ? name : "");
    trial->hypothesis = *words ? own_text(rows, words) : own_text(rows, tool);
    return good && trial->hypothesis;
}

static bool add_row(struct history_rows *rows, const json_t *run, const char *tool, const char *job, const char *metric,
                    const struct history_mapping *mapping)
{
    struct lineage_trial *trial = &rows->trials[rows->n];
    char reason[160];
    trial->core_metric = score_of(run, metric, mapping->take);
    set_label(rows, trial, &rows->by_score[rows->n], run, tool, reason);
    rows->n_not_finite += (size_t)json_integer_value(json_object_get(run, "left_out"));
    rows->runs[rows->n] = run;
    trial->specialist = own_text(rows, mapping->specialist ? mapping->specialist : tool);
    trial->job_name = own_text(rows, job);
    bool good = trial->specialist && trial->job_name && add_params(rows, trial, run, mapping->harmless) && add_metrics(rows, trial, run) &&
                set_times(rows, trial, run) && set_texts(rows, trial, run, tool, reason);
    rows->n += good;
    return good;
}

bool history_rows_make(struct history_rows *rows, const json_t *history, const struct history_mapping *mapping, char why[HISTORY_WHY_MAX])
{
    const json_t *runs = json_object_get(history, "runs"), *run;
    const char *tool = json_string_value(json_object_get(history, "tool")), *study = json_string_value(json_object_get(history, "study"));
    const char *metric = mapping->metric ? mapping->metric : json_string_value(json_object_get(history, "score"));
    const size_t n = json_array_size(runs);
    size_t i;
    *rows = (struct history_rows){.trials = calloc(n + 1, sizeof *rows->trials), .by_score = calloc(n + 1, sizeof *rows->by_score),
                                  .runs = calloc(n + 1, sizeof *rows->runs), .left_out = json_object(), .texts = json_array()};
    if (!metric && !(metric = only_metric(history, why)))
        return false;
    row_name(rows->score, metric);
    bool good = rows->trials && rows->by_score && rows->runs && rows->left_out && rows->texts;
    json_array_foreach(runs, i, run) {
        char *job = NULL;
        if (good)
            good = asprintf(&job, "%s:%s%s%s", tool, study ? study : "", study ? "/" : "", json_string_value(json_object_get(run, "key"))) > 0;
        if (good && strcmp(json_string_value(json_object_get(run, "state")), "running") == 0)
            rows->n_running++;
        else if (good && json_object_get(mapping->known, job))
            rows->n_known++;
        else if (good)
            good = add_row(rows, run, tool, job, metric, mapping);
        free(job);
    }
    if (!good)
        snprintf(why, HISTORY_WHY_MAX, "out of memory");
    return good;
}

void history_rows_release(struct history_rows *rows)
{
    for (size_t i = 0; i < rows->n_arrays; i++)
        free(rows->arrays[i]);
    free(rows->arrays);
    free(rows->trials);
    free(rows->by_score);
    free(rows->runs);
    json_decref(rows->left_out);
    json_decref(rows->texts);
    *rows = (struct history_rows){.n = 0};
}

/* ---- curves ---- */

static int by_number(const void *a, const void *b)
{
    const json_int_t x = *(const json_int_t *)a, y = *(const json_int_t *)b;
    return x < y ? -1 : x > y;
}

/* Returns the steps of all curves, each once and sorted, thinned to STEPS with the first and the last among them (free). */
static json_int_t *steps_of(const json_t *curves, size_t *n)
{
    size_t all = 0, i, different = 0;
    const char *name;
    json_t *curve;
    const json_t *point;
    json_object_foreach((json_t *)(uintptr_t)curves, name, curve)
        all += json_array_size(curve);
    json_int_t *steps = malloc((all + 1) * sizeof *steps);
    *n = 0;
    if (!steps)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)curves, name, curve)
        json_array_foreach(curve, i, point)
            steps[(*n)++] = json_integer_value(json_array_get(point, 0));
    qsort(steps, *n, sizeof *steps, by_number);
    for (i = 0; i < *n; i++)
        if (!different || steps[i] != steps[different - 1])
            steps[different++] = steps[i];
    *n = different;
    if (*n > STEPS) {
        for (i = 0; i < STEPS; i++)
            steps[i] = steps[(size_t)((double)i * (double)(*n - 1) / (STEPS - 1))];
        *n = STEPS;
    }
    return steps;
}

char *history_telemetry(const json_t *run)
{
    const json_t *curves = json_object_get(run, "curves"), *point;
    json_t *list = json_array(), *telemetry = json_pack("{s:O}", "steps", list), *curve;
    char name[LINEAGE_NAME_MAX];
    const char *raw;
    size_t n = 0, i;
    json_int_t *steps = steps_of(curves, &n);
    for (i = 0; steps && i < n; i++)
        json_array_append_new(list, json_pack("{s:I}", "step", steps[i]));
    json_object_foreach((json_t *)(uintptr_t)curves, raw, curve) {
        row_name(name, raw);
        json_array_foreach(curve, i, point) {
            const json_int_t step = json_integer_value(json_array_get(point, 0));
            const json_int_t *at = steps && n ? bsearch(&step, steps, n, sizeof *steps, by_number) : NULL;
            if (at && strcmp(name, "step") != 0)
                json_object_set(json_array_get(list, (size_t)(at - steps)), name, json_array_get(point, 1));
        }
    }
    char *text = n ? json_dumps(telemetry, JSON_COMPACT) : NULL;
    free(steps);
    json_decref(list);
    json_decref(telemetry);
    return text;
}
