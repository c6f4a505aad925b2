/*
 * Walks through the measured trials in the order of the log, with the best so far, as the appends did. A trial that was compared
 * with a void one, or that a trial has come before which was void, is compared with the best that counts. Its label changes only
 * if the rules gave it (append_rules.c), not if a person did.
 */
#include "judge_again.h"

#include <math.h>

#include <lineage/notes.h>
#include <lineage/query.h>

#include "../format/id.h"
#include "../format/mean_note.h"
#include "../mirror/seqs.h"
#include "../questions/questions.h"
#include "verdict.h"

struct walk {
    struct lineage_store *store;
    struct two_scores scores;
    struct lineage_scatter scatter;
    double best;
    char *best_id;      /* NULL: nothing is kept yet */
    struct verdict_setting best_setting;
    bool moved;         /* the best trial was void once, or has got another label */
    bool relabelled;    /* with a second score: a label has changed, so that later trials have others on the front */
    bool void_baseline; /* the first kept trial takes the place of a baseline */
    char asked[LINEAGE_NAME_MAX]; /* the last question of is_lost, and its answer */
    bool was_lost;
};

/* Whether the notes have a reason as the rules write it (verdict.c, append_rules.c). */
static bool has_verdict(const char *notes)
{
    return shortfall_is_noted(notes) || strstr(notes, LINEAGE_SAME_SETTING) || strstr(notes, VERDICT_OVERTAKEN);
}

/* Whether an append or a night has decided the label: the notes of a discard say so, and rows of commands never have one of their
 * own choice. The runs of a trial that runs again are judged together (lineage/evidence.h). */
static bool is_by_rule(const struct lineage_trial *row, bool *unconfirmed)
{
    struct lineage_replicate replicate;
    *unconfirmed = strstr(row->notes, LINEAGE_UNCONFIRMED) != NULL;
    if (lineage_replicate_parse(&replicate, row->notes))
        return false;
    return row->status == LINEAGE_DISCARD ? *unconfirmed || has_verdict(row->notes) : strncmp(row->job_name, "trial-", 6) == 0;
}

/* Whether the trial with this id, which was kept, is not kept any more. It is a row before the one that is judged, so its label does
 * not change any more, and the next rows usually ask for the same one. */
static enum lineage_status is_lost(struct walk *w, const char *id, bool *lost, struct lineage_error *err)
{
    SCOPED_TRIAL kept = {0};
    int64_t seq;
    *lost = false;
    if (!id[0])
        return LINEAGE_OK;
    if (strcmp(w->asked, id) == 0) {
        *lost = w->was_lost;
        return LINEAGE_OK;
    }
    enum lineage_status status = mirror_is_moved(w->store->mirror, id_bare(id), lost, err);
    if (status == LINEAGE_OK && *lost)
        status = mirror_find(w->store->mirror, id, &seq, err);
    if (status == LINEAGE_OK && *lost)
        status = mirror_load(w->store->mirror, seq, &kept, err);
    *lost = *lost && status == LINEAGE_OK && !lineage_label_is_kept(kept.status);
    snprintf(w->asked, sizeof w->asked, "%s", id);
    w->was_lost = *lost;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Whether a trial that the row was compared with is not kept any more: the best, or the one that was as good in both scores. */
static enum lineage_status lost_its_baseline(struct walk *w, const struct lineage_trial *row, bool *lost,
                                             struct lineage_error *err)
{
    char id[LINEAGE_NAME_MAX];
    const char *dominated = strstr(row->notes, VERDICT_DOMINATED);
    TRY(is_lost(w, row->baseline_exp, lost, err));
    if (*lost || !dominated)
        return LINEAGE_OK;
    dominated += strlen(VERDICT_DOMINATED);
    snprintf(id, sizeof id, "%.*s", (int)strcspn(dominated, ";"), dominated);
    return is_lost(w, id, lost, err);
}

static enum lineage_label label_of(const struct walk *w, const struct lineage_trial *row, double difference, bool unconfirmed)
{
    const char *dominated_by;
    struct lineage_config config = w->store->config;
    const size_t runs = lineage_score_runs(row->notes);
    config.noise_seeds = runs > 1 ? (unsigned)runs : config.noise_seeds;
    const double most = unconfirmed ? (double)INFINITY : lineage_threshold(&config, &w->scatter);
    if (!w->best_id)
        return w->void_baseline ? LINEAGE_BASELINE : LINEAGE_KEEP;
    bool keep = verdict_is_keep(difference, most, w->store->config.direction == LINEAGE_HIGHER) ||
                two_scores_keep(&dominated_by, &w->scores, &config, row, most);
    if (keep) {
        struct verdict_setting own;
        verdict_setting_read(&own, w->store, row);
        keep = !verdict_setting_same(&own, &w->best_setting);
    }
    return keep ? LINEAGE_KEEP : LINEAGE_DISCARD;
}

static enum lineage_status judge_row(struct walk *w, struct lineage_trial *row, struct lineage_error *err)
{
    bool unconfirmed, lost;
    const bool by_rule = is_by_rule(row, &unconfirmed), compared = row->baseline_exp[0] && row->delta_vs_best.present;
    enum lineage_status status = lost_its_baseline(w, row, &lost, err);
    if (status != LINEAGE_OK || !(lost || (w->relabelled && by_rule) ||
                                  (w->moved && by_rule && strcmp(id_bare(w->best_id), id_bare(row->baseline_exp)) != 0)))
        return status;
    const double difference = w->best_id ? verdict_difference(row->score.value, w->best) : 0;
    const enum lineage_label was = row->status;
    row->status = by_rule ? label_of(w, row, difference, unconfirmed) : row->status;
    w->relabelled = w->relabelled || (w->store->config.second[0] && row->status != was);
    row->delta_vs_best = (struct lineage_number){compared && w->best_id, difference};
    row->baseline_exp = w->best_id ? w->best_id : row->status == LINEAGE_BASELINE ? row->exp_id : "";
    return mirror_judge_row(w->store->mirror, row, err);
}

/* The rule for the best trial is that of append_note_row. */
static enum lineage_status note_row(struct walk *w, const struct lineage_trial *row, struct lineage_error *err)
{
    const bool higher = w->store->config.direction == LINEAGE_HIGHER;
    if (!lineage_label_is_kept(row->status))
        return LINEAGE_OK;
    if (!two_scores_note(&w->scores, &w->store->config, row))
        return store_no_memory(err);
    if (w->best_id && (higher ? row->score.value <= w->best : row->score.value >= w->best))
        return LINEAGE_OK;
    free(w->best_id);
    w->best = row->score.value;
    w->best_id = strdup(row->exp_id);
    verdict_setting_read(&w->best_setting, w->store, row);
    return w->best_id ? mirror_is_moved(w->store->mirror, id_bare(row->exp_id), &w->moved, err) : store_no_memory(err);
}

enum lineage_status judge_rows_again(struct lineage_store *store, const struct mirror_seqs *seqs, int64_t first, int64_t last,
                                     struct lineage_error *err)
{
    struct walk w = {.store = store};
    enum lineage_status status = mirror_scatter(store->mirror, last, &w.scatter, err);
    if (status == LINEAGE_OK)
        status = mirror_has_void_baseline(store->mirror, &w.void_baseline, err);
    for (size_t i = 0; status == LINEAGE_OK && i < seqs->n; i++) {
        struct lineage_trial row = {0};
        status = mirror_load(store->mirror, seqs->items[i], &row, err);
        if (status == LINEAGE_OK && seqs->items[i] > first)
            status = judge_row(&w, &row, err);
        if (status == LINEAGE_OK)
            status = note_row(&w, &row, err);
        lineage_trial_release(&row);
    }
    two_scores_forget(&w.scores);
    free(w.best_id);
    return status;
}
