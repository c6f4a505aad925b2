/*
 * token_baseline_real.c: the optimal token baseline. A position is a token position, or with
 * `compact` a rank among the response tokens of the row; everything else is the same in both forms.
 * Groups run in parallel, in a fixed number of lanes with separate sums.
 *
 * The baseline that minimises the variance of the gradient weighs each return by the squared norm
 * of its gradient. For a softmax that norm is 1 - 2 pi + sum pi^2 per token, which needs only the
 * probability of the token and the sum of squares. Both are known from the forward pass.
 */
#include "support/groups.h"
#include "advantage/outcome_estimators.h"
#include "support/real.h"
#include "support/vexp.h"

enum { REWARDS, OLD_LOG_PROB, SUM_PI_SQUARED, WEIGHTS }; /* as in the input */

struct task {
    struct rl_grid batch;
    const struct rl_token_baseline_input *in;
    const struct rl_token_baseline_options *options;
    size_t *lengths;            /* [B] response tokens */
    real *advantages, *returns; /* returns may be NULL */
};

/*
 * The number of lanes is fixed and not the number of threads. Every group is summed in one lane
 * from start to end, and the memory needed does not depend on the machine.
 */
enum { LANES = 16 };

/* Scratch of one lane, each [T]. */
struct lane {
    double *baseline, *denominator; /* of the current group; baseline holds its numerator at first */
    double *returns;  /* G of the current row */
    real *energy;     /* energies of its tokens, 0 at mask 0 */
};

/*
 * Weights are squared because they scale the gradient, whose squared norm is needed. They have a
 * separate loop, so that the common case without weights stays short.
 */
HOT_VOID(energies, (const struct task *task, size_t i, size_t n, real *out), (task, i, n, out))
{
    const struct rl_grid *batch = &task->batch;
    const struct rl_token_baseline_input *in = task->in;
    real floats[3][RL_CHUNK];
    rl_int on[RL_CHUNK];
    const real *log_prob = rl_reals_at(batch, OLD_LOG_PROB, in->old_log_prob, i, n, floats[0]);
    const real *squared = rl_reals_at(batch, SUM_PI_SQUARED, in->sum_pi_squared, i, n, floats[1]);
    const real *weights = rl_reals_at(batch, WEIGHTS, in->weights, i, n, floats[2]);
    rl_mask_bits(batch, i, n, on);
#pragma omp simd
    for (size_t t = 0; t < n; t++)
        out[t] = rl_keep(on[t], 1 - 2 * rl_exp(log_prob[t]) + squared[t]);
    for (size_t t = 0; t < (weights ? n : 0); t++)
        out[t] = rl_keep(on[t], out[t] * weights[t] * weights[t]);
}

/*
 * Add a row to the sums of its group; lane->returns holds its G. Energies are cumulated along the
 * row: the return from a token on is multiplied with the gradient of everything written up to that
 * token.
 */
static void add_row(const struct task *task, const struct lane *lane, size_t row)
{
    size_t n = rl_row_length(&task->batch, row), begin = rl_row_at(&task->batch, row), rank = 0;
    double cumulated = 0;
    for (size_t t = 0; t < n; t += RL_CHUNK)
        energies(task, begin + t, n - t < RL_CHUNK ? n - t : RL_CHUNK, lane->energy + t);
    for (size_t t = 0; t < n; t++) {
        if (!rl_on(&task->batch, begin + t))
            continue;
        size_t at = task->options->compact ? rank++ : t;
        cumulated += (double)lane->energy[t];
        lane->baseline[at] += lane->returns[t] * cumulated;
        lane->denominator[at] += cumulated;
    }
}

/*
 * Compute G of one row into the lane. G is computed twice, for the sums and for the result, because
 * storing all returns of a group would take rows x T doubles.
 */
static void row_returns(const struct task *task, const struct lane *lane, size_t row)
{
    const struct rl_grid *batch = &task->batch;
    size_t begin = rl_row_at(batch, row);
    double sum = 0;
    for (size_t t = rl_row_length(batch, row); t-- > 0;) {
        if (rl_on(batch, begin + t))
            sum += (double)rl_real_at(batch, REWARDS, task->in->rewards, begin + t);
        lane->returns[t] = sum;
    }
}

/* Write the results of a row. The baseline is 0 at positions from `tail` on. */
static void write_row(const struct task *task, const struct lane *lane, size_t row, size_t tail)
{
    size_t begin = rl_row_at(&task->batch, row), rank = 0;
    for (size_t t = 0; t < rl_row_length(&task->batch, row); t++) {
        size_t i = begin + t, at = task->options->compact ? rank : t;
        double baseline = at < tail ? lane->baseline[at] : 0;
        uint8_t on = rl_on(&task->batch, i);
        task->advantages[i] = on ? (real)(lane->returns[t] - baseline) : 0;
        if (task->returns)
            task->returns[i] = (real)lane->returns[t];
        rank += on;
    }
}

struct lengths {
    size_t rows; /* rows that take part */
    size_t longest, second;
};

/*
 * In compact form an empty row has no ranks and must not make a group of one look like a group of
 * two.
 */
static struct lengths measure(const struct task *task, const size_t *rows, size_t n)
{
    struct lengths l = {0};
    for (size_t j = 0; j < n; j++) {
        size_t length = task->lengths[rows[j]];
        if (task->options->compact && length == 0)
            continue;
        l.rows++;
        if (length > l.longest) {
            l.second = l.longest;
            l.longest = length;
        } else if (length > l.second) {
            l.second = length;
        }
    }
    return l;
}

static void run_group(const struct task *task, const struct lane *lane, const size_t *rows, size_t n)
{
    size_t n_tokens = task->batch.n_tokens;
    struct lengths l = measure(task, rows, n);
    for (size_t t = 0; t < n_tokens; t++)
        lane->baseline[t] = lane->denominator[t] = 0;
    for (size_t j = 0; j < n && l.rows > 1; j++) {
        row_returns(task, lane, rows[j]);
        add_row(task, lane, rows[j]);
    }
    for (size_t t = 0; t < n_tokens && l.rows > 1; t++)
        lane->baseline[t] /= lane->denominator[t] + task->options->epsilon;
    for (size_t j = 0; j < n; j++) {
        /*
         * Beyond the end of the second longest row the longest row is compared only with itself:
         * its baseline is its own return, so its advantage is 0. With handle_zero_tail its
         * advantage there is the return.
         */
        bool alone = task->options->handle_zero_tail && l.longest > l.second && task->lengths[rows[j]] == l.longest;
        size_t tail = l.rows < 2 ? 0 : alone ? l.second : n_tokens;
        row_returns(task, lane, rows[j]);
        write_row(task, lane, rows[j], tail);
    }
}

static void run_groups(const struct task *task, const struct rl_groups *groups, const struct lane *lanes)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&task->batch))
    for (size_t k = 0; k < LANES; k++)
        for (size_t g = k * groups->n / LANES; g < (k + 1) * groups->n / LANES; g++)
            run_group(task, &lanes[k], groups->order + groups->start[g], rl_group_size(groups, g));
}

static struct lane take_lane(struct rl_scratch *s, size_t n_tokens)
{
    struct lane lane;
    lane.baseline = rl_scratch_take(s, n_tokens, sizeof *lane.baseline);
    lane.denominator = rl_scratch_take(s, n_tokens, sizeof *lane.denominator);
    lane.returns = rl_scratch_take(s, n_tokens, sizeof *lane.returns);
    lane.energy = rl_scratch_take(s, n_tokens, sizeof *lane.energy);
    return lane;
}

static enum rl_status check(const struct task *task, struct rl_error *err)
{
    const struct rl_token_baseline_input *in = task->in;
    const struct {
        const char *name;
        const real *values;
    } arrays[] = {[REWARDS] = {"token_level_rewards", in->rewards},
                  [OLD_LOG_PROB] = {"old_log_prob", in->old_log_prob},
                  [SUM_PI_SQUARED] = {"sum_pi_squared", in->sum_pi_squared},
                  [WEIGHTS] = {"rollout_is_weights", in->weights}};
    for (unsigned k = 0; k < sizeof arrays / sizeof *arrays; k++)
        if (k != WEIGHTS || in->weights)
            RL_TRY(rl_grid_check_reals(arrays[k].name, &task->batch, k, arrays[k].values, false, err));
    if (task->options->compact)
        RL_TRY(rl_grid_check_rewards(&task->batch, in->rewards, err));
    if (task->batch.n_rows && task->batch.n_tokens)
        RL_TRY(RL_NEED(err, {"advantages", task->advantages}));
    return RL_OK;
}

static void count_lengths(const struct task *task)
{
    for (size_t row = 0; row < task->batch.n_rows; row++)
        task->lengths[row] = rl_count_on(&task->batch, rl_row_at(&task->batch, row), rl_row_length(&task->batch, row));
}

/* The result can overflow although all inputs are finite. It has the precision of an output. */
static enum rl_status check_result(const struct task *task, struct rl_error *err)
{
    struct rl_grid own = task->batch;
    own.bf16 = 0;
    return rl_grid_check_reals("advantages", &own, 0, task->advantages, false, err);
}

enum rl_status rl_token_baseline(const struct rl_batch *batch, const struct rl_token_baseline_input *in,
                                 const struct rl_token_baseline_options *options, real *advantages, real *returns,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    struct task task = {.in = in, .options = options, .advantages = advantages, .returns = returns};
    if (!in || !options)
        return rl_fail(err, RL_EINVAL, "input or options are missing");
    RL_TRY(rl_discount_check("epsilon", options->epsilon, err));
    RL_TRY(rl_grid_of(&task.batch, batch, RL_NEEDS_GROUPS, err));
    RL_TRY(check(&task, err));
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, task.batch.n_rows);
    task.lengths = rl_scratch_take(&s, task.batch.n_rows, sizeof *task.lengths);
    struct lane lanes[LANES];
    for (size_t k = 0; k < LANES; k++)
        lanes[k] = take_lane(&s, task.batch.n_tokens);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, task.batch.group);
    count_lengths(&task);
    run_groups(&task, &groups, lanes);
    return check_result(&task, err);
}
