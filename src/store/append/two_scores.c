#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/require.h>

#include "../questions/questions.h"

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
    struct arena arena = {0};
    struct lineage_front_point *points;
    size_t n;
    bool ok = true;
    two_scores_forget(scores);
    enum lineage_status status = mirror_two_scores(store->mirror, &points, &n, &arena, err);
    for (size_t i = 0; status == LINEAGE_OK && ok && i < n; i++)
        ok = add(scores, points[i].exp_id, points[i].score, points[i].second);
    arena_release(&arena);
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
