/*
 * The rule-based judge always flags every row: this costs nothing, allows another judge to be compared with it, and
 * gives every row valid flags even if a failure interrupts the other judge.
 */
#include "credit/judging.h"

#include <rlcore/adca.h>

#include "support/clock.h"
#include "support/error.h"
#include "support/judged_iterations.h"
#include "support/rng.h"

const char *trainer_judge_mark_name(enum trainer_judge_mark mark)
{
    static const char *const names[TRAINER_N_JUDGE_MARKS] = {"judged", "cached", "skipped", "refused", "truncated", "failed"};
    return (unsigned)mark < TRAINER_N_JUDGE_MARKS ? names[mark] : "unknown";
}

static void rate_by_rules(const struct judging_rows *rows, const struct trainer_rollouts *r, uint8_t *flags)
{
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            flags[k] = trainer_env_judge(&r->episode[rows->first + i], (int32_t)(k - rows->start[i]));
}

/*
 * Inverts a share of the flags. Every row has its own random stream, so that its inverted flags depend neither on the
 * length of other rows nor on sampling. A larger share inverts the flags that a smaller share inverts, and further
 * ones.
 */
static void turn_some(const struct judging_rows *rows, uint8_t *flags)
{
    double wrong = rows->recipe->judge.wrong;
    uint64_t seed = trainer_seed(rows->recipe->seed, 'w', (uint64_t)rows->iteration);
    for (size_t i = 0; i < rows->n && wrong > 0; i++) {
        struct trainer_rng rng = {trainer_seed(seed, 'w', rows->first + i)};
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++)
            if (trainer_rng_uniform(&rng) < wrong && flags[k] != RL_ADCA_UNJUDGED)
                flags[k] = !flags[k];
    }
}

/*
 * Uses the distance to the group's mean instead of the advantage. The advantage is this distance divided by a
 * deviation, so both are 0 for the same rows. The rows of a group are adjacent.
 */
static enum trainer_status choose(const struct judging_rows *rows, const struct trainer_rollouts *r, double *overall,
                                  bool *skipped, uint8_t *by_outcome, struct trainer_error *err)
{
    static const enum rl_adca_skip kinds[] = {[TRAINER_JUDGE_ALL] = RL_ADCA_SKIP_NONE,
                                              [TRAINER_JUDGE_SMALL_ADV] = RL_ADCA_SKIP_SMALL_ADV,
                                              [TRAINER_JUDGE_ALL_NEG] = RL_ADCA_SKIP_ALL_NEG};
    struct rl_error core;
    for (size_t i = 0, end; i < rows->n; i = end) {
        double mean = 0;
        end = rollouts_group_end(r, rows->first + i) - rows->first;
        for (size_t j = i; j < end; j++)
            mean += rows->outcome[j] / (double)(end - i);
        for (size_t j = i; j < end; j++)
            overall[j] = rows->outcome[j] - mean;
    }
    enum rl_status status =
        rl_adca_skip_rows(kinds[rows->recipe->judge.skip], rows->n, overall, rows->outcome, skipped, by_outcome, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "judge.skip", status, &core);
}

/* If too many answers fail, training would rely on outcomes alone, so the run ends. */
static enum trainer_status look_at_failures(const struct trainer_judge_batch *batch, const struct trainer_judge_counts *counts,
                                            struct trainer_error *err)
{
    uint64_t failed =
        counts->rows[TRAINER_JUDGE_REFUSED] + counts->rows[TRAINER_JUDGE_TRUNCATED] + counts->rows[TRAINER_JUDGE_FAILED];
    uint64_t asked = failed + counts->rows[TRAINER_JUDGED] + counts->rows[TRAINER_JUDGE_CACHED];
    double most = batch->recipe->judge.max_failed_share;
    if (asked == 0 || (double)failed <= most * (double)asked)
        return TRAINER_OK;
    return trainer_fail(err, TRAINER_EJUDGE,
                        "the judge left %llu of %llu rollouts without flags (%llu refused, %llu truncated, %llu "
                        "failed), judge.max_failed_share is %g%s%s",
                        (unsigned long long)failed, (unsigned long long)asked,
                        (unsigned long long)counts->rows[TRAINER_JUDGE_REFUSED],
                        (unsigned long long)counts->rows[TRAINER_JUDGE_TRUNCATED],
                        (unsigned long long)counts->rows[TRAINER_JUDGE_FAILED], most, batch->why[0] ? ": " : "", batch->why);
}

/*
 * On entry, flags holds the rule-based judge's flags, which are compared with the answer before the answer replaces
 * them.
 */
static void take_row(struct trainer_judge_counts *counts, const struct judging_rows *rows,
                     const struct trainer_judge_batch *batch, size_t i, uint8_t by_outcome, uint8_t *flags)
{
    bool outcome_only = rows->recipe->judge.unjudged == TRAINER_UNJUDGED_NEUTRAL;
    for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
        bool known = batch->mark[i] == TRAINER_JUDGED || batch->mark[i] == TRAINER_JUDGE_CACHED;
        counts->compared += known;
        counts->agreed += known && !batch->flags[k] == !flags[k];
        if (known)
            flags[k] = batch->flags[k] != 0;
        else
            flags[k] = outcome_only ? RL_ADCA_UNJUDGED : by_outcome;
    }
    counts->rows[batch->mark[i]]++;
}

/* Checks the marks, because the caller's function may have set invalid ones. */
static enum trainer_status check_marks(const struct trainer_judge_batch *batch, struct trainer_error *err)
{
    for (size_t i = 0; i < batch->n; i++)
        if ((unsigned)batch->mark[i] >= TRAINER_N_JUDGE_MARKS)
            return trainer_fail(err, TRAINER_EINVAL, "the judge marked rollout %zu with %d", i, (int)batch->mark[i]);
    return TRAINER_OK;
}

struct asking {
    struct trainer_judge_batch batch;
    double *overall;
    bool *skipped;
    uint8_t *by_outcome;
};

static enum trainer_status ask(struct judging *judging, const struct judging_rows *rows, struct asking *a, uint8_t *flags,
                               struct trainer_error *err)
{
    struct trainer_judge_counts counts = {.rows = {0}};
    double began = clock_now();
    TRY(choose(rows, a->batch.rollouts, a->overall, a->skipped, a->by_outcome, err));
    for (size_t i = 0; i < rows->n; i++)
        a->batch.mark[i] = a->skipped[i] ? TRAINER_JUDGE_SKIPPED : TRAINER_JUDGE_FAILED;
    TRY(judging->ask(judging->context, &a->batch, err));
    TRY(check_marks(&a->batch, err));
    for (size_t i = 0; i < rows->n; i++)
        take_row(&counts, rows, &a->batch, i, a->by_outcome[i], flags);
    counts.prompt_tokens = a->batch.prompt_tokens;
    counts.completion_tokens = a->batch.completion_tokens;
    counts.seconds = clock_now() - began;
    judging_add(&judging->counts, &counts);
    return look_at_failures(&a->batch, &counts, err);
}

static enum trainer_status ask_somebody(struct judging *judging, const struct judging_rows *rows,
                                        const struct trainer_rollouts *r, uint8_t *flags, struct trainer_error *err)
{
    size_t n = rows->n, steps = rows->start[n];
    struct asking a = {.batch = {.recipe = rows->recipe,
                                 .rollouts = r,
                                 .first = rows->first,
                                 .n = n,
                                 .start = rows->start,
                                 .mark = malloc(n * sizeof *a.batch.mark),
                                 .flags = calloc(steps, 1)},
                       .overall = malloc(n * sizeof *a.overall),
                       .skipped = malloc(n * sizeof *a.skipped),
                       .by_outcome = malloc(n)};
    bool whole = a.batch.mark && a.batch.flags && a.overall && a.skipped && a.by_outcome;
    enum trainer_status status = whole ? ask(judging, rows, &a, flags, err) : trainer_no_memory(err, n * sizeof a + steps);
    free(a.batch.mark);
    free(a.batch.flags);
    free(a.overall);
    free(a.skipped);
    free(a.by_outcome);
    return status;
}

void judging_add(struct trainer_judge_counts *sum, const struct trainer_judge_counts *part)
{
    for (size_t i = 0; i < TRAINER_N_JUDGE_MARKS; i++)
        sum->rows[i] += part->rows[i];
    for (size_t i = 0; i < 2; i++) {
        sum->good[i] += part->good[i];
        sum->bad[i] += part->bad[i];
    }
    sum->compared += part->compared;
    sum->agreed += part->agreed;
    sum->prompt_tokens += part->prompt_tokens;
    sum->completion_tokens += part->completion_tokens;
    sum->seconds += part->seconds;
}

/* Compares the rule-based judge's flags with the flags after inversion. */
static void count_rules(struct judging *judging, const struct judging_rows *rows, const struct trainer_rollouts *r,
                        const uint8_t *flags)
{
    judging->counts.rows[TRAINER_JUDGED] += rows->n;
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            int32_t step = (int32_t)(k - rows->start[i]);
            judging->counts.compared++;
            judging->counts.agreed += trainer_env_judge(&r->episode[rows->first + i], step) == !!flags[k];
        }
}

static void count_flags(struct judging *judging, const struct judging_rows *rows, const uint8_t *flags)
{
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = rows->start[i]; k < rows->start[i + 1]; k++) {
            bool success = rows->outcome[i] > 0;
            judging->counts.good[success] += flags[k] == 1;
            judging->counts.bad[success] += flags[k] == 0;
        }
}

/* After the last iteration of judged_iterations the flags are not read, so no judge is asked. */
enum trainer_status judging_flags(struct judging *judging, const struct judging_rows *rows, const struct trainer_rollouts *r,
                                  uint8_t *flags, struct trainer_error *err)
{
    const struct trainer_recipe *recipe = rows->recipe;
    int64_t last = judged_iterations(&recipe->tasks[rows->task]);
    enum trainer_status status = TRAINER_OK;
    rate_by_rules(rows, r, flags);
    if (last > 0 && rows->iteration >= last)
        return TRAINER_OK;
    if (recipe->judge.endpoint[0] && !judging->ask)
        return trainer_fail(err, TRAINER_EINVAL, "judge.endpoint is %.200s, but this program cannot call a judge",
                            recipe->judge.endpoint);
    if (recipe->judge.endpoint[0])
        status = ask_somebody(judging, rows, r, flags, err);
    turn_some(rows, flags);
    if (!recipe->judge.endpoint[0])
        count_rules(judging, rows, r, flags);
    count_flags(judging, rows, flags);
    return status;
}
