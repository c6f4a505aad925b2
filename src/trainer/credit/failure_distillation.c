/*
 * failure_distillation.c: see failure_distillation.h. The core decides which groups, rollouts and tokens are taught
 * (rlcore/distill.h). Its decision uses the environment's reward, before penalties and pass@k. The policy's log-probs
 * are those of sampling.
 */
#include "credit/failure_distillation.h"

#include <stdlib.h>

#include <rlcore/distill.h>

#include "support/error.h"

struct distilling {
    struct trainer_rollouts *r;
    const struct credit_task *task;
    const struct trainer_distill *settings;
    size_t horizon, at; /* at: first token of the rows */
    struct rl_batch batch;
    double *pass_rate; /* [n] */
    uint8_t *eligible; /* [n] */
};

/* K1 overwrites the advantages in place, which works because the core reads each advantage before it writes it. */
static enum rl_status call_core(struct distilling *d, struct workspace *workspace, struct rl_error *core)
{
    struct trainer_rollouts *r = d->r;
    const struct rl_distill_options options = {.pass_rate_threshold = d->settings->pass_rate,
                                               .horizon = d->horizon,
                                               .normalise = d->settings->normalise,
                                               .kd_coef = d->settings->coef};
    bool as_advantage = d->settings->how == TRAINER_DISTILL_ADVANTAGE;
    float *written = as_advantage ? r->advantage + d->at : r->kd + d->at;
    struct rl_distill_result result;
    enum rl_status status;
    CORE_CALL(status, workspace,
              rl_distillf(&d->batch, &options, r->log_prob + d->at, r->reference + d->at, r->advantage + d->at,
                          r->reward + d->task->first, written, NULL, d->pass_rate, d->eligible, &result, &workspace->ws, core));
    return status;
}

/* Gives the taught tokens of a row their weight, and returns their number. Adds to *gap. */
static uint64_t teach_row(struct distilling *d, size_t i, double *gap)
{
    struct trainer_rollouts *r = d->r;
    bool as_advantage = d->settings->how == TRAINER_DISTILL_ADVANTAGE;
    float coef = (float)d->settings->coef;
    uint64_t n = 0;
    for (size_t t = 0, at = d->at + i * r->width; t < r->width; t++, at++) {
        bool taught = d->eligible[i] && r->mask[at] && n < d->horizon;
        if (!as_advantage)
            r->kd[at] = taught ? coef : 0;
        else if (taught)
            r->advantage[at] *= coef;
        *gap += taught ? (double)r->reference[at] - (double)r->log_prob[at] : 0;
        n += taught;
    }
    return n;
}

/* The rows of a group are adjacent. */
static void count(const struct distilling *d, struct trainer_distillation *counts)
{
    bool taught = false;
    for (size_t i = 0; i < d->task->n; i++) {
        bool begins = i == 0 || d->batch.group[i] != d->batch.group[i - 1];
        taught = !begins && taught;
        counts->groups += begins;
        counts->taught_groups += d->eligible[i] && !taught;
        taught = taught || d->eligible[i];
        counts->taught_rollouts += d->eligible[i];
    }
    counts->rollouts += d->task->n;
    counts->tokens += rollouts_tokens(d->r, d->task->first, d->task->n);
}

static void teach(struct distilling *d, struct trainer_distillation *counts)
{
    double before = (double)counts->taught_tokens, gap = counts->gap * before;
    count(d, counts);
    for (size_t i = 0; i < d->task->n; i++)
        counts->taught_tokens += teach_row(d, i, &gap);
    counts->gap = counts->taught_tokens ? gap / (double)counts->taught_tokens : 0;
}

enum trainer_status distill_failures(struct trainer_rollouts *r, const struct credit_task *task, struct workspace *workspace,
                                     struct trainer_distillation *counts, struct trainer_error *err)
{
    const struct trainer_distill *settings = &task->recipe->tasks[task->task].algorithm.distill;
    size_t at = task->first * r->width;
    struct rl_error core = {RL_OK, "out of memory"};
    if (settings->how == TRAINER_DISTILL_NONE)
        return TRAINER_OK;
    struct distilling d = {.r = r,
                           .task = task,
                           .settings = settings,
                           .horizon = settings->horizon > 0 ? (size_t)settings->horizon : r->width,
                           .at = at,
                           .batch = {task->n, r->width, r->mask + at, r->turn + at, r->group + task->first},
                           .pass_rate = malloc(task->n * (sizeof *d.pass_rate + 1))};
    if (!d.pass_rate)
        return trainer_no_memory(err, task->n * sizeof *d.pass_rate);
    d.eligible = (uint8_t *)(d.pass_rate + task->n);
    enum rl_status status = call_core(&d, workspace, &core);
    if (status == RL_OK)
        teach(&d, counts);
    free(d.pass_rate);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "algorithm.distill", status, &core);
}
