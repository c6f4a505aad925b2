/*
 * fuzz_judge.c: reads arbitrary bytes as the response of a judge's server, and as the text of the model's answer. The
 * first byte is the number of steps. A complete answer must give a flag for each step, and any other answer a reason.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "fuzz.h"
#include "judge/answer.h"
#include "judge/retry.h"

enum { STEPS_MAX = 40, UNSET = 9 };

static void read_body(const char *body, size_t length, size_t n_steps)
{
    uint8_t flags[STEPS_MAX + 1];
    struct answer answer;
    memset(flags, UNSET, sizeof flags);
    answer_read(&answer, body, length, flags, n_steps);
    fuzz_assert((answer.verdict == ANSWER_COMPLETE) == !answer.why[0]);
    fuzz_assert(answer.verdict != ANSWER_COMPLETE || answer.content);
    for (size_t i = 0; i < n_steps; i++)
        fuzz_assert(answer.verdict == ANSWER_COMPLETE ? flags[i] <= 1 : flags[i] == UNSET);
    fuzz_assert(flags[n_steps] == UNSET);
    answer_release(&answer);
}

static void read_error(const char *body, size_t length)
{
    static const long statuses[] = {200, 302, 400, 401, 413, 422, 429, 500};
    struct answer_error error;
    answer_error_read(&error, body, length);
    fuzz_assert(memchr(error.code, 0, sizeof error.code) && memchr(error.message, 0, sizeof error.message));
    const struct judge_dialect least = {true, true, true, true};
    fuzz_assert(memchr(error.param, 0, sizeof error.param));
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        enum retry_kind kind = retry_kind_of(statuses[i], &error, &least);
        /* Otherwise it would ask without end. */
        fuzz_assert(kind != RETRY_PLAIN && kind != RETRY_LIMIT && kind != RETRY_COOL && kind != RETRY_CHOICE);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_steps = size ? 1 + data[0] % STEPS_MAX : 1;
    const char *body = size ? (const char *)data + 1 : "";
    size_t length = size ? size - 1 : 0;
    n_steps -= n_steps > 1; /* files in the corpus begin with the number of steps itself */
    read_body(body, length, n_steps);
    read_error(body, length);
    json_t *response = json_pack("{s:[{s:s, s:{s:s%}}]}", "choices", "finish_reason", "stop", "message", "content", body, length);
    char *text = response ? json_dumps(response, JSON_COMPACT) : NULL;
    if (text)
        read_body(text, strlen(text), n_steps);
    free(text);
    json_decref(response);
    return 0;
}
