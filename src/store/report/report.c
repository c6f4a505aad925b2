/*
 * report.c: one report, read from the mirror at one moment.
 *
 * Settings, sizes, best, chain, lists and calibration are filled in here; params and grids in coverage.c; failures in
 * failures.c; full in differences.c; board in board.c. The mirror is brought up to date once, before the first part,
 * so that all parts describe the same rows.
 */
#include <math.h>

#include <lineage/evidence.h>
#include <lineage/remarks.h>

#include "../mirror/statement.h"
#include "report_parts.h"

#define NEAR_MISSES 5
#define CALIBRATED 12 /* specialists, and as many proposers */

/* Lengths that a planner reads in one go; 30 trials of a chain show its root, its course and its end. */
void lineage_report_options_init(struct lineage_report_options *options)
{
    *options = (struct lineage_report_options){.leaders = 20, .recent = 30, .full = 10, .chain = 30};
}

/* Settings are copied, so that the report stays valid after the store is closed. Append uses the same function for the
 * threshold. */
static enum lineage_status take_settings(struct report_load *load, struct lineage_error *err)
{
    const struct lineage_config *config = &load->store->config;
    struct lineage_report *report = &load->report;
    /* A reader knows the score by the name that its program prints; fieldkit's files name the column. */
    const char *name = load->options->rules == LINEAGE_RULES_NATIVE ? lineage_store_score_name(load->store) : NULL;
    const char *metric = name ? name : lineage_store_metric(load->store);
    report->metric = arena_text(&load->arena, metric, strlen(metric));
    report->direction = config->direction;
    report->min_delta = config->min_delta;
    report->noise_std = config->noise_std;
    report->noise_seeds = config->noise_seeds ? config->noise_seeds : 1;
    report->margin = lineage_hypothesis_margin(config);
    report->night_trials = lineage_config_trials(config);
    lineage_noise_of_config(&report->noise, config);
    report->second = config->second;
    report->claim = report->stopped = "";
    report->rows = mirror_position(load->store->mirror)->rows;
    struct lineage_scatter scatter = {0};
    enum lineage_status status = report->metric ? LINEAGE_OK : store_no_memory(err);
    if (status == LINEAGE_OK && config->noise_freedom)
        status = mirror_scatter(load->store->mirror, INT64_MAX, &scatter, err);
    report->needed = lineage_threshold(config, &scatter);
    return status;
}

/* A limit of 0 needs no query; SQLite would still prepare and run the statement. */
static enum lineage_status list(struct report_load *load, enum mirror_order order, size_t limit,
                                const struct lineage_trial **trials, size_t *n, struct lineage_error *err)
{
    struct lineage_trial *found = NULL;
    *n = 0;
    enum lineage_status status =
        limit ? mirror_list(load->store->mirror, order, limit, &found, n, &load->arena, err) : LINEAGE_OK;
    if (status == LINEAGE_OK && load->options->rules == LINEAGE_RULES_NATIVE)
        status = report_describe(load, found, *n, err);
    *trials = found;
    return status;
}

/* A quarter of the room goes to the root's end, because the recent part of a chain is worth more. */
static enum lineage_status load_chain(struct report_load *load, int64_t seq, enum mirror_chain_rule rule, size_t first,
                                      size_t last, struct lineage_error *err)
{
    struct mirror_chain_ends ends;
    TRY(mirror_chain_ends(load->store->mirror, seq, rule, first, last, &ends, &load->arena, err));
    if (rule == MIRROR_CHAIN_KEPT)
        TRY(report_describe(load, ends.trials, ends.n, err));
    load->report.chain = (struct lineage_report_chain){.trials = ends.trials,
                                                       .passed_over = ends.passed_over,
                                                       .n = ends.n,
                                                       .total = ends.total,
                                                       .first = ends.first,
                                                       .end = ends.end,
                                                       .end_id = ends.end_id,
                                                       .by_keeps = ends.by_keeps};
    return LINEAGE_OK;
}

enum { SETTINGS = 5 };

static bool take_setting(struct lineage_report_setting *to, struct report_load *load, const struct lineage_evidence *evidence,
                         size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const char *row = lineage_evidence_row(evidence, i), *id = arena_text(&load->arena, row, strlen(row));
    *to = (struct lineage_report_setting){id, trial->runs.n, trial->runs.mean,
                                          lineage_noise_margin(&evidence->noise, trial->runs.n)};
    return id != NULL;
}

static enum lineage_status take_ranking(struct report_load *load, const struct lineage_evidence *evidence,
                                        struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    struct lineage_report_setting *list;
    size_t *order;
    report->sure = evidence->sure;
    report->same_scores = lineage_evidence_same_scores(evidence);
    if (isnan(evidence->sure))
        return LINEAGE_OK;
    TRY(arena_items(&load->arena, evidence->n, sizeof *order, &order, err));
    TRY(arena_items(&load->arena, SETTINGS + 1, sizeof *list, &list, err));
    lineage_evidence_order(order, evidence);
    report->settings = list;
    report->proven = evidence->trials[evidence->answer].kept_id != NULL;
    for (; report->n_settings < SETTINGS && report->n_settings < evidence->n; report->n_settings++)
        if (!take_setting(&list[report->n_settings], load, evidence, order[report->n_settings]))
            return store_no_memory(err);
    const size_t held_back = lineage_evidence_held_back(evidence);
    if (held_back < evidence->n) {
        if (!take_setting(&list[SETTINGS], load, evidence, held_back))
            return store_no_memory(err);
        report->held_back = &list[SETTINGS];
    }
    return LINEAGE_OK;
}

/* It is not a failure if there is no best trial: a store that contains only crashes has a report, too. */
static enum lineage_status load_best(struct report_load *load, struct lineage_error *err)
{
    struct lineage_trial *best, answer = {0};
    struct lineage_error none;
    size_t first = load->options->chain / 4;
    struct lineage_evidence evidence;
    enum lineage_status status = lineage_best_of(load->store, &answer, &evidence, &none);
    const int64_t seq = (int64_t)answer.seq;
    if (status == LINEAGE_OK)
        status = take_ranking(load, &evidence, &none);
    lineage_evidence_release(&evidence);
    lineage_trial_release(&answer);
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status != LINEAGE_OK)
        *err = none;
    if (status == LINEAGE_OK)
        status = arena_items(&load->arena, 1, sizeof *best, &best, err);
    if (status == LINEAGE_OK)
        status = mirror_borrow(load->store->mirror, seq, best, &load->arena, err);
    if (status == LINEAGE_OK)
        status = report_add_inherited(load, best, err);
    TRY(status);
    load->report.best = best;
    char claim[LINEAGE_CLAIM_TEXT_MAX];
    (void)lineage_claim_text(claim, load->store, best);
    if (load->report.same_scores) /* a further run of the same command would bring the same score */
        claim[strcspn(claim, ";")] = '\0';
    if (!(load->report.claim = arena_text(&load->arena, claim, strlen(claim))))
        return store_no_memory(err);
    return load_chain(load, seq, MIRROR_CHAIN_KEPT, first, load->options->chain - first, err);
}

struct stopped {
    struct report_load *load;
    bool failed;
};

static bool take_stop(void *context, const struct lineage_remark *remark)
{
    struct stopped *stopped = context;
    char text[LINEAGE_REMARK_MAX + LINEAGE_NAME_MAX];
    if (strcmp(remark->author, LINEAGE_NIGHT_AUTHOR) != 0)
        return true;
    int n = snprintf(text, sizeof text, "After %.60s, %s", remark->exp_id, remark->text);
    const char *copy = arena_text(&stopped->load->arena, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    stopped->failed = !copy;
    stopped->load->report.stopped = copy ? copy : "";
    return copy != NULL;
}

/* A night has no row of its own: why it stopped is a remark on its last trial. */
static enum lineage_status load_stopped(struct report_load *load, struct lineage_error *err)
{
    struct stopped stopped = {load, false};
    enum lineage_status status = lineage_remarks_read(load->store, NULL, take_stop, &stopped, err);
    return stopped.failed ? store_no_memory(err) : status;
}

/* Labels are counted from the sums by specialist, which failures.c needs anyway, so one query serves both. There, void trials
 * and the rows that say so are trials with harness_abort. A last row without a line end counts. */
static enum lineage_status count_labels(struct report_load *load, struct lineage_error *err)
{
    struct mirror *mirror = load->store->mirror;
    uint64_t void_rows;
    TRY(mirror_count_voids(mirror, &load->report.voids, &void_rows, err));
    TRY(mirror_label_counts(mirror, &load->counts, &load->n_counts, &load->arena, err));
    for (size_t i = 0; i < load->n_counts; i++) {
        load->report.labels[load->counts[i].label] += load->counts[i].n;
        load->report.trials += load->counts[i].n;
    }
    load->report.trials -= load->report.voids + void_rows;
    load->report.labels[LINEAGE_HARNESS_ABORT] -= load->report.voids + void_rows;
    return mirror_count_findings(mirror, &load->report.findings, err);
}

/* Coverage is loaded before the newest trials, because those leave out constant parameters. Labels are loaded before
 * coverage and failures, which depend on them, and proposers before coverage. */
static enum lineage_status load_native(struct report_load *load, struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    const struct lineage_report_options *o = load->options;
    struct mirror *mirror = load->store->mirror;
    struct lineage_report_calibration *calibration = NULL;
    struct lineage_report_proposer *proposers = NULL;
    struct lineage_report_near_miss *near_misses = NULL;
    struct lineage_front_point *front = NULL;
    TRY(load_best(load, err));
    TRY(load_stopped(load, err));
    TRY(count_labels(load, err));
    TRY(list(load, MIRROR_BEST_KEPT, o->leaders, &report->leaders, &report->n_leaders, err));
    TRY(list(load, MIRROR_NEWEST_INFORMATIVE, o->recent, &report->recent, &report->n_recent, err));
    TRY(report_against_parents(load, err));
    TRY(mirror_proposers(mirror, CALIBRATED, report->direction == LINEAGE_LOWER, &proposers, &report->n_proposers, &load->arena,
                         err));
    report->proposers = proposers;
    TRY(report_coverage(load, err));
    TRY(report_full(load, err));
    if (!(o->without & LINEAGE_REPORT_FAILURES))
        TRY(report_failures(load, err));
    if (report->best && !(o->without & LINEAGE_REPORT_NEAR_MISSES))
        TRY(mirror_near_misses(mirror, report->best->score.value, report->needed, NEAR_MISSES, &near_misses,
                               &report->n_near_misses, &load->arena, err));
    for (size_t i = 0; i < report->n_near_misses; i++)
        TRY(report_describe(load, &near_misses[i].trial, 1, err));
    report->near_misses = near_misses;
    TRY(mirror_two_scores(mirror, &front, &report->n_front, &load->arena, err));
    report->n_front = mirror_front(&load->store->config, front, report->n_front);
    report->front = front;
    TRY(mirror_median_seconds(mirror, &report->median_seconds, err));
    if (!(o->without & LINEAGE_REPORT_CALIBRATION))
        TRY(mirror_calibration(mirror, CALIBRATED, &calibration, &report->n_calibration, &load->arena, err));
    report->calibration = calibration;
    TRY(mirror_calibration_on_parents(mirror, calibration, report->n_calibration, err));
    return mirror_calibration_verdicts(mirror, report->margin, calibration, report->n_calibration, err);
}

/* Compares with `<`: a nan that comes first is never beaten, and a nan that comes later never wins. */
static enum lineage_status choose_best(struct report_load *load, struct lineage_error *err)
{
    const struct lineage_trial *best;
    size_t n;
    TRY(list(load, MIRROR_FIRST_SCORED, 1, &best, &n, err));
    if (!n)
        TRY(list(load, MIRROR_FIRST, 1, &best, &n, err));
    else if (!isnan(best->score.value))
        TRY(list(load, MIRROR_BEST_SCORED, 1, &best, &n, err));
    if (n)
        load->report.best = best;
    return LINEAGE_OK;
}

/* The chain starts from the last row that has the id of the best trial. */
static enum lineage_status load_ancestors(struct report_load *load, struct lineage_error *err)
{
    int64_t seq;
    if (!load->report.best || !load->report.best->exp_id[0])
        return LINEAGE_OK;
    TRY(mirror_find_exact(load->store->mirror, load->report.best->exp_id, &seq, err));
    return load_chain(load, seq, MIRROR_CHAIN_ALL, MIRROR_ALL, 0, err);
}

/* In Python a slice [-0:] is the whole list, so 0 means all here. This style shows trials without their changes. */
static enum lineage_status load_full(struct report_load *load, size_t limit, struct lineage_error *err)
{
    const struct lineage_trial *newest;
    struct lineage_report_full *full;
    size_t n;
    TRY(list(load, MIRROR_NEWEST, limit ? limit : MIRROR_ALL, &newest, &n, err));
    TRY(arena_items(&load->arena, n, sizeof *full, &full, err));
    for (size_t i = 0; i < n; i++)
        full[i] = (struct lineage_report_full){.trial = newest[i], .compared_with = "", .code = "", .remark = ""};
    load->report.full = full;
    load->report.n_full = n;
    return LINEAGE_OK;
}

/* Loads only what this style prints, because its files are written after every trial. */
static enum lineage_status load_fieldkit(struct report_load *load, struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    const struct lineage_report_options *o = load->options;
    TRY(choose_best(load, err));
    TRY(load_ancestors(load, err));
    TRY(list(load, MIRROR_BEST_KEPT_UNSCORED_INFINITE, o->leaders, &report->leaders, &report->n_leaders, err));
    TRY(list(load, MIRROR_NEWEST, o->recent ? o->recent : MIRROR_ALL, &report->recent, &report->n_recent, err));
    return load_full(load, o->full, err);
}

/* A switch without default: a new set of rules must not fall through to another one's. */
static enum lineage_status load_parts(struct report_load *load, struct lineage_error *err)
{
    TRY(take_settings(load, err));
    switch (load->options->rules) {
    case LINEAGE_RULES_NATIVE: return load_native(load, err);
    case LINEAGE_RULES_FIELDKIT: return load_fieldkit(load, err);
    case LINEAGE_RULES_BOARD: return report_board(load, err);
    }
    return store_fail(err, LINEAGE_EINVAL, "no such rules: %d", (int)load->options->rules);
}

struct report_question {
    struct lineage_store *store;
    const struct lineage_report_options *options;
    struct lineage_report **report;
};

static enum lineage_status load_once(void *question, struct lineage_error *err)
{
    const struct report_question *q = question;
    struct report_load *load = calloc(1, sizeof *load);
    if (!load)
        return store_no_memory(err);
    load->store = q->store;
    load->options = q->options;
    load->report.memory = load;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status == LINEAGE_OK) {
        bool began = mirror_begin_reading(q->store->mirror); /* the walk of a deep chain reads thousands of rows */
        status = load_parts(load, err);
        mirror_end_reading(q->store->mirror, began);
    }
    if (status == LINEAGE_OK)
        *q->report = &load->report;
    /* A partial report is not returned, because a printer could not tell an empty list from one that failed. */
    else
        lineage_report_release(&load->report);
    return status;
}

/* One allocation holds the report and its arena, so that releasing it is one call. */
enum lineage_status lineage_report_load(struct lineage_report **report, struct lineage_store *store,
                                        const struct lineage_report_options *options, struct lineage_error *err)
{
    struct lineage_report_options defaults;
    struct report_question question = {store, options ? options : &defaults, report};
    *report = NULL;
    lineage_report_options_init(&defaults);
    return mirror_ask(store->mirror, load_once, &question, err);
}

void lineage_report_release(struct lineage_report *report)
{
    if (!report)
        return;
    struct report_load *load = report->memory;
    arena_release(&load->arena);
    free(load);
}
