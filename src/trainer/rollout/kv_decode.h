/*
 * kv_decode.h: incremental forward passes over cached keys and values, in float.
 *
 * A slot is the cache of one sequence. Tokens are fed in segments: a segment is some tokens of one slot, which follow
 * the tokens that the slot already holds. Any number of segments go through the matrix products together. A branch is a
 * segment that is fed for its outputs only: afterwards the slot holds what it held before.
 */
#pragma once

#include <trainer/policy.h>

#include "policy/experts.h"

struct decode_segment {
    size_t slot;
    int32_t position; /* number of tokens before the segment */
    int32_t n;        /* number of the segment's tokens, which are adjacent in decode->tokens */
    int32_t before;   /* the token before the segment's first token; 0 at position 0 */
    bool branch;      /* the segment is not kept in the slot */
    bool every;       /* outputs for every token, not only for the last one */
};

struct decode {
    struct trainer_model model;
    size_t slots, capacity, outputs; /* number of slots; largest numbers of tokens and of outputs of one feed */
    size_t pad;
    /* filled in before a feed */
    struct decode_segment *segments; /* [capacity] */
    size_t n_segments;
    int32_t *tokens; /* [capacity] */
    /* results of a feed */
    float *logits; /* [n_outputs][model.tokens] */
    float *value;  /* [n_outputs], NULL without a value head */
    size_t n_outputs;
    /*
     * with experts: [n][layers][experts_per_token] routes of the fed tokens; in the last layer TRAINER_NO_EXPERT for
     * tokens without an output
     */
    uint16_t *routes;
    float *scratch; /* [model.tokens] free for the caller between feeds */
    /* private */
    size_t n;
    float *kt, *v; /* [slots][layers][width][pad] and [slots][layers][pad][width] */
    float *rope, *h, *x, *qkv, *att, *u, *kept;
    int32_t *position, *before, *out_row;
    struct net_choicef choice; /* with experts; uses the memory of u */
};

size_t decode_bytes(const struct trainer_model *model, size_t slots, size_t capacity, size_t outputs);

/* Returns NULL when out of memory. The caller frees it with free(). */
struct decode *decode_new(const struct trainer_model *model, size_t slots, size_t capacity, size_t outputs);

/* Removes all segments that were added. */
void decode_clear(struct decode *decode);

/* Adds a segment, and copies its tokens. */
void decode_add(struct decode *decode, struct decode_segment segment, const int32_t *tokens);

/* Feeds all segments and computes the logits of their outputs, in order. */
void decode_feed(struct decode *decode, const float *params);

/* Makes slot `to` hold the first n tokens of slot `from`. */
void decode_copy(struct decode *decode, size_t from, size_t to, size_t n);
