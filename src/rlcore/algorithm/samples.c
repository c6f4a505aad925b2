/*
 * samples.c: the branches of message trees as samples. Branches of a conversation (a tool retried,
 * a context rewritten) share their beginning. Each branch is a sequence that the model saw, so each
 * becomes a sample; but a shared answer is trained only once, because otherwise its weight would
 * grow with the number of continuations.
 *
 * Measuring and cutting are two calls because the caller allocates: the first returns the sizes;
 * the second fills the arrays and checks again, because the trees may have changed.
 */

#include "algorithm/samples_internal.h"

/* A node without a mask has no trainable tokens. */
size_t rl_node_sampled(const struct rl_node *node)
{
    size_t n = 0;
    for (size_t t = 0; node->mask && t < node->n_tokens; t++)
        n += node->mask[t];
    return n;
}

/* A "true" of 255 would pass a test for nonzero but break every sum of masks. */
static enum rl_status check_flags(const uint8_t *flags, const char *name, const struct rl_node *node, size_t rollout,
                                  size_t index, struct rl_error *err)
{
    for (size_t t = 0; flags && t < node->n_tokens; t++)
        if (flags[t] > 1)
            return rl_fail(err, RL_EVALUE, "rollout %zu, node %zu: %s[%zu] is %u, not 0 or 1", rollout, index, name, t, flags[t]);
    return RL_OK;
}

/*
 * A mask on a node that the policy did not sample would silently train the policy on words of
 * others, and no loss can detect that.
 */
static enum rl_status check_node(const struct rl_node *node, size_t rollout, size_t index, struct rl_error *err)
{
    RL_TRY(check_flags(node->mask, "mask", node, rollout, index, err));
    RL_TRY(check_flags(node->is_content, "is_content", node, rollout, index, err));
    if (!node->sampled && rl_node_sampled(node) > 0)
        return rl_fail(err, RL_EVALUE, "rollout %zu, node %zu: mask is 1, but the node is not sampled", rollout, index);
    return RL_OK;
}

static enum rl_status check_branch(const struct rl_tree *tree, size_t rollout, size_t index, struct rl_error *err)
{
    const struct rl_branch *branch = &tree->branches[index];
    for (size_t k = 1; k < branch->n_nodes; k++)
        for (size_t j = 0; j < k; j++)
            if (branch->nodes[j] == branch->nodes[k])
                return rl_fail(err, RL_EINVAL, "rollout %zu, branch %zu: node %zu occurs twice", rollout, index,
                               branch->nodes[k]);
    for (size_t k = 0; k < branch->n_nodes; k++)
        if (branch->nodes[k] >= tree->n_nodes)
            return rl_fail(err, RL_EINVAL, "rollout %zu, branch %zu: node %zu does not exist, the tree has %zu", rollout, index,
                           branch->nodes[k], tree->n_nodes);
    return RL_OK;
}

static enum rl_status check_tree(const struct rl_tree *tree, size_t rollout, struct rl_error *err)
{
    for (size_t i = 0; i < tree->n_nodes; i++)
        RL_TRY(check_node(&tree->nodes[i], rollout, i, err));
    for (size_t i = 0; i < tree->n_branches; i++)
        RL_TRY(check_branch(tree, rollout, i, err));
    return RL_OK;
}

/* Returns false if the sum overflows. */
static bool add_branch(const struct rl_tree *tree, const struct rl_branch *branch, size_t *n_tokens)
{
    bool fits = true;
    for (size_t k = 0; fits && k < branch->n_nodes; k++)
        fits = !__builtin_add_overflow(*n_tokens, tree->nodes[branch->nodes[k]].n_tokens, n_tokens);
    return fits;
}

enum rl_status rl_samples_measure(const struct rl_rollouts *rollouts, struct rl_samples_size *size, struct rl_error *err)
{
    *size = (struct rl_samples_size){0};
    for (size_t i = 0; i < rollouts->n; i++) {
        const struct rl_tree *tree = &rollouts->trees[i];
        enum rl_status status = check_tree(tree, i, err);
        if (status != RL_OK)
            return status;
        for (size_t k = 0; k < tree->n_nodes; k++)
            size->n_sampled += rl_node_sampled(&tree->nodes[k]);
        for (size_t k = 0; k < tree->n_branches; k++)
            if (!add_branch(tree, &tree->branches[k], &size->n_tokens))
                return rl_fail(err, RL_EINVAL, "rollout %zu has too many tokens to count", i);
        size->n_samples += tree->n_branches;
    }
    return RL_OK;
}

struct cutting {
    const struct rl_tree *tree;
    size_t rollout, branch;
    uint8_t *trained; /* [tree->n_nodes] */
    struct rl_samples *out;
    struct rl_error *err;
};

/*
 * Write the mask of a node at position `at`; returns true if the node trains there. A node is
 * trained by the first branch that contains it, so the result depends only on the caller's order of
 * branches.
 */
static bool put_mask(struct cutting *c, size_t index, size_t at)
{
    const struct rl_node *node = &c->tree->nodes[index];
    bool trains = !c->trained[index] && rl_node_sampled(node) > 0;
    for (size_t t = 0; t < node->n_tokens; t++)
        c->out->mask[at + t] = trains && node->mask[t];
    c->trained[index] |= trains;
    return trains;
}

static bool put_masks(struct cutting *c, size_t *end)
{
    const struct rl_branch *branch = &c->tree->branches[c->branch];
    bool trains = false;
    for (size_t k = 0; k < branch->n_nodes; k++) {
        trains |= put_mask(c, branch->nodes[k], *end);
        *end += c->tree->nodes[branch->nodes[k]].n_tokens;
    }
    return trains;
}

static enum rl_status missing(const struct cutting *c, size_t index, const char *name)
{
    return rl_fail(c->err, RL_EINVAL, "rollout %zu, node %zu has no %s", c->rollout, index, name);
}

/* Writes 0 at tokens that were not sampled, so that a ratio there would be exp(0) = 1. */
static enum rl_status put_logprobs(const struct cutting *c, size_t index, double *out)
{
    const struct rl_node *node = &c->tree->nodes[index];
    for (size_t t = 0; t < node->n_tokens; t++) {
        bool sampled = node->mask && node->mask[t];
        if (sampled && !node->logprobs)
            return missing(c, index, "logprobs");
        if (sampled && !isfinite(node->logprobs[t]))
            return rl_fail(c->err, RL_EVALUE, "rollout %zu, node %zu: logprobs[%zu] is %g", c->rollout, index, t,
                           node->logprobs[t]);
        out[t] = sampled ? node->logprobs[t] : 0;
    }
    return RL_OK;
}

/*
 * Ids and log-probs are optional in the output. If the output has no array for them, the trees need
 * not have them either.
 */
static enum rl_status put_contents(const struct cutting *c, size_t at)
{
    const struct rl_branch *branch = &c->tree->branches[c->branch];
    for (size_t k = 0; k < branch->n_nodes; k++) {
        const struct rl_node *node = &c->tree->nodes[branch->nodes[k]];
        if (c->out->token_ids && !node->token_ids && node->n_tokens > 0)
            return missing(c, branch->nodes[k], "token_ids");
        if (c->out->token_ids && node->n_tokens > 0)
            memcpy(c->out->token_ids + at, node->token_ids, node->n_tokens * sizeof *node->token_ids);
        if (c->out->logprobs)
            RL_TRY(put_logprobs(c, branch->nodes[k], c->out->logprobs + at));
        at += node->n_tokens;
    }
    return RL_OK;
}

/*
 * A branch without a trainable token is skipped: it would only be packed and passed through the
 * network. start is written only if the branch becomes a sample.
 */
static enum rl_status cut_branch(struct cutting *c)
{
    struct rl_samples *out = c->out;
    size_t begin = out->start[out->n], end = begin;
    if (!put_masks(c, &end))
        return RL_OK;
    out->rollout[out->n] = c->rollout;
    out->branch[out->n] = c->branch;
    out->streams[out->n] = 0;
    out->start[++out->n] = end;
    return put_contents(c, begin);
}

static enum rl_status cut_tree(struct cutting *c)
{
    enum rl_status status = check_tree(c->tree, c->rollout, c->err);
    if (status == RL_OK && c->tree->n_nodes > 0)
        memset(c->trained, 0, c->tree->n_nodes);
    for (c->branch = 0; status == RL_OK && c->branch < c->tree->n_branches; c->branch++)
        status = cut_branch(c);
    return status;
}

static size_t most_nodes(const struct rl_rollouts *rollouts)
{
    size_t most = 0;
    for (size_t i = 0; i < rollouts->n; i++)
        most = rollouts->trees[i].n_nodes > most ? rollouts->trees[i].n_nodes : most;
    return most;
}

/*
 * Rollouts that are not trained on are skipped before their trees are read: a rollout that failed
 * may have a malformed tree.
 */
enum rl_status rl_samples_cut(const struct rl_rollouts *rollouts, struct rl_samples *samples, struct rl_workspace *ws,
                              struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    struct cutting c = {.trained = rl_scratch_take(&s, most_nodes(rollouts), 1), .out = samples, .err = err};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    samples->n = samples->start[0] = 0;
    for (size_t i = 0; i < rollouts->n; i++) {
        c.rollout = i;
        c.tree = &rollouts->trees[i];
        if (!rollouts->traces[i].has_error && !rollouts->traces[i].not_trainable)
            RL_TRY(cut_tree(&c));
    }
    return RL_OK;
}

/* Absent streams are NULL, which packing distinguishes from zeros. */
void rl_samples_view(const struct rl_samples *samples, size_t i, struct rl_pack_sample *out)
{
    size_t at = samples->start[i];
    unsigned streams = samples->streams[i];
    *out = (struct rl_pack_sample){.n_tokens = samples->start[i + 1] - at,
                                   .mask = samples->mask + at,
                                   .token_ids = samples->token_ids ? samples->token_ids + at : NULL,
                                   .logprobs = samples->logprobs ? samples->logprobs + at : NULL,
                                   .advantages = streams & RL_SAMPLE_ADVANTAGES ? samples->advantages + at : NULL,
                                   .rl_weights = streams & RL_SAMPLE_RL ? samples->rl_weights + at : NULL,
                                   .ce_weights = streams & RL_SAMPLE_CE ? samples->ce_weights + at : NULL,
                                   .ref_kl_weights = streams & RL_SAMPLE_REF_KL ? samples->ref_kl_weights + at : NULL,
                                   .ref_logprobs = streams & RL_SAMPLE_REF_LOGPROBS ? samples->ref_logprobs + at : NULL};
}
