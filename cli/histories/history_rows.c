#define _GNU_SOURCE
#include "histories/history_rows.h"

#include <ctype.h>
#include <time.h>

#include <lineage/notes.h>

#include "cli.h"
#include "support/secrets.h"

enum { STEPS = 2000, PROSE = 2000, NAMES_SHOWN = 12, REASON = 240 };

/* ---- memory ---- */

const char *history_own_text(struct history_rows *rows, const char *text)
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

/* FNV-1a. */
static uint64_t digest_of(const char *text)
{
    uint64_t digest = 0xcbf29ce484222325u;
    for (; *text; text++)
        digest = (digest ^ (unsigned char)*text) * 0x100000001b3u;
    return digest;
}

/*
 * Returns the names in rows, by the names in the runs' member. Of names that would become the same, such as val/loss and val.loss,
 * those that change get a digest, which is the same in every import.
 */
static json_t *names_of(const json_t *runs, const char *member)
{
    json_t *names = json_object(), *owners = json_object(), *value;
    const json_t *run;
    const char *raw;
    char name[LINEAGE_NAME_MAX];
    size_t i;
    json_array_foreach(runs, i, run)
        json_object_foreach(json_object_get(run, member), raw, value)
            if (!json_object_get(names, raw)) {
                row_name(name, raw);
                json_object_set_new(names, raw, json_string(name));
                json_object_set_new(owners, name,
                                    json_boolean(json_object_get(owners, name) != NULL)); /* whether it has several */
            }
    json_object_foreach(names, raw, value)
        if (json_is_true(json_object_get(owners, json_string_value(value))) && strcmp(raw, json_string_value(value)) != 0) {
            snprintf(name, sizeof name, "%.50s-%08x", json_string_value(value), (unsigned)digest_of(raw));
            json_string_set(value, name);
        }
    json_decref(owners);
    return names;
}

/* Copies at most `most` bytes of text, without semicolons and control characters, and returns their number. */
static size_t one_piece(char *out, const char *text, size_t most)
{
    size_t n = strlen(text);
    if (n > most)
        for (n = most; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = text[i] == ';' ? ',' : (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    out[n] = '\0';
    return n;
}

/* A setting's text has at most 128 bytes; a longer one ends with the digest of the whole, so that two settings stay two. */
static const char *row_text(struct history_rows *rows, const char *text)
{
    char copy[LINEAGE_PARAM_TEXT_MAX + 1];
    const bool is_long = strlen(text) > LINEAGE_PARAM_TEXT_MAX;
    const size_t n = one_piece(copy, text, LINEAGE_PARAM_TEXT_MAX - (is_long ? 17 : 0));
    if (is_long)
        snprintf(copy + n, sizeof copy - n, "#%016" PRIx64, digest_of(text));
    rows->n_cut += is_long;
    return lineage_param_text_ok(copy) ? history_own_text(rows, copy) : NULL;
}

/* ---- the score ---- */

static const char *state_of(const json_t *run)
{
    return json_string_value(json_object_get(run, "state"));
}

static void add_one(json_t *counts, const char *name, bool counts_it)
{
    json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + counts_it));
}

static void count_runs(struct history_rows *rows, const json_t *runs)
{
    const json_t *run;
    json_t *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run) {
        const bool finished = strcmp(state_of(run), "finished") == 0;
        const bool groups = json_object_get(run, "groups") && !json_object_size(json_object_get(run, "metrics"));
        rows->n_finished += finished && !groups;
        add_one(rows->states, state_of(run), true);
        json_object_foreach(json_object_get(run, "metrics"), name, value)
            add_one(rows->metrics, name, finished);
    }
}

const char *history_names(char out[HISTORY_NAMES_MAX], const json_t *names)
{
    size_t length = 0, n = 0;
    const char *name;
    json_t *value;
    snprintf(out, HISTORY_NAMES_MAX, "%s", json_object_size(names) ? "" : "none");
    json_object_foreach((json_t *)(uintptr_t)names, name, value)
        if (n++ < NAMES_SHOWN && length < HISTORY_NAMES_MAX - 10)
            length += (size_t)snprintf(out + length, HISTORY_NAMES_MAX - length, "%s%.60s", length ? ", " : "", name);
    if (n > NAMES_SHOWN && length < HISTORY_NAMES_MAX - 10)
        snprintf(out + length, HISTORY_NAMES_MAX - length, ", ..");
    return out;
}

/* The metric that the user names as the tool does; or as rows do, or without the group in front of a slash, if only one fits. */
static const char *metric_named(const struct history_rows *rows, const json_t *history, const char *wanted)
{
    const char *alias = json_string_value(json_object_get(json_object_get(history, "aliases"), wanted)), *name, *found = NULL;
    json_t *value;
    size_t n = 0;
    if (json_object_get(rows->metrics, wanted))
        return wanted;
    json_object_foreach(rows->metric_names, name, value) {
        const char *slash = strrchr(name, '/');
        if (strcmp(json_string_value(value), wanted) == 0 || (slash && strcmp(slash + 1, wanted) == 0))
            found = name, n++;
    }
    return alias ? alias : n == 1 ? found : NULL;
}

/* Sets rows->metric. Returns false with the reason, which names the metrics that there are. */
static bool choose_metric(struct history_rows *rows, const json_t *history, const char *wanted, char why[HISTORY_WHY_MAX])
{
    char names[HISTORY_NAMES_MAX];
    const char *known = wanted ? wanted : json_string_value(json_object_get(history, "score"));
    if (!known && json_object_size(rows->metrics) == 1)
        known = json_object_iter_key(json_object_iter(rows->metrics));
    history_names(names, rows->metrics);
    if (!known && !json_object_size(rows->metrics))
        return snprintf(why, HISTORY_WHY_MAX, "the runs have no metric"), false;
    if (!known)
        return snprintf(why, HISTORY_WHY_MAX, "which metric is the score? Choose one by --metric: %s", names), false;
    rows->metric = metric_named(rows, history, known);
    rows->n_scored = rows->metric ? (size_t)json_integer_value(json_object_get(rows->metrics, rows->metric)) : 0;
    if (!rows->n_scored && rows->n_finished)
        return snprintf(why, HISTORY_WHY_MAX, "no finished run has %.60s; choose one of these by --metric: %s", known, names),
               false;
    if (!rows->metric)
        rows->metric = known;
    const char *name = json_string_value(json_object_get(rows->metric_names, rows->metric));
    if (name)
        snprintf(rows->score, sizeof rows->score, "%s", name);
    else
        row_name(rows->score, rows->metric);
    return true;
}

static struct lineage_number extreme_of(const json_t *curve, const char *take)
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
    if (strcmp(take, "last") != 0 && json_array_size(curve))
        return extreme_of(curve, take);
    return (struct lineage_number){value != NULL, json_is_number(value) ? json_number_value(value) : (double)NAN};
}

/* ---- one row ---- */

static bool add_params(struct history_rows *rows, struct lineage_trial *trial, const json_t *run, const char *const *harmless)
{
    json_t *params = json_object_get(run, "params"), *value;
    struct lineage_param *list = own_array(rows, json_object_size(params), sizeof *list);
    const char *raw;
    size_t n = 0;
    if (!list)
        return false;
    json_object_foreach(params, raw, value) {
        const char *name = json_string_value(json_object_get(rows->param_names, raw));
        struct lineage_param param = {name, json_is_number(value) ? json_number_value(value) : (double)NAN, NULL};
        if (json_is_string(value) && !(param.text = row_text(rows, json_string_value(value))))
            continue;
        if (!lineage_param_name_ok(name) || (!param.text && !isfinite(param.value)))
            continue;
        if (secret_param(&param, harmless)) {
            json_object_set_new(rows->left_out, name, json_true());
            continue;
        }
        list[n++] = param;
    }
    trial->params = list;
    trial->n_params = n;
    return true;
}

/* A row without a score has the value, if it is finite, among its metrics. */
static bool add_metrics(struct history_rows *rows, struct lineage_trial *trial, const json_t *run)
{
    json_t *metrics = json_object_get(run, "metrics"), *value;
    struct lineage_param *list = own_array(rows, json_object_size(metrics), sizeof *list);
    const char *raw;
    size_t n = 0;
    if (!list)
        return false;
    json_object_foreach(metrics, raw, value) {
        const char *name = json_string_value(json_object_get(rows->metric_names, raw));
        if (json_is_number(value) && lineage_param_name_ok(name) &&
            !(trial->core_metric.present && strcmp(raw, rows->metric) == 0))
            list[n++] = (struct lineage_param){.name = name, .value = json_number_value(value)};
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
                      char reason[REASON])
{
    const char *state = state_of(run), *broken = json_string_value(json_object_get(run, "broken"));
    const bool finished = strcmp(state, "finished") == 0,
               scored = trial->core_metric.present && isfinite(trial->core_metric.value);
    reason[0] = '\0';
    *by_score = finished && scored && !broken;
    trial->status = LINEAGE_DISCARD;
    if (*by_score)
        return;
    if (strcmp(state, "pruned") == 0) {
        snprintf(reason, REASON, "pruned at step %lld: as %s recorded", (long long)last_step(run), tool);
    } else if (strcmp(state, "killed") == 0) {
        trial->status = LINEAGE_HARNESS_ABORT;
        snprintf(reason, REASON, "killed, as %s recorded", tool);
    } else if (!finished) {
        trial->status = LINEAGE_CRASH;
        snprintf(reason, REASON, "failed: as %s recorded", tool);
    } else if (broken) {
        trial->status = LINEAGE_DISQUALIFIED;
        snprintf(reason, REASON, "disqualified: %.200s", broken);
    } else if (trial->core_metric.present) {
        trial->status = LINEAGE_CRASH;
        snprintf(reason, REASON, "its score is not a finite number");
    } else {
        trial->status = LINEAGE_HARNESS_ABORT;
        snprintf(reason, REASON, "finished without a score: no %s", rows->score);
    }
    trial->core_metric.present = false;
}

static bool set_times(struct history_rows *rows, struct lineage_trial *trial, const json_t *run)
{
    const json_t *started = json_object_get(run, "started"), *ended = json_object_get(run, "ended"),
                 *seconds = json_object_get(run, "seconds");
    double total = seconds            ? json_number_value(seconds)
                   : started && ended ? round((json_number_value(ended) - json_number_value(started)) * 1e6) / 1e6
                                      : -1;
    char text[32];
    struct tm tm;
    trial->total_s = (struct lineage_number){total >= 0 && isfinite(total), total};
    if (!started || fabs(json_number_value(started)) >= 0x1p52)
        return true;
    const time_t time = (time_t)json_number_value(started);
    if (!gmtime_r(&time, &tm) || strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        return true;
    return (trial->timestamp = history_own_text(rows, text)) != NULL;
}

static bool set_texts(struct history_rows *rows, struct lineage_trial *trial, const json_t *run, const char *tool,
                      const char *reason)
{
    const char *name = json_string_value(json_object_get(run, "name")), *notes = json_string_value(json_object_get(run, "notes"));
    const char *take = strcmp(rows->take, "last") != 0 && trial->core_metric.present ? rows->take : "";
    char words[PROSE + 1], *text = NULL;
    one_piece(words, notes ? notes : "", PROSE);
    int n = asprintf(&text, "%s%s%s%s%s%s%s", reason, *reason && *words ? "; " : "", *words ? "as recorded: " : "", words,
                     *take && (*reason || *words) ? "; " : "", *take ? HISTORY_TAKE_NOTE : "", take);
    trial->notes = n > 0 ? history_own_text(rows, text) : NULL;
    bool good = n >= 0 && (n == 0 || trial->notes);
    if (n >= 0)
        free(text);
    text = NULL;
    one_piece(words, name ? name : "", PROSE);
    /* A run without a name has its parameters in the block, which shows them in place of an empty hypothesis. */
    trial->hypothesis = history_own_text(rows, *words ? words : trial->n_params ? "" : tool);
    return good && trial->hypothesis;
}

/* ---- rows that are there ---- */

enum verdict { NEW, SAME, REPLACES, OTHER_SCORE };

static bool is_same(const struct lineage_trial *trial, bool by_score, const json_t *known)
{
    enum lineage_label label = LINEAGE_N_LABELS;
    const json_t *score = json_object_get(known, "score");
    if (!lineage_label_parse(&label, json_string_value(json_object_get(known, "status"))))
        return false;
    return by_score ? lineage_label_is_measured(label) && score && json_number_value(score) == trial->core_metric.value
                    : label == trial->status && !score;
}

static enum verdict compare(const struct history_rows *rows, const struct history_mapping *mapping, const json_t *known,
                            const json_t *run)
{
    const bool is_void = json_object_get(known, "void") != NULL;
    const char *take = json_string_value(json_object_get(known, "take"));
    if (!known || (mapping->replace && is_void))
        return NEW;
    if (mapping->replace)
        return REPLACES;
    if (is_same(&rows->trials[rows->n], rows->by_score[rows->n], known))
        return SAME;
    if (is_void)
        return NEW;
    /* A row has all metrics but its score, so a metric that the run has and the row lacks is the score of the row. */
    const bool same_name = json_object_get(json_object_get(run, "metrics"), rows->metric) &&
                           !json_object_get(json_object_get(known, "metrics"), rows->score);
    const bool other = !same_name || strcmp(take ? take : "last", rows->take) != 0 || json_object_get(run, "weak");
    return json_object_get(known, "score") && other ? OTHER_SCORE : REPLACES;
}

static bool add_row(struct history_rows *rows, const json_t *run, const char *tool, const char *job, const char *old_job,
                    const struct history_mapping *mapping, size_t *n_other)
{
    struct lineage_trial *trial = &rows->trials[rows->n];
    const json_t *known = json_object_get(mapping->known, job), *old = json_object_get(mapping->known, old_job);
    char reason[REASON];
    trial->core_metric = score_of(run, rows->metric, rows->take);
    set_label(rows, trial, &rows->by_score[rows->n], run, tool, reason);
    if (strcmp(state_of(run), "finished") == 0 && !json_object_get(json_object_get(run, "metrics"), rows->metric))
        json_object_update(rows->instead, json_object_get(run, "metrics"));
    if (!known && old && is_same(trial, rows->by_score[rows->n], old))
        known = old;
    const enum verdict verdict = compare(rows, mapping, known, run);
    rows->n_known += verdict == SAME && !json_object_get(known, "void");
    rows->n_void += verdict == SAME && json_object_get(known, "void");
    *n_other += verdict == OTHER_SCORE;
    if (verdict == SAME || verdict == OTHER_SCORE)
        return true;
    rows->replaces[rows->n] = verdict == REPLACES ? json_string_value(json_object_get(known, "id")) : NULL;
    rows->n_not_finite += (size_t)json_integer_value(json_object_get(run, "left_out"));
    rows->runs[rows->n] = run;
    trial->specialist = history_own_text(rows, mapping->specialist ? mapping->specialist : tool);
    trial->job_name = history_own_text(rows, job);
    bool good = trial->specialist && trial->job_name && add_params(rows, trial, run, mapping->harmless) &&
                add_metrics(rows, trial, run) && set_times(rows, trial, run) && set_texts(rows, trial, run, tool, reason);
    rows->n += good;
    return good;
}

char *history_job(const json_t *history, const char *key)
{
    const char *tool = json_string_value(json_object_get(history, "tool")),
               *study = json_string_value(json_object_get(history, "study"));
    char *job = NULL;
    return asprintf(&job, "%s:%s%s%s", tool, study ? study : "", study ? "/" : "", key) > 0 ? job : NULL;
}

static bool make_rows(struct history_rows *rows, const json_t *history, const struct history_mapping *mapping,
                      char why[HISTORY_WHY_MAX])
{
    const char *tool = json_string_value(json_object_get(history, "tool"));
    const json_t *run;
    size_t i, n_other = 0;
    bool good = true;
    json_array_foreach(json_object_get(history, "runs"), i, run) {
        const char *old_key = json_string_value(json_object_get(run, "old_key"));
        char *job = history_job(history, json_string_value(json_object_get(run, "key"))),
             *old_job = history_job(history, old_key ? old_key : "");
        good = good && job && old_job;
        if (good && strcmp(state_of(run), "running") == 0)
            rows->n_running++;
        else if (good && json_object_get(run, "groups") && !json_object_get(json_object_get(run, "metrics"), rows->metric))
            rows->n_groups++;
        else if (good)
            good = add_row(rows, run, tool, job, old_key ? old_job : job, mapping, &n_other);
        free(job);
        free(old_job);
    }
    if (!good)
        return snprintf(why, HISTORY_WHY_MAX, "out of memory"), false;
    if (n_other)
        snprintf(why, HISTORY_WHY_MAX, "%zu runs are here already with another score; --replace imports them again with %s",
                 n_other, rows->score);
    return !n_other;
}

bool history_rows_make(struct history_rows *rows, const json_t *history, const struct history_mapping *mapping,
                       char why[HISTORY_WHY_MAX])
{
    const json_t *runs = json_object_get(history, "runs");
    const size_t n = json_array_size(runs);
    *rows = (struct history_rows){.trials = calloc(n + 1, sizeof *rows->trials),
                                  .by_score = calloc(n + 1, sizeof *rows->by_score),
                                  .runs = calloc(n + 1, sizeof *rows->runs),
                                  .replaces = calloc(n + 1, sizeof *rows->replaces),
                                  .instead = json_object(),
                                  .left_out = json_object(),
                                  .texts = json_array(),
                                  .states = json_object(),
                                  .metrics = json_object(),
                                  .param_names = names_of(runs, "params"),
                                  .metric_names = names_of(runs, "metrics"),
                                  .take = mapping->take ? mapping->take : "last"};
    if (!rows->trials || !rows->by_score || !rows->runs || !rows->replaces)
        return snprintf(why, HISTORY_WHY_MAX, "out of memory"), false;
    count_runs(rows, runs);
    return choose_metric(rows, history, mapping->metric, why) && make_rows(rows, history, mapping, why);
}

void history_rows_release(struct history_rows *rows)
{
    for (size_t i = 0; i < rows->n_arrays; i++)
        free(rows->arrays[i]);
    free(rows->arrays);
    free(rows->trials);
    free(rows->by_score);
    free(rows->runs);
    free(rows->replaces);
    json_decref(rows->states);
    json_decref(rows->metrics);
    json_decref(rows->param_names);
    json_decref(rows->metric_names);
    json_decref(rows->instead);
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

char *history_telemetry(const struct history_rows *rows, size_t row)
{
    const json_t *curves = json_object_get(rows->runs[row], "curves"), *point;
    json_t *list = json_array(), *telemetry = json_pack("{s:O}", "steps", list), *curve;
    const char *raw;
    size_t n = 0, i, length;
    json_int_t *steps = steps_of(curves, &n);
    for (i = 0; steps && i < n; i++)
        json_array_append_new(list, json_pack("{s:I}", "step", steps[i]));
    json_object_foreach((json_t *)(uintptr_t)curves, raw, curve) {
        const char *name = json_string_value(json_object_get(rows->metric_names, raw));
        json_array_foreach(curve, i, point) {
            const json_int_t step = json_integer_value(json_array_get(point, 0));
            const json_int_t *at = steps && n ? bsearch(&step, steps, n, sizeof *steps, by_number) : NULL;
            if (at && name && strcmp(name, "step") != 0)
                json_object_set(json_array_get(list, (size_t)(at - steps)), name, json_array_get(point, 1));
        }
    }
    char *text = n ? cli_json_compact(telemetry, &length) : NULL;
    free(steps);
    json_decref(list);
    json_decref(telemetry);
    return text;
}
