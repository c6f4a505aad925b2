/*
 * episodes.c: the episodes of a response, and what each one added.
 *
 * An episode is a stretch of thought with its own direction (MRT, arXiv 2503.07572); markers are
 * words with which models begin a new attempt. Markers are searched byte by byte, because a marker
 * may begin inside a token; the text is cut between tokens.
 */
#include <rlcore/process.h>

#include "support/scratch.h"

/*
 * The utility of an episode is the difference of the values before and after it, so the utilities
 * of all episodes add up to that of the whole response.
 */
enum rl_status rl_marginal_utility(size_t n, const double *values, double *utilities, struct rl_error *err)
{
    if (n == 0 || !values || (n > 1 && !utilities))
        return rl_fail(err, RL_EINVAL, "prefix_values is empty: it needs at least one prefix");
    for (size_t j = 0; j < n; j++)
        if (!isfinite(values[j]))
            return rl_fail(err, RL_EVALUE, "prefix_values[%zu] is %g, not a finite number", j, values[j]);
    for (size_t j = 0; j + 1 < n; j++)
        utilities[j] = values[j + 1] - values[j];
    return RL_OK;
}

void rl_episode_options_init(struct rl_episode_options *options)
{
    static const char *const markers[] = {"Wait,", "Alternatively,", "Actually,", "Hmm,", "Let me ", "I need to ", "So ", "But "};
    *options = (struct rl_episode_options){markers, sizeof markers / sizeof *markers, 256};
}

struct response {
    const char *text;
    size_t n_tokens;
    const size_t *token;
    const struct rl_episode_options *options;
    const size_t *starts; /* to be written */
};

/*
 * Compares every marker at every byte: there are eight short ones, and most bytes differ from the
 * first letter.
 */
static bool marker_at(const struct response *r, size_t byte)
{
    size_t left = r->token[r->n_tokens] - byte;
    for (size_t i = 0; i < r->options->n_markers; i++) {
        size_t length = strlen(r->options->markers[i]);
        if (length > 0 && length <= left && memcmp(r->text + byte, r->options->markers[i], length) == 0)
            return true;
    }
    return false;
}

static bool marker_in(const struct response *r, size_t t)
{
    for (size_t byte = r->token[t]; byte < r->token[t + 1]; byte++)
        if (marker_at(r, byte))
            return true;
    return false;
}

/* Returns true if the text before token t ends a sentence; blanks are ignored. */
static bool sentence_ends_before(const struct response *r, size_t t)
{
    size_t end = r->token[t];
    while (end > r->token[0] && (r->text[end - 1] == ' ' || r->text[end - 1] == '\t'))
        end--;
    return end > r->token[0] && strchr(".!?\n", r->text[end - 1]) && r->text[end - 1] != '\0';
}

/*
 * Returns where to cut the stretch [begin, end), or end if the stretch stays whole. A long stretch
 * is cut at the last sentence end that fits, or at the first sentence end after that, because an
 * answer that is forced in mid-sentence would measure the interruption.
 */
static size_t cut(const struct response *r, size_t begin, size_t end)
{
    size_t limit = r->options->max_tokens;
    if (limit == 0 || end - begin <= limit)
        return end;
    for (size_t t = begin + limit; t > begin; t--)
        if (sentence_ends_before(r, t))
            return t;
    size_t t = begin + limit + 1;
    while (t < end && !sentence_ends_before(r, t))
        t++;
    return t;
}

static enum rl_status check(const struct response *r, struct rl_error *err)
{
    if (!r->options || (r->options->n_markers && !r->options->markers))
        return rl_fail(err, RL_EINVAL, "options or markers are missing");
    if (r->n_tokens && (!r->text || !r->token || !r->starts))
        return rl_fail(err, RL_EINVAL, "text, token offsets or starts are missing");
    for (size_t t = 0; t < r->n_tokens; t++)
        if (r->token[t + 1] < r->token[t])
            return rl_fail(err, RL_EVALUE, "token[%zu] is %zu, before token[%zu] = %zu", t + 1, r->token[t + 1], t, r->token[t]);
    return RL_OK;
}

enum rl_status rl_episode_starts(const char *text, size_t n_tokens, const size_t *token, const struct rl_episode_options *options,
                                 size_t *starts, size_t *n_episodes, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"n_episodes", n_episodes}));
    const struct response r = {text, n_tokens, token, options, starts};
    enum rl_status status = check(&r, err);
    size_t n = 0;
    for (size_t begin = 0, end; status == RL_OK && begin < n_tokens; begin = end) {
        for (end = begin + 1; end < n_tokens && !marker_in(&r, end);)
            end++;
        for (size_t at = begin; at < end; at = cut(&r, at, end))
            starts[n++] = at;
    }
    if (status == RL_OK)
        *n_episodes = n;
    return status;
}
