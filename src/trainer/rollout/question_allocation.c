/*
 * question_allocation.c: see question_allocation.h. Only the last visit of a question counts, because the policy of
 * earlier visits no longer exists. The fit applies the pool's rates to questions that were asked rarely or never, so
 * that eight failures alone do not give a pass rate of 0.
 */
#include "rollout/question_allocation.h"

#include <rlcore/passk.h>

#include "support/error.h"
#include "support/rng.h"

/* The group of one question while rollouts are distributed. */
struct share {
    double alpha, beta;          /* of its pass rate */
    double all_wrong, all_right; /* probabilities that all of `size` rollouts are wrong, and that all are right */
    double gain;                 /* gain of one more block of rollouts */
    size_t size, question;
};

static bool drops(const struct trainer_task *task)
{
    return task->drop_above < 1 || task->drop_below > 0;
}

static bool is_used(const struct trainer_task *task)
{
    return task->hardness > 0 || drops(task) || task->sizes != TRAINER_GROUPS_EQUAL;
}

double allocation_bytes(const struct trainer_task *task)
{
    double pool = is_used(task) ? task->pool : 0, questions = pool > 0 ? task->questions : 0;
    double share = task->sizes != TRAINER_GROUPS_EQUAL ? sizeof(size_t) + sizeof(struct share) : 0;
    return pool * (2 * sizeof(int64_t) + 2 * sizeof(double)) + questions * (sizeof(int32_t) + share);
}

enum trainer_status allocation_open(struct allocation *a, const struct trainer_task *task, struct trainer_error *err)
{
    bool sized = task->sizes != TRAINER_GROUPS_EQUAL;
    if (!is_used(task))
        return TRAINER_OK;
    a->pool = (size_t)task->pool;
    a->asked = calloc(a->pool, sizeof *a->asked);
    a->right = calloc(a->pool, sizeof *a->right);
    a->chosen = calloc((size_t)task->questions, sizeof *a->chosen);
    if (sized)
        a->sizes = calloc((size_t)task->questions, sizeof *a->sizes);
    return a->asked && a->right && a->chosen && (a->sizes || !sized) ? TRAINER_OK
                                                                     : trainer_no_memory(err, (size_t)allocation_bytes(task));
}

void allocation_close(struct allocation *a)
{
    free(a->asked);
    free(a->right);
    free(a->chosen);
    free(a->sizes);
}

struct ticket {
    bool dropped; /* behind all others */
    double key;
    int32_t number;
};

static int by_key(const void *left, const void *right)
{
    const struct ticket *a = left, *b = right;
    if (a->dropped != b->dropped)
        return a->dropped - b->dropped;
    if (a->key < b->key || a->key > b->key)
        return a->key < b->key ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static double rate_of(const struct allocation *a, const struct rl_beta_fit *fit, size_t i)
{
    return (fit->alpha + (double)a->right[i]) / (fit->alpha + fit->beta + (double)a->asked[i]);
}

/* The measured rate and not the fitted one, which is never as high or as low. */
static bool is_dropped(const struct allocation *a, const struct trainer_task *task, size_t i)
{
    double rate = a->asked[i] > 0 ? (double)a->right[i] / (double)a->asked[i] : NAN;
    return rate > task->drop_above || rate < task->drop_below;
}

/*
 * Draws without replacement by weight: takes the questions with the smallest exponential variables, whose rates are the
 * weights (Efraimidis and Spirakis, Information Processing Letters 97, 2006). A question with weight 0 comes last.
 */
static void fill_tickets(const struct allocation *a, const struct trainer_task *task, const struct rl_beta_fit *fit,
                         uint64_t seed, struct ticket *tickets)
{
    struct trainer_rng rng = {trainer_seed(seed, 'h', 0)};
    for (size_t i = 0; i < a->pool; i++) {
        double weight = pow(1 - rate_of(a, fit, i), task->hardness);
        double chance = -log1p(-trainer_rng_uniform(&rng));
        tickets[i] = (struct ticket){is_dropped(a, task, i), weight > 0 ? chance / weight : INFINITY, (int32_t)i};
    }
}

static void measure_rates(const struct allocation *a, const struct trainer_task *task, const struct rl_beta_fit *fit,
                          struct trainer_allocation *metrics)
{
    double before = (double)metrics->questions, n = task->questions, chosen = 0, pool = 0;
    for (int32_t q = 0; q < task->questions; q++)
        chosen += rate_of(a, fit, (size_t)a->chosen[q]) / n;
    for (size_t i = 0; i < a->pool; i++)
        pool += rate_of(a, fit, i) / (double)a->pool;
    metrics->chosen = (metrics->chosen * before + chosen * n) / (before + n);
    metrics->pool = (metrics->pool * before + pool * n) / (before + n);
    metrics->questions += (uint64_t)task->questions;
    for (size_t i = 0; i < a->pool; i++)
        metrics->dropped += is_dropped(a, task, i);
}

static enum trainer_status choose(struct allocation *a, const struct trainer_task *task, const struct allocation_plan *plan,
                                  const struct rl_beta_fit *fit, struct trainer_error *err)
{
    struct ticket *tickets = malloc(a->pool * sizeof *tickets);
    if (!tickets)
        return trainer_no_memory(err, a->pool * sizeof *tickets);
    fill_tickets(a, task, fit, plan->seed, tickets);
    qsort(tickets, a->pool, sizeof *tickets, by_key);
    for (int32_t q = 0; q < task->questions; q++)
        a->chosen[q] = tickets[q].number;
    free(tickets);
    return TRAINER_OK;
}

/* Adds k rollouts to a group, whose common pass rate is distributed as Beta(alpha, beta). */
static void grow(struct share *s, size_t k)
{
    for (size_t i = 0; i < k; i++, s->size++) {
        double n = (double)s->size, all = s->alpha + s->beta + n;
        s->all_wrong *= (s->beta + n) / all;
        s->all_right *= (s->alpha + n) / all;
    }
}

/*
 * The gain of one more block. It shrinks with every block, because both probabilities are convex in the size; so
 * taking the best next block each time is optimal.
 */
static void weigh(struct share *s, enum trainer_group_sizes sizes, size_t k)
{
    struct share more = *s;
    grow(&more, k);
    s->gain = s->all_wrong - more.all_wrong;
    if (sizes == TRAINER_GROUPS_MIXED)
        s->gain += s->all_right - more.all_right;
}

/* Among equal gains the question with the lower number comes first. */
static bool is_before(const struct share *a, const struct share *b)
{
    if (a->gain > b->gain || a->gain < b->gain)
        return a->gain > b->gain;
    return a->question < b->question;
}

/* Restores the heap after the gain of its node `at` has fallen. */
static void sift(struct share *heap, size_t n, size_t at)
{
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (!is_before(&heap[child], &heap[at]))
            return;
        struct share swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

/*
 * Every group gets the smallest size; then each further block goes to the group with the largest gain. A block is
 * passk.k rollouts, which share a reward. This definition is ours: publications only ask that hard questions get more
 * rollouts within the same budget.
 */
static void hand_out(struct allocation *a, const struct trainer_task *task, size_t group_size, const struct rl_beta_fit *fit,
                     struct share *heap)
{
    size_t n = (size_t)task->questions, k = (size_t)task->algorithm.passk.k;
    size_t least = (size_t)task->least, left = n * (group_size - least);
    for (size_t q = 0; q < n; q++) {
        double right = (double)a->right[a->chosen[q]], asked = (double)a->asked[a->chosen[q]];
        heap[q] = (struct share){
            .alpha = fit->alpha + right, .beta = fit->beta + asked - right, .all_wrong = 1, .all_right = 1, .question = q};
        grow(&heap[q], least);
        weigh(&heap[q], task->sizes, k);
    }
    for (size_t q = n; q-- > 0;)
        sift(heap, n, q);
    for (; left > 0; left -= k) {
        grow(&heap[0], k);
        weigh(&heap[0], task->sizes, k);
        sift(heap, n, 0);
    }
    for (size_t q = 0; q < n; q++)
        a->sizes[heap[q].question] = heap[q].size;
}

static enum trainer_status size_groups(struct allocation *a, const struct trainer_task *task, size_t group_size,
                                       const struct rl_beta_fit *fit, struct trainer_allocation *metrics,
                                       struct trainer_error *err)
{
    size_t n = (size_t)task->questions;
    struct share *heap = malloc(n * sizeof *heap);
    if (!heap)
        return trainer_no_memory(err, n * sizeof *heap);
    hand_out(a, task, group_size, fit, heap);
    free(heap);
    for (size_t q = 0; q < n; q++) {
        metrics->least = metrics->most == 0 || a->sizes[q] < metrics->least ? a->sizes[q] : metrics->least;
        metrics->most = a->sizes[q] > metrics->most ? a->sizes[q] : metrics->most;
    }
    return TRAINER_OK;
}

/*
 * If the likelihood has no maximum (no question was asked yet, or all outcomes are equal), a flat prior is used
 * instead.
 */
enum trainer_status allocation_draw(struct allocation *a, const struct trainer_task *task, const struct allocation_plan *plan,
                                    struct trainer_allocation *metrics, struct trainer_error *err)
{
    struct rl_beta_fit fit;
    struct rl_error core;
    if (rl_passk_beta_fit(a->pool, a->asked, a->right, &fit, &core) != RL_OK)
        fit = (struct rl_beta_fit){.alpha = 1, .beta = 1};
    for (int32_t q = 0; q < task->questions; q++)
        a->chosen[q] = (int32_t)((plan->first + (size_t)q) % a->pool);
    if (task->hardness > 0 || drops(task))
        TRY(choose(a, task, plan, &fit, err));
    measure_rates(a, task, &fit, metrics);
    return a->sizes ? size_groups(a, task, plan->group_size, &fit, metrics, err) : TRAINER_OK;
}

void allocation_learn(struct allocation *a, const struct trainer_rollouts *r, size_t first, size_t n)
{
    if (a->pool == 0)
        return;
    for (size_t row = first; row < first + n; row++)
        a->asked[r->number[row]] = a->right[r->number[row]] = 0;
    for (size_t row = first; row < first + n; row++) {
        a->asked[r->number[row]]++;
        a->right[r->number[row]] += r->reward[row] > 0;
    }
}
