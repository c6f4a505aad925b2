/* judge_case.h: one trajectory that a judge rates, and its result. */
#pragma once

#include <stdint.h>

#include <jansson.h>
#include <trainer/judge.h>

enum { JUDGE_WHY_MAX = 256 };

struct judge_case {
    const json_t *trajectory; /* checked by trajectory.h; owned by the caller */
    uint8_t *flags;           /* [trajectory_steps] out: 1 GOOD, 0 BAD, if it was judged or cached */
    enum trainer_judge_mark mark; /* in: a case marked SKIPPED is not sent; out: what happened */
    unsigned attempts;
    uint64_t prompt_tokens, completion_tokens;
    json_t *analysis; /* out: a list with what the judge wrote about each step (json_decref), or NULL */
    char why[JUDGE_WHY_MAX]; /* reason why the flags are missing, or "" */
};
