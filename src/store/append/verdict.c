/*
 * verdict.c: decides between keep and discard, and states the reason.
 *
 * Append, import and the rendered block all use these functions, so that they never disagree about a row. (The block
 * states for each discard which difference it would have needed.)
 */
#include "verdict.h"

#include <lineage/notes.h>
#include <lineage/require.h>
#include <lineage/text.h>

#include <math.h>

#include "../format/id.h"
#include "../format/mean_note.h"
#include "../format/setting_digest.h"
#include "../questions/questions.h"

/* Most rows name no seed, and their notes need not be parsed. */
static bool may_name_seed(const char *notes, const char *const *seeds)
{
    bool named = strstr(notes, "seed");
    for (; seeds && *seeds && !named; seeds++)
        named = strstr(notes, *seeds);
    return named;
}

void verdict_setting_read(struct verdict_setting *setting, const struct lineage_store *store, const struct lineage_trial *row)
{
    const char *const *seeds = lineage_store_seeds(store), *notes = row->notes ? row->notes : "";
    SCOPED_TRIAL read = {.specialist = row->specialist ? row->specialist : "",
                         .hypothesis = row->hypothesis ? row->hypothesis : "",
                         .job_name = row->job_name,
                         .notes = notes};
    struct lineage_replicate replicate;
    struct setting_digest digest;
    const char *again = rerun_note_find(notes);
    *setting = (struct verdict_setting){.digest = 0};
    if (lineage_replicate_parse(&replicate, notes))
        snprintf(setting->first, sizeof setting->first, "%.255s", id_bare(replicate.exp_id));
    else if (again)
        snprintf(setting->first, sizeof setting->first, "%.*s", (int)strcspn(again, ";"), again);
    else
        snprintf(setting->first, sizeof setting->first, "%.255s", id_bare(row->exp_id ? row->exp_id : ""));
    snprintf(setting->parent, sizeof setting->parent, "%.255s", id_bare(row->parent_exp ? row->parent_exp : ""));
    if (may_name_seed(notes, seeds) && lineage_notes_parse(&read, notes, NULL) == LINEAGE_OK &&
        setting_digest(&digest, &read, seeds)) {
        setting->digest = digest.alone;
        setting->with_seed = digest.with_seed;
    }
}

bool verdict_setting_same(const struct verdict_setting *row, const struct verdict_setting *best)
{
    const bool related = strcmp(row->parent, best->parent) == 0 || strcmp(row->parent, best->first) == 0;
    return (row->digest && row->digest == best->digest && row->with_seed != best->with_seed && related) ||
           (row->first[0] && strcmp(row->first, best->first) == 0);
}

/* Number of digits after the decimal point when the value is printed; -1 if it is printed with an exponent. */
static int decimals(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    lineage_number_format(text, value);
    return strchr(text, 'e') ? -1 : (int)strlen(strchr(text, '.') + 1);
}

/*
 * 0.3 - 0.1 is 0.19999999999999998 in binary. So the difference is rounded to the number of digits in which the two
 * scores were written: the result 0.2 is what a person computes, and what should be compared with a threshold of 0.2.
 * Numbers with exponents or many digits were not written by hand and stay exact. Below 1e3 with 12 digits the scaled
 * value is far inside the 53 bits of a double.
 */
double verdict_difference(double score, double best)
{
    double exact = score - best, scale = 1;
    if (!isfinite(exact) || decimals(score) < 0 || decimals(best) < 0)
        return exact;
    int places = decimals(score) > decimals(best) ? decimals(score) : decimals(best);
    if (places > 12 || fabs(exact) >= 1e3)
        return exact;
    for (int i = 0; i < places; i++)
        scale *= 10;
    return rint(exact * scale) / scale;
}

/* The score must be strictly better even with a threshold of 0, because keeping an equal score would move the best to a
 * later row. */
bool verdict_is_keep(double difference, double threshold, bool higher)
{
    double gain = higher ? difference : -difference;
    return gain > 0 && gain > threshold;
}

const char *verdict_reason(char out[VERDICT_REASON_MAX], double difference, double threshold, bool higher)
{
    double limit = higher || threshold == 0 ? threshold : -threshold; /* no -0 */
    /* Both numbers are printed with three digits. Rounding keeps their order, so the printed numbers never contradict
     * the verdict. */
    snprintf(out, VERDICT_REASON_MAX, VERDICT_DISCARDED "%+.3g, needs %s than %.3g", difference == 0 ? 0 : difference,
             higher ? "more" : "less", limit);
    return out;
}

const char *verdict_same_setting(char out[VERDICT_REASON_MAX], const char *best_id)
{
    snprintf(out, VERDICT_REASON_MAX, LINEAGE_SAME_SETTING "%.80s", best_id);
    return out;
}

const char *verdict_unconfirmed(char out[VERDICT_REASON_MAX], double difference)
{
    snprintf(out, VERDICT_REASON_MAX, LINEAGE_UNCONFIRMED "%+.3g, fresh runs decide", difference);
    return out;
}

static bool add(struct two_scores *scores, const char *exp_id, double score, double second)
{
    struct two_scores_kept *grown = realloc(scores->kept, (scores->n + 1) * sizeof *grown);
    char *id = grown ? strdup(exp_id) : NULL;
    scores->kept = grown ? grown : scores->kept;
    if (id)
        scores->kept[scores->n++] = (struct two_scores_kept){id, score, second};
    return id != NULL;
}

void two_scores_forget(struct two_scores *scores)
{
    for (size_t i = 0; i < scores->n; i++)
        free(scores->kept[i].exp_id);
    free(scores->kept);
    scores->kept = NULL;
    scores->n = 0;
}

enum lineage_status two_scores_load(struct two_scores *scores, struct lineage_store *store, struct lineage_error *err)
{
    SCOPED_ARENA arena = {0};
    struct lineage_front_point *points;
    size_t n;
    bool ok = true;
    two_scores_forget(scores);
    enum lineage_status status = mirror_two_scores(store->mirror, &points, &n, &arena, err);
    for (size_t i = 0; status == LINEAGE_OK && ok && i < n; i++)
        ok = add(scores, points[i].exp_id, points[i].score, points[i].second);
    return status == LINEAGE_OK && !ok ? store_no_memory(err) : status;
}

static bool has_both(struct lineage_number *second, const struct lineage_config *config, const struct lineage_trial *trial)
{
    *second = (struct lineage_number){0};
    if (config->second[0])
        *second = lineage_requirement_value(trial, config->second);
    return second->present && isfinite(second->value) && trial->score.present && isfinite(trial->score.value);
}

bool two_scores_note(struct two_scores *scores, const struct lineage_config *config, const struct lineage_trial *trial)
{
    struct lineage_number second;
    return !lineage_label_is_kept(trial->status) || !has_both(&second, config, trial) ||
           add(scores, trial->exp_id, trial->score.value, second.value);
}

bool two_scores_keep(const char **dominated_by, const struct two_scores *scores, const struct lineage_config *config,
                     const struct lineage_trial *trial, double threshold)
{
    const struct lineage_config of_second = {
        .noise_std = config->second_noise_std, .noise_seeds = config->noise_seeds, .night_trials = lineage_config_trials(config)};
    const double other = lineage_threshold(&of_second, NULL);
    struct lineage_number second;
    *dominated_by = NULL;
    if (!has_both(&second, config, trial))
        return false;
    for (size_t i = 0; i < scores->n; i++) {
        const struct two_scores_kept *kept = &scores->kept[i];
        if (verdict_is_keep(verdict_difference(trial->score.value, kept->score), threshold,
                            config->direction == LINEAGE_HIGHER) ||
            verdict_is_keep(verdict_difference(second.value, kept->second), other, config->second_direction == LINEAGE_HIGHER))
            continue;
        *dominated_by = kept->exp_id;
        return false;
    }
    return true;
}
