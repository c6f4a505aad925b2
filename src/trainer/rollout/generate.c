/*
 * All rows of a lane take one token at a time. The matrix products of a step then have a row for each episode that is
 * still running; decoding one episode at a time would be slow because of its small products. Rows do not influence each
 * other.
 */
#include "rollout/generate.h"

#include <math.h>
#include <string.h>

#include <rlcore/a2tgpo.h>

#include "support/rng.h"

/* The state of one lane while it is played. */
struct play {
    struct lane *lane;
    size_t active[LANE_ROWS], n_active; /* rows still playing, relative to lane->first */
    int32_t fed[LANE_ROWS];             /* number of each row's tokens that its slot already holds */
    struct trainer_rng rng[LANE_ROWS];
};

static const struct trainer_env *env_of(const struct lane *lane, size_t row)
{
    return &lane->recipe->tasks[lane->rollouts->task[row]].env;
}

/*
 * x [v] becomes exp((x - largest) / temperature); returns the sum. Subtracting the largest keeps expf from
 * overflowing at logits above 88.
 */
HOT(float, exponentials, (size_t v, float inverse_temperature, float *x, float *most), (v, inverse_temperature, x, most))
{
    float top = x[0], sum = 0;
    for (size_t j = 1; j < v; j++)
        top = x[j] > top ? x[j] : top;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < v; j++) {
        x[j] = expf((x[j] - top) * inverse_temperature);
        sum += x[j];
    }
    *most = top;
    return sum;
}

/*
 * Returns the index of the largest value; of equal values the first, so that greedy decoding does not depend on how the
 * compiler orders a loop.
 */
static int32_t largest(size_t v, const float *x)
{
    size_t best = 0;
    for (size_t j = 1; j < v; j++)
        best = x[j] > x[best] ? j : best;
    return (int32_t)best;
}

/* If rounding leaves a remainder, the last token with a positive weight is drawn. */
static int32_t draw(size_t v, const float *weight, float sum, double chance)
{
    double left = chance * (double)sum;
    size_t token = 0;
    for (size_t j = 0; j < v; j++) {
        if (weight[j] <= 0)
            continue;
        token = j;
        left -= (double)weight[j];
        if (left < 0)
            break;
    }
    return (int32_t)token;
}

/*
 * The log-prob is that of the distribution from which the token was drawn, temperature included, because an importance
 * ratio to any other distribution would be wrong. A greedy token gets the policy's own log-prob.
 */
static int32_t sample(const struct lane *lane, struct trainer_rng *rng, const float *logits, float *weight, float *log_prob)
{
    size_t v = (size_t)lane->decode->model.tokens;
    bool greedy = lane->temperature <= 0;
    float inverse = greedy ? 1 : (float)(1 / lane->temperature), most;
    memcpy(weight, logits, v * sizeof *weight);
    float sum = exponentials(v, inverse, weight, &most);
    int32_t token = greedy ? largest(v, weight) : draw(v, weight, sum, trainer_rng_uniform(rng));
    *log_prob = (logits[token] - most) * inverse - logf(sum);
    return token;
}

/* Gains are measured where an observation ends, because there the policy knows what the search contributed. */
static void take_observation(struct trainer_rollouts *r, size_t row, const int32_t *text, size_t n)
{
    size_t at = row * r->width + (size_t)r->length[row];
    memcpy(r->tokens + at, text, n * sizeof *text);
    r->length[row] += (int32_t)n;
    r->n_turns[row]++;
    r->boundary[row * ROLLOUT_VALUES + (size_t)r->n_turns[row]] = r->length[row];
}

/*
 * Writes a token of the policy and lets the environment answer. Returns false when the episode has ended. Reward and
 * malformed are copied at every token, so that the last copy is the episode's final state wherever it ends.
 */
static bool advance(struct lane *lane, size_t row, int32_t token, float log_prob)
{
    struct trainer_rollouts *r = lane->rollouts;
    struct trainer_episode *episode = &r->episode[row];
    int32_t text[TRAINER_OBSERVATION_MAX];
    size_t n, at = row * r->width + (size_t)r->length[row]++;
    r->tokens[at] = token;
    r->mask[at] = 1;
    r->turn[at] = r->n_turns[row];
    r->log_prob[at] = log_prob;
    lane->sampled++;
    enum trainer_turn turn = trainer_env_step(env_of(lane, row), episode, token, text, &n);
    if (turn == TRAINER_TURN_OBSERVED)
        take_observation(r, row, text, n);
    r->reward[row] = episode->reward;
    r->malformed[row] = episode->malformed;
    return turn != TRAINER_TURN_DONE;
}

/* Largest number of a row's tokens in one feed: enough for any observation and any prompt. */
enum { FEED_MOST = LANE_TOKENS / LANE_ROWS };

static int32_t unfed(const struct play *play, size_t i)
{
    return play->lane->rollouts->length[play->lane->first + i] - play->fed[i];
}

/* The route of a fed token is stored with the token after it. A last layer that was not computed has no route. */
static void record_route(struct trainer_rollouts *r, size_t row, size_t place, const uint16_t *route)
{
    uint16_t *to = r->routes + (row * r->width + place) * r->places;
    for (size_t j = 0; place < r->width && j < r->places; j++)
        if (route[j] != TRAINER_NO_EXPERT)
            to[j] = route[j];
}

static void feed(struct play *play)
{
    struct decode *decode = play->lane->decode;
    struct trainer_rollouts *r = play->lane->rollouts;
    const uint16_t *route = decode->routes;
    decode_feed(decode, play->lane->params);
    for (size_t s = 0; r->routes && s < decode->n_segments; s++) {
        const struct decode_segment *segment = &decode->segments[s];
        for (int32_t i = 0; i < segment->n; i++, route += r->places)
            record_route(r, play->lane->first + segment->slot, (size_t)(segment->position + i) + 1, route);
    }
}

/* Gives row `to` the routes of the shared beginning that was fed for row `from`. */
static void copy_routes(const struct play *play, size_t from, size_t to)
{
    struct trainer_rollouts *r = play->lane->rollouts;
    size_t row = r->width * r->places, n = (size_t)play->fed[from] + 1;
    if (r->routes)
        memcpy(r->routes + (play->lane->first + to) * row, r->routes + (play->lane->first + from) * row,
               (n < r->width ? n : r->width) * r->places * sizeof *r->routes);
}

/*
 * Feeds all tokens since the last feed: the sampled token and, if the tool answered, the observation. Only the logits
 * after the last token are needed. The beginning of a continued row may be longer than a feed.
 */
static void feed_row(struct play *play, size_t i)
{
    struct lane *lane = play->lane;
    struct trainer_rollouts *r = lane->rollouts;
    size_t row = lane->first + i;
    const int32_t *tokens = r->tokens + row * r->width;
    int32_t from = play->fed[i];
    struct decode_segment segment = {.slot = i,
                                     .position = from,
                                     .n = unfed(play, i) < FEED_MOST ? unfed(play, i) : FEED_MOST,
                                     .before = from > 0 ? tokens[from - 1] : 0};
    lane->fed += (uint64_t)segment.n;
    decode_add(lane->decode, segment, tokens + from);
    play->fed[i] += segment.n;
}

/*
 * Samples one token for each active row, from the outputs in `output`. Finished rows leave the batch immediately:
 * episodes differ in length, and otherwise every row would be computed until the longest one ends.
 */
static void sample_rows(struct play *play, const size_t *output)
{
    struct lane *lane = play->lane;
    struct trainer_rollouts *r = lane->rollouts;
    struct decode *decode = lane->decode;
    size_t v = (size_t)decode->model.tokens, left = 0;
    float *weight = decode->scratch;
    for (size_t k = 0; k < play->n_active; k++) {
        size_t i = play->active[k], row = lane->first + i;
        float log_prob;
        int32_t token = sample(lane, &play->rng[i], decode->logits + output[k] * v, weight, &log_prob);
        if (r->expected) /* the value is stored with the next token */
            r->expected[row * r->width + (size_t)r->length[row]] = (double)decode->value[output[k]];
        bool goes_on = advance(lane, row, token, log_prob);
        bool pauses = lane->turns > 0 && r->n_turns[row] >= lane->turns;
        if (goes_on && !pauses)
            play->active[left++] = i;
    }
    play->n_active = left;
}

/* Whether a row has the same beginning as the row before it, in which case only one of the two is fed. */
static bool begins_alike(const struct trainer_rollouts *r, size_t row)
{
    const int32_t *tokens = r->tokens + row * r->width;
    return r->group[row] == r->group[row - 1] && r->length[row] == r->length[row - 1] &&
           memcmp(tokens, tokens - r->width, (size_t)r->length[row] * sizeof *tokens) == 0;
}

/* Feeds the tokens of the rows in `leader`, except for the last ones, which fit into one further feed. */
static void feed_ahead(struct play *play, const size_t *leader, size_t n)
{
    bool any;
    do {
        decode_clear(play->lane->decode);
        any = false;
        for (size_t k = 0; k < n; k++)
            if (unfed(play, leader[k]) > FEED_MOST) {
                feed_row(play, leader[k]);
                any = true;
            }
        if (any)
            feed(play);
    } while (any);
}

/*
 * Feeds the beginnings. Rows of one question share their prompt, which is fed once and copied. A row's random
 * stream starts from its episode's noise and not from the lane's, so that results do not depend on where lanes are
 * cut. A row that is already complete is not played, but keeps its keys, which lane_values needs.
 */
static void begin(struct play *play)
{
    struct lane *lane = play->lane;
    struct trainer_rollouts *r = lane->rollouts;
    size_t output[LANE_ROWS], leader[LANE_ROWS], n = 0;
    for (size_t i = 0; i < lane->n; i++) {
        play->rng[i].state = trainer_seed(r->episode[lane->first + i].noise, 'p', 0);
        if (i == 0 || !begins_alike(r, lane->first + i))
            leader[n++] = i;
        if (!r->episode[lane->first + i].done) {
            play->active[play->n_active] = i;
            output[play->n_active++] = n - 1;
        }
    }
    feed_ahead(play, leader, n);
    for (size_t k = 0; k < n; k++)
        feed_row(play, leader[k]);
    feed(play);
    for (size_t k = 0; k < n; k++)
        for (size_t i = leader[k] + 1; i < (k + 1 < n ? leader[k + 1] : lane->n); i++) {
            play->fed[i] = play->fed[leader[k]];
            decode_copy(lane->decode, leader[k], i, (size_t)play->fed[i]);
            copy_routes(play, leader[k], i);
        }
    sample_rows(play, output);
}

static void go_on(struct play *play)
{
    size_t output[LANE_ROWS];
    decode_clear(play->lane->decode);
    for (size_t k = 0; k < play->n_active; k++) {
        feed_row(play, play->active[k]);
        output[k] = k;
    }
    feed(play);
    sample_rows(play, output);
}

void lane_generate(struct lane *lane)
{
    struct play play = {.lane = lane};
    begin(&play);
    while (play.n_active > 0)
        go_on(&play);
}

/*
 * Adds a branch at boundary b: ANS and the answer without its last token. Returns false if there is no room in the
 * feed.
 */
static bool add_branch(struct lane *lane, size_t row, int32_t b)
{
    struct trainer_rollouts *r = lane->rollouts;
    struct decode *decode = lane->decode;
    int32_t tokens[TRAINER_HOPS_MAX + 1] = {TRAINER_ANS};
    size_t n = trainer_env_answer(env_of(lane, row), &r->episode[row], tokens + 1);
    int32_t position = r->boundary[row * ROLLOUT_VALUES + (size_t)b];
    if (decode->n + n > decode->capacity || decode->n_outputs + n > decode->outputs)
        return false;
    struct decode_segment segment = {.slot = row - lane->first,
                                     .position = position,
                                     .n = (int32_t)n,
                                     .before = r->tokens[row * r->width + (size_t)position - 1],
                                     .branch = true,
                                     .every = true};
    lane->fed += n;
    decode_add(decode, segment, tokens);
    return true;
}

/*
 * The sum is in float, as in sampling. Logarithm and difference are in double, because gains are differences of
 * such numbers.
 */
static double log_prob_of(size_t v, const float *logits, float *weight, int32_t token)
{
    float most;
    memcpy(weight, logits, v * sizeof *weight);
    float sum = exponentials(v, 1, weight, &most);
    return (double)(logits[token] - most) - log((double)sum);
}

/*
 * Returns the probability of the answer, or the mean log-prob of its tokens, from the outputs that begin at `output`.
 * It is a double, because gains are differences of values that may agree in six digits.
 */
static double read_value(struct lane *lane, size_t row, size_t output, size_t *n)
{
    struct decode *decode = lane->decode;
    int32_t answer[TRAINER_HOPS_MAX];
    enum trainer_gain kind = lane->recipe->tasks[lane->rollouts->task[row]].algorithm.gain;
    size_t v = (size_t)decode->model.tokens;
    double log_prob[TRAINER_HOPS_MAX];
    *n = trainer_env_answer(env_of(lane, row), &lane->rollouts->episode[row], answer);
    for (size_t i = 0; i < *n; i++)
        log_prob[i] = log_prob_of(v, decode->logits + (output + i) * v, decode->scratch, answer[i]);
    return rl_prefix_value(kind == TRAINER_GAIN_PROB ? RL_GAIN_PROB : RL_GAIN_MEAN_LOG_PROB, *n, log_prob);
}

struct branch {
    size_t row;
    int32_t boundary;
};

/* Outputs are in the order in which branches were added, one for each token of the answer. */
static void read_branches(struct lane *lane, const struct branch *branches, size_t n)
{
    size_t output = 0, used;
    for (size_t i = 0; i < n; i++) {
        double value = read_value(lane, branches[i].row, output, &used);
        lane->rollouts->value[branches[i].row * ROLLOUT_VALUES + (size_t)branches[i].boundary] = value;
        output += used;
    }
}

/*
 * Branches of many rows share one feed, which is run when it is full, so that scratch memory has a fixed size for
 * any number of turns. One branch always fits into an empty feed.
 */
void lane_values(struct lane *lane)
{
    struct branch branches[LANE_ROWS * ROLLOUT_VALUES];
    struct trainer_rollouts *r = lane->rollouts;
    size_t n = 0;
    decode_clear(lane->decode);
    for (size_t row = lane->first; row < lane->first + lane->n; row++)
        for (int32_t b = 0; b <= r->n_turns[row]; b++) {
            if (!add_branch(lane, row, b)) {
                decode_feed(lane->decode, lane->params);
                read_branches(lane, branches, n);
                decode_clear(lane->decode);
                n = 0;
                (void)add_branch(lane, row, b);
            }
            branches[n++] = (struct branch){row, b};
        }
    decode_feed(lane->decode, lane->params);
    read_branches(lane, branches, n);
}
