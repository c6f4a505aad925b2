/*
 * answer.h: parses the answer of a chat endpoint into one flag per step, or into a reason why there are no flags. Only
 * a complete answer counts: the server says that the model stopped by itself, the content holds one JSON object with a list
 * of steps, and every step occurs once with GOOD or BAD. Text around the object is ignored, but two objects that differ are
 * no answer. Steps may be numbered from 1 to n instead of 0 to n - 1. Flags are never extracted from prose.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum answer_verdict {
    ANSWER_COMPLETE,
    ANSWER_TRUNCATED, /* the model reached its token limit */
    ANSWER_REFUSED,   /* the model or a filter refused */
    ANSWER_UNUSABLE   /* anything else; asking again may help */
};

enum { ANSWER_WHY_MAX = 160, ANSWER_ANALYSIS_MAX = 1000 };

struct answer {
    enum answer_verdict verdict;
    char why[ANSWER_WHY_MAX]; /* set unless the answer is complete */
    char *content;            /* what the model wrote (free); NULL if there is no text */
    /*
     * A list with the model's analysis of each step, "" where it gave none, cut to ANSWER_ANALYSIS_MAX bytes; NULL unless
     * the answer is complete
     */
    json_t *analysis;
    uint64_t prompt_tokens, completion_tokens; /* 0 if the server does not report them */
};

/* Reads the body of a response into *answer, which the caller releases; sets flags[n_steps] to 1 for GOOD and 0 for
 * BAD. */
void answer_read(struct answer *answer, const char *body, size_t length, uint8_t *flags, size_t n_steps);
void answer_release(struct answer *answer);

/* Returns the text of a message's content (free): a string, or a list of parts, of which those of other types are left out. NULL
 * if there is none, or no memory. */
char *answer_text(const json_t *content);

/*
 * Returns the part of a text behind the model's reasoning, which some servers leave before the answer: <think>..</think>, or
 * only the end tag if the chat template itself began it. An unfinished reasoning leaves "".
 */
const char *answer_after_thinking(const char *text);

/* The code or type, the field of the request, and the message in the body of an error response; "" if missing. */
struct answer_error {
    char code[64], param[64], message[ANSWER_WHY_MAX];
};
void answer_error_read(struct answer_error *error, const char *body, size_t length);
