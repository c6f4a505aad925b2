/*
 * experts.c: a mixture of experts in place of a layer's MLP (arXiv 1701.06538), forward and backward.
 *
 * The rows of one expert are gathered, go through two products as one batch and are scattered again, so that a mixture
 * costs experts_per_token MLPs instead of one MLP per expert. The rows of an expert keep their order, and experts are
 * processed by number, so that sums always have the same order.
 *
 * The choice of experts has no gradient. Everything after the choice has one: the outputs through their weights, and
 * the weights through the router, at the chosen experts (at all experts, if the weights are a softmax over all
 * experts). A replayed choice is treated like any other.
 */
#include <string.h>

#include "policy/experts.h"

struct net_expertsf net_layer_expertsf(const struct trainer_model *model, struct net_layer at, const real *params)
{
    return (struct net_expertsf){.n = (size_t)model->experts,
                                 .k = (size_t)model->experts_per_token,
                                 .d = (size_t)model->width,
                                 .m = (size_t)model->mlp,
                                 .renormalise = model->renormalise,
                                 .router = params + at.router,
                                 .up = params + at.up,
                                 .down = params + at.down,
                                 .per_expert = at.per_expert};
}

struct net_choicef net_carve_choicef(const struct trainer_model *model, size_t q, struct carve *block)
{
    size_t e = (size_t)model->experts, k = (size_t)model->experts_per_token;
    return (struct net_choicef){.prob = carve(block, q * e, sizeof(real)),
                                .gate = carve(block, q * k, sizeof(real)),
                                .chosen = carve(block, q * k, sizeof(uint16_t)),
                                .order = carve(block, q * k, sizeof(int32_t)),
                                .first = carve(block, e + 1, sizeof(size_t)),
                                .u = carve(block, q * k * (size_t)model->mlp, sizeof(real))};
}

/* Returns the expert with the largest logit among those not chosen yet; of equal logits, the first. */
static uint16_t best_left(size_t n, const real *logits, const uint16_t *chosen, size_t taken)
{
    size_t best = n;
    for (size_t e = 0; e < n; e++) {
        bool free = true;
        for (size_t j = 0; j < taken; j++)
            free = free && chosen[j] != e;
        if (free && (best == n || logits[e] > logits[best]))
            best = e;
    }
    return (uint16_t)best;
}

/* Sorts in ascending order, so that the sums over a set of experts always have the same order. */
static void sort(size_t n, uint16_t *chosen)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && chosen[j] < chosen[j - 1]; j--) {
            uint16_t swap = chosen[j];
            chosen[j] = chosen[j - 1];
            chosen[j - 1] = swap;
        }
}

/*
 * Recorded routes were checked before the pass (forward.c): at each token and layer, either all experts are recorded or
 * none.
 */
static void choose(const struct net_expertsf *x, size_t q, const struct net_choicef *c)
{
    for (size_t i = 0; i < q; i++) {
        uint16_t *chosen = c->chosen + i * x->k;
        if (chosen[0] == TRAINER_NO_EXPERT)
            for (size_t j = 0; j < x->k; j++)
                chosen[j] = best_left(x->n, c->prob + i * x->n, chosen, j);
        sort(x->k, chosen);
    }
}

/* x [n] becomes its softmax. */
static void softmax(size_t n, real *x)
{
    real most = x[0], sum = 0;
    for (size_t e = 1; e < n; e++)
        most = x[e] > most ? x[e] : most;
    for (size_t e = 0; e < n; e++) {
        x[e] = real_exp(x[e] - most);
        sum += x[e];
    }
    for (size_t e = 0; e < n; e++)
        x[e] /= sum;
}

/*
 * Renormalised weights are computed from logits and not from probabilities, which may all have rounded to 0 for
 * replayed experts.
 */
static void weigh(const struct net_expertsf *x, size_t q, const struct net_choicef *c)
{
    for (size_t i = 0; i < q; i++) {
        const uint16_t *chosen = c->chosen + i * x->k;
        real *prob = c->prob + i * x->n, *gate = c->gate + i * x->k;
        for (size_t j = 0; x->renormalise && j < x->k; j++)
            gate[j] = prob[chosen[j]];
        softmax(x->n, prob);
        if (x->renormalise)
            softmax(x->k, gate);
        else
            for (size_t j = 0; j < x->k; j++)
                gate[j] = prob[chosen[j]];
    }
}

/* Sorts choices by expert: the choices of expert e are order[first[e]] .. order[first[e+1]]. */
static void sort_by_expert(const struct net_expertsf *x, size_t q, const struct net_choicef *c)
{
    memset(c->first, 0, (x->n + 1) * sizeof *c->first);
    for (size_t i = 0; i < q * x->k; i++)
        c->first[c->chosen[i] + 1]++;
    for (size_t e = 0; e < x->n; e++)
        c->first[e + 1] += c->first[e];
    for (size_t i = 0; i < q * x->k; i++)
        c->order[c->first[c->chosen[i]]++] = (int32_t)i;
    for (size_t e = x->n; e > 0; e--)
        c->first[e] = c->first[e - 1];
    c->first[0] = 0;
}

/* rows [n][d]: for each of n choices in order, its row of x [q][d]. */
static void gather(size_t n, size_t d, size_t k, const int32_t *order, const real *x, real *rows)
{
    for (size_t i = 0; i < n; i++)
        memcpy(rows + i * d, x + (size_t)order[i] / k * d, d * sizeof *rows);
}

HOT_VOID(scale_row, (size_t d, real scale, real *restrict row), (d, scale, row))
{
    for (size_t j = 0; j < d; j++)
        row[j] *= scale;
}

HOT_VOID(add_row, (size_t d, real scale, const real *restrict from, real *restrict to), (d, scale, from, to))
{
    for (size_t j = 0; j < d; j++)
        to[j] += scale * from[j];
}

void net_experts_forwardf(const struct net_expertsf *x, size_t q, const real *in, const struct net_choicef *c, real *rows,
                          real *out)
{
    net_gemmf(false, false, q, x->n, x->d, in, x->d, x->router, x->n, 0, c->prob, x->n);
    choose(x, q, c);
    weigh(x, q, c);
    sort_by_expert(x, q, c);
    for (size_t e = 0; e < x->n; e++) {
        size_t n = c->first[e + 1] - c->first[e];
        const int32_t *order = c->order + c->first[e];
        real *u = c->u + c->first[e] * x->m;
        gather(n, x->d, x->k, order, in, rows);
        net_gemmf(false, false, n, x->m, x->d, rows, x->d, x->up + e * x->per_expert, x->m, 0, u, x->m);
        net_reluf(n * x->m, u);
        net_gemmf(false, false, n, x->d, x->m, u, x->m, x->down + e * x->per_expert, x->d, 0, rows, x->d);
        for (size_t i = 0; i < n; i++)
            add_row(x->d, c->gate[order[i]], rows + i * x->d, out + (size_t)order[i] / x->k * x->d);
    }
}

double net_experts_balancef(size_t experts, size_t per_token, size_t q, const struct net_choicef *c)
{
    double sum = 0;
    for (size_t e = 0; e < experts; e++) {
        double prob = 0;
        for (size_t i = 0; i < q; i++)
            prob += (double)c->prob[i * experts + e];
        sum += (double)(c->first[e + 1] - c->first[e]) * prob;
    }
    return q > 0 ? (double)experts * sum / ((double)q * (double)per_token * (double)q) : 1;
}

HOT(real, dot, (size_t n, const real *restrict a, const real *restrict b), (n, a, b))
{
    real sum = 0;
    for (size_t j = 0; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

/*
 * The backward pass of one expert. The gradient of a weight is d_out . (u down) = (d_out down^T) . u. The first factor
 * is needed anyway, so the outputs of experts do not have to be stored.
 */
static void backward_expert(const struct net_expertsf *x, size_t e, const real *in, const real *d_out,
                            const struct net_choicef *c, const struct net_experts_scratchf *s, real *d_in,
                            struct net_experts_gradientf *g)
{
    size_t n = c->first[e + 1] - c->first[e], d = x->d, m = x->m;
    const int32_t *order = c->order + c->first[e];
    const real *u = c->u + c->first[e] * m;
    const real *up = x->up + e * x->per_expert, *down = x->down + e * x->per_expert;
    gather(n, d, x->k, order, d_out, s->d_rows);
    net_gemmf(false, true, n, m, d, s->d_rows, d, down, d, 0, s->d_u, m);
    for (size_t i = 0; i < n; i++) {
        real gate = c->gate[order[i]];
        s->d_gate[order[i]] = dot(m, s->d_u + i * m, u + i * m);
        scale_row(d, gate, s->d_rows + i * d);
        scale_row(m, gate, s->d_u + i * m);
    }
    net_gemmf(true, false, m, d, n, u, m, s->d_rows, d, 1, g->down + e * x->per_expert, d);
    net_relu_backwardf(n * m, u, s->d_u);
    gather(n, d, x->k, order, in, s->rows);
    net_gemmf(true, false, d, m, n, s->rows, d, s->d_u, m, 1, g->up + e * x->per_expert, m);
    net_gemmf(false, true, n, d, m, s->d_u, m, up, m, 0, s->rows, d);
    for (size_t i = 0; i < n; i++)
        add_row(d, 1, s->rows + i * d, d_in + (size_t)order[i] / x->k * d);
}

/* Handles one row: puts d_gate [k] into prob [n], which becomes d logits. */
static void backward_row(const struct net_expertsf *x, const uint16_t *chosen, const real *gate, const real *d_gate,
                         const real *d_prob, real *prob)
{
    real sum = 0, chosen_sum = 0;
    for (size_t j = 0; j < x->k; j++)
        chosen_sum += gate[j] * d_gate[j];
    for (size_t e = 0; e < x->n; e++)
        sum += prob[e] * d_prob[e];
    if (!x->renormalise)
        sum += chosen_sum;
    for (size_t e = 0; e < x->n; e++)
        prob[e] *= d_prob[e] - sum;
    for (size_t j = 0; j < x->k; j++)
        prob[chosen[j]] += gate[j] * (d_gate[j] - (x->renormalise ? chosen_sum : 0));
}

/* The balance term adds E f_e / q to every row's d_prob, because f has no gradient. */
static void backward_router(const struct net_expertsf *x, size_t q, double balance, const struct net_choicef *c,
                            const struct net_experts_scratchf *s)
{
    for (size_t e = 0; e < x->n; e++) {
        double share = (double)(c->first[e + 1] - c->first[e]) / ((double)q * (double)x->k);
        s->d_prob[e] = (real)(balance * (double)x->n * share / (double)q);
    }
    for (size_t i = 0; i < q; i++)
        backward_row(x, c->chosen + i * x->k, c->gate + i * x->k, s->d_gate + i * x->k, s->d_prob, c->prob + i * x->n);
}

void net_experts_backwardf(const struct net_expertsf *x, size_t q, const real *in, const real *d_out, double balance,
                           const struct net_choicef *c, const struct net_experts_scratchf *s, real *d_in,
                           struct net_experts_gradientf *g)
{
    memset(d_in, 0, q * x->d * sizeof *d_in);
    for (size_t e = 0; e < x->n; e++)
        backward_expert(x, e, in, d_out, c, s, d_in, g);
    if (q == 0)
        return;
    backward_router(x, q, balance, c, s);
    net_gemmf(true, false, x->d, x->n, q, in, x->d, c->prob, x->n, 1, g->router, x->n);
    net_gemmf(false, true, q, x->d, x->n, c->prob, x->n, x->router, x->n, 1, d_in, x->d);
}
