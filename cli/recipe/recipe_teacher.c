#include "recipe/recipe_teacher.h"

#include <math.h>
#include <stdlib.h>

#include "cli.h"
#include "judge/chat.h"
#include "judge/score_cache.h"

/* A server answers with about 100 bytes per token, and a response may have a mebibyte. */
enum { TOKENS_PER_REQUEST = 4096 };

struct recipe_teacher {
    const struct trainer_recipe *recipe;
    struct chat chat[TRAINER_ENVS_MAX]; /* zero without an endpoint */
    struct score_cache *cache;          /* NULL: none */
};

static enum trainer_status fail(struct trainer_error *err, enum trainer_status status, const char *url, const char *why)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "algorithm.endpoint %.200s: %.270s", url, why);
    return status;
}

enum trainer_status recipe_teacher_open(struct recipe_teacher **teacher, const struct trainer_recipe *recipe, const char *cache,
                                        struct trainer_error *err)
{
    char why[SCORE_CACHE_WHY_MAX];
    bool any = false;
    *teacher = NULL;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || recipe->tasks[i].algorithm.endpoint.base_url[0];
    if (!any)
        return TRAINER_OK;
    *teacher = calloc(1, sizeof **teacher);
    if (!*teacher)
        return fail(err, TRAINER_ENOMEM, "", "out of memory");
    (*teacher)->recipe = recipe;
    if (cache && !((*teacher)->cache = score_cache_open(cache, TEACHER_CACHE_BYTES, why)))
        return fail(err, TRAINER_EINVAL, "", why);
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        const struct trainer_teacher_endpoint *at = &recipe->tasks[i].algorithm.endpoint;
        struct chat *chat = &(*teacher)->chat[i];
        if (at->base_url[0] && !chat_open(chat, at->base_url, ENDPOINT_COMPLETIONS, at->key_env, at->backoff))
            return fail(err, TRAINER_EINVAL, at->base_url, chat->why);
        chat->seed = recipe->seed;
    }
    return TRAINER_OK;
}

void recipe_teacher_close(struct recipe_teacher *teacher)
{
    for (int32_t i = 0; teacher && i < teacher->recipe->n_tasks; i++)
        if (teacher->recipe->tasks[i].algorithm.endpoint.base_url[0])
            chat_close(&teacher->chat[i]);
    if (teacher)
        score_cache_close(teacher->cache);
    free(teacher);
}

/* ---- one request ---- */

/* Rollouts [first, first + n) of the batch are a request; there is always one. */
static size_t rows_of_request(const struct trainer_teacher_batch *batch, size_t first)
{
    size_t n = 0, tokens = 0;
    for (; first + n < batch->n; n++) {
        tokens += (size_t)trainer_rollouts_get(batch->rollouts, batch->first + first + n).length;
        if (n > 0 && tokens > TOKENS_PER_REQUEST)
            break;
    }
    return n;
}

static json_t *make_request(const struct trainer_teacher_batch *batch, const char *name, size_t first, size_t n)
{
    json_t *prompts = json_array();
    for (size_t i = 0; i < n; i++) {
        struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + first + i);
        json_t *tokens = json_array();
        for (int32_t t = 0; t < r.length; t++)
            json_array_append_new(tokens, json_integer(r.tokens[t]));
        json_array_append_new(prompts, tokens);
    }
    return json_pack("{s:s, s:o, s:b, s:i, s:i}", "model", name, "prompt", prompts, "echo", 1, "logprobs", 1, "temperature", 1);
}

/* The first token has no log-prob, because nothing precedes it. Log-probs behind the rollout are those of generated tokens. */
static const char *take_row(struct trainer_teacher_batch *batch, size_t row, const json_t *choice)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + row);
    const json_t *log_probs = json_object_get(json_object_get(choice, "logprobs"), "token_logprobs");
    if (!json_is_array(log_probs))
        return "a choice has no logprobs.token_logprobs: the server does not return log-probs of a prompt";
    if (json_array_size(log_probs) < (size_t)r.length)
        return "a choice has fewer log-probs than its prompt has tokens";
    for (int32_t t = 0; t < r.length; t++) {
        const json_t *value = json_array_get(log_probs, (size_t)t);
        if (r.mask[t] && !json_is_number(value))
            return "the log-prob of a token is not a number";
        batch->log_prob[row * batch->width + (size_t)t] = r.mask[t] ? (float)json_number_value(value) : 0;
    }
    return NULL;
}

/* A server may return the choices in any order. Returns NULL, or what is wrong. */
static const char *take_response(struct trainer_teacher_batch *batch, size_t first, size_t n, const json_t *response)
{
    const json_t *choices = json_object_get(response, "choices");
    bool *seen = calloc(n, sizeof *seen);
    const char *why = !seen ? "out of memory" : NULL;
    if (!why && json_array_size(choices) != n)
        why = "the response has not one choice for each prompt";
    for (size_t i = 0; i < n && !why; i++) {
        const json_t *choice = json_array_get(choices, i), *index = json_object_get(choice, "index");
        json_int_t at = json_is_integer(index) ? json_integer_value(index) : -1;
        if (at < 0 || at >= (json_int_t)n || seen[at])
            why = "the choices of the response are not numbered 0, 1, .. (index)";
        else
            why = take_row(batch, first + (size_t)at, choice);
        if (!why)
            seen[at] = true;
    }
    free(seen);
    return why;
}

/* ---- earlier answers ---- */

/*
 * Copies the log-probs of a request's rows, those of the policy's tokens only, between the batch and a list. Returns their number;
 * values NULL only counts.
 */
static size_t copy_values(struct trainer_teacher_batch *batch, size_t first, size_t n, float *values, bool to_batch)
{
    size_t count = 0;
    for (size_t row = first; row < first + n; row++) {
        struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + row);
        for (int32_t t = 0; t < r.length; t++) {
            float *at = &batch->log_prob[row * batch->width + (size_t)t];
            if (values && r.mask[t])
                *(to_batch ? at : &values[count]) = to_batch ? values[count] : *at;
            count += r.mask[t] != 0;
        }
    }
    return count;
}

/* The trainer refuses other numbers, and what it refuses is asked again by the next trial. */
static bool are_log_probs(const float *values, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = good && isfinite(values[i]) && values[i] <= 0;
    return good;
}

/* One request of a batch: rows [first, first + n). */
struct lesson {
    struct trainer_teacher_batch *batch;
    size_t first, n, n_values;
    float *values; /* [n_values] */
    char digest[JUDGE_DIGEST_MAX];
};

static bool find_lesson(struct recipe_teacher *teacher, const struct lesson *lesson)
{
    if (!teacher->cache || !score_cache_find(teacher->cache, lesson->digest, lesson->values, lesson->n_values))
        return false;
    copy_values(lesson->batch, lesson->first, lesson->n, lesson->values, true);
    return true;
}

static void keep_lesson(struct recipe_teacher *teacher, const struct lesson *lesson)
{
    copy_values(lesson->batch, lesson->first, lesson->n, lesson->values, false);
    if (teacher->cache && are_log_probs(lesson->values, lesson->n_values))
        (void)score_cache_add(teacher->cache, lesson->digest, lesson->values, lesson->n_values);
}

/* Returns NULL, or what is wrong. */
static const char *ask(struct recipe_teacher *teacher, struct lesson *lesson, const json_t *request)
{
    const struct trainer_teacher_endpoint *at = &lesson->batch->recipe->tasks[lesson->batch->task].algorithm.endpoint;
    struct chat *chat = &teacher->chat[lesson->batch->task];
    if (!judge_digest(lesson->digest, json_pack("{s:s, s:O}", "endpoint", chat->at.url, "request", request)))
        return "out of memory";
    if (find_lesson(teacher, lesson))
        return NULL;
    json_t *response = chat_ask(chat, request, 1, cli_now() + at->deadline);
    const char *why = response ? take_response(lesson->batch, lesson->first, lesson->n, response) : chat->why;
    if (!why)
        keep_lesson(teacher, lesson);
    json_decref(response);
    return why;
}

enum trainer_status recipe_teacher_ask(void *context, struct trainer_teacher_batch *batch, struct trainer_error *err)
{
    struct recipe_teacher *teacher = context;
    const struct trainer_teacher_endpoint *at = &batch->recipe->tasks[batch->task].algorithm.endpoint;
    const char *why = NULL;
    for (size_t first = 0; first < batch->n && !why;) {
        struct lesson lesson = {.batch = batch, .first = first, .n = rows_of_request(batch, first)};
        lesson.n_values = copy_values(batch, first, lesson.n, NULL, false);
        lesson.values = malloc((lesson.n_values + 1) * sizeof *lesson.values);
        json_t *request = make_request(batch, at->name, first, lesson.n);
        why = request && lesson.values ? ask(teacher, &lesson, request) : "out of memory";
        json_decref(request);
        free(lesson.values);
        first += lesson.n;
    }
    return why ? fail(err, TRAINER_EIO, at->base_url, why) : TRAINER_OK;
}
