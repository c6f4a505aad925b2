/*
 * Work is cut into lanes by rows alone, never by threads, and every row has its own random stream, so that the same
 * recipe gives the same rollouts on any number of cores. BLAS is limited to one thread: its own threads would
 * compete with the lanes, and their number would change sums.
 */
#include "rollout/sampler.h"

#include <cblas.h>

#include <rlcore/process.h>

#include "rollout/generate.h"
#include "support/clock.h"
#include "support/error.h"
#include "support/threads.h"
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

double sampler_bytes(const struct trainer_recipe *recipe, int threads)
{
    return threads * (double)decode_bytes(&recipe->model, LANE_ROWS, LANE_TOKENS, LANE_OUTPUTS);
}

/*
 * There is one cache per thread and not per lane: a run may have hundreds of lanes, and caches take most of the
 * memory.
 */
enum trainer_status sampler_open(struct sampler *sampler, const struct trainer_recipe *recipe, int threads,
                                 struct trainer_error *err)
{
    *sampler = (struct sampler){.recipe = recipe, .threads = threads, .blas_before = openblas_get_num_threads()};
    openblas_set_num_threads(1); /* lanes already use all threads */
    sampler->decode = calloc((size_t)threads, sizeof(struct decode *));
    bool whole = sampler->decode != NULL;
    for (int i = 0; i < threads && whole; i++)
        whole = (sampler->decode[i] = decode_new(&recipe->model, LANE_ROWS, LANE_TOKENS, LANE_OUTPUTS)) != NULL;
    return whole ? TRAINER_OK : trainer_no_memory(err, (size_t)sampler_bytes(recipe, threads));
}

/* In a sampler that was never opened blas_before is 0; BLAS's threads are then left unchanged. */
void sampler_close(struct sampler *sampler)
{
    for (int i = 0; sampler->decode && i < sampler->threads; i++)
        free(sampler->decode[i]);
    free(sampler->decode);
    if (sampler->blas_before > 0)
        openblas_set_num_threads(sampler->blas_before);
}

/*
 * Returns the number of rows from `first` on that form a lane: at most LANE_ROWS, all of one task, because tasks may be
 * played by different weights.
 */
static size_t lane_length(const struct trainer_rollouts *r, size_t first)
{
    size_t n = 1;
    while (n < LANE_ROWS && first + n < r->n && r->task[first + n] == r->task[first])
        n++;
    return n;
}

static size_t count_lanes(const struct trainer_rollouts *r)
{
    size_t lanes = 0;
    for (size_t first = 0; first < r->n; first += lane_length(r, first))
        lanes++;
    return lanes;
}

/*
 * Finds the rows of lane number `lane` by counting from the front each time, which is negligible compared with a single
 * token.
 */
static void find_lane(const struct trainer_rollouts *r, size_t lane, size_t *first, size_t *n)
{
    *first = 0;
    for (size_t i = 0; i < lane; i++)
        *first += lane_length(r, *first);
    *n = lane_length(r, *first);
}

struct lane_report {
    double generation_s, gain_s;
    uint64_t sampled, fed, gain_tokens;
};

/*
 * The cache belongs to the thread and not to the lane: data of an earlier lane is overwritten, position by position,
 * before it is read. Values are measured immediately, while the cache still holds the lane's keys.
 */
static struct lane_report play_lane(struct sampler *sampler, const struct sampler_job *job, size_t index)
{
    struct lane lane = {.recipe = sampler->recipe,
                        .rollouts = job->rollouts,
                        .decode = sampler->decode[threads_mine()],
                        .temperature = job->temperature,
                        .turns = job->turns};
    struct lane_report report = {0};
    find_lane(job->rollouts, index, &lane.first, &lane.n);
    lane.params = job->params[job->rollouts->task[lane.first]];
    double begin = clock_now();
    lane_generate(&lane);
    report.generation_s = clock_now() - begin;
    report.sampled = lane.sampled;
    report.fed = lane.fed;
    if (job->values) {
        episodes_cut(lane.rollouts, lane.recipe, lane.first, lane.n);
        lane_values(&lane);
        report.gain_s = clock_now() - begin - report.generation_s;
        report.gain_tokens = lane.fed - report.fed;
    }
    return report;
}

/* Threads run in parallel, so the sums of their times are scaled to the total wall time. */
static void settle(struct sampler_job *job, double wall)
{
    double sum = job->generation_s + job->gain_s;
    job->generation_s *= sum > 0 ? wall / sum : 0;
    job->gain_s *= sum > 0 ? wall / sum : 0;
}

/*
 * Even with finite weights, the logits can overflow. Then any token may be sampled and no answer is right, which would
 * look like a measured score of 0.
 */
static enum trainer_status check_finite(const struct trainer_rollouts *r, struct trainer_error *err)
{
    for (size_t row = 0; row < r->n; row++)
        for (size_t at = row * r->width; at < row * r->width + (size_t)r->length[row]; at++)
            if (r->mask[at] && !isfinite(r->log_prob[at]))
                return trainer_fail(err, TRAINER_ENUMERIC,
                                    "rollout %zu: the log-prob of token %zu is not finite: the "
                                    "policy overflows",
                                    row, at - row * r->width);
    return TRAINER_OK;
}

/*
 * The loop uses schedule(dynamic, 1), because lanes take as long as their longest episode; with a fixed schedule,
 * threads would wait for each other. Threads only share sums of times and counts, which do not affect the results of a
 * rollout.
 */
enum trainer_status sampler_play(struct sampler *sampler, struct sampler_job *job, struct trainer_error *err)
{
    size_t lanes = count_lanes(job->rollouts);
    double generation_s = 0, gain_s = 0, begin = clock_now();
    uint64_t sampled = 0, fed = 0, gain_tokens = 0;
#ifdef _OPENMP
#pragma omp parallel for num_threads(sampler->threads) schedule(dynamic, 1)                                                      \
    reduction(+ : generation_s, gain_s, sampled, fed, gain_tokens)
#endif
    for (size_t i = 0; i < lanes; i++) {
        struct lane_report report = play_lane(sampler, job, i);
        generation_s += report.generation_s;
        gain_s += report.gain_s;
        sampled += report.sampled;
        fed += report.fed;
        gain_tokens += report.gain_tokens;
    }
    job->generation_s = generation_s;
    job->gain_s = gain_s;
    job->sampled = sampled;
    job->fed = fed;
    job->gain_tokens = gain_tokens;
    job->rollouts->has_values = job->values;
    settle(job, clock_now() - begin);
    return check_finite(job->rollouts, err);
}
