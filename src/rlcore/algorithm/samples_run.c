/*
 * samples_run.c: advantages of a group of message trees, and the entry points of a run over them.
 *
 * Advantages and streams can be computed in one call (run) or two (credit, route). Between the two
 * a caller may filter or rescale the advantages, or compute them itself.
 */

#include "algorithm/algorithm_code.h"
#include "algorithm/samples_internal.h"

struct sizes {
    size_t nodes, tokens; /* of the largest tree */
    size_t sampled;       /* tokens at mask 1 of all trees */
};

/*
 * Measure the trees. start [n+1], or NULL, receives where the credit of each rollout begins.
 * Scratch per tree is taken for the largest tree and reused, so that it does not grow with the
 * group.
 */
static struct sizes measure(const struct rl_rollouts *rollouts, size_t *start)
{
    struct sizes most = {0};
    for (size_t i = 0; i < rollouts->n; i++) {
        const struct rl_tree *tree = &rollouts->trees[i];
        size_t tokens = 0;
        if (start)
            start[i] = most.sampled;
        for (size_t k = 0; k < tree->n_nodes; k++) {
            tokens += tree->nodes[k].n_tokens;
            most.sampled += rl_node_sampled(&tree->nodes[k]);
        }
        most.nodes = tree->n_nodes > most.nodes ? tree->n_nodes : most.nodes;
        most.tokens = tokens > most.tokens ? tokens : most.tokens;
    }
    if (start)
        start[rollouts->n] = most.sampled;
    return most;
}

/* The rollouts are measured again once memory exists to store their starts. */
static enum rl_status take(struct rl_algorithm_job *job, struct rl_workspace *ws, bool with_credit)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t n = job->rollouts->n;
    struct sizes most = measure(job->rollouts, NULL);
    job->start = rl_scratch_take(&s, n + 1, sizeof *job->start);
    job->values = rl_scratch_take(&s, n, sizeof *job->values);
    job->counted = rl_scratch_take(&s, n, sizeof *job->counted);
    job->node_credit = rl_scratch_take(&s, most.nodes, sizeof *job->node_credit);
    job->node_token = rl_scratch_take(&s, most.nodes, sizeof *job->node_token);
    job->seen = rl_scratch_take(&s, most.nodes, sizeof *job->seen);
    job->token = rl_scratch_take(&s, most.tokens, sizeof *job->token);
    if (with_credit)
        job->credit = rl_scratch_take(&s, most.sampled, sizeof *job->credit);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, job->err);
    measure(job->rollouts, job->start);
    return RL_OK;
}

/*
 * The message contains the callback's return value, because nothing else may cross a language
 * border.
 */
static enum rl_status from_callback(struct rl_algorithm_job *job)
{
    const struct rl_algorithm_options *o = job->options;
    if (!o->credit)
        return rl_fail(job->err, RL_EINVAL, "custom needs a credit callback in its options");
    int answer = o->credit(o->credit_context, job->rollouts, job->start, job->credit);
    if (answer != 0)
        return rl_fail(job->err, RL_ECALLBACK, "the credit callback of custom returned %d", answer);
    return RL_OK;
}

/*
 * Every sampled token of a rollout gets the rollout's value. Rollouts that do not count keep 0, so
 * that they do not enter the gradient.
 */
static enum rl_status from_values(struct rl_algorithm_job *job)
{
    const struct rl_rollouts *rollouts = job->rollouts;
    enum rl_status status =
        job->algorithm->code->values(rollouts->traces, rollouts->n, job->options, job->values, job->counted, job->err);
    for (size_t i = 0; status == RL_OK && i < rollouts->n; i++)
        for (size_t k = job->start[i]; job->counted[i] && k < job->start[i + 1]; k++)
            job->credit[k] = job->values[i];
    return status;
}

/* A NaN here would reach every weight through the optimizer. */
static enum rl_status check_credit(const struct rl_algorithm_job *job)
{
    for (size_t i = 0; i < job->rollouts->n; i++)
        for (size_t k = job->start[i]; k < job->start[i + 1]; k++)
            if (!isfinite(job->given[k]))
                return rl_fail(job->err, RL_EVALUE, "advantage of rollout %zu is %g at sampled token %zu", i, job->given[k],
                               k - job->start[i]);
    return RL_OK;
}

static bool calls_back(const struct rl_algorithm *algorithm)
{
    return algorithm->needs & RL_NEED_CALLBACK;
}

/* opd, opsd and sft have no advantages: ref_kl or ce trains their tokens. */
static bool has_advantages(const struct rl_algorithm *algorithm)
{
    return algorithm->code->values || calls_back(algorithm);
}

/*
 * Let the algorithm write its advantages into job->credit, which is 0 at first. An algorithm that
 * compares refuses a group of one, whose advantage would always be 0.
 */
static enum rl_status assign(struct rl_algorithm_job *job)
{
    const struct rl_algorithm *algorithm = job->algorithm;
    if (!has_advantages(algorithm) && algorithm->loss == RL_COMPONENT_RL)
        return rl_fail(job->err, RL_EINVAL, "%s works on rows of a batch, not on message trees", algorithm->name);
    if (algorithm->needs & RL_NEED_GROUP && job->rollouts->n == 1)
        return rl_fail(job->err, RL_EINVAL, "%s compares the rollouts of a group, and this group has only 1", algorithm->name);
    for (size_t k = 0; k < job->start[job->rollouts->n]; k++)
        job->credit[k] = 0;
    if (!has_advantages(algorithm))
        return RL_OK;
    RL_TRY(calls_back(algorithm) ? from_callback(job) : from_values(job));
    job->given = job->credit;
    return check_credit(job);
}

enum rl_status rl_algorithm_credit(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                   const struct rl_algorithm_options *options, double *credit, bool *assigned,
                                   struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_algorithm_job job = {
        .algorithm = algorithm, .rollouts = rollouts, .options = options, .credit = credit, .err = err};
    RL_TRY(take(&job, ws, false));
    *assigned = has_advantages(algorithm);
    return assign(&job);
}

/* Replaces a NULL scores argument, so that no function below has to test for it. */
static const struct rl_sample_scores no_scores;

/* The caller's credit is checked like that of an algorithm. */
enum rl_status rl_algorithm_route(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                  const struct rl_algorithm_options *options, const double *credit,
                                  const struct rl_sample_scores *scores, struct rl_samples *samples, struct rl_workspace *ws,
                                  struct rl_error *err)
{
    struct rl_algorithm_job job = {.algorithm = algorithm,
                                   .rollouts = rollouts,
                                   .options = options,
                                   .given = credit,
                                   .scores = scores ? scores : &no_scores,
                                   .samples = samples,
                                   .err = err};
    RL_TRY(take(&job, ws, false));
    if (credit)
        RL_TRY(check_credit(&job));
    return rl_route(&job);
}

enum rl_status rl_algorithm_run(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                const struct rl_algorithm_options *options, const struct rl_sample_scores *scores,
                                struct rl_samples *samples, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_algorithm_job job = {.algorithm = algorithm,
                                   .rollouts = rollouts,
                                   .options = options,
                                   .scores = scores ? scores : &no_scores,
                                   .samples = samples,
                                   .err = err};
    RL_TRY(take(&job, ws, true));
    RL_TRY(assign(&job));
    return rl_route(&job);
}
