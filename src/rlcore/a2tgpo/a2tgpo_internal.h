/*
 * a2tgpo_internal.h: the parts of A2TGPO as its kernels call them: with memory and groups provided
 * and arguments checked.
 */
#pragma once

#include <rlcore/a2tgpo.h>

#include "support/groups.h"
#include "support/scratch.h"

/* Mean and sum of squared deviations of a set. */
struct rl_moments {
    size_t count;
    double mean, squares;
};

struct rl_normalizer {
    const struct rl_turns *turns;
    const struct rl_groups *groups;
    enum rl_turn_sets sets;
    bool by_std;
    double epsilon;
    struct rl_moments *moments; /* room for the turns of the longest row + 1, at least for 2 */
};

/* rl_turn_normalize without its checks; values and z may be the same array. */
void rl_normalizer_run(const struct rl_normalizer *n, const double *values, double *z);

/* The turn values that rl_a2tgpo_advantage works on. */
struct rl_a2tgpo_turns {
    struct rl_turns turns;
    struct rl_groups groups;
    struct rl_moments *moments; /* [T+2] */
    size_t *lengths;            /* response tokens per turn */
    double *values;             /* in: rewards of the turns; out: their clip scale */
    double *advantages;         /* out */
};

enum rl_status rl_a2tgpo_check(const struct rl_a2tgpo_options *options, struct rl_error *err);
enum rl_status rl_a2tgpo_run(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *options, struct rl_error *err);
struct rl_a2tgpo_stats rl_a2tgpo_scale_stats(const struct rl_a2tgpo_turns *a);

/*
 * Check the turns, that values and out exist, and that every value is finite. The error names row and turn.
 */
enum rl_status rl_turn_values_check(const struct rl_turns *turns, const double *values, const double *out, struct rl_error *err);

/* The number of turns of the row with the most turns. */
size_t rl_most_turns(const struct rl_turns *turns);

static inline size_t rl_row_turns(const struct rl_turns *turns, size_t row)
{
    return turns->start[row + 1] - turns->start[row];
}
