/*
 * kv_decode.h: incremental forward passes over cached keys and values, in float.
 *
 * A slot is the cache of one sequence. Tokens are fed in segments: some tokens of one slot, after
 * those it already holds. Any number of segments go through the matrix products together. A branch
 * is a segment that is fed, answered and forgotten: the slot holds what it held.
 */
#ifndef TRAINER_KV_DECODE_H
#define TRAINER_KV_DECODE_H

#include <trainer/policy.h>

#include "policy/experts.h"

struct decode_segment {
    size_t slot;
    int32_t position; /* tokens in front of it */
    int32_t n;        /* tokens of it, in decode->tokens from the segment's place on */
    int32_t before;   /* the token in front of the first one, 0 at position 0 */
    bool branch;      /* to be forgotten */
    bool every;       /* an output for every token, not the last one alone */
};

struct decode {
    struct trainer_model model;
    size_t slots, capacity, outputs; /* slots; tokens and outputs of one feed, at most */
    size_t pad;
    /* to be filled in before a feed */
    struct decode_segment *segments; /* [capacity] */
    size_t n_segments;
    int32_t *tokens; /* [capacity] */
    /* result of a feed */
    float *logits; /* [n_outputs][model.tokens] */
    float *value;  /* [n_outputs], NULL without a value head */
    size_t n_outputs;
    uint16_t *routes; /* with experts: [n][layers][experts_per_token] of the tokens fed; the last
                         layer's of those with an output, else TRAINER_NO_EXPERT */
    float *scratch; /* the caller's between feeds: [model.tokens] */
    /* private */
    size_t n;
    float *kt, *v; /* [slots][layers][width][pad], [slots][layers][pad][width] */
    float *rope, *h, *x, *qkv, *att, *u, *kept;
    int32_t *position, *before, *out_row;
    struct net_choicef choice; /* with experts, in the place of u */
};

size_t decode_bytes(const struct trainer_model *model, size_t slots, size_t capacity,
                    size_t outputs);

/* NULL when out of memory; free() releases it. */
struct decode *decode_new(const struct trainer_model *model, size_t slots, size_t capacity,
                          size_t outputs);

/* Forget what is to be fed. */
void decode_clear(struct decode *decode);

/* Add a segment; its tokens are copied. */
void decode_add(struct decode *decode, struct decode_segment segment, const int32_t *tokens);

/* Feed all segments; logits of their outputs, in order. */
void decode_feed(struct decode *decode, const float *params);

/* Slot `to` holds the first n tokens of slot `from`. */
void decode_copy(struct decode *decode, size_t from, size_t to, size_t n);

#endif
