/* rerun.c: see rerun.h. */
#include "night/rerun.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "sweep/replicate_trial.h"

/* A trial that fails this often on fresh seeds is left alone. */
enum { FAILURES_MAX = 3 };

static int load(struct lineage_evidence *evidence, const struct night *night)
{
    struct lineage_error err;
    const struct lineage_evidence_rule rule = {.runs_max = night->reruns.runs_max};
    return lineage_evidence_load(evidence, night->list.store, &rule, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static bool is_at_work(const struct trial_list *list, const char *exp_id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->trials[i].at_work && list->trials[i].replicates && strcmp(list->trials[i].replicates, exp_id) == 0)
            return true;
    return false;
}

static bool may_run(const struct night *night, const struct lineage_evidence_trial *trial)
{
    return trial->failed < FAILURES_MAX && !is_at_work(&night->list, trial->exp_id);
}

static size_t race_left(const struct night *night)
{
    size_t used = night->list.n_again;
    for (size_t i = 0; i < night->list.n; i++)
        used += night->list.trials[i].at_work && night->list.trials[i].replicates;
    return night->reruns.race > used ? night->reruns.race - used : 0;
}

/* A confirmed trial comes first: one more run brings its row. */
static size_t pick(const struct night *night, const struct lineage_evidence *evidence, struct lineage_judgement *list, bool rest)
{
    enum lineage_rerun which = !race_left(night) ? LINEAGE_RERUN_CANDIDATES : rest ? LINEAGE_RERUN_OPEN : LINEAGE_RERUN_NEAR;
    const bool race_ended = night->reruns.race && !race_left(night);
    size_t ready = SIZE_MAX;
    for (size_t i = 0; i < evidence->n; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[i];
        bool skipped = i == evidence->best || trial->kept_id || !may_run(night, trial) ||
                       list[i].state == LINEAGE_EVIDENCE_REFUTED || (race_ended && !trial->suggested);
        if (!skipped && lineage_evidence_is_ready(evidence, i))
            ready = i;
        if (skipped)
            list[i].state = LINEAGE_EVIDENCE_REFUTED;
    }
    return ready != SIZE_MAX ? ready : lineage_evidence_next(list, evidence->n, which);
}

static int add_run(struct night *night, const struct lineage_evidence *evidence, size_t which, size_t *i)
{
    char why[NIGHT_WHY_MAX] = "";
    return replicate_trial_add(&night->list, evidence->trials[which].exp_id, evidence->trials[which].again, i, why);
}

/* Trials of other sweeps and people cannot run again here, so they are passed over. */
static int choose(struct night *night, const struct lineage_evidence *evidence, struct lineage_judgement *list, bool rest, size_t *i)
{
    const struct lineage_evidence_trial *best = &evidence->trials[evidence->best];
    for (;;) {
        size_t next = pick(night, evidence, list, rest);
        if (next == SIZE_MAX)
            return CLI_OK;
        size_t before = night->list.n;
        int status = add_run(night, evidence, next, i);
        list[next].state = LINEAGE_EVIDENCE_REFUTED;
        if (status == CLI_NO)
            continue;
        bool best_first = lineage_evidence_best_first(evidence->trials[next].runs.n, evidence->best_runs.n) &&
                          !lineage_evidence_is_ready(evidence, next) && may_run(night, best);
        if (status != CLI_GO_ON || !best_first)
            return status;
        if (night->list.n > before)
            trial_list_forget(&night->list, *i);
        status = add_run(night, evidence, evidence->best, i);
        return status == CLI_NO ? add_run(night, evidence, next, i) : status; /* the best trial is of another sweep */
    }
}

int rerun_next(struct night *night, bool rest, size_t *i)
{
    struct lineage_evidence evidence;
    struct lineage_judgement *list = NULL;
    if (!night->reruns.confirm)
        return CLI_OK;
    int status = load(&evidence, night);
    if (status != CLI_GO_ON)
        return status;
    status = CLI_OK;
    if (evidence.best < evidence.n && !(list = calloc(evidence.n, sizeof *list)))
        status = cli_no_memory();
    for (size_t k = 0; list && k < evidence.n; k++)
        list[k] = evidence.trials[k].judgement;
    if (list)
        status = choose(night, &evidence, list, rest, i);
    free(list);
    lineage_evidence_release(&evidence);
    if (status == CLI_GO_ON)
        status = claims_take(&night->claims, i, 1, 0, i);
    return status == CLAIM_AGAIN ? rerun_next(night, rest, i) : status; /* another worker was first, so there is a new row */
}

/* ---- the row ---- */

/* The digits that matter, because the mean of two scores has all seventeen. */
static double shorten(double value)
{
    char text[32];
    double shorter = value;
    int n = snprintf(text, sizeof text, "%.10g", value);
    return lineage_number_parse(&shorter, text, (size_t)n) ? shorter : value;
}

static void describe(char *out, size_t size, const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const struct lineage_judgement *j = &trial->judgement;
    double gain = evidence->rule.higher ? j->gain : -j->gain;
    if (evidence->best >= evidence->n)
        snprintf(out, size, "another run");
    else if (i == evidence->best)
        snprintf(out, size, "another run of the best trial, for comparison: mean %.6g of %zu runs", evidence->best_runs.mean,
                 evidence->best_runs.n);
    else if (isnan(j->error))
        snprintf(out, size, "%s: mean %+.3g against %s, the noise is not known yet", lineage_evidence_state_name(j->state), gain,
                 evidence->best_id);
    else
        snprintf(out, size, "%s: mean %+.3g against %s, standard error %.2g, %zu runs against %zu, odds %.3g to 1",
                 lineage_evidence_state_name(j->state), gain, evidence->best_id, j->error, trial->runs.n, evidence->best_runs.n,
                 j->odds);
}

static void settle_run(char *text, size_t size, const struct night *night, struct lineage_replicate *replicate,
                       struct lineage_trial *row, struct lineage_append_options *options, char best_id[256])
{
    struct lineage_evidence evidence;
    row->status = LINEAGE_DISCARD;
    options->auto_status = false;
    if (load(&evidence, night) != CLI_GO_ON)
        return;
    size_t i = lineage_evidence_find(&evidence, replicate->exp_id);
    if (i < evidence.n) {
        lineage_evidence_add(&evidence, i, row);
        describe(text, size, &evidence, i);
    }
    if (i < evidence.n && lineage_evidence_is_ready(&evidence, i)) {
        replicate->score = row->core_metric;
        row->core_metric.value = shorten(evidence.trials[i].fresh.mean);
        row->status = LINEAGE_KEEP;
        snprintf(best_id, 256, "%s", evidence.best_id);
        options->keep_against = best_id;
    }
    lineage_evidence_release(&evidence);
}

void rerun_settle(char notes[RERUN_NOTES_MAX], const struct night *night, const struct night_trial *trial,
                  struct lineage_trial *row, struct lineage_append_options *options)
{
    char piece[LINEAGE_REPLICATE_MAX], text[512] = "";
    struct lineage_replicate replicate = {.score = {.present = false}};
    if (!trial->replicates) {
        options->unconfirmed = night->reruns.confirm;
        return;
    }
    snprintf(replicate.exp_id, sizeof replicate.exp_id, "%s", trial->replicates);
    if (options->auto_status && row->core_metric.present) /* the trial has finished */
        settle_run(text, sizeof text, night, &replicate, row, options, notes + RERUN_NOTES_MAX - 256);
    const char *before = row->notes ? row->notes : "";
    int n = snprintf(notes, RERUN_NOTES_MAX - 256, "%s%s%s%s%s", before, *before ? "; " : "",
                     lineage_replicate_format(piece, &replicate), *text ? "; " : "", text);
    if (n > 0 && n < RERUN_NOTES_MAX - 256)
        row->notes = notes;
}

/* ---- noise ---- */

int rerun_update_noise(struct lineage_store *store)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    const struct lineage_config *config = lineage_store_config(store);
    if (config->noise_std > 0 && !config->noise_freedom)
        return CLI_GO_ON;
    if (lineage_evidence_load_for(&evidence, store, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    const struct lineage_noise noise = evidence.noise;
    lineage_evidence_release(&evidence);
    if (noise.estimated || isinf(noise.freedom) || !(noise.std > 0) || noise.freedom < 1 ||
        (noise.std == config->noise_std && noise.freedom == config->noise_freedom))
        return CLI_GO_ON;
    enum lineage_status status =
        lineage_store_measure_noise(store, shorten(noise.std), (unsigned)noise.freedom, (unsigned)noise.runs, &err);
    return status == LINEAGE_OK || status == LINEAGE_EEXIST ? CLI_GO_ON : cli_fail(&err);
}
