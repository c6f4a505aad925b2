#include "rollout/marked_episodes.h"

#include <string.h>

#include <rlcore/process.h>

#include "support/markers.h"

/* A response as text: its tokens, each after a blank. */
struct response {
    char text[TRAINER_EPISODE_TOKENS * MARKER_WORD + 1];
    size_t token[TRAINER_EPISODE_TOKENS + 1], starts[TRAINER_EPISODE_TOKENS];
    size_t n;
};

static void write_text(struct response *response, const struct trainer_world *world, const int32_t *tokens, size_t n)
{
    size_t at = 0;
    response->n = n;
    for (size_t t = 0; t < n; t++) {
        response->token[t] = at;
        response->text[at++] = ' ';
        trainer_token_text(world, tokens[t], response->text + at);
        at += strlen(response->text + at);
    }
    response->text[at++] = ' '; /* the blank after the last token */
    response->token[n] = at;
}

/* The first episode begins with the policy's first token after the prompt; its boundary is already set. */
static void number_episodes(struct trainer_rollouts *r, size_t row, const struct response *response, size_t n_episodes)
{
    size_t prompt = (size_t)r->prompt[row], at = row * r->width + prompt;
    int32_t k = 0;
    for (size_t e = 0; e < n_episodes; e++) {
        size_t begin = response->starts[e];
        size_t end = e + 1 < n_episodes ? response->starts[e + 1] : response->n;
        bool has_policy_token = memchr(r->mask + at + begin, 1, end - begin) != NULL;
        if (e > 0 && k < TRAINER_TURNS_MAX && has_policy_token)
            r->boundary[row * ROLLOUT_VALUES + (size_t)++k] = (int32_t)(prompt + begin);
        for (size_t t = at + begin; t < at + end; t++)
            if (r->mask[t])
                r->turn[t] = k;
    }
    r->n_turns[row] = k;
}

/* The core's status is ignored, because it cannot refuse these arguments: tokens ascend, and there are markers. */
void episodes_cut(struct trainer_rollouts *r, const struct trainer_recipe *recipe, size_t first, size_t n)
{
    const char *text = recipe->tasks[r->task[first]].algorithm.episodes.markers;
    const char *words[MARKERS_MAX];
    struct markers markers;
    struct response response;
    struct rl_error core;
    if (!text[0] || !markers_read(&markers, text))
        return;
    for (size_t i = 0; i < markers.n; i++)
        words[i] = markers.word[i];
    const struct rl_episode_options options = {words, markers.n, 0};
    for (size_t row = first; row < first + n; row++) {
        size_t begin = (size_t)r->prompt[row], n_episodes = 0;
        write_text(&response, &recipe->world, r->tokens + row * r->width + begin, (size_t)r->length[row] - begin);
        if (rl_episode_starts(response.text, response.n, response.token, &options, response.starts, &n_episodes, &core) == RL_OK)
            number_episodes(r, row, &response, n_episodes);
    }
}
