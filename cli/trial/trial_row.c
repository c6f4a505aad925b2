/*
 * trial_row.c: a record and its outcome become a struct lineage_trial, its notes and its
 * telemetry.
 *
 * Everything about a trial that a person or an agent will read next morning is decided here: which
 * label, which number counts as its score, what the notes say. The order of the notes is that of
 * the grammar's readers: plan, link to the night, reason, remark.
 */
#include "trial/trial_record.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"

/* ---- label ---- */

/* preflight_crash is for what failed before it cost anything, which an agent may mend and
 * repeat; the same message from a run that had begun is a crash. */
static enum lineage_label failure_label(const struct trial_record *record, enum trial_failure failure)
{
    if (failure == TRIAL_FAILURE_SIZE)
        return LINEAGE_SIZE_BLOCKED;
    return failure == TRIAL_FAILURE_INPUT && !record->begun ? LINEAGE_PREFLIGHT_CRASH : LINEAGE_CRASH;
}

/* A finished trial is a baseline until append has compared it: auto_status turns that into keep or discard. One that
 * succeeded but whose score was not found says nothing about its parameters: harness_abort, which a night runs again,
 * as it does a trial that the user interrupted. A score that is not finite is a crash. */
static enum lineage_label label(const struct trial_record *record, const struct trial_outcome *outcome)
{
    static const enum lineage_label labels[] = {
        [TRIAL_SIGNALLED] = LINEAGE_CRASH,
        [TRIAL_SILENT] = LINEAGE_CRASH,
        [TRIAL_NOT_FINITE] = LINEAGE_CRASH,
        [TRIAL_MEMORY_OVERRUN] = LINEAGE_CRASH,
        [TRIAL_PREFLIGHT_FAILED] = LINEAGE_PREFLIGHT_CRASH,
        [TRIAL_DISQUALIFIED] = LINEAGE_DISQUALIFIED,
        [TRIAL_TRAIN_OVERRUN] = LINEAGE_TRAIN_BUDGET_OVERRUN,
        [TRIAL_EVAL_OVERRUN] = LINEAGE_EVAL_BUDGET_OVERRUN,
        [TRIAL_ARTIFACT_OVERRUN] = LINEAGE_SIZE_BLOCKED,
        [TRIAL_INTERRUPTED] = LINEAGE_HARNESS_ABORT,
        [TRIAL_ABANDONED] = LINEAGE_HARNESS_ABORT,
    };
    if (outcome->end == TRIAL_FINISHED)
        return record->score.present ? LINEAGE_BASELINE : record->lost_score ? LINEAGE_CRASH : LINEAGE_HARNESS_ABORT;
    return outcome->end == TRIAL_FAILED ? failure_label(record, outcome->failure) : labels[outcome->end];
}

/* ---- notes ---- */

/* What does not fit is cut at the end: the pieces that machines read stand in front. */
static char *notes_end(struct trial_record *record, size_t *left)
{
    size_t n = strlen(record->notes);
    *left = TRIAL_NOTES_MAX - n;
    return record->notes + n;
}

/* Pieces that are in the grammar already. */
static void note_pieces(struct trial_record *record, const char *pieces)
{
    size_t left;
    char *end = notes_end(record, &left);
    if (pieces && *pieces)
        snprintf(end, left, "%s%s", record->notes[0] ? "; " : "", pieces);
}

/* Add one piece. A semicolon inside would end it and let the rest set parameters. */
static void __attribute__((format(printf, 2, 3))) note(struct trial_record *record, const char *format, ...)
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
            *c = '?'; /* a row must not be lost for the name of a file */
    note_pieces(record, piece);
}

/* Pieces that a remark parts by `; `; what a piece may not begin with was left out by who wrote them. */
static void note_all(struct trial_record *record, const char *pieces)
{
    for (const char *at = pieces, *end; *at; at = *end ? end + 2 : end) {
        end = strstr(at, "; ");
        end = end ? end : at + strlen(at);
        if (end > at)
            note(record, "%.*s", (int)(end - at), at);
    }
}

/* " after step 37 of 120", " after step 3 of 450 of the warm start". */
static void where(const struct trial_record *record, char text[64 + TRIAL_PHASE_MAX])
{
    bool own = strcmp(record->phase, TRIAL_PHASE_TRAIN) != 0 && strcmp(record->phase, TRIAL_PHASE_EVAL) != 0;
    text[0] = '\0';
    if (record->begun && record->steps > 0)
        snprintf(text, 64 + TRIAL_PHASE_MAX, " after step %lld of %lld%s%s", (long long)record->step,
                 (long long)record->steps, own ? " of the " : "", own ? record->phase : "");
    else if (record->begun && record->step > 0)
        snprintf(text, 64 + TRIAL_PHASE_MAX, " after step %lld", (long long)record->step);
}

/* Numbers with their units and the limit beside them, as the notes are all that is left when
 * telemetry is gone. */
static void give_reason(const struct trial_record *record, struct trial_outcome *outcome)
{
    const struct trial_plan *plan = record->plan;
    const size_t size = sizeof outcome->reason;
    char at[64 + TRIAL_PHASE_MAX], *reason = outcome->reason;
    where(record, at);
    switch (outcome->end) {
    case TRIAL_FINISHED:
        if (!record->score.present)
            snprintf(reason, size, record->lost_score ? "its score is not a finite number" : "exit 0 without a score: %s", outcome->looked);
        break;
    case TRIAL_FAILED: snprintf(reason, size, "failed%s: %s", at, outcome->text); break;
    case TRIAL_SIGNALLED:
        snprintf(reason, size, "killed by signal %d (%s)%s", outcome->signal, strsignal(outcome->signal), at);
        break;
    case TRIAL_TRAIN_OVERRUN:
        snprintf(reason, size, "training took more than %g s, stopped%s", plan->train_seconds, at);
        break;
    case TRIAL_EVAL_OVERRUN:
        snprintf(reason, size, "the final evaluation took more than %g s%s", plan->eval_seconds, at);
        break;
    case TRIAL_MEMORY_OVERRUN:
        if (outcome->out_of_memory) {
            snprintf(reason, size, "%s%s", outcome->text, at);
            break;
        }
        snprintf(reason, size, "it held %.0f bytes of memory, %.0f are allowed, stopped%s", outcome->peak_bytes,
                 plan->memory_bytes, at);
        break;
    case TRIAL_ARTIFACT_OVERRUN:
    case TRIAL_PREFLIGHT_FAILED:
    case TRIAL_DISQUALIFIED: snprintf(reason, size, "%s", outcome->text); break;
    case TRIAL_SILENT: snprintf(reason, size, "it said nothing for %g s, stopped%s", plan->silence_seconds, at); break;
    case TRIAL_NOT_FINITE: snprintf(reason, size, "%s, stopped%s", outcome->text, at); break;
    case TRIAL_ABANDONED:
        snprintf(reason, size, "the process that watched it was killed%s", at);
        break;
    case TRIAL_INTERRUPTED:
        snprintf(reason, size, "%s%s", outcome->text[0] ? outcome->text : "interrupted by the user", at);
        break;
    }
}

static void fill_notes(struct trial_record *record, struct trial_outcome *outcome, const char *remark)
{
    note_pieces(record, record->plan->notes);
    note_pieces(record, record->plan->night);
    give_reason(record, outcome);
    if (outcome->reason[0])
        note(record, "%s", outcome->reason);
    if (outcome->end != TRIAL_FINISHED && record->score.present)
        note(record, "%s %.4f at step %lld", record->plan->score_label ? record->plan->score_label : "score",
             record->score.value, (long long)record->score_step);
    if (remark && *remark)
        note_all(record, remark);
}

/* ---- statistics ---- */

/* Statistics are read by people and language models, who have no use for more. */
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

/* A trial of its own clock trained that long; for another the wall of the child is all that is
 * known. A score on the way is not a score of the whole budget, so only a finished trial has
 * one in its column; of others the notes say it. A trial that never started took no time worth
 * a number. */
static void fill_measures(struct trial_record *record, const struct trial_outcome *outcome,
                          struct lineage_trial *trial)
{
    if (outcome->end == TRIAL_FINISHED)
        trial->core_metric = record->score;
    if (record->started) {
        if (record->train_s >= 0)
            trial->train_s = (struct lineage_number){true, milliseconds(record->train_s)};
        trial->total_s = (struct lineage_number){true, milliseconds(outcome->total_s)};
    }
    trial->ig_clip_scale_mean = record->clip_scale_mean;
    trial->ig_clip_scale_std = record->clip_scale_std;
    trial->ig_clip_scale_mean.value = six_digits(trial->ig_clip_scale_mean.value);
    trial->ig_clip_scale_std.value = six_digits(trial->ig_clip_scale_std.value);
    for (size_t i = 0; i < record->n_turns; i++) {
        record->turns[i].mean = six_digits(record->turns[i].mean);
        record->turns[i].std = six_digits(record->turns[i].std);
    }
    trial->turns = record->turns;
    trial->n_turns = record->n_turns;
}

/* ---- telemetry ---- */

/* A list of objects, one a line. */
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

/* The steps of a phase under its name, with _ for blanks; those of training are "steps". A
 * phase's name comes from the child: what would break JSON or a path in a query becomes _. */
static void print_phase(FILE *out, const char *phase, const json_t *steps)
{
    char name[TRIAL_PHASE_MAX + 32];
    snprintf(name, sizeof name, "%s", strcmp(phase, TRIAL_PHASE_TRAIN) == 0 ? "steps" : phase);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '_';
    /* The child's own word for one that has a meaning there would be a second member of that name. */
    if (strcmp(name, "final") == 0 || strcmp(name, "info_gain") == 0 || strcmp(name, "kernels") == 0 ||
        (strcmp(name, "steps") == 0 && strcmp(phase, TRIAL_PHASE_TRAIN) != 0))
        snprintf(name, sizeof name, "phase_%s", phase);
    print_steps(out, name, steps);
}

static void print_final(FILE *out, struct trial_record *record)
{
    if (!record->final)
        return;
    if (record->train_s >= 0)
        json_object_set_new(record->final, "train_s", cli_json_number(record->train_s));
    if (record->eval_s >= 0)
        json_object_set_new(record->final, "eval_s", cli_json_number(record->eval_s));
    fputs("\"final\": ", out);
    cli_json_print(out, record->final, false);
    fputc(',', out);
}

/* On another processor the same recipe may end otherwise: who compares two rows to the bit looks here. */
static void print_kernels(FILE *out, const struct trial_record *record)
{
    if (!record->kernels[0])
        return;
    json_t *text = cli_json_text(record->kernels);
    fputs("\"kernels\": ", out);
    cli_json_print(out, text, false);
    fputc(',', out);
    json_decref(text);
}

/* "final" first, so that head shows how it ended; the steps of training last, as they are the
 * longest. */
static void print_telemetry(FILE *out, struct trial_record *record)
{
    const char *phase;
    json_t *steps;
    fputc('{', out);
    print_final(out, record);
    print_kernels(out, record);
    json_object_foreach(record->phases, phase, steps)
        if (strcmp(phase, TRIAL_PHASE_TRAIN) != 0) {
            print_phase(out, phase, steps);
            fputs(",\n", out);
        }
    print_phase(out, TRIAL_PHASE_TRAIN, json_object_get(record->phases, TRIAL_PHASE_TRAIN));
    fputs("}\n", out);
}

/* Numbers one step a line, so that tail, grep and a diff of two trials are of use. */
static bool fill_telemetry(struct trial_record *record, struct lineage_append_options *options)
{
    size_t length = 0;
    if (!record->started)
        return true;
    FILE *out = open_memstream(&record->telemetry, &length);
    if (!out)
        return false;
    print_telemetry(out, record);
    int failed = ferror(out);
    failed |= fclose(out);
    options->telemetry = record->telemetry;
    options->telemetry_length = length;
    return !failed;
}

/* ---- the row ---- */

/* What was known before, unless the trial itself said otherwise. */
static void fill_params(struct trial_record *record, struct lineage_trial *trial)
{
    for (size_t i = 0; i < record->plan->n_params; i++) {
        const struct lineage_param *param = &record->plan->params[i];
        size_t at = 0;
        while (at < record->n_params && strcmp(record->params[at].name, param->name) != 0)
            at++;
        if (at == record->n_params && at < TRIAL_PARAMS_MAX)
            record->params[record->n_params++] = *param;
    }
    trial->params = record->params;
    trial->n_params = record->n_params;
}

/* Keep or discard is left to append, which compares under the store's lock: decided here,
 * another row could come in between. */
bool trial_record_finish(struct trial_record *record, struct trial_outcome *outcome, const char *remark,
                         struct lineage_trial *trial, struct lineage_append_options *options)
{
    const struct trial_plan *plan = record->plan;
    *trial = (struct lineage_trial){.specialist = plan->specialist,
                                    .domain = plan->domain,
                                    .parent_exp = plan->parent,
                                    .hypothesis = plan->hypothesis,
                                    .expected_delta = plan->expected_delta,
                                    .status = label(record, outcome)};
    lineage_append_options_init(options);
    options->auto_status = trial->status == LINEAGE_BASELINE && !plan->baseline;
    fill_params(record, trial);
    fill_notes(record, outcome, remark);
    fill_measures(record, outcome, trial);
    trial->notes = record->notes;
    return fill_telemetry(record, options);
}
