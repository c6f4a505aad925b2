#include "recipe/recipe_teacher.h"

#include <pthread.h>
#include <stdatomic.h>

#include "cli.h"
#include "judge/chat.h"
#include "judge/score_cache.h"

/* A server answers with about 100 bytes per token, and a response may have a mebibyte. */
enum { TOKENS_PER_REQUEST = 4096, RECIPE_TEACHER_REQUESTS_MAX = 64 };

/* The endpoint of a task, with a chat for each request in flight. */
struct seat {
    struct chat *chats; /* [n]; NULL without an endpoint */
    size_t n;
};

struct recipe_teacher {
    const struct trainer_recipe *recipe;
    struct seat seats[TRAINER_ENVS_MAX];
    struct score_cache *cache; /* NULL: none */
    pthread_mutex_t lock;      /* of the cache, and of the next lesson */
};

static enum trainer_status fail(struct trainer_error *err, enum trainer_status status, const char *url, const char *why)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "algorithm.endpoint %.200s: %.270s", url, why);
    return status;
}

static bool open_seat(struct recipe_teacher *teacher, int32_t task, char why[SCORE_CACHE_WHY_MAX])
{
    const struct trainer_teacher_endpoint *at = &teacher->recipe->tasks[task].algorithm.endpoint;
    struct seat *seat = &teacher->seats[task];
    snprintf(why, SCORE_CACHE_WHY_MAX, "out of memory");
    seat->chats = calloc((size_t)at->concurrency, sizeof *seat->chats);
    if (!seat->chats)
        return false;
    while (seat->n < (size_t)at->concurrency) {
        const size_t i = seat->n++;
        struct chat *chat = &seat->chats[i];
        if (!(i > 0 ? chat_beside(chat, seat->chats)
                    : chat_open(chat, at->base_url, ENDPOINT_COMPLETIONS, at->key_env, at->backoff)))
            return snprintf(why, SCORE_CACHE_WHY_MAX, "%s", chat->why), false;
        chat->seed = teacher->recipe->seed + i; /* two that wait do not come back at the same moment */
    }
    return true;
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
    pthread_mutex_init(&(*teacher)->lock, NULL);
    if (cache && !((*teacher)->cache = score_cache_open(cache, TEACHER_CACHE_BYTES, why)))
        return fail(err, TRAINER_EINVAL, "", why);
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        if (recipe->tasks[i].algorithm.endpoint.base_url[0] && !open_seat(*teacher, i, why))
            return fail(err, TRAINER_EINVAL, recipe->tasks[i].algorithm.endpoint.base_url, why);
    return TRAINER_OK;
}

void recipe_teacher_close(struct recipe_teacher *teacher)
{
    if (!teacher)
        return;
    for (int32_t i = 0; i < teacher->recipe->n_tasks; i++) {
        struct seat *seat = &teacher->seats[i];
        while (seat->n > 0)
            chat_close(&seat->chats[--seat->n]); /* the first one, whose endpoint the others have, last */
        free(seat->chats);
    }
    score_cache_close(teacher->cache);
    pthread_mutex_destroy(&teacher->lock);
    free(teacher);
}

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
    if (json_array_size(log_probs) > (size_t)r.length + 1) /* one token is generated */
        return "a choice has more log-probs than its prompt has tokens: the server adds tokens of its own (a template, a first "
               "token)";
    for (int32_t t = 0; t < r.length; t++) {
        const json_t *value = json_array_get(log_probs, (size_t)t);
        if (r.mask[t] && !json_is_number(value))
            return "the log-prob of a token is not a number";
        batch->log_prob[row * batch->width + (size_t)t] = r.mask[t] ? (float)json_number_value(value) : 0;
    }
    return NULL;
}

/* Whether the server counts the tokens that it was sent, if it counts them: another tokenizer or a template counts others. */
static bool counts_our_tokens(const struct trainer_teacher_batch *batch, size_t first, size_t n, const json_t *response)
{
    const json_t *counted = json_object_get(json_object_get(response, "usage"), "prompt_tokens");
    json_int_t sent = 0;
    for (size_t i = 0; i < n; i++)
        sent += trainer_rollouts_get(batch->rollouts, batch->first + first + i).length;
    return !json_is_integer(counted) || json_integer_value(counted) == sent;
}

/* A server may return the choices in any order. Returns NULL, or what is wrong. */
static const char *take_response(struct trainer_teacher_batch *batch, size_t first, size_t n, const json_t *response)
{
    const json_t *choices = json_object_get(response, "choices");
    bool *seen = calloc(n, sizeof *seen);
    const char *why = !seen ? "out of memory" : NULL;
    if (!why && !counts_our_tokens(batch, first, n, response))
        why = "the server counts other tokens than it was sent (usage.prompt_tokens): its model has another tokenizer, or a "
              "template";
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
    const struct lesson *first_asked; /* an earlier request of the batch that is the same, whose answer is taken; NULL: none */
    char digest[JUDGE_DIGEST_MAX];
    bool known; /* an earlier answer was there */
    char why[ENDPOINT_WHY_MAX]; /* "": answered, or not asked because another one failed */
};

static bool find_lesson(struct recipe_teacher *teacher, const struct lesson *lesson)
{
    if (!teacher->cache || !score_cache_find(teacher->cache, lesson->digest, lesson->values, lesson->n_values))
        return false;
    copy_values(lesson->batch, lesson->first, lesson->n, lesson->values, true);
    return true;
}

/* At once, so that a trial that is killed has lost nothing that was answered. */
static void keep_lesson(struct recipe_teacher *teacher, const struct lesson *lesson)
{
    copy_values(lesson->batch, lesson->first, lesson->n, lesson->values, false);
    pthread_mutex_lock(&teacher->lock);
    if (teacher->cache && are_log_probs(lesson->values, lesson->n_values))
        (void)score_cache_add(teacher->cache, lesson->digest, lesson->values, lesson->n_values);
    pthread_mutex_unlock(&teacher->lock);
}

struct lessons {
    struct recipe_teacher *teacher;
    const struct trainer_teacher_endpoint *at;
    struct lesson *items; /* [n] */
    size_t n, open, next; /* open: not known; next: the first that nobody asks yet */
    atomic_bool failed;   /* no further request is made, and those in flight end */
};

/* A thread's share of the work: a chat, and the lessons that it takes. */
struct asker {
    struct lessons *lessons;
    struct chat *chat;
    pthread_t thread;
    bool started;
};

static struct lesson *take_lesson(struct lessons *lessons)
{
    struct lesson *lesson = NULL;
    pthread_mutex_lock(&lessons->teacher->lock);
    while (!lessons->failed && !lesson && lessons->next < lessons->n) {
        lesson = &lessons->items[lessons->next++];
        lesson = lesson->known || lesson->first_asked ? NULL : lesson;
    }
    pthread_mutex_unlock(&lessons->teacher->lock);
    return lesson;
}

static void fail_lesson(struct lessons *lessons, struct lesson *lesson, const char *why)
{
    if (!atomic_exchange(&lessons->failed, true)) /* what others say then is that they were ended */
        snprintf(lesson->why, sizeof lesson->why, "%s", why);
}

static void *ask_lessons(void *context)
{
    const struct asker *asker = context;
    struct lessons *lessons = asker->lessons;
    for (struct lesson *lesson; (lesson = take_lesson(lessons));) {
        json_t *request = make_request(lesson->batch, lessons->at->name, lesson->first, lesson->n);
        json_t *response = request ? chat_ask(asker->chat, request, 1, cli_now() + lessons->at->deadline) : NULL;
        const char *why = !request   ? "out of memory"
                          : response ? take_response(lesson->batch, lesson->first, lesson->n, response)
                                     : asker->chat->why;
        json_decref(request);
        if (why)
            fail_lesson(lessons, lesson, why);
        else
            keep_lesson(lessons->teacher, lesson);
        json_decref(response);
    }
    return NULL;
}

/* The caller's thread asks, too, so that a system without threads only takes longer. */
static void ask_all(struct lessons *lessons, const struct seat *seat)
{
    struct asker askers[RECIPE_TEACHER_REQUESTS_MAX];
    const size_t n = lessons->open < seat->n ? lessons->open : seat->n;
    for (size_t i = 0; i < n; i++) {
        askers[i] = (struct asker){.lessons = lessons, .chat = &seat->chats[i]};
        seat->chats[i].stop = &lessons->failed;
        askers[i].started = i > 0 && pthread_create(&askers[i].thread, NULL, ask_lessons, &askers[i]) == 0;
    }
    if (n > 0)
        (void)ask_lessons(&askers[0]);
    for (size_t i = 0; i < n; i++)
        if (askers[i].started)
            pthread_join(askers[i].thread, NULL);
    for (size_t i = 0; i < n; i++)
        seat->chats[i].stop = NULL;
}

/* The requests of a batch in order; earlier answers are taken now. Returns false when out of memory. */
static bool make_lessons(struct lessons *lessons, struct trainer_teacher_batch *batch, const struct chat *chat)
{
    lessons->items = calloc(batch->n, sizeof *lessons->items);
    for (size_t first = 0; lessons->items && first < batch->n; first += lessons->items[lessons->n++].n) {
        struct lesson *lesson = &lessons->items[lessons->n];
        *lesson = (struct lesson){.batch = batch, .first = first, .n = rows_of_request(batch, first)};
        lesson->n_values = copy_values(batch, first, lesson->n, NULL, false);
        lesson->values = malloc((lesson->n_values + 1) * sizeof *lesson->values);
        json_t *request =
            make_request(batch, lessons->at->name, first, lesson->n); /* made again when it is sent: many are large */
        bool made = lesson->values && request &&
                    judge_digest(lesson->digest, json_pack("{s:s, s:O}", "endpoint", chat->at.url, "request", request));
        json_decref(request);
        if (!made) {
            lessons->n++;
            return false;
        }
        for (size_t i = 0; i < lessons->n && !lesson->first_asked; i++)
            if (strcmp(lessons->items[i].digest, lesson->digest) == 0)
                lesson->first_asked = &lessons->items[i];
        lesson->known = !lesson->first_asked && find_lesson(lessons->teacher, lesson);
        lessons->open += !lesson->known && !lesson->first_asked;
    }
    return lessons->items != NULL;
}

enum trainer_status recipe_teacher_ask(void *context, struct trainer_teacher_batch *batch, struct trainer_error *err)
{
    struct recipe_teacher *teacher = context;
    const struct seat *seat = &teacher->seats[batch->task];
    struct lessons lessons = {.teacher = teacher, .at = &batch->recipe->tasks[batch->task].algorithm.endpoint};
    const char *why = NULL;
    if (batch->n == 0)
        return TRAINER_OK;
    if (make_lessons(&lessons, batch, seat->chats))
        ask_all(&lessons, seat);
    else
        why = "out of memory";
    for (size_t i = 0; i < lessons.n && !why; i++)
        why = lessons.items[i].why[0] ? lessons.items[i].why : NULL;
    for (size_t i = 0; i < lessons.n && !why; i++)
        if (lessons.items[i].first_asked) {
            const struct lesson *lesson = &lessons.items[i], *same = lesson->first_asked;
            copy_values(batch, same->first, same->n, lesson->values, false);
            copy_values(batch, lesson->first, lesson->n, lesson->values, true);
        }
    enum trainer_status status = why ? fail(err, TRAINER_EIO, lessons.at->base_url, why) : TRAINER_OK;
    for (size_t i = 0; i < lessons.n; i++)
        free(lessons.items[i].values);
    free(lessons.items);
    return status;
}
