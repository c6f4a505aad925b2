/*
 * Samples of message trees: a named algorithm runs over a group, and every sample gets its advantages and streams (rl, ce,
 * ref_kl).
 */
#include <rlcore/samples.h>

#include "algorithm/algorithm_code.h"
#include "support/fail.h"
#include "support/scratch.h"

/* One run over a group. */
struct rl_algorithm_job {
    const struct rl_algorithm *algorithm;
    const struct rl_rollouts *rollouts;
    const struct rl_algorithm_options *options;
    const struct rl_sample_scores *scores; /* never NULL */
    struct rl_samples *samples;
    struct rl_error *err;
    double *credit;      /* [start[n]] written by the algorithm */
    const double *given; /* [start[n]] advantages for the streams; NULL: none */
    /* Scratch. */
    size_t *start;       /* [n+1] where the credit of each rollout begins */
    double *values;      /* [n] one advantage per rollout */
    uint8_t *counted;    /* [n] */
    size_t *node_credit; /* per node of a tree: where its part of `credit` begins */
    size_t *node_token;  /* per node of a tree: where its part of `token` begins */
    uint8_t *seen;       /* per node of a tree */
    double *token;       /* per token of a tree */
};

/* The number of tokens at mask 1. A node without a mask has no trainable tokens. */
static size_t rl_node_sampled(const struct rl_node *node)
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

static const struct rl_tree *rl_sample_tree(const struct rl_algorithm_job *job, size_t i)
{
    return &job->rollouts->trees[job->samples->rollout[i]];
}

/* The branch (list of nodes) of sample i, and the tree that contains it. */
static const struct rl_branch *rl_sample_branch(const struct rl_algorithm_job *job, size_t i)
{
    return &rl_sample_tree(job, i)->branches[job->samples->branch[i]];
}

/*
 * ---- the algorithm echo: grpo, and cross-entropy on the environment's answers.
 *
 * The answers of tools are part of the sequence anyway. Predicting them costs no extra forward pass
 * and teaches the consequences of an action.
 */

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

/*
 * * echo: write the ce stream for the environment's tokens in samples first..last-1, which belong to one rollout. Two passes:
 * a node's weight is known only after all branches, and the first branch writes it.
 */
static enum rl_status rl_echo_observe(struct rl_algorithm_job *job, size_t first, size_t last)
{
    RL_TRY(check_roles(job));
    for (size_t i = first; i < last; i++)
        RL_TRY(select_in_sample(job, i));
    for (size_t i = first; i < last; i++)
        if (emit(job, i))
            job->samples->streams[i] |= RL_SAMPLE_CE;
    return RL_OK;
}

/*
 * ---- the streams of samples, one rollout at a time. An absent stream is left out instead of written as
 * zeros, so that the trainer knows which components a batch has and takes no means over tokens that never took part.
 */

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
 * Write the streams of all samples. * Samples of one rollout are neighbours, because they were cut in that order. The scratch
 * of a tree is set up once for all of them.
 */
static enum rl_status rl_route(struct rl_algorithm_job *job)
{
    size_t first = 0, n = job->samples->n;
    for (size_t last = 1; last <= n; last++)
        if (last == n || job->samples->rollout[last] != job->samples->rollout[first]) {
            RL_TRY(route_rollout(job, first, last));
            first = last;
        }
    return RL_OK;
}

/*
 * ---- advantages of a group of message trees, and the entry points of a run over them.
 *
 * Advantages and streams can be computed in one call (run) or two (credit, route). Between the two
 * a caller may filter or rescale the advantages, or compute them itself.
 */

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
