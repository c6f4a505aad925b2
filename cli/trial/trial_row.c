/*
 * The pieces of notes come in the order in which their readers expect them: the plan, the link to the night, the reason,
 * the remark.
 */
#include "trial/one_trial.h"

#include <lineage/require.h>
#include <lineage/text.h>

#include "cli.h"

/* Prints one step per line, so that tail, grep and diff work well on telemetry. */
static void print_steps(FILE *out, const char *name, const json_t *steps)
{
    fprintf(out, "\"%s\": [", name);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        fputs(i ? ",\n" : "\n", out);
        char *line = json_dumps(json_array_get(steps, i), JSON_REAL_PRECISION(12));
        fputs(line ? line : "null", out);
        free(line);
    }
    fputs("]", out);
}

/*
 * The member for training steps is called "steps"; for any other phase it has the name of the phase. The name comes
 * from the child, so characters that would break JSON or a path in a query are replaced by _.
 */
static void print_phase(FILE *out, const char *phase, const json_t *steps)
{
    char name[TRIAL_PHASE_MAX + 32];
    snprintf(name, sizeof name, "%s", strcmp(phase, TRIAL_PHASE_TRAIN) == 0 ? "steps" : phase);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '_';
    /* A phase named like another member would otherwise lead to two members with the same name. */
    if (strcmp(name, "final") == 0 || strcmp(name, "info_gain") == 0 || strcmp(name, "kernels") == 0 ||
        strcmp(name, "begun_anew") == 0 || (strcmp(name, "steps") == 0 && strcmp(phase, TRIAL_PHASE_TRAIN) != 0))
        snprintf(name, sizeof name, "phase_%s", phase);
    print_steps(out, name, steps);
}

static void print_final(FILE *out, struct trial_results *results)
{
    if (!results->final)
        return;
    if (results->train_s >= 0)
        json_object_set_new(results->final, "train_s", cli_json_number(results->train_s));
    if (results->eval_s >= 0)
        json_object_set_new(results->final, "eval_s", cli_json_number(results->eval_s));
    fputs("\"final\": ", out);
    cli_json_print(out, results->final, false);
    fputc(',', out);
}

/* Prints which kernels were used, because the same recipe may give different bits on another processor. */
static void print_kernels(FILE *out, const struct trial_results *results)
{
    if (!results->kernels[0])
        return;
    json_t *text = cli_json_text(results->kernels);
    fputs("\"kernels\": ", out);
    cli_json_print(out, text, false);
    fputc(',', out);
    json_decref(text);
}

/*
 * "final" comes first, so that head shows how the trial ended. The training steps are the longest member and come last.
 */
static void print_telemetry(FILE *out, struct trial_results *results)
{
    const char *phase;
    json_t *steps;
    fputc('{', out);
    print_final(out, results);
    print_kernels(out, results);
    if (results->begun_anew)
        fputs("\"begun_anew\": true,", out);
    json_object_foreach(results->phases, phase, steps)
        if (strcmp(phase, TRIAL_PHASE_TRAIN) != 0) {
            print_phase(out, phase, steps);
            fputs(",\n", out);
        }
    print_phase(out, TRIAL_PHASE_TRAIN, json_object_get(results->phases, TRIAL_PHASE_TRAIN));
    fputs("}\n", out);
}

/* Returns the text (free) with *length, or NULL when out of memory. */
static char *trial_telemetry_text(struct trial_results *results, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    print_telemetry(out, results);
    int failed = ferror(out);
    failed |= fclose(out);
    if (!failed)
        return text;
    free(text);
    return NULL;
}

/*
 * Returns the place for the next piece. Notes that are too long are truncated at the end, because the pieces that
 * programs read come first.
 */
static char *notes_end(struct trial_results *results, size_t *left)
{
    size_t n = strlen(results->notes);
    *left = TRIAL_NOTES_MAX - n;
    return results->notes + n;
}

/* Adds text that already consists of valid pieces of notes. */
static void note_pieces(struct trial_results *results, const char *pieces)
{
    size_t left;
    char *end = notes_end(results, &left);
    if (pieces && *pieces)
        snprintf(end, left, "%s%s", results->notes[0] ? "; " : "", pieces);
}

/*
 * Adds one piece. Semicolons are replaced, because a semicolon would end the piece, and the text after it could set
 * parameters.
 */
static void __attribute__((format(printf, 2, 3))) note(struct trial_results *results, const char *format, ...)
{
    char piece[TRIAL_NOTES_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    bool is_text = lineage_text_is_utf8(piece, strlen(piece));
    for (char *c = piece; *c; c++)
        if (*c == ';' || (unsigned char)*c < 0x20)
            *c = *c == ';' ? ',' : ' ';
        else if (!is_text && (unsigned char)*c >= 0x80)
            *c = '?'; /* a row must not be lost because of a file's name */
    note_pieces(results, piece);
}

/* Adds the pieces of a remark, which are separated by `; `. */
static void note_all(struct trial_results *results, const char *pieces)
{
    for (const char *at = pieces, *end; *at; at = *end ? end + 2 : end) {
        end = strstr(at, "; ");
        end = end ? end : at + strlen(at);
        if (end > at)
            note(results, "%.*s", (int)(end - at), at);
    }
}

static void fill_notes(struct trial_results *results, struct trial_outcome *outcome, const char *remark)
{
    note_pieces(results, results->plan->identity.notes);
    note_pieces(results, results->plan->identity.night);
    note_pieces(results, results->plan->identity.code);
    trial_label_explain(results, outcome);
    if (outcome->cause)
        note(results, "cause %s", lineage_cause_name(outcome->cause));
    if (outcome->reason[0])
        note(results, "%s", outcome->reason);
    if (outcome->end != TRIAL_FINISHED && results->score.present)
        note(results, "%s %.4f at step %lld", results->plan->score_label ? results->plan->score_label : "score",
             results->score.value, (long long)results->score_step);
    if (results->inert[0])
        note(results, "inert: %s", results->inert);
    if (remark && *remark)
        note_all(results, remark);
}

/* Rounds to six significant digits. The statistics are read by people and language models, who need no more. */
static double six_digits(double value)
{
    char text[32];
    double rounded = value;
    int n = snprintf(text, sizeof text, "%.6g", value);
    lineage_number_parse(&rounded, text, (size_t)n);
    return rounded;
}

static double milliseconds(double seconds)
{
    return round(seconds * 1e3) / 1e3;
}

/*
 * Only a finished trial has a score in the score column. The score of an unfinished trial goes to the notes, because it
 * was not reached with the whole budget. train_s is only known if the trial measures its own time. A trial that never
 * started has no times.
 */
static void fill_measures(struct trial_results *results, const struct trial_outcome *outcome, struct lineage_trial *trial)
{
    if (outcome->end == TRIAL_FINISHED)
        trial->core_metric = results->score;
    if (results->started) {
        if (results->train_s >= 0)
            trial->train_s = (struct lineage_number){true, milliseconds(results->train_s)};
        trial->total_s = (struct lineage_number){true, milliseconds(outcome->total_s)};
    }
    trial->ig_clip_scale_mean = results->clip_scale_mean;
    trial->ig_clip_scale_std = results->clip_scale_std;
    trial->ig_clip_scale_mean.value = six_digits(trial->ig_clip_scale_mean.value);
    trial->ig_clip_scale_std.value = six_digits(trial->ig_clip_scale_std.value);
    for (size_t i = 0; i < results->n_turns; i++) {
        results->turns[i].mean = six_digits(results->turns[i].mean);
        results->turns[i].std = six_digits(results->turns[i].std);
    }
    trial->turns = results->turns;
    trial->n_turns = results->n_turns;
}

/*
 * Copies the metric's name in the form that notes allow: `eval/top 1` becomes eval_top_1. Of two names that become one,
 * the first counts.
 */
static void add_metric(struct trial_results *results, size_t *n, const char *name, double value)
{
    char *copy = results->metric_names[*n];
    snprintf(copy, METRIC_NAME_BYTES, "%s%s", lineage_param_name_ok((char[]){name[0], '\0'}) ? "" : "m_", name);
    for (char *c = copy; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("_.-", *c)))
            *c = '_';
    for (size_t i = 0; i < *n; i++)
        if (strcmp(results->metrics[i].name, copy) == 0)
            return;
    if (lineage_param_name_ok(copy) && lineage_param_canonical(copy) == copy)
        results->metrics[(*n)++] = (struct lineage_param){copy, value, NULL};
}

/* Whether a name is in the list, in which "info_gain_t*" stands for every name that begins so. */
static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++) {
        size_t n = strcspn(*list, "*");
        if (strncmp(*list, name, n) == 0 && ((*list)[n] == '*' || !name[n]))
            return true;
    }
    return false;
}

/* The final metrics that the plan lists, so that queries find them without telemetry. */
static void fill_final_metrics(struct trial_results *results, struct lineage_trial *trial)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(results->final, name, value)
        if (n < METRIC_VALUES_MAX && json_is_number(value) && is_listed(results->plan->final_metrics, name))
            add_metric(results, &n, name, six_digits(json_number_value(value)));
    trial->metrics = results->metrics;
    trial->n_metrics = n;
}

/*
 * With several seeds, a metric is its mean over them, if each seed has it. The peaks that were sampled outside of the
 * trial are added, unless the trial reports them itself.
 */
static void fill_metrics(struct trial_results *results, const struct trial_outcome *outcome, struct lineage_trial *trial)
{
    const double mebibyte = 1 << 20;
    size_t n = 0;
    if (results->plan->final_metrics)
        fill_final_metrics(results, trial);
    if (!results->plan->record_metrics)
        return;
    trial_results_end_run(results);
    for (size_t i = 0; i < results->n_totals; i++) {
        const double mean = (double)(results->totals[i].sum / results->totals[i].n);
        if (results->totals[i].n != results->n_runs)
            continue;
        if (strcmp(results->totals[i].name, "val_bpb") == 0 && outcome->end == TRIAL_FINISHED)
            trial->val_bpb = (struct lineage_number){true, mean};
        add_metric(results, &n, results->totals[i].name, mean);
    }
    if (outcome->peak_bytes > 0)
        add_metric(results, &n, "peak_memory_mb", round(outcome->peak_bytes / mebibyte * 10) / 10);
    if (outcome->peak_gpu_bytes > 0)
        add_metric(results, &n, "peak_vram_mb", round(outcome->peak_gpu_bytes / mebibyte * 10) / 10);
    trial->metrics = results->metrics;
    trial->n_metrics = n;
}

/* Adds the planned parameters, unless the trial itself reported them. */
static void fill_params(struct trial_results *results, struct lineage_trial *trial)
{
    for (size_t i = 0; i < results->plan->n_params; i++) {
        const struct lineage_param *param = &results->plan->params[i];
        size_t at = 0;
        while (at < results->n_params && strcmp(results->params[at].name, param->name) != 0)
            at++;
        if (at == results->n_params && at < TRIAL_PARAMS_MAX)
            results->params[results->n_params++] = *param;
    }
    trial->params = results->params;
    trial->n_params = results->n_params;
}

/*
 * The value that a requirement is compared with: what the row has, or what the trial reported with its last phase, or the
 * score by its own name. Peaks are known also where the row does not record metrics.
 */
static struct lineage_number measured_value(const struct trial_results *results, const struct trial_outcome *outcome,
                                            const struct lineage_trial *trial, const char *name)
{
    struct lineage_number value = lineage_requirement_value(trial, name);
    const char *score = results->plan->score_key;
    if (value.present)
        return value;
    if (strcmp(name, "score") == 0 || (score && strcmp(name, score) == 0))
        return results->score;
    value.present = trial_results_final(&value.value, results, name);
    if (value.present || results->plan->record_metrics)
        return value;
    double peak = strcmp(name, "peak_memory_mb") == 0 ? outcome->peak_bytes
                  : strcmp(name, "peak_vram_mb") == 0 ? outcome->peak_gpu_bytes
                                                      : 0;
    return (struct lineage_number){peak > 0, peak / (1 << 20)};
}

/* A finished trial that does not meet a requirement ends as if a protected file had changed: its score does not count.
 * The first such requirement is named. */
static void judge_requirements(const struct trial_results *results, struct trial_outcome *outcome,
                               const struct lineage_trial *trial)
{
    const char *const *texts = results->plan->settings.require;
    for (; texts && *texts && outcome->end == TRIAL_FINISHED && results->score.present; texts++) {
        struct lineage_requirement requirement;
        char why[LINEAGE_REQUIREMENT_WHY_MAX];
        if (lineage_requirement_parse(&requirement, *texts, NULL) != LINEAGE_OK ||
            lineage_requirement_is_met(why, &requirement, measured_value(results, outcome, trial, requirement.name)))
            continue;
        outcome->end = TRIAL_DISQUALIFIED;
        snprintf(outcome->text, sizeof outcome->text, "%s", why);
    }
}

/* The label is not keep or discard yet: append decides that, because it compares scores under the store's lock. */
bool trial_row_make(struct trial_results *results, struct trial_outcome *outcome, const char *remark, struct lineage_trial *trial,
                    struct lineage_append_options *options)
{
    const struct trial_identity *identity = &results->plan->identity;
    *trial = (struct lineage_trial){.specialist = identity->specialist,
                                    .domain = identity->domain,
                                    .parent_exp = identity->parent,
                                    .hypothesis = identity->hypothesis,
                                    .expected_delta = identity->expected_delta};
    outcome->begun = results->begun;
    lineage_append_options_init(options);
    fill_params(results, trial);
    fill_metrics(results, outcome, trial);
    fill_measures(results, outcome, trial);
    judge_requirements(results, outcome, trial);
    if (outcome->end != TRIAL_FINISHED)
        trial->core_metric = trial->val_bpb = (struct lineage_number){0};
    trial->status = trial_label(results, outcome);
    outcome->cause = trial_label_cause(results, outcome);
    options->auto_status = trial->status == LINEAGE_BASELINE && !identity->baseline;
    options->first_is_baseline = identity->baseline_if_first;
    fill_notes(results, outcome, remark);
    trial->notes = results->notes;
    if (!results->started)
        return true;
    results->telemetry = trial_telemetry_text(results, &options->telemetry_length);
    options->telemetry = results->telemetry;
    return results->telemetry != NULL;
}
