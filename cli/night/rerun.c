#include "night/night.h"

#include <lineage/evidence.h>
#include <lineage/notes.h>

/* A trial that fails this often on fresh seeds is left alone. */
enum { FAILURES_MAX = 3 };
/* A night of at most 6 trials has two runs of each, as halving by hand has; and up to a fifth of the runs more, where some are lost. */
enum { FEW_TRIALS = 6, SPARE_SHARE = 5 };

static int load(struct lineage_evidence *evidence, struct lineage_store *store, const char *exp_id, size_t runs_max)
{
    struct lineage_error err;
    const struct lineage_evidence_rule rule = {.runs_max = runs_max};
    return lineage_evidence_load_for(evidence, store, exp_id, &rule, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static bool is_at_work(const struct trial_list *list, const char *exp_id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->trials[i].at_work && list->trials[i].replicates && strcmp(list->trials[i].replicates, exp_id) == 0)
            return true;
    return false;
}

size_t rerun_budget(const struct night *night)
{
    const struct night_sweep *sweep = &night->list.sweep;
    const size_t trials = sweep->n + sweep->plan.trials;
    if (night->reruns.runs)
        return night->reruns.runs;
    if (!trials || (night->planning.on && !sweep->plan.trials))
        return SIZE_MAX;
    return trials + (!night->reruns.confirm ? 0
                     : night->reruns.race   ? night->reruns.race
                     : trials > FEW_TRIALS  ? (2 * trials + 2) / 3
                     : trials > 1           ? trials
                                            : 0);
}

static size_t first_runs(const struct trial_list *list, bool planned)
{
    size_t n = planned ? list->n_proposed : 0;
    for (size_t i = 0; i < list->sweep.n; i++)
        n += list->trials[i].exp_id != NULL;
    return n;
}

size_t rerun_runs_used(const struct night *night)
{
    return night->list.n_again + first_runs(&night->list, night->planning.on) + night->slots.at_work;
}

size_t rerun_runs_left(const struct night *night)
{
    const size_t budget = rerun_budget(night), used = rerun_runs_used(night);
    return budget > used ? budget - used : 0;
}

size_t rerun_spare(const struct night *night)
{
    const size_t budget = rerun_budget(night), most = budget + budget / SPARE_SHARE, used = rerun_runs_used(night);
    if (!night->reruns.confirm || night->reruns.runs || night->reruns.race || budget == SIZE_MAX || used >= most)
        return 0;
    return most - (used > budget ? used : budget);
}

static bool is_of_list(const struct trial_list *list, const struct lineage_evidence *evidence, size_t i)
{
    for (size_t k = 0; k < list->n; k++)
        if (list->trials[k].exp_id && lineage_evidence_find(evidence, list->trials[k].exp_id) == i)
            return true;
    return false;
}

/* How many runs of the night's trials said nothing about a score, because they failed or diverged. */
static size_t runs_lost(const struct trial_list *list, const struct lineage_evidence *evidence)
{
    size_t n = list->n_failed;
    for (size_t k = 0; k < list->n; k++) {
        const struct night_trial *trial = &list->trials[k];
        n += trial->exp_id && !trial->replicates && !lineage_label_is_measured(trial->label);
    }
    for (size_t i = 0; i < evidence->n; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[i];
        const size_t diverged = trial->left_out + (trial->stray ? trial->runs.n : 0);
        n += diverged && is_of_list(list, evidence, i) ? diverged : 0;
    }
    return n;
}

/* Without --runs and --race, others take the place of such runs. */
static bool may_run(const struct night *night, const struct lineage_evidence *evidence)
{
    return rerun_runs_left(night) ||
           (rerun_spare(night) && rerun_runs_used(night) < rerun_budget(night) + runs_lost(&night->list, evidence));
}

/* Neighbours say what a run of a proposed setting is worth, so that this part of the runs, a tenth and two, is enough to learn the noise. */
enum { LAST_SHARE = 10 };

static bool builds(const struct night *night)
{
    const char *parent = cli_json_string(night->list.sweep.root, "parent");
    return night->planning.planner || (parent && strcmp(parent, "base") != 0);
}

size_t rerun_reserve(const struct night *night, size_t runs)
{
    const size_t last = runs / LAST_SHARE + 2;
    return !night->reruns.confirm ? 0 : builds(night) || last > runs / 3 ? runs / 3 : last;
}

bool rerun_is_due(const struct night *night)
{
    const size_t again = night->list.n_again, first = first_runs(&night->list, night->planning.on);
    if (!night->reruns.confirm)
        return false;
    if (night->stop.near)
        return true;
    return builds(night) ? 3 * again + 2 < 2 * first
                         : night->planning.on && rerun_budget(night) == SIZE_MAX && LAST_SHARE * again + 2 < first;
}

/* Trials of other sweeps and people cannot run again here, so they are passed over. */
static int choose(struct night *night, const struct lineage_evidence *evidence, bool *skip, size_t *i)
{
    const size_t most = night->reruns.runs_max ? night->reruns.runs_max : LINEAGE_RUNS_MAX;
    char why[NIGHT_WHY_MAX] = "";
    for (size_t k = 0; k < evidence->n; k++)
        skip[k] = (night->stop.near && k != evidence->answer) || evidence->trials[k].failed >= FAILURES_MAX ||
                  is_at_work(&night->list, evidence->trials[k].exp_id) ||
                  evidence->trials[k].runs.n + evidence->trials[k].left_out >= most;
    for (;;) {
        size_t next = lineage_evidence_next(evidence, skip);
        if (next == SIZE_MAX)
            return CLI_OK;
        int status = replicate_trial_add(&night->list, evidence->trials[next].exp_id, evidence->trials[next].again, i, why);
        if (status != CLI_NO)
            return status;
        skip[next] = true;
    }
}

static bool diverged_once(bool *once, const struct night *night, size_t k, struct lineage_error *err)
{
    struct lineage_trial row = {0};
    bool again = true;
    enum lineage_status status = lineage_find(night->list.store, night->list.trials[k].exp_id, &row, err);
    const bool diverged = status == LINEAGE_OK && lineage_notes_cause(row.notes) == LINEAGE_CAUSE_DIVERGENCE;
    if (diverged)
        status = lineage_ran_again(&again, night->list.store, &row, err);
    lineage_trial_release(&row);
    *once = diverged && !again;
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND;
}

/* A trial whose only run diverged may have done so by chance, unless others that share a setting failed too: one more run, with
 * another seed, before the trials that have scores run again. */
static int choose_diverged(struct night *night, size_t *i)
{
    const struct trial_list *list = &night->list;
    for (size_t k = 0; k < list->sweep.n && !night->stop.near; k++) {
        struct night_trial *trial = &night->list.trials[k];
        char why[NIGHT_WHY_MAX] = "";
        struct lineage_error err;
        bool once;
        if (!trial->exp_id || trial->label != LINEAGE_CRASH || trial->is_settled || is_at_work(list, trial->exp_id))
            continue;
        if (!diverged_once(&once, night, k, &err))
            return cli_fail(&err);
        trial->is_settled = !once;
        int status =
            once && !failure_is_of_a_setting(list, k) ? replicate_trial_add(&night->list, trial->exp_id, 0, i, why) : CLI_NO;
        if (status != CLI_NO)
            return status;
    }
    return CLI_OK;
}

int rerun_next(struct night *night, size_t *i)
{
    struct lineage_evidence evidence;
    const bool within = rerun_runs_left(night) > 0;
    if (!night->reruns.confirm || (!within && !rerun_spare(night)))
        return CLI_OK;
    int status = within ? choose_diverged(night, i) : CLI_OK;
    if (status == CLI_GO_ON)
        status = claims_take(&night->claims, i, 1, 0, i);
    if (status != CLI_OK)
        return status == CLAIM_AGAIN ? rerun_next(night, i) : status;
    status = load(&evidence, night->list.store, NULL, night->reruns.runs_max);
    if (status != CLI_GO_ON)
        return status;
    bool *skip = calloc(evidence.n + 1, sizeof *skip);
    status = !skip ? cli_no_memory() : may_run(night, &evidence) ? choose(night, &evidence, skip, i) : CLI_OK;
    free(skip);
    lineage_evidence_release(&evidence);
    if (status == CLI_GO_ON)
        status = claims_take(&night->claims, i, 1, 0, i);
    return status == CLAIM_AGAIN ? rerun_next(night, i) : status; /* another worker was first, so there is a new row */
}

static void describe(char *out, size_t size, const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const struct lineage_judgement *j = &trial->judgement;
    double gain = evidence->rule.higher ? j->gain : -j->gain;
    char mean[LINEAGE_NUMBER_MAX];
    if (evidence->best >= evidence->n)
        snprintf(out, size, "another run");
    else if (i == evidence->best)
        snprintf(out, size, "another run of the best trial: mean %s of %zu runs",
                 lineage_mean_text(mean, evidence->best_runs.mean, lineage_noise_margin(&evidence->noise, evidence->best_runs.n)),
                 evidence->best_runs.n);
    else if (isnan(j->error))
        snprintf(out, size, "%s: mean %+.3g against %s, the noise is not known yet", lineage_evidence_state_name(j->state), gain,
                 evidence->best_id);
    else
        snprintf(out, size, "%s: mean %+.3g against %s, standard error %.2g, %zu runs against %zu, odds %.3g to 1",
                 lineage_evidence_state_name(j->state), gain, evidence->best_id, j->error, trial->runs.n, evidence->best_runs.n,
                 j->odds);
}

void rerun_decide(char *text, size_t size, struct lineage_store *store, size_t runs_max,
                  const struct lineage_replicate *replicate, struct lineage_trial *row, struct lineage_append_options *options,
                  char top_id[256])
{
    struct lineage_evidence evidence;
    row->status = LINEAGE_DISCARD;
    options->auto_status = false;
    if (load(&evidence, store, replicate->exp_id, runs_max) != CLI_GO_ON)
        return;
    size_t i = lineage_evidence_find(&evidence, replicate->exp_id);
    if (i < evidence.n) {
        lineage_evidence_add(&evidence, i, row);
        describe(text, size, &evidence, i);
    }
    if (i < evidence.n && lineage_evidence_is_ready(&evidence, i)) {
        row->status = LINEAGE_KEEP;
        snprintf(top_id, 256, "%s", evidence.top_id);
        options->keep_against = top_id;
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
        rerun_decide(text, sizeof text, night->list.store, night->reruns.runs_max, &replicate, row, options,
                     notes + RERUN_NOTES_MAX - 256);
    const char *before = row->notes ? row->notes : "";
    int n = snprintf(notes, RERUN_NOTES_MAX - 256, "%s%s%s%s%s", before, *before ? "; " : "",
                     lineage_replicate_format(piece, &replicate), *text ? "; " : "", text);
    if (n > 0 && n < RERUN_NOTES_MAX - 256)
        row->notes = notes;
}
