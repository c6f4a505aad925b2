/* credit.c: see credit.h. */
#include "credit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/length.h>
#include <rlcore/process.h>

#include "internal.h"

bool workspace_grow(struct workspace *workspace, enum rl_status status)
{
    struct rl_workspace *ws = &workspace->ws;
    if (status != RL_EWORKSPACE || ws->needed <= ws->size)
        return false;
    free(ws->data);
    ws->data = malloc(ws->needed);
    ws->size = ws->data ? ws->needed : 0;
    return ws->data != NULL;
}

void workspace_free(struct workspace *workspace)
{
    free(workspace->ws.data);
}

bool credit_needs_values(enum trainer_algorithm_name name)
{
    switch (name) {
    case TRAINER_JOINT:
    case TRAINER_SEPARATE:
    case TRAINER_TURN_GROUP:
    case TRAINER_TURN_GROUP_V1D:
    case TRAINER_PROCESS: return true;
    default: return false;
    }
}

bool credit_needs_reference(enum trainer_algorithm_name name)
{
    return name == TRAINER_OPD || name == TRAINER_OPSD;
}

/* The rows of one task at work. */
struct credit {
    struct trainer_rollouts *r;
    const struct credit_task *task;
    const struct trainer_algorithm *algorithm;
    struct credit_memory *memory;
    struct workspace *workspace;
    struct rl_batch batch;
    double *outcome; /* [n] after the length penalty */
    double *scratch; /* [3 n] */
    float *rewards, *advantage, *clip_scale;
};

/* ---- rewards ------------------------------------------------------------------------------ */

static double response_tokens(const struct trainer_rollouts *r, size_t row)
{
    double n = 0;
    for (size_t t = 0; t < (size_t)r->length[row]; t++)
        n += r->mask[row * r->width + t];
    return n;
}

/* Anchors: pass@1 of a prompt first above 0.9 sets its anchor; prompts are new in every iteration
 * here. */
static enum rl_status set_anchors(struct credit *c, const double *length, double *anchor,
                                  struct rl_error *core)
{
    size_t g = (size_t)c->task->recipe->training.group_size;
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < c->task->n && status == RL_OK; i += g) {
        double value = NAN;
        status = rl_length_anchor(g, c->outcome + i, length + i, &value, core);
        for (size_t j = 0; j < g; j++)
            anchor[i + j] = value;
    }
    return status;
}

static enum rl_status penalise_length(struct credit *c, struct rl_error *core)
{
    static const double custom[] = {0, 1e-4, 0.1, 0.01};
    static const enum rl_length_penalty kinds[] = {RL_LENGTH_UNIFORM, RL_LENGTH_UNIFORM,
                                                   RL_LENGTH_GROUP, RL_LENGTH_ANCHOR};
    enum trainer_length_penalty kind = c->algorithm->length_penalty;
    double coef = c->algorithm->length_coef > 0 ? c->algorithm->length_coef : custom[kind];
    double *length = c->scratch, *anchor = length + c->task->n;
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < c->task->n; i++)
        length[i] = response_tokens(c->r, c->task->first + i);
    if (kind == TRAINER_LENGTH_ANCHOR)
        status = set_anchors(c, length, anchor, core);
    struct rl_length_input in = {c->task->n, c->outcome, length, c->batch.group, anchor};
    if (status == RL_OK)
        CORE_CALL(status, c->workspace,
                  rl_length_penalty(kinds[kind], coef, &in, c->outcome, &c->workspace->ws, core));
    return status;
}

static enum rl_status set_outcomes(struct credit *c, struct rl_error *core)
{
    for (size_t i = 0; i < c->task->n; i++)
        c->outcome[i] = c->r->reward[c->task->first + i];
    return c->algorithm->length_penalty == TRAINER_LENGTH_NONE ? RL_OK : penalise_length(c, core);
}

/* The last token written in each turn. */
static void last_tokens(const struct trainer_rollouts *r, size_t row,
                        size_t last[ROLLOUT_VALUES + 1])
{
    for (size_t t = 0; t < (size_t)r->length[row]; t++)
        if (r->turn[row * r->width + t] >= 0)
            last[r->turn[row * r->width + t]] = t;
}

/* Information gain at the end of its turn if the algorithm reads it, the outcome at the last token.
 */
static void set_rewards(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    bool gains = credit_needs_values(c->algorithm->name);
    memset(c->rewards, 0, c->task->n * r->width * sizeof *c->rewards);
    for (size_t i = 0; i < c->task->n; i++) {
        size_t row = c->task->first + i, last[ROLLOUT_VALUES + 1];
        const double *value = r->value + row * ROLLOUT_VALUES;
        last_tokens(r, row, last);
        for (int32_t k = 0; gains && k < r->n_turns[row]; k++)
            c->rewards[i * r->width + last[k]] = (float)(value[k + 1] - value[k]);
        c->rewards[i * r->width + last[r->n_turns[row]]] = (float)c->outcome[i];
    }
}

/* ---- advantages --------------------------------------------------------------------------- */

static enum rl_status by_group(struct credit *c, enum rl_estimator estimator, bool by_std,
                               struct rl_error *core)
{
    struct rl_group_options options;
    enum rl_status status;
    rl_group_options_init(&options);
    options.estimator = estimator;
    options.norm_adv_by_std = by_std;
    options.epsilon = c->algorithm->epsilon;
    CORE_CALL(status, c->workspace,
              rl_group_advantagef(&c->batch, &options, c->rewards, c->advantage, &c->workspace->ws,
                                  core));
    return status;
}

/* Tool tokens do not cut the return: the outcome reaches every turn. */
static enum rl_status by_returns(struct credit *c, struct rl_error *core)
{
    enum rl_status status;
    CORE_CALL(status, c->workspace,
              rl_reinforce_plus_plusf(&c->batch, c->algorithm->gamma, true, c->rewards,
                                      c->advantage, NULL, &c->workspace->ws, core));
    return status;
}

static enum rl_status by_information_gain(struct credit *c, struct rl_error *core)
{
    struct rl_a2tgpo_options options;
    enum rl_status status;
    rl_a2tgpo_options_init(&options);
    options.mode = (enum rl_a2tgpo_mode)(c->algorithm->name - TRAINER_JOINT) + RL_A2TGPO_JOINT;
    options.alpha = c->algorithm->alpha;
    options.gamma = c->algorithm->gamma;
    options.clip_beta = c->algorithm->beta;
    options.norm_adv_by_std = c->algorithm->norm_by_std;
    options.epsilon = c->algorithm->epsilon;
    CORE_CALL(status, c->workspace,
              rl_a2tgpo_advantagef(&c->batch, &options, c->rewards, c->advantage, c->clip_scale,
                                   NULL, &c->workspace->ws, core));
    return status;
}

static void mark_events(const struct credit *c, uint8_t *event)
{
    struct trainer_rollouts *r = c->r;
    memset(event, RL_EVENT_NONE, c->task->n * r->width);
    for (size_t i = 0; i < c->task->n; i++) {
        size_t row = c->task->first + i, last[ROLLOUT_VALUES + 1];
        last_tokens(r, row, last);
        for (int32_t k = 0; k < r->n_turns[row]; k++)
            event[i * r->width + last[k]] = RL_EVENT_PROCESS;
        event[i * r->width + last[r->n_turns[row]]] = RL_EVENT_OUTCOME;
    }
}

static enum rl_status by_process(struct credit *c, struct rl_error *core)
{
    enum rl_status status;
    uint8_t *event = c->r->kept + c->task->first * c->r->width; /* filled anew before the updates */
    mark_events(c, event);
    CORE_CALL(
        status, c->workspace,
        rl_process_advantagef(&c->batch, event, c->rewards, c->advantage, &c->workspace->ws, core));
    return status;
}

/* Flags of all steps, row after row; start [n+1]. */
static void judge(const struct credit *c, size_t *start, uint8_t *flags)
{
    struct trainer_rollouts *r = c->r;
    start[0] = 0;
    for (size_t i = 0; i < c->task->n; i++) {
        size_t row = c->task->first + i;
        int32_t steps = r->n_turns[row] + 1;
        for (int32_t k = 0; k < steps; k++)
            flags[start[i] + (size_t)k] = trainer_env_judge(&r->episode[row], k);
        start[i + 1] = start[i] + (size_t)steps;
    }
}

/* A step is a turn, the closing one included. */
static enum rl_status by_judge(struct credit *c, struct rl_error *core)
{
    size_t n = c->task->n, most = n * (ROLLOUT_VALUES + 1);
    size_t *start = malloc((n + 1) * sizeof *start);
    uint8_t *flags = malloc(most);
    double *steps = malloc(2 * most * sizeof *steps);
    enum rl_status status = RL_EWORKSPACE;
    struct rl_prm_options options;
    rl_prm_options_init(&options);
    options.alpha = c->algorithm->alpha;
    if (start && flags && steps) {
        judge(c, start, flags);
        struct rl_prm_input in = {n,     c->r->width, c->batch.group, c->batch.turn,
                                  start, flags,       start};
        struct rl_prm_output out = {NULL, steps, steps + most, NULL};
        CORE_CALL(status, c->workspace,
                  rl_prm_advantagef(&in, &options, c->rewards, c->advantage, &out,
                                    &c->workspace->ws, core));
    }
    free(start);
    free(flags);
    free(steps);
    return status;
}

/* Value of each row at its response tokens. */
static void spread_rows(struct credit *c, const double *value)
{
    for (size_t i = 0; i < c->task->n; i++)
        for (size_t t = 0; t < c->r->width; t++) {
            size_t at = i * c->r->width + t;
            c->advantage[at] = c->batch.mask[at] ? (float)value[i] : 0;
        }
}

static enum rl_status trace_advantage(struct credit *c, const struct rl_trace *traces, size_t n,
                                      double *out, uint8_t *counted, struct rl_error *core)
{
    struct credit_memory *memory = c->memory;
    int32_t task = c->task->task;
    if (c->algorithm->name == TRAINER_MAX_RL)
        return rl_group_max_rl(traces, n, out, counted, core);
    return rl_group_rae(traces, n, c->algorithm->decay, &memory->baseline[task],
                        &memory->n_baselines[task], 1, out, counted, core);
}

/* prime-rl's algorithms see whole rollouts, group by group. */
static enum rl_status by_trace(struct credit *c, struct rl_error *core)
{
    size_t g = (size_t)c->task->recipe->training.group_size;
    struct rl_trace *traces = calloc(g, sizeof *traces);
    uint8_t *counted = malloc(g);
    enum rl_status status = traces && counted ? RL_OK : RL_EWORKSPACE;
    for (size_t i = 0; i < c->task->n && status == RL_OK; i += g) {
        for (size_t j = 0; j < g; j++)
            traces[j].reward = c->outcome[i + j];
        status = trace_advantage(c, traces, g, c->scratch + i, counted, core);
    }
    if (status == RL_OK)
        spread_rows(c, c->scratch);
    free(traces);
    free(counted);
    return status;
}

static bool judge_is_asked(const struct credit *c)
{
    return c->algorithm->prm_steps == 0 || c->task->iteration < c->algorithm->prm_steps;
}

static enum rl_status assign(struct credit *c, struct rl_error *core)
{
    switch (c->algorithm->name) {
    case TRAINER_DR_GRPO: return by_group(c, RL_GRPO, false, core);
    case TRAINER_RLOO: return by_group(c, RL_RLOO, true, core);
    case TRAINER_GRPO_PASSK: return by_group(c, RL_GRPO_PASSK, c->algorithm->norm_by_std, core);
    case TRAINER_REINFORCE_PLUS_PLUS: return by_returns(c, core);
    case TRAINER_MAX_RL:
    case TRAINER_RAE: return by_trace(c, core);
    case TRAINER_JOINT:
    case TRAINER_SEPARATE:
    case TRAINER_TURN_GROUP:
    case TRAINER_TURN_GROUP_V1D: return by_information_gain(c, core);
    case TRAINER_PROCESS: return by_process(c, core);
    case TRAINER_REWARD: spread_rows(c, c->outcome); return RL_OK;
    case TRAINER_OPD:
    case TRAINER_OPSD:
    case TRAINER_SFT:
        memset(c->advantage, 0, c->task->n * c->r->width * sizeof *c->advantage);
        return RL_OK;
    case TRAINER_ADCA:
        if (judge_is_asked(c))
            return by_judge(c, core);
        break;
    default: break;
    }
    return by_group(c, RL_GRPO, c->algorithm->norm_by_std, core);
}

/* ---- weight streams ----------------------------------------------------------------------- */

static void set_streams(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    enum trainer_algorithm_name name = c->algorithm->name;
    bool rl = name != TRAINER_SFT && !credit_needs_reference(name);
    for (size_t i = 0; i < c->task->n; i++)
        for (size_t t = 0; t < r->width; t++) {
            size_t row = c->task->first + i, at = row * r->width + t;
            bool written = r->mask[at],
                 told = !written && t >= (size_t)r->prompt[row] && t < (size_t)r->length[row];
            r->rl[at] = rl && written;
            r->ref_kl[at] = credit_needs_reference(name) && written;
            r->ce[at] = name == TRAINER_SFT && written;
            if (name == TRAINER_ECHO && told)
                r->ce[at] = (float)c->algorithm->echo_weight;
        }
}

static void scale_advantages(struct credit *c)
{
    float scale = (float)c->algorithm->advantage_scale;
    for (size_t i = 0; i < c->task->n * c->r->width; i++)
        c->advantage[i] *= scale;
}

enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task,
                                  struct credit_memory *memory, struct workspace *workspace,
                                  struct trainer_error *err)
{
    size_t at = task->first * rollouts->width;
    struct credit c = {.r = rollouts,
                       .task = task,
                       .algorithm = &task->recipe->tasks[task->task].algorithm,
                       .memory = memory,
                       .workspace = workspace,
                       .batch = {task->n, rollouts->width, rollouts->mask + at, rollouts->turn + at,
                                 rollouts->group + task->first},
                       .rewards = rollouts->rewards + at,
                       .advantage = rollouts->advantage + at,
                       .clip_scale = rollouts->clip_scale + at};
    struct rl_error core = {RL_OK, "out of memory"};
    c.outcome = malloc(4 * task->n * sizeof *c.outcome);
    if (!c.outcome)
        return trainer_no_memory(err, 4 * task->n * sizeof *c.outcome);
    c.scratch = c.outcome + task->n;
    for (size_t i = 0; i < task->n * rollouts->width; i++)
        c.clip_scale[i] = 1;
    enum rl_status status = set_outcomes(&c, &core);
    if (status == RL_OK) {
        set_rewards(&c);
        status = assign(&c, &core);
    }
    set_streams(&c);
    scale_advantages(&c);
    free(c.outcome);
    rollouts->has_credit = true;
    return status == RL_OK ? TRAINER_OK
                           : trainer_core_failed(err, "credit assignment", status, &core);
}

/* ---- statistics --------------------------------------------------------------------------- */

static void measure_clip_scale(const struct trainer_rollouts *r, struct credit_stats *stats)
{
    double n = 0, sum = 0, square = 0;
    for (size_t i = 0; i < r->n * r->width; i++) {
        double d = r->mask[i] ? (double)r->clip_scale[i] - 1 : 0;
        n += r->mask[i];
        sum += d;
        square += d * d;
    }
    stats->clip_scale_mean = n > 0 ? 1 + sum / n : 1;
    stats->clip_scale_std = trainer_std(n, sum, square);
}

static void measure_gain(const struct trainer_rollouts *r, int32_t turn,
                         struct trainer_turn_gain *gain)
{
    double sum = 0, square = 0;
    *gain = (struct trainer_turn_gain){0};
    for (size_t row = 0; row < r->n; row++) {
        if (r->n_turns[row] <= turn)
            continue;
        const double *value = r->value + row * ROLLOUT_VALUES + turn;
        double x = value[1] - value[0];
        gain->count++;
        sum += x;
        square += x * x;
    }
    double n = (double)gain->count;
    gain->mean = n > 0 ? sum / n : 0;
    gain->std = trainer_std(n, sum, square);
}

void credit_measure(const struct trainer_rollouts *rollouts, struct credit_stats *stats)
{
    *stats = (struct credit_stats){.clip_scale_mean = 1};
    measure_clip_scale(rollouts, stats);
    for (int32_t k = 0; rollouts->has_values && k < TRAINER_TURNS_MAX; k++) {
        measure_gain(rollouts, k, &stats->gain[k]);
        if (stats->gain[k].count > 0)
            stats->n_gain = k + 1;
    }
}
