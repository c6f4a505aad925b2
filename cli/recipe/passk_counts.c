/* passk_counts.c: see passk_counts.h. */
#include "recipe/passk_counts.h"

#include <stdlib.h>

#include <rlcore/passk.h>

/* The questions of a round, and the answers to them. */
struct round {
    int64_t *more;   /* [n] samples that a question still needs */
    size_t *which;   /* [n] the questions that are asked */
    uint8_t *answer; /* [n] whether each of these was answered correctly */
};

static int ask_all(struct passk_counts *counts, const struct policy_source *source, const struct passk_sampling *sampling)
{
    const struct trainer_recipe *recipe = &source->recipe;
    struct trainer_error err;
    if (trainer_evaluate(recipe, source->params, (int32_t)sampling->budget, sampling->seed, recipe->evaluation.temperature,
                         counts->right, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t i = 0; i < counts->n; i++)
        counts->asked[i] = (int64_t)sampling->budget;
    return CLI_GO_ON;
}

/* Asks every question that needs more answers once; *n is set to their number. */
static int ask_round(struct passk_counts *counts, struct round *round, const struct policy_source *source, uint64_t seed,
                     size_t *n)
{
    struct trainer_error err;
    *n = 0;
    for (size_t i = 0; i < counts->n; i++)
        if (round->more[i])
            round->which[(*n)++] = i;
    if (trainer_evaluate_some(&source->recipe, source->params, *n, round->which, seed, source->recipe.evaluation.temperature,
                              round->answer, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t k = 0; k < *n; k++) {
        counts->asked[round->which[k]]++;
        counts->right[round->which[k]] += round->answer[k];
    }
    return CLI_GO_ON;
}

/*
 * Samples each question until enough answers are correct or the budget is spent. Each round draws one sample per
 * question, because whether a question needs more depends on its last answer. Each round has its own seed; otherwise
 * every answer would repeat the first.
 */
static int ask_until_enough(struct passk_counts *counts, struct round *round, const struct policy_source *source,
                            const struct passk_sampling *sampling)
{
    const struct rl_passk_sampling limits = {(int64_t)sampling->enough, (int64_t)sampling->budget, 1};
    struct rl_error err;
    size_t n = 1;
    for (size_t i = 0; n > 0; i++) {
        if (rl_passk_more(&limits, counts->n, counts->asked, counts->right, round->more, &err) != RL_OK)
            return cli_error(CLI_USAGE, "%s", err.text);
        int status = ask_round(counts, round, source, sampling->seed + i, &n);
        if (status != CLI_GO_ON)
            return status;
    }
    return CLI_GO_ON;
}

int passk_counts_take(struct passk_counts *counts, const struct policy_source *source, const struct passk_sampling *sampling)
{
    const struct trainer_recipe *recipe = &source->recipe;
    counts->n = (size_t)recipe->evaluation.questions * (size_t)recipe->n_tasks;
    counts->asked = calloc(counts->n, sizeof *counts->asked);
    counts->right = calloc(counts->n, sizeof *counts->right);
    struct round round = {calloc(counts->n, sizeof *round.more), calloc(counts->n, sizeof *round.which),
                          calloc(counts->n, sizeof *round.answer)};
    int status = CLI_GO_ON;
    if (!counts->asked || !counts->right || !round.more || !round.which || !round.answer)
        status = cli_no_memory();
    if (status == CLI_GO_ON)
        status = sampling->dynamic ? ask_until_enough(counts, &round, source, sampling) : ask_all(counts, source, sampling);
    free(round.more);
    free(round.which);
    free(round.answer);
    return status;
}

void passk_counts_release(struct passk_counts *counts)
{
    free(counts->asked);
    free(counts->right);
    *counts = (struct passk_counts){0};
}

int64_t passk_total(const int64_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}
