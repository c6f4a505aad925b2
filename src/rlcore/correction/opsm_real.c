/*
 * opsm_real.c: rows or turns whose ratio leaves its bounds are dropped as a whole.
 *
 * The whole unit is dropped (DeepSeek-V3.2), because tokens that survive alone would be trained
 * without the context in which they were judged. With negative_only, only units with a negative
 * advantage are dropped: a success is worth keeping even from a stale policy.
 */
#include <rlcore/offpolicy.h>

#include "correction/correction_internal.h"
#include "support/scratch.h"
#include "support/real.h"
#include "support/turns.h"

enum { TRAIN, ROLLOUT, ADVANTAGES }; /* in the order of the arguments */

struct masking {
    struct rl_grid batch;
    const struct rl_opsm_options *options;
    const real *train, *rollout, *advantages;
    uint8_t *keep;
    real *ratio;
};

static enum rl_status check(const struct masking *m, struct rl_error *err)
{
    const struct rl_opsm_options *o = m->options;
    if (!(o->lower >= 0 && o->lower <= o->upper))
        return rl_fail(err, RL_EINVAL, "opsm bounds %g..%g are invalid: use 0 <= lower <= upper", o->lower, o->upper);
    RL_TRY(rl_grid_check_reals("train_log_prob", &m->batch, TRAIN, m->train, false, err));
    RL_TRY(rl_grid_check_reals("rollout_log_prob", &m->batch, ROLLOUT, m->rollout, false, err));
    if (m->batch.n_rows && m->batch.n_tokens)
        RL_TRY(RL_NEED(err, {"modified_mask", m->keep}));
    if (o->negative_only)
        RL_TRY(rl_grid_check_reals("advantages", &m->batch, ADVANTAGES, m->advantages, false, err));
    return RL_OK;
}

/* Sums over the response tokens among the positions [begin, end). */
struct unit {
    double n, l, advantage;
};

/*
 * Without negative_only the advantage counts as -1, which makes every unit a candidate. Each token
 * is limited by itself, so that an impossible token cannot be balanced by many likely ones.
 */
static struct unit add_up(const struct masking *m, size_t begin, size_t end)
{
    struct unit u = {0};
    for (size_t i = begin; i < end; i++) {
        if (!rl_on(&m->batch, i))
            continue;
        double l = (double)rl_real_at(&m->batch, TRAIN, m->train, i) - (double)rl_real_at(&m->batch, ROLLOUT, m->rollout, i);
        u.l += fmin(fmax(l, -RL_LOG_RATIO_LIMIT), RL_LOG_RATIO_LIMIT);
        u.advantage += m->options->negative_only ? (double)rl_real_at(&m->batch, ADVANTAGES, m->advantages, i) : -1;
        u.n++;
    }
    return u;
}

/* Returns true if the unit stays. The comparison uses logarithms, which do not overflow. */
static bool keeps(const struct rl_opsm_options *o, const struct unit *u)
{
    double l = o->per_token ? u->l / (u->n + 1e-8) : u->l;
    return (l >= log(o->lower) && l <= log(o->upper)) || u->advantage >= 0;
}

static void judge(const struct masking *m, size_t begin, size_t end, struct rl_opsm_result *result)
{
    struct unit u = add_up(m, begin, end);
    double l = m->options->per_token ? u.l / (u.n + 1e-8) : u.l;
    bool kept = keeps(m->options, &u);
    for (size_t i = begin; i < end; i++) {
        bool on = rl_on(&m->batch, i);
        m->keep[i] = on && kept;
        if (m->ratio)
            m->ratio[i] = on ? (real)exp(fmin(l, RL_LOG_RATIO_LIMIT)) : 0;
    }
    result->n_units += u.n > 0;
    result->n_dropped += u.n > 0 && !kept;
    result->n_tokens_dropped += kept ? 0 : (uint64_t)u.n;
}

static struct rl_opsm_result judge_row(const struct masking *m, size_t row)
{
    struct rl_opsm_result result = {0};
    size_t n = rl_row_length(&m->batch, row), begin = rl_row_at(&m->batch, row);
    if (m->options->unit == RL_OPSM_ROW) {
        judge(m, begin, begin + n, &result);
        return result;
    }
    const struct rl_ids turn = rl_turns_at(&m->batch, begin);
    size_t from = rl_turn_next(turn, 0, n, -1);
    /*
     * Positions before the first turn have no response token. They are judged too, so that mask and
     * ratio are written there.
     */
    judge(m, begin, begin + from, &result);
    for (int32_t k = 0; from < n; k++) {
        size_t to = rl_turn_next(turn, from, n, k);
        judge(m, begin + from, begin + to, &result);
        from = to;
    }
    return result;
}

enum rl_status rl_opsm(const struct rl_batch *batch, const struct rl_opsm_options *options, const real *train,
                       const real *rollout, const real *advantages, uint8_t *modified_mask, real *ratio,
                       struct rl_opsm_result *result, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"options", options}, {"result", result}));
    struct masking m = {
        .options = options, .train = train, .rollout = rollout, .advantages = advantages, .keep = modified_mask, .ratio = ratio};
    enum rl_status status = rl_grid_of(&m.batch, batch, options->unit == RL_OPSM_TURN ? RL_NEEDS_TURNS : RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = check(&m, err);
    if (status != RL_OK)
        return status;
    uint64_t units = 0, dropped = 0, tokens = 0;
#pragma omp parallel for schedule(static) reduction(+ : units, dropped, tokens) if (rl_grid_parallel(&m.batch))
    for (size_t row = 0; row < m.batch.n_rows; row++) {
        struct rl_opsm_result r = judge_row(&m, row);
        units += r.n_units;
        dropped += r.n_dropped;
        tokens += r.n_tokens_dropped;
    }
    *result = (struct rl_opsm_result){units, dropped, tokens};
    return RL_OK;
}
