/*
 * answer.h: what a chat endpoint answered, read as flags of steps, or as a reason why there are none.
 *
 * Only a complete answer counts: the server says that the model stopped by itself; the whole content is one JSON
 * object; every step is there once, with GOOD or BAD. Numbers from 1 to n instead of 0 to n - 1 are taken for those.
 * Words of an analysis are never looked through for flags.
 */
#ifndef JUDGE_ANSWER_H
#define JUDGE_ANSWER_H

#include <stddef.h>
#include <stdint.h>

enum answer_verdict {
    ANSWER_COMPLETE,
    ANSWER_TRUNCATED, /* the model ran out of tokens */
    ANSWER_REFUSED,   /* the model, or a filter, does not want to */
    ANSWER_UNUSABLE   /* anything else: asking once more may help */
};

enum { ANSWER_WHY_MAX = 160 };

struct answer {
    enum answer_verdict verdict;
    char why[ANSWER_WHY_MAX]; /* unless it is complete */
    char *content;            /* what the model wrote, where it is a text (free) */
    uint64_t prompt_tokens, completion_tokens; /* 0 where the server does not say */
};

/* Read the body of a response into *answer, which is the caller's to release; flags [n_steps] are 1 GOOD, 0 BAD. */
void answer_read(struct answer *answer, const char *body, size_t length, uint8_t *flags, size_t n_steps);
void answer_release(struct answer *answer);

/* What an error's body says of itself: its code, or its type, and a message; "" where there is none. */
struct answer_error {
    char code[64], message[ANSWER_WHY_MAX];
};
void answer_error_read(struct answer_error *error, const char *body, size_t length);

#endif
