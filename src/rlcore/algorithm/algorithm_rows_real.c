/*
 * algorithm_rows_real.c: advantages of the rows of a batch for any algorithm of the table. The
 * functions here correspond to kinds of kernels; algorithm_table.c says which algorithm uses which.
 */
#include <inttypes.h>

#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/process.h>

#include "algorithm/algorithm_code.h"
#include "support/fail.h"
#include "support/groups.h"
#include "support/real.h"
#include "support/scratch.h"

/* The arguments of one call. */
struct rows {
    const struct rl_algorithm *algorithm;
    const struct rl_algorithm_input *in;
    const struct rl_batch *batch; /* the batch in the form that kernels take */
    const struct rl_grid *grid;   /* the same batch, checked */
    const struct rl_algorithm_options *options;
    real *rewards, *advantages, *clip_scale;
    struct rl_a2tgpo_stats *stats;
    struct rl_workspace *ws;
    struct rl_error *err;
};

/* ---- scratch: the kernel's begins where this file's ends ---------------------------------- */

/*
 * The rest of the caller's workspace, which is passed to the kernel. One block then serves this
 * function and the kernel, and the caller needs only one size.
 */
static struct rl_workspace behind(const struct rl_scratch *s)
{
    struct rl_workspace rest = {NULL, 0, 0};
    if (s->base && s->size > s->used)
        rest = (struct rl_workspace){s->base + s->used, s->size - s->used, 0};
    return rest;
}

/* If the kernel needs more workspace, this call needs that much more. */
static enum rl_status handed_on(const struct rl_scratch *s, const struct rl_workspace *rest, enum rl_status status)
{
    if (status == RL_EWORKSPACE && s->ws)
        s->ws->needed = s->used + rest->needed;
    return status;
}

/* ---- rewards ------------------------------------------------------------------------------ */

/*
 * Position of the last token of turn k, if all earlier turns end before `from`. Turn ids ascend
 * along a row and are -1 at other tokens, so a search can start where the previous one ended.
 */
static size_t turn_end(struct rl_ids turn, size_t n, size_t from, int32_t k)
{
    size_t last = from;
    for (size_t t = from; t < n && rl_id(turn, t) <= k; t++)
        if (rl_id(turn, t) == k)
            last = t;
    return last;
}

static void fill(const struct rows *r, size_t row, real *array, real value)
{
    for (size_t i = rl_row_at(r->grid, row), end = rl_row_end(r->grid, row); i < end; i++)
        array[i] = value;
}

/*
 * Write the token rewards: gains at the ends of their turns if the algorithm reads them, and the
 * outcome at the last token. The kernels of the papers take them in this form, and `rewards` shows
 * a caller where credit came from. Tokens in between keep 0; only the kernel spreads credit.
 */
static void lay_rewards(const struct rows *r, uint8_t *event)
{
    bool gains = r->algorithm->needs & RL_NEED_GAINS;
    for (size_t i = 0; i < r->grid->n_rows; i++) {
        size_t begin = rl_row_at(r->grid, i), n = rl_row_length(r->grid, i);
        const struct rl_ids turn = rl_turns_at(r->grid, begin);
        fill(r, i, r->rewards, 0);
        size_t first = r->in->turn_start[i], turns = r->in->turn_start[i + 1] - first, at = 0;
        for (size_t k = 0; k < turns; k++) {
            bool outcome = k + 1 == turns;
            at = turn_end(turn, n, at, (int32_t)k);
            if (outcome || gains)
                r->rewards[begin + at] = (real)(outcome ? r->in->outcome[i] : r->in->gain[first + k]);
            if (event)
                event[begin + at] = outcome ? RL_EVENT_OUTCOME : RL_EVENT_PROCESS;
        }
    }
}

/* ---- kinds -------------------------------------------------------------------------------- */

/*
 * An algorithm that does not read norm_by_std uses its own default (dr_grpo never divides, whatever
 * the options say).
 */
static enum rl_status by_group(const struct rows *r, enum rl_estimator estimator)
{
    struct rl_outcome_options options;
    rl_outcome_options_init(&options);
    options.estimator = estimator;
    options.norm_adv_by_std = rl_algorithm_reads(r->algorithm, "norm_by_std")
                                  ? r->options->norm_by_std
                                  : rl_algorithm_default(r->algorithm, "norm_by_std") > 0;
    options.epsilon = r->options->epsilon;
    lay_rewards(r, NULL);
    return rl_outcome_advantage(r->batch, &options, r->rewards, r->advantages, r->ws, r->err);
}

/* Tool tokens do not cut the return (through_holes), so that the outcome reaches every turn. */
static enum rl_status by_returns(const struct rows *r)
{
    lay_rewards(r, NULL);
    return rl_reinforce_plus_plus(r->batch, r->options->gamma, true, r->rewards, r->advantages, NULL, r->ws, r->err);
}

/*
 * Every member of the options is set, including those that the mode does not read: the kernel's
 * defaults are for callers without a table.
 */
static enum rl_status by_gains(const struct rows *r)
{
    struct rl_a2tgpo_options options;
    rl_a2tgpo_options_init(&options);
    options.mode = (enum rl_a2tgpo_mode)r->algorithm->code->variant;
    options.alpha = r->options->alpha;
    options.gamma = r->options->gamma;
    options.clip_beta = r->options->beta;
    options.norm_adv_by_std = r->options->norm_by_std;
    options.epsilon = r->options->epsilon;
    lay_rewards(r, NULL);
    return rl_a2tgpo_advantage(r->batch, &options, r->rewards, r->advantages, r->clip_scale, r->stats, r->ws, r->err);
}

/*
 * Events mark the rewards, because a reward of 0 is a reward too, and without an event it would
 * look as if there were no step.
 */
static enum rl_status by_process(const struct rows *r)
{
    struct rl_scratch s = rl_scratch_begin(r->ws);
    size_t cells = rl_grid_end(r->grid);
    uint8_t *event = rl_scratch_take(&s, cells, sizeof *event);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    struct rl_workspace rest = behind(&s);
    if (cells)
        memset(event, RL_EVENT_NONE, cells);
    lay_rewards(r, event);
    return handed_on(&s, &rest, rl_process_advantage(r->batch, event, r->rewards, r->advantages, &rest, r->err));
}

/*
 * VinePPO (arXiv 2410.01679): without discount, the advantage of a step is the value after it minus
 * the value before it; after the last step the value is the outcome. Steps are turns, and all
 * tokens of a turn share its advantage.
 */
static enum rl_status by_prefixes(const struct rows *r)
{
    lay_rewards(r, NULL);
    for (size_t i = 0; i < r->grid->n_rows; i++) {
        size_t first = r->in->turn_start[i], last = r->in->turn_start[i + 1] - 1;
        for (size_t k = first; k <= last; k++)
            if (!isfinite(r->in->gain[k]) || !isfinite(r->in->outcome[i]))
                return rl_fail(r->err, RL_EVALUE, "row %zu, turn %zu: a value that is not finite", i, k - first);
        for (size_t t = rl_row_at(r->grid, i), end = rl_row_end(r->grid, i); t < end; t++) {
            bool on = rl_on(r->grid, t);
            size_t k = first + (size_t)(on ? rl_id(rl_turns_at(r->grid, t), 0) : 0);
            double gained = k == last ? r->in->outcome[i] - r->in->gain[k] : r->in->gain[k];
            r->advantages[t] = on ? (real)gained : 0;
        }
    }
    return RL_OK;
}

/*
 * A step is a turn, including the outcome turn. prm_steps 0 is replaced by the largest number, so
 * that the schedule alone decides when the judge is used. Afterwards the algorithm is GRPO, as in
 * AgentEvolver.
 */
static enum rl_status by_judge(const struct rows *r)
{
    struct rl_adca_options options;
    bool always = r->options->prm_steps <= 0, asked;
    struct rl_adca_schedule schedule = {.enable = true,
                                        .global_step = (int64_t)r->options->iteration,
                                        .prm_steps = always ? INT64_MAX : (int64_t)r->options->prm_steps,
                                        .alpha = r->options->alpha};
    rl_adca_options_init(&options);
    if (r->options->adca)
        options = *r->options->adca;
    enum rl_status status = rl_adca_schedule_at(&schedule, &asked, &options.alpha, r->err);
    if (status != RL_OK || !asked)
        return status == RL_OK ? by_group(r, RL_GRPO) : status;
    struct rl_scratch s = rl_scratch_begin(r->ws);
    size_t n = r->grid->n_rows, n_steps = r->in->turn_start[n];
    double *steps = rl_scratch_take(&s, 2 * n_steps, sizeof *steps);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    struct rl_workspace rest = behind(&s);
    const struct rl_adca_input in = {.start = r->in->turn_start, .flags = r->in->flags, .flag_start = r->in->turn_start};
    const struct rl_adca_output out = {NULL, steps, steps ? steps + n_steps : NULL, r->in->adca};
    lay_rewards(r, NULL);
    return handed_on(&s, &rest, rl_adca_batch_advantage(r->batch, &in, &options, r->rewards, r->advantages, &out, &rest, r->err));
}

/*
 * Write the value of a row at every response token, and 0 elsewhere. The loss applies the mask
 * anyway; the zeros are for people who read a dump of the array.
 */
static void spread_value(const struct rows *r, size_t row, double value)
{
    for (size_t i = rl_row_at(r->grid, row), end = rl_row_end(r->grid, row); i < end; i++)
        r->advantages[i] = rl_on(r->grid, i) ? (real)value : 0;
}

/*
 * Groups are processed in their order, because rae's baseline moves from one to the next. A failure
 * in one group ends the whole batch: a batch with advantages for only some groups would train on
 * zeros for the others.
 */
static enum rl_status by_values(const struct rows *r)
{
    struct rl_scratch s = rl_scratch_begin(r->ws);
    size_t n = r->grid->n_rows;
    struct rl_groups groups = rl_groups_take(&s, n);
    struct rl_trace *traces = rl_scratch_take(&s, n, sizeof *traces);
    double *values = rl_scratch_take(&s, n, sizeof *values);
    uint8_t *counted = rl_scratch_take(&s, n, sizeof *counted);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    lay_rewards(r, NULL);
    rl_groups_build(&groups, r->grid->group);
    for (size_t g = 0; g < groups.n; g++) {
        const size_t *rows = groups.order + groups.start[g];
        size_t size = rl_group_size(&groups, g);
        for (size_t j = 0; j < size; j++)
            traces[j] = (struct rl_trace){.reward = r->in->outcome[rows[j]]};
        RL_TRY(r->algorithm->code->values(traces, size, r->options, values, counted, r->err));
        for (size_t j = 0; j < size; j++)
            spread_value(r, rows[j], values[j]);
    }
    return RL_OK;
}

/* values and returns are double in the interface and are converted to the precision of the kernel. */
static enum rl_status by_gae(const struct rows *r)
{
    struct rl_scratch s = rl_scratch_begin(r->ws);
    size_t cells = rl_grid_end(r->grid);
    real *values = rl_scratch_take(&s, cells, sizeof *values);
    real *returns = rl_scratch_take(&s, cells, sizeof *returns);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    struct rl_workspace rest = behind(&s);
    for (size_t row = 0; row < r->grid->n_rows; row++)
        for (size_t i = rl_row_at(r->grid, row), end = rl_row_end(r->grid, row); i < end; i++)
            values[i] = (real)r->in->values[i];
    lay_rewards(r, NULL);
    RL_TRY(handed_on(
        &s, &rest,
        rl_gae(r->batch, r->options->gamma, r->options->lam, r->rewards, values, r->advantages, returns, &rest, r->err)));
    for (size_t row = 0; r->in->returns && row < r->grid->n_rows; row++)
        for (size_t i = rl_row_at(r->grid, row), end = rl_row_end(r->grid, row); i < end; i++)
            r->in->returns[i] = (double)returns[i];
    return RL_OK;
}

static enum rl_status by_greedy(const struct rows *r)
{
    struct rl_scratch s = rl_scratch_begin(r->ws);
    real *baselines = rl_scratch_take(&s, r->grid->n_rows, sizeof *baselines);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    for (size_t i = 0; i < r->grid->n_rows; i++)
        baselines[i] = (real)r->in->baseline[i];
    lay_rewards(r, NULL);
    return rl_remax(r->batch, r->rewards, baselines, r->advantages, NULL, r->err);
}

/* ---- episodes ---- */

enum { LABEL = 24 }; /* enough for an int64 as text */

/*
 * A group as traces: one per row (a branch), and one per episode for the turns that its rows share
 * (the trunk), whose reward is the mean of their outcomes.
 */
struct tree {
    struct rl_trace *traces; /* [2n] rows first, then episodes */
    double *values;          /* [2n] */
    uint8_t *counted;        /* [2n] */
    size_t *trunk;           /* [n] index of the trunk's trace for each row */
    char (*label)[LABEL];    /* [n] */
};

/*
 * The first row of the episode of row j. The cost is quadratic in the group, which has tens of
 * rows.
 */
static size_t first_of(const struct rows *r, const size_t *rows, size_t j)
{
    size_t k = 0;
    while (r->in->episode[rows[k]] != r->in->episode[rows[j]])
        k++;
    return k;
}

/*
 * Build the traces of a group; returns their number. Rewards of trunks are summed first and divided
 * at the end.
 */
static size_t grow(const struct rows *r, const struct tree *t, const size_t *rows, size_t size)
{
    size_t n = size;
    for (size_t j = 0; j < size; j++) {
        size_t first = first_of(r, rows, j);
        double outcome = r->in->outcome[rows[j]];
        snprintf(t->label[j], LABEL, "%" PRId64, r->in->episode[rows[j]]);
        t->traces[j] = (struct rl_trace){.reward = outcome, .agent = "branch", .episode = t->label[first]};
        t->trunk[j] = first < j ? t->trunk[first] : n++;
        if (first == j)
            t->traces[t->trunk[j]] = (struct rl_trace){.agent = "trunk", .episode = t->label[first]};
        t->traces[t->trunk[j]].reward += outcome;
        t->traces[t->trunk[j]].n_turns++;
    }
    for (size_t k = size; k < n; k++)
        t->traces[k].reward /= t->traces[k].n_turns;
    return n;
}

static void spread_tree(const struct rows *r, size_t row, double trunk, double branch)
{
    for (size_t i = rl_row_at(r->grid, row), end = rl_row_end(r->grid, row); i < end; i++) {
        bool shared = rl_id(rl_turns_at(r->grid, i), 0) < r->in->n_shared[row];
        r->advantages[i] = rl_on(r->grid, i) ? (real)(shared ? trunk : branch) : 0;
    }
}

/*
 * Applies the algorithm's rule for agents, as on trees: branches are compared within their episode,
 * whose beginning they share, and trunks with each other.
 */
static enum rl_status by_episodes(const struct rows *r)
{
    static const char *const branches[] = {"branch"};
    struct rl_scratch s = rl_scratch_begin(r->ws);
    struct rl_algorithm_options options = *r->options;
    size_t n = r->grid->n_rows;
    struct rl_groups groups = rl_groups_take(&s, n);
    const struct tree t = {.traces = rl_scratch_take(&s, 2 * n, sizeof *t.traces),
                           .values = rl_scratch_take(&s, 2 * n, sizeof *t.values),
                           .counted = rl_scratch_take(&s, 2 * n, sizeof *t.counted),
                           .trunk = rl_scratch_take(&s, n, sizeof *t.trunk),
                           .label = rl_scratch_take(&s, n, sizeof *t.label)};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, r->err);
    options.episode_agents = branches;
    options.n_episode_agents = 1;
    lay_rewards(r, NULL);
    rl_groups_build(&groups, r->grid->group);
    for (size_t g = 0; g < groups.n; g++) {
        const size_t *rows = groups.order + groups.start[g];
        size_t size = rl_group_size(&groups, g), traces = grow(r, &t, rows, size);
        RL_TRY(r->algorithm->code->values(t.traces, traces, &options, t.values, t.counted, r->err));
        for (size_t j = 0; j < size; j++)
            spread_tree(r, rows[j], t.values[t.trunk[j]], t.values[j]);
    }
    return RL_OK;
}

/* ---- what must be there ------------------------------------------------------------------- */

/* Check the inputs that only some algorithms read. */
static enum rl_status check_needs(const struct rows *r)
{
    const struct rl_algorithm_input *in = r->in;
    const struct {
        unsigned need;
        bool there;
        const char *what;
    } inputs[] = {{RL_NEED_GAINS, in->gain, "gains"},
                  {RL_NEED_JUDGE, in->flags, "flags"},
                  {RL_NEED_VALUES, in->values, "values"},
                  {RL_NEED_GREEDY, in->baseline, "baselines"},
                  {RL_NEED_AGENTS, in->episode && in->n_shared, "episodes"}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (r->algorithm->needs & inputs[i].need && !inputs[i].there)
            return rl_fail(r->err, RL_EINVAL, "%s needs %s", r->algorithm->name, inputs[i].what);
    return RL_OK;
}

/*
 * Check everything that could make a kernel read out of bounds. The kernels themselves check the
 * values, with messages that name the token. Every row needs a turn for its outcome, because the
 * last reward is written there.
 */
static enum rl_status check(const struct rows *r)
{
    if (r->grid->n_rows &&
        (!r->in->outcome || !r->in->turn_start || !r->rewards || !r->advantages || !r->clip_scale || !r->stats))
        return rl_fail(r->err, RL_EINVAL, "outcomes, turn starts or an output are missing");
    RL_TRY(r->grid->n_rows ? check_needs(r) : RL_OK);
    for (size_t i = 0; i < r->grid->n_rows; i++)
        if (r->in->turn_start[i + 1] <= r->in->turn_start[i])
            return rl_fail(r->err, RL_EINVAL, "row %zu has no turn for its outcome", i);
    return RL_OK;
}

/*
 * clip_scale and stats are set to neutral values for every algorithm, so that a loss can use them
 * whatever the algorithm is.
 */
enum rl_status rl_algorithm_rows(const struct rl_algorithm *algorithm, const struct rl_algorithm_input *in,
                                 const struct rl_algorithm_options *options, real *rewards, real *advantages, real *clip_scale,
                                 struct rl_a2tgpo_stats *stats, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_grid grid;
    enum rl_status status = rl_grid_open(&grid, in->batch, RL_NEEDS_TURNS | RL_NEEDS_GROUPS, true, err);
    /* The inputs contain no arrays of reals; the arrays of reals for the kernels are made here. */
    struct rl_layout layout = status == RL_OK ? rl_grid_layout(&grid, NULL, NULL, 0) : (struct rl_layout){.n_tokens = 0};
    const struct rows r = {algorithm, in, &layout.batch, &grid, options, rewards, advantages, clip_scale, stats, ws, err};
    const struct rl_algorithm_code *code = algorithm->code;
    if (status == RL_OK)
        status = check(&r);
    if (status != RL_OK)
        return status;
    for (size_t row = 0; row < grid.n_rows; row++)
        fill(&r, row, clip_scale, 1);
    *stats = (struct rl_a2tgpo_stats){1, 0};
    switch (code->rows) {
    case RL_ROWS_GROUP: return by_group(&r, (enum rl_estimator)code->variant);
    case RL_ROWS_RETURNS: return by_returns(&r);
    case RL_ROWS_VALUES: return by_values(&r);
    case RL_ROWS_GAINS: return by_gains(&r);
    case RL_ROWS_PROCESS: return by_process(&r);
    case RL_ROWS_PREFIX: return by_prefixes(&r);
    case RL_ROWS_JUDGE: return by_judge(&r);
    case RL_ROWS_GAE: return by_gae(&r);
    case RL_ROWS_GREEDY: return by_greedy(&r);
    case RL_ROWS_EPISODES: return by_episodes(&r);
    case RL_ROWS_ZERO:
        lay_rewards(&r, NULL);
        for (size_t row = 0; row < grid.n_rows; row++)
            fill(&r, row, advantages, 0);
        return RL_OK;
    case RL_ROWS_NONE: break;
    }
    return rl_fail(err, RL_EINVAL, "%s works on message trees, not on rows of a batch", algorithm->name);
}
