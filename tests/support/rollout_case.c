/* rollout_case.c: see rollout_case.h. */
#include "support/rollout_case.h"

#include <stdlib.h>

#include "support/random_batch.h"

static const size_t lengths[CASE_NODES] = {3, 2, 3, 2, 2, 2};
static const char *const roles[CASE_NODES] = {"user", "assistant", "tool", "assistant", "tool", "assistant"};
static const uint8_t sampled_tokens[CASE_TOKENS] = {0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1};
static const uint8_t body[3] = {0, 1, 1};
static const size_t paths[3][4] = {{0, 1, 2, 3}, {0, 1, 4, 5}, {0}};

static void build(struct rollout_case *c, size_t i)
{
    size_t at = 0;
    for (size_t t = 0; t < CASE_TOKENS; t++) {
        c->masks[i][t] = sampled_tokens[t];
        c->ids[i][t] = (int64_t)(1000 * i + t);
        c->logprobs[i][t] = -0.01 * (double)(1 + 100 * i + t);
    }
    for (size_t t = 0; t < 3; t++)
        c->content[i][t] = body[t];
    for (size_t k = 0; k < CASE_NODES; k++) {
        c->nodes[i][k] = (struct rl_node){.role = roles[k],
                                          .sampled = k % 2 == 1,
                                          .n_tokens = lengths[k],
                                          .mask = c->masks[i] + at,
                                          .is_content = k == 2 ? c->content[i] : NULL,
                                          .token_ids = c->ids[i] + at,
                                          .logprobs = c->logprobs[i] + at};
        at += lengths[k];
    }
    for (size_t k = 0; k < 3; k++)
        c->branches[i][k] = (struct rl_branch){paths[k], k < 2 ? 4 : 1};
    c->trees[i] = (struct rl_tree){c->nodes[i], CASE_NODES, c->branches[i], 3};
    c->traces[i] = (struct rl_trace){.reward = (double)i};
}

struct rollout_case *rollout_case_new(size_t n)
{
    struct rollout_case *c = test_alloc(1, sizeof *c);
    for (size_t i = 0; i < n; i++)
        build(c, i);
    c->rollouts = (struct rl_rollouts){n, c->traces, c->trees};
    rl_algorithm_options_init(&c->options, NULL);
    return c;
}

static void free_samples(struct rl_samples *s)
{
    void *blocks[] = {s->rollout,    s->branch,         s->start,        s->streams, s->advantages, s->rl_weights,
                      s->ce_weights, s->ref_kl_weights, s->ref_logprobs, s->mask,    s->token_ids,  s->logprobs};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        free(blocks[k]);
    *s = (struct rl_samples){0};
}

void rollout_case_free(struct rollout_case *c)
{
    free_samples(&c->samples);
    free(c);
}

static void allocate(struct rl_samples *s, const struct rl_samples_size *size)
{
    double **streams[] = {&s->advantages, &s->rl_weights, &s->ce_weights, &s->ref_kl_weights, &s->ref_logprobs, &s->logprobs};
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        *streams[k] = test_alloc(size->n_tokens, sizeof **streams[k]);
    s->rollout = test_alloc(size->n_samples, sizeof *s->rollout);
    s->branch = test_alloc(size->n_samples, sizeof *s->branch);
    s->start = test_alloc(size->n_samples + 1, sizeof *s->start);
    s->streams = test_alloc(size->n_samples, sizeof *s->streams);
    s->mask = test_alloc(size->n_tokens, sizeof *s->mask);
    s->token_ids = test_alloc(size->n_tokens, sizeof *s->token_ids);
}

enum rl_status rollout_case_cut(struct rollout_case *c)
{
    struct rl_samples_size size;
    struct rl_workspace ws = {0};
    enum rl_status status = rl_samples_measure(&c->rollouts, &size, &c->err);
    if (status != RL_OK)
        return status;
    free_samples(&c->samples);
    allocate(&c->samples, &size);
    do
        status = rl_samples_cut(&c->rollouts, &c->samples, &ws, &c->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

enum rl_status rollout_case_run(struct rollout_case *c, const char *name)
{
    const struct rl_algorithm *algorithm;
    struct rl_workspace ws = {0};
    enum rl_status status = rl_algorithm_find(name, &algorithm, &c->err);
    if (status == RL_OK)
        status = rollout_case_cut(c);
    if (status != RL_OK)
        return status;
    do
        status = rl_algorithm_run(algorithm, &c->rollouts, &c->options, &c->scores, &c->samples, &ws, &c->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}

enum rl_status rollout_case_route(struct rollout_case *c, const char *name, const double *credit)
{
    const struct rl_algorithm *algorithm;
    struct rl_workspace ws = {0};
    enum rl_status status = rl_algorithm_find(name, &algorithm, &c->err);
    if (status == RL_OK)
        status = rollout_case_cut(c);
    if (status != RL_OK)
        return status;
    do
        status = rl_algorithm_route(algorithm, &c->rollouts, &c->options, credit, &c->scores, &c->samples, &ws, &c->err);
    while (test_again(&ws, status));
    free(ws.data);
    return status;
}
