/*
 * samples_route.c: the streams of samples, one rollout at a time. An absent stream is left out
 * instead of written as zeros, so that the trainer knows which components a batch has and takes no
 * means over tokens that never took part.
 */

#include "algorithm/samples_internal.h"

const struct rl_tree *rl_sample_tree(const struct rl_algorithm_job *job, size_t i)
{
    return &job->rollouts->trees[job->samples->rollout[i]];
}

const struct rl_branch *rl_sample_branch(const struct rl_algorithm_job *job, size_t i)
{
    return &rl_sample_tree(job, i)->branches[job->samples->branch[i]];
}

static enum rl_status fail_at(const struct rl_algorithm_job *job, size_t i, size_t t, const char *what)
{
    const struct rl_samples *s = job->samples;
    return rl_fail(job->err, RL_EINVAL, "%s: token %zu of rollout %zu, branch %zu %s", job->algorithm->name, t, s->rollout[i],
                   s->branch[i], what);
}

static void fill(double *out, double value, size_t n)
{
    for (size_t t = 0; t < n; t++)
        out[t] = value;
}

/*
 * Advantages belong to the node and are written in every sample that contains it. The mask decides
 * in which sample the node trains.
 */
static void put_advantages(const struct rl_algorithm_job *job, size_t i)
{
    const struct rl_branch *branch = rl_sample_branch(job, i);
    const struct rl_node *nodes = rl_sample_tree(job, i)->nodes;
    double *out = job->samples->advantages + job->samples->start[i];
    for (size_t k = 0; k < branch->n_nodes; k++) {
        const struct rl_node *node = &nodes[branch->nodes[k]];
        const double *credit = job->given + job->node_credit[branch->nodes[k]];
        for (size_t t = 0; t < node->n_tokens; t++)
            *out++ = node->mask && node->mask[t] ? *credit++ : 0;
    }
    job->samples->streams[i] |= RL_SAMPLE_ADVANTAGES;
}

/*
 * A sample has a trainable token by construction, and rl needs an advantage for it. The message
 * names the first such token, so that a caller can find the trace.
 */
static enum rl_status route_rl(const struct rl_algorithm_job *job, size_t i)
{
    const struct rl_samples *s = job->samples;
    const uint8_t *first = memchr(s->mask + s->start[i], 1, s->start[i + 1] - s->start[i]);
    if (job->given || !first)
        return RL_OK;
    return fail_at(job, i, (size_t)(first - s->mask) - s->start[i], "trains with rl, but has no advantage");
}

/*
 * The rl weights are written as zeros, because an absent rl stream means that every token at mask 1
 * is a member.
 */
static void route_action(const struct rl_algorithm_job *job, size_t i, enum rl_component loss)
{
    struct rl_samples *s = job->samples;
    bool ce = loss == RL_COMPONENT_CE;
    double *weights = ce ? s->ce_weights : s->ref_kl_weights;
    fill(s->rl_weights + s->start[i], 0, s->start[i + 1] - s->start[i]);
    for (size_t t = s->start[i]; t < s->start[i + 1]; t++)
        weights[t] = s->mask[t];
    s->streams[i] |= (uint8_t)(RL_SAMPLE_RL | (ce ? RL_SAMPLE_CE : RL_SAMPLE_REF_KL));
}

/*
 * Store the node's reference log-probs, which begin at `at` in the samples. The first sample that
 * contains a node decides, because two branches may score the same token differently by rounding.
 */
static enum rl_status note_reference(const struct rl_algorithm_job *job, size_t i, size_t index, size_t at)
{
    const struct rl_node *node = &rl_sample_tree(job, i)->nodes[index];
    const double *ref = job->scores->ref_logprobs;
    double *token = job->token + job->node_token[index];
    for (size_t t = 0; t < node->n_tokens; t++) {
        bool sampled = node->mask && node->mask[t];
        if (sampled && !ref)
            return fail_at(job, i, at + t - job->samples->start[i], "has no reference log-prob");
        if (sampled && !isfinite(ref[at + t]))
            return rl_fail(job->err, RL_EVALUE, "ref_logprobs is %g at token %zu", ref[at + t], at + t);
        token[t] = sampled ? ref[at + t] : 0;
    }
    return RL_OK;
}

static enum rl_status put_reference(const struct rl_algorithm_job *job, size_t i)
{
    const struct rl_branch *branch = rl_sample_branch(job, i);
    const struct rl_node *nodes = rl_sample_tree(job, i)->nodes;
    size_t at = job->samples->start[i];
    for (size_t k = 0; k < branch->n_nodes; k++) {
        size_t index = branch->nodes[k], n = nodes[index].n_tokens;
        enum rl_status status = job->seen[index] ? RL_OK : note_reference(job, i, index, at);
        if (status != RL_OK)
            return status;
        job->seen[index] = 1;
        if (n > 0)
            memcpy(job->samples->ref_logprobs + at, job->token + job->node_token[index], n * sizeof *job->token);
        at += n;
    }
    job->samples->streams[i] |= RL_SAMPLE_REF_LOGPROBS;
    return RL_OK;
}

static enum rl_status route_sample(const struct rl_algorithm_job *job, size_t i)
{
    enum rl_component loss = job->algorithm->loss;
    job->samples->streams[i] = 0;
    if (job->given && loss != RL_COMPONENT_REF_KL)
        put_advantages(job, i);
    if (loss == RL_COMPONENT_RL)
        return route_rl(job, i);
    route_action(job, i, loss);
    return loss == RL_COMPONENT_REF_KL ? put_reference(job, i) : RL_OK;
}

/*
 * Set where each node's part of `credit` and `token` begins; mark no node as seen and set all
 * tokens to 0. Offsets are stored per node, because branches visit nodes in any order and
 * repeatedly.
 */
static void index_tree(struct rl_algorithm_job *job, size_t rollout)
{
    const struct rl_tree *tree = &job->rollouts->trees[rollout];
    size_t credit = job->start[rollout], token = 0;
    for (size_t k = 0; k < tree->n_nodes; k++) {
        job->seen[k] = 0;
        job->node_credit[k] = credit;
        job->node_token[k] = token;
        credit += rl_node_sampled(&tree->nodes[k]);
        token += tree->nodes[k].n_tokens;
    }
    fill(job->token, 0, token);
}

/*
 * Route the samples first..last-1, which belong to one rollout. echo runs last and needs `seen` and
 * `token` unchanged since index_tree. They are unchanged, because before echo only ref_kl changes
 * them, and with echo the policy's tokens train by rl.
 */
static enum rl_status route_rollout(struct rl_algorithm_job *job, size_t first, size_t last)
{
    index_tree(job, job->samples->rollout[first]);
    for (size_t i = first; i < last; i++)
        RL_TRY(route_sample(job, i));
    if (job->algorithm->observes)
        RL_TRY(rl_echo_observe(job, first, last));
    return RL_OK;
}

/*
 * Samples of one rollout are neighbours, because they were cut in that order. The scratch of a tree
 * is set up once for all of them.
 */
enum rl_status rl_route(struct rl_algorithm_job *job)
{
    size_t first = 0, n = job->samples->n;
    for (size_t last = 1; last <= n; last++)
        if (last == n || job->samples->rollout[last] != job->samples->rollout[first]) {
            RL_TRY(route_rollout(job, first, last));
            first = last;
        }
    return RL_OK;
}
