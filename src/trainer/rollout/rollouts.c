/* rollouts.c: allocates rollouts, starts their rows, and provides their public view. */
#include "rollout/rollouts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/carve.h"
#include "support/rng.h"

/* The same function computes the size and lays out the block, so that both agree to the byte. */
static void carve_tokens(struct trainer_rollouts *r, struct carve *block)
{
    size_t n = r->capacity * r->width;
    float **const reals[] = {&r->log_prob, &r->rewards, &r->advantage, &r->clip_scale, &r->old, &r->reference, &r->start,
                             &r->weight,   &r->rl,      &r->ce,        &r->ref_kl,     &r->kd,  &r->behaviour, &r->hooked};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        *reals[i] = carve(block, n, sizeof(float));
    r->tokens = carve(block, n, sizeof(int32_t));
    r->turn = carve(block, n, sizeof(int32_t));
    r->mask = carve(block, n, 1);
    r->kept = carve(block, n, 1);
}

static void carve_rows(struct trainer_rollouts *r, struct carve *block)
{
    size_t n = r->capacity;
    r->length = carve(block, n, sizeof(int32_t));
    r->prompt = carve(block, n, sizeof(int32_t));
    r->n_turns = carve(block, n, sizeof(int32_t));
    r->task = carve(block, n, sizeof(int32_t));
    r->boundary = carve(block, n * ROLLOUT_VALUES, sizeof(int32_t));
    r->value = carve(block, n * ROLLOUT_VALUES, sizeof(double));
    r->reward = carve(block, n, sizeof(double));
    r->scored = carve(block, n, sizeof(double));
    r->group = carve(block, n, sizeof(int64_t));
    r->number = carve(block, n, sizeof(int32_t));
    r->baseline = carve(block, n, sizeof(double));
    r->branch_of = carve(block, n, sizeof(int64_t));
    r->n_shared = carve(block, n, sizeof(int32_t));
    r->malformed = carve(block, n, 1);
    r->episode = carve(block, n, sizeof *r->episode);
}

size_t rollouts_bytes(size_t capacity, size_t width)
{
    struct trainer_rollouts r = {.capacity = capacity, .width = width};
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof r);
    carve_tokens(&r, &block);
    carve_rows(&r, &block);
    return block.used;
}

/* Allocates one block, which is created once per run, used in every iteration and released by free(). */
struct trainer_rollouts *rollouts_new(size_t capacity, size_t width)
{
    struct carve block = {carve_block(rollouts_bytes(capacity, width)), 0};
    if (!block.base)
        return NULL;
    struct trainer_rollouts *r = carve(&block, 1, sizeof *r);
    *r = (struct trainer_rollouts){.capacity = capacity, .width = width};
    carve_tokens(r, &block);
    carve_rows(r, &block);
    return r;
}

/* Both blocks have the same layout, so only the pointers at their beginning differ. */
void rollouts_copy(struct trainer_rollouts *to, const struct trainer_rollouts *from)
{
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof *to);
    memcpy((char *)to + block.used, (const char *)from + block.used, rollouts_bytes(to->capacity, to->width) - block.used);
    to->n = from->n;
    to->has_values = from->has_values;
    to->age = from->age;
    to->credited = from->credited;
}

/* Clears the row's earlier contents. */
static void clear_row(struct trainer_rollouts *r, size_t row)
{
    size_t at = row * r->width;
    memset(r->mask + at, 0, r->width);
    for (size_t t = 0; t < r->width; t++)
        r->turn[at + t] = -1;
    memset(r->log_prob + at, 0, r->width * sizeof *r->log_prob);
    for (size_t i = at * r->places; r->routes && i < (at + r->width) * r->places; i++)
        r->routes[i] = TRAINER_NO_EXPERT;
    for (size_t t = at; r->expected && t < at + r->width; t++) {
        r->expected[t] = 0;
        r->returns[t] = NAN;
    }
    r->reward[row] = 0;
    r->malformed[row] = 0;
    r->n_turns[row] = 0;
    r->baseline[row] = 0;
    r->branch_of[row] = (int64_t)row;
    r->n_shared[row] = 0;
    r->has_values = false;
    r->credited = 0;
}

/*
 * question and noise are separate seeds. Rows of a group have the same question seed, so that they answer the same
 * question, and different noise seeds, so that their answers differ. The group's label includes the task, because
 * otherwise groups of two tasks would be normalised together.
 */
static void start_row(struct trainer_rollouts *r, const struct rollouts_plan *plan, size_t row, size_t question, size_t noise_row)
{
    size_t at = row * r->width;
    size_t number = plan->numbers    ? (size_t)plan->numbers[question]
                    : plan->pool > 0 ? (plan->first + question) % plan->pool
                                     : question;
    uint64_t asked = trainer_seed(plan->question_seed, 'q' + (uint64_t)plan->task, number);
    uint64_t noise = trainer_seed(plan->noise_seed, 'n', noise_row);
    clear_row(r, row);
    size_t n = trainer_env_reset(plan->env, asked, noise, &r->episode[row], r->tokens + at);
    r->length[row] = r->prompt[row] = r->boundary[row * ROLLOUT_VALUES] = (int32_t)n;
    r->task[row] = plan->task;
    r->number[row] = (int32_t)number;
    r->group[row] = (int64_t)plan->task << 32 | (int64_t)question;
}

void rollouts_add(struct trainer_rollouts *r, const struct rollouts_plan *plan, size_t first_row)
{
    r->n = first_row;
    for (size_t q = 0; q < plan->questions; q++)
        for (size_t g = plan->sizes ? plan->sizes[q] : plan->group_size; g > 0; g--, r->n++)
            start_row(r, plan, r->n, q, r->n);
}

size_t rollouts_question(const struct trainer_rollouts *r, size_t row)
{
    return (size_t)(r->group[row] & INT32_MAX);
}

size_t rollouts_group_end(const struct trainer_rollouts *r, size_t first)
{
    size_t end = first + 1;
    while (end < r->n && r->group[end] == r->group[first])
        end++;
    return end;
}

/*
 * noise_row is an argument because a question must get the same answer in a selection of questions as in the complete
 * set (see evaluate.c).
 */
void rollouts_add_one(struct trainer_rollouts *r, const struct rollouts_plan *plan, size_t question, size_t noise_row)
{
    start_row(r, plan, r->n++, question, noise_row);
}

/* Plays the tokens of the row again, because an episode's state between two tokens is not stored. */
static void replay(struct trainer_rollouts *r, const struct trainer_env *env, size_t row)
{
    const int32_t *tokens = r->tokens + row * r->width;
    int32_t text[TRAINER_OBSERVATION_MAX];
    size_t n;
    for (int32_t t = r->prompt[row]; t < r->length[row]; t++)
        if (r->mask[row * r->width + (size_t)t] &&
            trainer_env_step(env, &r->episode[row], tokens[t], text, &n) == TRAINER_TURN_OBSERVED)
            r->boundary[row * ROLLOUT_VALUES + (size_t)++r->n_turns[row]] = t + 1 + (int32_t)n;
    r->reward[row] = r->episode[row].reward;
    r->malformed[row] = r->episode[row].malformed;
}

void rollouts_add_continued(struct trainer_rollouts *r, const struct trainer_env *env, const struct trainer_rollouts *from,
                            size_t row, size_t n_tokens, uint64_t noise)
{
    size_t to = r->n++, at = to * r->width, source = row * from->width;
    const struct trainer_episode *episode = &from->episode[row];
    clear_row(r, to);
    r->prompt[to] = (int32_t)trainer_env_reset(env, episode->question, episode->noise, &r->episode[to], r->tokens + at);
    memcpy(r->tokens + at, from->tokens + source, n_tokens * sizeof *r->tokens);
    memcpy(r->mask + at, from->mask + source, n_tokens);
    memcpy(r->turn + at, from->turn + source, n_tokens * sizeof *r->turn);
    memcpy(r->log_prob + at, from->log_prob + source, n_tokens * sizeof *r->log_prob);
    if (r->routes && from->routes)
        memcpy(r->routes + at * r->places, from->routes + source * r->places, n_tokens * r->places * sizeof *r->routes);
    if (r->expected && from->expected)
        memcpy(r->expected + at, from->expected + source, n_tokens * sizeof *r->expected);
    r->length[to] = (int32_t)n_tokens;
    r->boundary[to * ROLLOUT_VALUES] = r->prompt[to];
    r->task[to] = from->task[row];
    r->group[to] = from->group[row];
    r->number[to] = from->number[row];
    replay(r, env, to);
    if (!r->episode[to].done)
        r->episode[to].noise = noise;
}

double rollouts_written(const struct trainer_rollouts *r, size_t row)
{
    double n = 0;
    for (size_t t = 0; t < (size_t)r->length[row]; t++)
        n += r->mask[row * r->width + t];
    return n;
}

bool rollouts_trains(const struct trainer_rollouts *r, size_t at)
{
    return r->mask[at] && (r->rl[at] > 0 || r->ce[at] > 0 || r->ref_kl[at] > 0 || r->kd[at] > 0);
}

size_t rollouts_tokens(const struct trainer_rollouts *r, size_t first, size_t n)
{
    size_t tokens = 0;
    for (size_t i = first * r->width; i < (first + n) * r->width; i++)
        tokens += r->mask[i];
    return tokens;
}

size_t trainer_rollouts_count(const struct trainer_rollouts *rollouts)
{
    return rollouts->n;
}

/* Arrays that were not measured are NULL, because zeros would look like gains or advantages of 0. */
struct trainer_rollout trainer_rollouts_get(const struct trainer_rollouts *r, size_t i)
{
    size_t at = i * r->width;
    bool credited = i < r->credited;
    return (struct trainer_rollout){
        .tokens = r->tokens + at,
        .mask = r->mask + at,
        .turn = r->turn + at,
        .log_prob = r->log_prob + at,
        .advantage = credited ? r->advantage + at : NULL,
        .clip_scale = credited ? r->clip_scale + at : NULL,
        .rl = credited ? r->rl + at : NULL,
        .ce = credited ? r->ce + at : NULL,
        .ref_kl = credited ? r->ref_kl + at : NULL,
        .value = r->has_values ? r->value + i * ROLLOUT_VALUES : NULL,
        .length = r->length[i],
        .prompt = r->prompt[i],
        .n_turns = r->n_turns[i],
        .task = r->task[i],
        .group = (int32_t)r->group[i],
        .age = r->age,
        .reward = r->reward[i],
        .malformed = r->malformed[i],
        .episode = r->episode[i],
    };
}

void trainer_rollouts_free(struct trainer_rollouts *rollouts)
{
    free(rollouts);
}

/* ---- see rollouts.h. A question is hard if it asks for many hops, slots or entries, not if it was
 * answered wrong: with classes defined by outcomes, pass rates would follow from the definition.
 */

/* Returns whether a question of k hops is easy or hard, or TRAINER_N_DIFFICULTIES if it is between. */
static enum trainer_difficulty end_of(const struct trainer_env *env, int32_t k)
{
    int32_t third = (env->k_max - env->k_min) / 3;
    if (env->k_min == env->k_max)
        return TRAINER_N_DIFFICULTIES;
    if (k <= env->k_min + third)
        return TRAINER_EASY;
    return k >= env->k_max - third ? TRAINER_HARD : TRAINER_N_DIFFICULTIES;
}

void difficulty_add(struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES], const struct trainer_rollouts *r,
                    const struct trainer_recipe *recipe)
{
    for (size_t row = 0; row < r->n; row++) {
        enum trainer_difficulty end = end_of(&recipe->tasks[r->task[row]].env, r->episode[row].k);
        if (end == TRAINER_N_DIFFICULTIES)
            continue;
        struct trainer_end_of_mix *e = &ends[end];
        double n = (double)++e->rollouts;
        e->passed += ((r->reward[row] > 0) - e->passed) / n;
        e->tokens += (rollouts_written(r, row) - e->tokens) / n;
    }
}
