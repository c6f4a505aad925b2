/*
 * adca_steps.c: the steps of a batch, the schedule of the attribution, and the rows that skip the
 * judge.
 */
#include <rlcore/adca.h>

#include "support/grid.h"
#include "support/scratch.h"

void rl_adca_options_init(struct rl_adca_options *options)
{
    *options = (struct rl_adca_options){.scheme = RL_ADCA_DECOUPLE,
                                        .outcome = RL_ADCA_LAST_STEP,
                                        .consistent_scale = 1,
                                        .pos_unconsistent_scale = 0.2,
                                        .neg_unconsistent_scale = 0.2,
                                        .eps = 1e-8,
                                        .do_batch_norm = true,
                                        .equal_trajectory_weight = true,
                                        .fix_base = 0.2,
                                        .alpha = 1,
                                        .outcome_weight = 1};
}

/*
 * The number of steps is the largest id + 1 and not the number of different ids: a step whose
 * tokens were all cut off still has its flag, and flags are matched by position.
 */
enum rl_status rl_adca_batch_starts(const struct rl_batch *batch, size_t *start, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(RL_NEED(err, {"starts", start}));
    RL_TRY(rl_grid_view(&grid, batch, RL_NEEDS_NO_MASK | RL_NEEDS_TURNS, true, err));
    start[0] = 0;
    for (size_t row = 0; row < grid.n_rows; row++) {
        const struct rl_ids step_id = rl_turns_at(&grid, rl_row_at(&grid, row));
        int32_t last = -1;
        for (size_t t = 0; t < rl_row_length(&grid, row); t++) {
            int32_t id = rl_id(step_id, t);
            if (id < -1 || (id >= 0 && (size_t)id >= grid.n_tokens))
                return rl_fail(err, RL_EVALUE, "step_ids[%zu][%zu] is %d, not in -1..%zu", row, t, id, grid.n_tokens - 1);
            last = id > last ? id : last;
        }
        start[row + 1] = start[row] + (size_t)(last + 1);
    }
    return RL_OK;
}

enum rl_status rl_adca_step_starts(size_t n_rows, size_t n_tokens, const int32_t *step_id, size_t *start, struct rl_error *err)
{
    const struct rl_batch batch = {.n_rows = n_rows, .n_tokens = n_tokens, .turn = step_id};
    if (n_rows && n_tokens && !step_id)
        return rl_fail(err, RL_EINVAL, "step_ids are missing");
    return rl_adca_batch_starts(&batch, start, err);
}

/*
 * There is no discount, as in the reference: a step is credited with everything that follows it.
 * Every partial sum is tested, because after an overflow the final sum may be NaN, far from the
 * cause.
 */
enum rl_status rl_adca_suffix_sums(size_t n_rows, const size_t *start, const double *values, double *sums, struct rl_error *err)
{
    if (!start || (start[n_rows] && (!values || !sums)))
        return rl_fail(err, RL_EINVAL, "step starts, values or sums are missing");
    for (size_t row = 0; row < n_rows; row++) {
        double sum = 0;
        for (size_t j = start[row + 1]; j-- > start[row];) {
            sum += values[j];
            if (!isfinite(sum))
                return rl_fail(err, RL_EVALUE, "step_rewards[%zu][%zu]: the sum from there is %g", row, j - start[row], sum);
            sums[j] = sum;
        }
    }
    return RL_OK;
}

/*
 * A trainer that knows its progress (resumed, or counted in epochs) passes it; otherwise the
 * progress is global_step / total_steps. It is limited to 0..1, because the cosine would rise again
 * beyond the end of the run.
 */
static double progress_of(const struct rl_adca_schedule *s)
{
    double p = s->progress;
    if (isnan(p))
        p = s->total_steps > 0 ? (double)s->global_step / (double)s->total_steps : 0;
    return fmin(fmax(p, 0), 1);
}

enum rl_status rl_adca_schedule_at(const struct rl_adca_schedule *s, bool *applied, double *alpha, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"applied", applied}, {"alpha", alpha}));
    /* M_PI is not in C17. */
    static const double PI = 0x1.921fb54442d18p+1;
    if (!s || !isfinite(s->alpha) || !isfinite(s->alpha_min))
        return rl_fail(err, RL_EINVAL, "schedule is missing, or its alpha or alpha_min is not finite");
    *applied = s->enable && s->global_step < s->prm_steps;
    *alpha = s->alpha;
    if (s->cosine_decay)
        *alpha = s->alpha_min + 0.5 * (s->alpha - s->alpha_min) * (1 + cos(PI * progress_of(s)));
    return RL_OK;
}

/*
 * Here an outcome counts as positive above 0; elsewhere a success needs an outcome above 0.5. Both
 * thresholds are the reference's. They differ only for graded outcomes.
 */
enum rl_status rl_adca_count_flags(size_t n_rows, const double *outcomes, const uint8_t *flags, const size_t *flag_start,
                                   struct rl_adca_flag_rates *rates, struct rl_error *err)
{
    double good[2] = {0}, bad[2] = {0};
    if (!flag_start || !rates || (n_rows && !outcomes) || (flag_start[n_rows] && !flags))
        return rl_fail(err, RL_EINVAL, "outcomes, flags, flag starts or rates are missing");
    for (size_t row = 0; row < n_rows; row++)
        if (!isfinite(outcomes[row]))
            return rl_fail(err, RL_EVALUE, "outcomes[%zu] is %g, not a finite number", row, outcomes[row]);
    for (size_t row = 0; row < n_rows; row++)
        for (size_t j = flag_start[row]; j < flag_start[row + 1]; j++)
            if (flags[j] != RL_ADCA_UNJUDGED)
                *(flags[j] ? &good[outcomes[row] > 0] : &bad[outcomes[row] > 0]) += 1;
    double neg = fmax(1, good[0] + bad[0]), pos = fmax(1, good[1] + bad[1]);
    *rates = (struct rl_adca_flag_rates){.pos_bad = bad[1] / pos,
                                         .pos_good = good[1] / pos,
                                         .neg_good = good[0] / neg,
                                         .neg_bad = bad[0] / neg,
                                         .good_total = good[0] + good[1],
                                         .bad_total = bad[0] + bad[1]};
    return RL_OK;
}

/*
 * The judge's calls are the expensive part of a step, and rows with advantage 0 or with a failed
 * outcome can be spared them. A skipped row gets the flag that agrees with its outcome, so that the
 * row does not disturb the normalisation of the group.
 */
enum rl_status rl_adca_skip_rows(enum rl_adca_skip kind, size_t n_rows, const double *overall, const double *outcomes,
                                 bool *skipped, uint8_t *flag, struct rl_error *err)
{
    if ((unsigned)kind > RL_ADCA_SKIP_ALL_NEG)
        return rl_fail(err, RL_EINVAL, "skip_type %d is unknown", (int)kind);
    if (n_rows && (!outcomes || !skipped || !flag || (kind == RL_ADCA_SKIP_SMALL_ADV && !overall)))
        return rl_fail(err, RL_EINVAL, "advantages, outcomes or outputs are missing");
    for (size_t row = 0; row < n_rows; row++) {
        if (!isfinite(outcomes[row]))
            return rl_fail(err, RL_EVALUE, "outcomes[%zu] is %g, not a finite number", row, outcomes[row]);
        if (kind == RL_ADCA_SKIP_SMALL_ADV && !isfinite(overall[row]))
            return rl_fail(err, RL_EVALUE, "overall_advantages[%zu] is %g, not a finite number", row, overall[row]);
        bool small = kind == RL_ADCA_SKIP_SMALL_ADV && fabs(overall[row]) < 1e-8;
        skipped[row] = small || (kind == RL_ADCA_SKIP_ALL_NEG && outcomes[row] <= 0);
        flag[row] = outcomes[row] > 0.5;
    }
    return RL_OK;
}
