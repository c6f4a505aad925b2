/*
 * passk_counts.h: how often each evaluation question was asked and answered correctly. The counts are kept per question,
 * because pass@k is a mean over questions of a function that is not linear in their rates (arXiv:2107.03374, section 2.1).
 */
#pragma once

#include "recipe/policy_source.h"

struct passk_counts {
    size_t n;              /* questions */
    int64_t *asked, *right; /* [n] */
};

/* How questions are asked. */
struct passk_sampling {
    size_t budget;  /* samples of each question; with `dynamic` the most */
    size_t enough;  /* with `dynamic`: number of correct answers after which a question is not asked again */
    size_t seed;    /* sample s has seed + s, so a call with 32 samples begins with the same 16 as one with 16 */
    bool dynamic;
};

/*
 * Asks every evaluation question of an open source. Returns CLI_GO_ON, or an exit status after an error. Call
 * passk_counts_release in either case; a zeroed struct may be released, too.
 */
int passk_counts_take(struct passk_counts *counts, const struct policy_source *source, const struct passk_sampling *sampling);
void passk_counts_release(struct passk_counts *counts);

int64_t passk_total(const int64_t *values, size_t n);
