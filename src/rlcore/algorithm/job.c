/* job.c: the scratch of a run, and its entry points. */
#include <string.h>

#include "algorithm/algorithm.h"

struct sizes {
    size_t nodes, tokens; /* of the largest tree */
    size_t sampled;       /* tokens at mask 1, of all trees */
};

/* start [n+1], or NULL: where the credit of each rollout begins. */
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

/* Has the algorithm write its advantages into job->credit, all 0 at first. */
static enum rl_status assign(struct rl_algorithm_job *job)
{
    const struct rl_algorithm *algorithm = job->algorithm;
    if (algorithm->group_relative && job->rollouts->n == 1)
        return rl_fail(job->err, RL_EINVAL,
                       "%s compares the rollouts of a group, and this one has 1", algorithm->name);
    for (size_t k = 0; k < job->start[job->rollouts->n]; k++)
        job->credit[k] = 0;
    enum rl_status status = algorithm->credit ? algorithm->credit(job) : RL_OK;
    job->given = algorithm->credit ? job->credit : NULL;
    return status == RL_OK && job->given ? rl_credit_check(job) : status;
}

enum rl_status rl_algorithm_credit(const struct rl_algorithm *algorithm,
                                   const struct rl_rollouts *rollouts,
                                   const struct rl_algorithm_options *options, double *credit,
                                   bool *assigned, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_algorithm_job job = {.algorithm = algorithm,
                                   .rollouts = rollouts,
                                   .options = options,
                                   .credit = credit,
                                   .err = err};
    enum rl_status status = take(&job, ws, false);
    *assigned = algorithm->credit != NULL;
    return status == RL_OK ? assign(&job) : status;
}

static const struct rl_sample_scores no_scores;

enum rl_status rl_algorithm_route(const struct rl_algorithm *algorithm,
                                  const struct rl_rollouts *rollouts,
                                  const struct rl_algorithm_options *options, const double *credit,
                                  const struct rl_sample_scores *scores, struct rl_samples *samples,
                                  struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_algorithm_job job = {.algorithm = algorithm,
                                   .rollouts = rollouts,
                                   .options = options,
                                   .given = credit,
                                   .scores = scores ? scores : &no_scores,
                                   .samples = samples,
                                   .err = err};
    enum rl_status status = take(&job, ws, false);
    if (status == RL_OK && credit)
        status = rl_credit_check(&job);
    return status == RL_OK ? rl_route(&job) : status;
}

enum rl_status rl_algorithm_run(const struct rl_algorithm *algorithm,
                                const struct rl_rollouts *rollouts,
                                const struct rl_algorithm_options *options,
                                const struct rl_sample_scores *scores, struct rl_samples *samples,
                                struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_algorithm_job job = {.algorithm = algorithm,
                                   .rollouts = rollouts,
                                   .options = options,
                                   .scores = scores ? scores : &no_scores,
                                   .samples = samples,
                                   .err = err};
    enum rl_status status = take(&job, ws, true);
    if (status == RL_OK)
        status = assign(&job);
    return status == RL_OK ? rl_route(&job) : status;
}
