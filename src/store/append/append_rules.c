/*
 * append_rules.c: the rules of an append. They decide the parent of a row, its time, its difference to the best trial
 * so far, keep or discard, and which rows are refused. The rules for ids are in append_ids.c.
 *
 * All of these depend on other rows, so they are decided under the claim of the log. They are decided without a claim
 * if the log itself checks that they still hold (outbox.c).
 */
#include "appending.h"

#include <fcntl.h>
#include <math.h>
#include <time.h>

#include <lineage/time.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/id.h"
#include "../format/row.h"
#include "../questions/questions.h"
#include "acknowledged.h"

/* ---- gives or checks the id of a new row, and finds the spelling of an id in the store ---- */

/* Finds out how the store spells the id. Looks for the id unchanged, then without the prefix, then with it. *there is
 * NULL if the store has none of these. An id that is too long for appending_format_text is not looked up with the
 * prefix. */
static enum lineage_status append_id_find(struct appending *a, const char *id, const char **there, struct lineage_error *err)
{
    const char *spellings[] = {id, id_bare(id), NULL};
    bool found = false;
    *there = NULL;
    if (strlen(id) <= 256)
        TRY(appending_format_text(a, &spellings[2], err, "exp_%s", id));
    for (size_t i = 0; !found && i < 3; i++)
        if (spellings[i] && (!i || spellings[i] != id)) {
            TRY(append_has_id(a->store, spellings[i], &found, err));
            *there = found ? spellings[i] : NULL;
        }
    return LINEAGE_OK;
}

/* Files of a trial whose row is gone are still those of that trial. */
static bool has_files(const struct lineage_store *store, const char *id)
{
    char path[PLACE_MAX];
    struct stat st;
    if (place_telemetry(path, id) && fs_stat(store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0)
        return true;
    int n = snprintf(path, sizeof path, PLACE_PROVENANCE "/%s", id);
    return n > 0 && n < PLACE_MAX && fs_stat(store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

/* The number is padded to the width of the widest id in the log, because people sort these ids as text. */
static enum lineage_status give_id(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    char text[32];
    size_t at = sizeof text, width = state->id_width < 20 ? state->id_width : 20; /* a damaged mirror may contain any width */
    for (uint64_t left = state->next_id; left || sizeof text - at < width; left /= 10)
        text[--at] = (char)('0' + left % 10);
    a->trial.exp_id = arena_text(a->arena, text + at, sizeof text - at);
    return a->trial.exp_id ? LINEAGE_OK : store_no_memory(err);
}

static enum lineage_status give_next_id(struct appending *a, struct lineage_error *err)
{
    TRY(give_id(a, err));
    while (!a->request && has_files(a->store, a->trial.exp_id)) {
        a->store->append->next_id++;
        TRY(give_id(a, err));
    }
    return LINEAGE_OK;
}

/* Fills in a->trial.exp_id with the next number, or checks the id that the caller gave: LINEAGE_EEXIST if the store has
 * it in either spelling, because readers treat exp_014 and 014 as the same trial. */
static enum lineage_status append_id_give(struct appending *a, struct lineage_error *err)
{
    const char *there;
    if (is_empty(a->trial.exp_id))
        return give_next_id(a, err);
    TRY(append_id_find(a, a->trial.exp_id, &there, err));
    if (!there && a->store->log->next_id && acknowledged_is_gone(a->store, a->trial.exp_id))
        return store_fail(err, LINEAGE_EEXIST,
                          "exp_id '%.80s' is that of an acknowledged row that is gone; see `lineage restore`", a->trial.exp_id);
    if (!there && !a->request && has_files(a->store, a->trial.exp_id))
        return store_fail(err, LINEAGE_EEXIST,
                          "exp_id '%.80s' is that of a trial without a row, of which telemetry or provenance is there",
                          a->trial.exp_id);
    if (!there)
        return LINEAGE_OK;
    if (strcmp(there, a->trial.exp_id) == 0)
        return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s", there, a->store->log->place);
    return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' names the same trial as '%.80s', which is already in %s",
                      a->trial.exp_id, there, a->store->log->place);
}

/* Refuses a value for which the file has no column. Otherwise the value would be in the returned row, but not on disk.
 * A five-column log has no column for a parent, a delta or notes at all. */
static enum lineage_status check_layout(struct appending *a, struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(a->store->mirror);
    if (!layout) {
        const char *metric = a->store->config.metric;
        if (metric[0] && lineage_column_find(metric) < 0)
            return store_fail(err, LINEAGE_EINVAL, "a new %s has no column '%s' for the score", a->store->log->name, metric);
        return LINEAGE_OK;
    }
    if (layout->identical)
        return LINEAGE_OK;
    if (layout->shape == ROW_AUTORESEARCH)
        return store_fail(err, LINEAGE_EINVAL,
                          "%s is the five-column log of karpathy/autoresearch, which has no columns for a trial of this "
                          "store; convert it once: lineage init --from %s",
                          a->store->log->place, a->store->log->place);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const char *text = lineage_trial_text(&a->trial, i);
        if (layout->column[i] < 0 && text && *text)
            return store_fail(err, LINEAGE_EINVAL, "%s has no column %s; `lineage import` it first", a->store->log->place,
                              lineage_column(i)->name);
    }
    return LINEAGE_OK;
}

/* A new id can close a cycle only if some row already names it as its parent, so the ancestors of the new row are
 * walked only then. This is rare, because rows nearly always come after their parents. The walk needs the parents of
 * all rows, so in this case the mirror is brought up to date under the claim. */
static enum lineage_status check_cycle(struct appending *a, struct lineage_error *err)
{
    bool awaited = false, cycle = false;
    struct append_state *state = a->store->append;
    if (state->parents_behind)
        TRY(mirror_sync(a->store->mirror, err));
    state->parents_behind = false;
    TRY(mirror_is_parent(a->store->mirror, a->trial.exp_id, &awaited, err));
    if (a->missing) { /* the mirror does not have these rows yet */
        if (!awaited && !id_set_has(a->missing, id_bare(a->trial.exp_id)))
            return LINEAGE_OK;
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.80s' has been named as a parent already; append it by itself",
                          a->trial.exp_id);
    }
    if (awaited && state->ids.n) /* ancestors may be among the rows that the mirror has not read */
        TRY(mirror_sync(a->store->mirror, err));
    if (awaited)
        TRY(mirror_descends(a->store->mirror, a->trial.parent_exp, a->trial.exp_id, &cycle, err));
    if (cycle)
        return store_fail(err, LINEAGE_EINVAL, "parent_exp '%.80s' descends from exp_id '%.80s': a cycle", a->trial.parent_exp,
                          a->trial.exp_id);
    return LINEAGE_OK;
}

/* A row that names itself as its parent is refused here, because the new row is not in the mirror and the walk would
 * not find it. */
static enum lineage_status check_parent(struct appending *a, struct lineage_error *err)
{
    const char *there, *padded;
    if (is_empty(a->trial.parent_exp))
        return LINEAGE_OK;
    /* Asked before the digits are filled up: with 005 there, a new 5 would get 005 as its parent. */
    const bool own = strcmp(id_bare(a->trial.parent_exp), id_bare(a->trial.exp_id)) == 0;
    TRY(append_id_find(a, a->trial.parent_exp, &there, err));
    const size_t digits = strlen(a->trial.parent_exp), width = a->store->append->id_width;
    if (!there && !own && digits < width && width < 20 &&
        strspn(a->trial.parent_exp, "0123456789") == digits) { /* 7 is 007, as in questions */
        TRY(appending_format_text(a, &padded, err, "%0*d%s", (int)(width - digits), 0, a->trial.parent_exp));
        TRY(append_id_find(a, padded, &there, err));
    }
    if (there)
        a->trial.parent_exp = there; /* spelled as in the store, so that every tool finds it */
    if (!there && own)
        return store_fail(err, LINEAGE_EINVAL, "parent_exp is exp_id itself, '%.80s'", a->trial.exp_id);
    if (!there && !a->options->allow_missing_parent)
        return store_fail(err, LINEAGE_ENOTFOUND, "parent_exp '%.80s' is not in %s%s", a->trial.parent_exp, a->store->log->place,
                          strcmp(a->trial.parent_exp, "best") == 0 ? "; give the id that `lineage best` shows" : "");
    TRY(check_cycle(a, err));
    if (!there && a->missing && !id_set_add(a->missing, id_bare(a->trial.parent_exp)))
        return store_no_memory(err);
    return LINEAGE_OK;
}

/* Rows of the same second share one formatted timestamp, because formatting a time is slow. */
enum lineage_status appending_give_timestamp(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    if (!is_empty(a->trial.timestamp))
        return LINEAGE_OK;
    time_t now = time(NULL);
    if (!a->timestamp || now != a->clock) {
        if (now != state->clock || !state->timestamp[0])
            lineage_time_format(state->timestamp, now);
        a->clock = state->clock = now;
        a->timestamp = arena_text(a->arena, state->timestamp, strlen(state->timestamp));
    }
    a->trial.timestamp = a->timestamp;
    return a->timestamp ? LINEAGE_OK : store_no_memory(err);
}

/* In the options, NAN means "as configured", because 0 is a valid threshold. */
static double threshold(const struct appending *a)
{
    const struct append_state *state = a->store->append;
    struct lineage_config config = a->store->config;
    const char *against = a->options->keep_against;
    if (against && !(state->has_best && strcmp(id_bare(state->best_id), id_bare(against)) == 0))
        return lineage_threshold(&config, &state->scatter); /* the bar given is that of another comparison */
    if (!isnan(a->options->min_delta))
        config.min_delta = a->options->min_delta;
    if (!isnan(a->options->noise_std)) {
        config.noise_std = a->options->noise_std;
        config.noise_freedom = a->options->noise_freedom;
    }
    if (a->options->noise_seeds)
        config.noise_seeds = a->options->noise_seeds;
    return lineage_threshold(&config, &state->scatter);
}

/* A kept trial needs a score; otherwise the next trial would have nothing to beat. This is checked before an id is
 * given or a file is made, because a missing score is a mistake of the caller. */
static enum lineage_status check_score(const struct appending *a, struct lineage_error *err)
{
    if (a->trial.score.present || (!a->options->auto_status && a->trial.status != LINEAGE_KEEP))
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL,
                      "status %s needs a score (%s); a trial that has none is crash, or another label of a failure",
                      a->options->auto_status ? "auto" : "keep", lineage_store_metric(a->store));
}

/* Adds the reason to the notes if both fit into the cell. Otherwise the reason is left out, because the notes are worth
 * more and the row should not be refused. */
static enum lineage_status note_reason(struct appending *a, const char *reason, struct lineage_error *err)
{
    const char *notes = a->trial.notes;
    if (is_empty(notes))
        return appending_format_text(a, &a->trial.notes, err, "%s", reason);
    SCOPED_BUF text = {0};
    buf_printf(&text, "%s; %s", notes, reason);
    if (text.failed || (text.length <= LINEAGE_CELL_MAX && !(a->trial.notes = arena_text(a->arena, text.data, text.length))))
        return store_no_memory(err);
    return LINEAGE_OK;
}

/* The caller has compared the trial with another best one, or with more runs of it than its row shows. */
static enum lineage_status check_keep(struct appending *a, struct lineage_error *err)
{
    char reason[VERDICT_REASON_MAX];
    const struct append_state *state = a->store->append;
    bool same = state->has_best && strcmp(id_bare(state->best_id), id_bare(a->options->keep_against)) == 0;
    if (same)
        return LINEAGE_OK;
    a->trial.status = LINEAGE_DISCARD;
    snprintf(reason, sizeof reason, VERDICT_OVERTAKEN "%.60s became the best meanwhile",
             state->has_best ? state->best_id : "no trial");
    return note_reason(a, reason, err);
}

/* Values that the caller gave are not overwritten, because the caller may know of comparisons outside this log. The
 * first baseline of a store is its own baseline. */
static enum lineage_status compare_with_best(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    const bool higher = a->store->config.direction == LINEAGE_HIGHER;
    const bool comparable = state->has_best && a->trial.score.present;
    const double difference = comparable ? verdict_difference(a->trial.score.value, state->best) : 0;
    enum lineage_status status = LINEAGE_OK;
    char reason[VERDICT_REASON_MAX];
    if (a->trial.status == LINEAGE_KEEP && !a->options->auto_status && a->options->keep_against)
        status = check_keep(a, err);
    if (a->options->auto_status) { /* the first trial with a score has nothing to beat, so it is kept */
        const char *dominated_by = NULL;
        const double most = a->options->unconfirmed ? (double)INFINITY : threshold(a);
        struct verdict_setting own;
        verdict_setting_read(&own, a->store, &a->trial);
        const bool same = state->has_best && verdict_setting_same(&own, &state->best_setting);
        bool better = !same && !a->options->unconfirmed && verdict_is_keep(difference, threshold(a), higher);
        bool keep = !state->has_best || better;
        bool for_both = !keep && !same && two_scores_keep(&dominated_by, &state->scores, &a->store->config, &a->trial, most);
        keep = keep || for_both;
        a->trial.status = !keep                                               ? LINEAGE_DISCARD
                          : !state->has_best && a->options->first_is_baseline ? LINEAGE_BASELINE
                                                                              : LINEAGE_KEEP;
        if (same)
            status = note_reason(a, verdict_same_setting(reason, state->best_id), err);
        else if (!keep && a->options->unconfirmed && verdict_is_keep(difference, 0, higher))
            status = note_reason(a, verdict_unconfirmed(reason, difference), err);
        else if (!keep)
            status = note_reason(a, verdict_reason(reason, difference, threshold(a), higher), err);
        if (dominated_by)
            snprintf(reason, sizeof reason, VERDICT_DOMINATED "%.80s", dominated_by);
        else if (for_both)
            snprintf(reason, sizeof reason, "on the front with %s", a->store->config.second);
        if (status == LINEAGE_OK && (dominated_by || for_both))
            status = note_reason(a, reason, err);
    }
    if (is_empty(a->trial.baseline_exp)) {
        if (!state->has_best)
            a->trial.baseline_exp = a->trial.status == LINEAGE_BASELINE ? a->trial.exp_id : NULL;
        else if (!(a->trial.baseline_exp = arena_text(a->arena, state->best_id, strlen(state->best_id))))
            status = store_no_memory(err);
    }
    if (!a->trial.delta_vs_best.present && comparable)
        a->trial.delta_vs_best = (struct lineage_number){true, difference};
    return status;
}

/* Call it under the claim: of two workers that ran the same trial of a night, only the first gets a row. A trial
 * labelled harness_abort does not count, because it has no result. */
static enum lineage_status check_night(struct appending *a, struct lineage_error *err)
{
    struct lineage_night_link night;
    bool found = false;
    if (!a->options->once_per_night || a->trial.status == LINEAGE_HARNESS_ABORT ||
        !lineage_night_link_parse(&night, a->trial.notes))
        return LINEAGE_OK;
    TRY(append_has_night(a->store, &night, &found, err));
    if (!found)
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EEXIST, "trial '%.80s' of the night '%.80s' has a row already", night.trial, night.sweep);
}

/* The order of the steps matters. The score comes first, because the layout decides which member holds it. The id comes
 * before the parent, which must differ from it. The verdict comes last, because it may add to the notes. */
enum lineage_status appending_fill_in(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    struct lineage_number *score = trial_number_member(&a->trial, state->score_column);
    if (state->takes_core_metric && !score->present)
        *score = a->trial.core_metric;
    a->trial.score = *score;
    TRY(check_layout(a, err));
    TRY(check_score(a, err));
    TRY(check_night(a, err));
    TRY(append_id_give(a, err));
    TRY(check_parent(a, err));
    TRY(appending_give_timestamp(a, err));
    return compare_with_best(a, err);
}
