/*
 * samples_echo.c: the algorithm echo: grpo, and cross-entropy on the environment's answers.
 *
 * The answers of tools are part of the sequence anyway. Predicting them costs no extra forward pass
 * and teaches the consequences of an action.
 */

#include "algorithm/samples_internal.h"

/* Whether a role is one of prime-rl's, which a batch may lack, or that of a message of any rollout. */
static bool is_role(const struct rl_rollouts *rollouts, const char *role)
{
    static const char *const known[] = {"system", "user", "assistant", "tool"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(role, known[k]) == 0)
            return true;
    for (size_t i = 0; i < rollouts->n; i++)
        for (size_t k = 0; k < rollouts->trees[i].n_nodes; k++)
            if (rollouts->trees[i].nodes[k].role && strcmp(role, rollouts->trees[i].nodes[k].role) == 0)
                return true;
    return false;
}

/*
 * The roles are checked here, because the options are a plain struct that any caller may fill. A misspelt one would train
 * nothing.
 */
static enum rl_status check_roles(const struct rl_algorithm_job *job)
{
    const struct rl_algorithm_options *o = job->options;
    for (size_t i = 0; i < o->n_roles; i++) {
        const char *role = o->roles[i].role ? o->roles[i].role : "";
        if (!is_role(job->rollouts, role))
            return rl_fail(
                job->err, RL_EINVAL,
                "role '%.40s' has a weight, but no message has this role, and it is not system, user, assistant or tool", role);
        if (!isfinite(o->roles[i].weight) || o->roles[i].weight < 0)
            return rl_fail(job->err, RL_EVALUE, "weight of role '%.40s' is %g, negative or not finite", role, o->roles[i].weight);
    }
    return RL_OK;
}

/* Returns 0 for a role that is not listed (system, assistant); such a role trains nothing. */
static double weight_of(const struct rl_algorithm_options *o, const char *role)
{
    for (size_t i = 0; role && i < o->n_roles; i++)
        if (strcmp(o->roles[i].role, role) == 0)
            return o->roles[i].weight;
    return 0;
}

/*
 * Raise the weights of the node's selected tokens: body tokens that the filter keeps. The largest
 * weight over the branches counts, because a node is written once for all of them.
 */
static enum rl_status select_tokens(struct rl_algorithm_job *job, size_t index, const struct rl_node *node, size_t at)
{
    double weight = weight_of(job->options, node->role);
    double *token = job->token + job->node_token[index];
    const uint8_t *keep = job->scores->keep;
    for (size_t t = 0; t < node->n_tokens; t++) {
        if (keep && keep[at + t] > 1)
            return rl_fail(job->err, RL_EVALUE, "keep at token %zu is %u, not 0 or 1", at + t, keep[at + t]);
        if ((!node->is_content || node->is_content[t]) && (!keep || keep[at + t]))
            token[t] = fmax(token[t], weight);
    }
    return RL_OK;
}

/*
 * Tokens before the first sampled node are the prompt. They are never selected, because the policy
 * did not cause them.
 */
static enum rl_status select_in_sample(struct rl_algorithm_job *job, size_t i)
{
    const struct rl_branch *branch = rl_sample_branch(job, i);
    const struct rl_node *nodes = rl_sample_tree(job, i)->nodes;
    size_t at = job->samples->start[i];
    bool answered = false;
    for (size_t k = 0; k < branch->n_nodes; k++) {
        const struct rl_node *node = &nodes[branch->nodes[k]];
        if (answered && !node->sampled)
            RL_TRY(select_tokens(job, branch->nodes[k], node, at));
        answered |= node->sampled;
        at += node->n_tokens;
    }
    return RL_OK;
}

/*
 * Write the weights of nodes that no earlier sample contains; returns true if one of them is above
 * 0. A stream of zeros is not declared, so that a rollout without tools has no ce component.
 */
static bool emit(struct rl_algorithm_job *job, size_t i)
{
    const struct rl_branch *branch = rl_sample_branch(job, i);
    const struct rl_node *nodes = rl_sample_tree(job, i)->nodes;
    double *out = job->samples->ce_weights + job->samples->start[i];
    bool any = false;
    for (size_t k = 0; k < branch->n_nodes; k++) {
        size_t index = branch->nodes[k];
        const double *token = job->token + job->node_token[index];
        for (size_t t = 0; t < nodes[index].n_tokens; t++) {
            *out = job->seen[index] ? 0 : token[t];
            any |= *out++ > 0;
        }
        job->seen[index] = 1;
    }
    return any;
}

/* Two passes: a node's weight is known only after all branches, and the first branch writes it. */
enum rl_status rl_echo_observe(struct rl_algorithm_job *job, size_t first, size_t last)
{
    RL_TRY(check_roles(job));
    for (size_t i = first; i < last; i++)
        RL_TRY(select_in_sample(job, i));
    for (size_t i = first; i < last; i++)
        if (emit(job, i))
            job->samples->streams[i] |= RL_SAMPLE_CE;
    return RL_OK;
}
