/*
 * retry.c: classifies failures. Only failures that another attempt can fix are retried: retrying a wrong key for an
 * hour wastes the hour, and an exhausted quota has the same HTTP status as a rate limit.
 */
#include "judge/retry.h"

#include <math.h>
#include <string.h>

static bool has_word(const struct answer_error *error, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcasestr(error->code, words[i]) || strcasestr(error->message, words[i]))
            return true;
    return false;
}

static bool is_used_up(const struct answer_error *error)
{
    static const char *const words[] = {"insufficient_quota", "exceeded your current quota",
                                        "billing_hard_limit", "insufficient_balance",
                                        "credit balance",     NULL};
    return has_word(error, words);
}

/*
 * Whether the text was too long or filtered, or its answer useless, which is a failure of this trajectory only. llama-server says
 * "context size", also with status 500 if the text outgrows it while the model writes; vLLM says "maximum model length". At an
 * answer that breaks the schema, for example because max_tokens cut it, llama-server says 500 and that the output does not match; at
 * temperature 0 the next answer would be the same.
 */
static bool is_about_the_row(long status, const struct answer_error *error)
{
    static const char *const too_long[] = {
        "context_length", "context length", "context_size", "context size", "context window", "maximum model length", NULL};
    static const char *const useless[] = {"model produced output that does not match", NULL};
    static const char *const filtered[] = {"content_filter", "content_policy", NULL};
    return status == 413 || ((status == 400 || status == 500) && has_word(error, too_long)) ||
           (status == 500 && has_word(error, useless)) || (status == 400 && has_word(error, filtered));
}

/* Whether a server answers 500 to a request that it will never accept, as llama-server does: "Only no echo is supported", "tools
 * param requires --jinja flag", "Failed to parse messages: ..". */
static bool is_for_good(long status, const struct answer_error *error)
{
    static const char *const words[] = {"supported", "requires --", "failed to parse messages", NULL};
    return status == 500 && has_word(error, words);
}

/* Whether a request with wrong content was refused because of a field. OpenAI's servers name it in `param`, others in the text. */
static bool is_about(long status, const struct answer_error *error, const char *field)
{
    return (status == 400 || status == 422) && (strcmp(error->param, field) == 0 || strstr(error->message, field));
}

enum retry_kind retry_kind_of(long status, const struct answer_error *error, const struct judge_dialect *sent)
{
    if (status >= 200 && status < 300)
        return RETRY_ANSWERED;
    if (status == 429 && is_used_up(error))
        return RETRY_STOP;
    if (is_about_the_row(status, error))
        return RETRY_ROW;
    bool for_good = status == 501 || is_for_good(status, error);
    if (status == 408 || status == 409 || status == 429 || (status >= 500 && !for_good))
        return RETRY_LATER;
    if (!sent->newer_limit && is_about(status, error, "max_tokens"))
        return RETRY_LIMIT;
    if (!sent->no_temperature && is_about(status, error, "temperature"))
        return RETRY_COOL;
    if (!sent->free_choice && is_about(status, error, "tool_choice"))
        return RETRY_CHOICE;
    bool may_be_the_form = status == 400 || status == 404 || status == 415 || status == 422 || for_good;
    return may_be_the_form && !sent->plain ? RETRY_PLAIN : RETRY_STOP;
}

/* splitmix64 */
static double chance(uint64_t x)
{
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

double retry_wait(double backoff, unsigned failed, double server_asks, uint64_t seed, uint64_t item)
{
    double most = 60, doubled = backoff * exp2((double)failed - 1);
    double jitter = 0.5 + chance(seed * 0x2545F4914F6CDD1Du + item * 0x9E3779B97F4A7C15u + failed);
    return fmax(fmin(doubled, most) * jitter, server_asks);
}
