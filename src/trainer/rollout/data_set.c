/*
 * The rows are played again instead of trusted: mask, turns, the places of values, the judge's flags and the reward then follow
 * from the environment, as they do for sampled rows, and a file of another world or difficulty is refused at its first line.
 */
#include "rollout/data_set.h"

#include <errno.h>
#include <inttypes.h>

#include <jansson.h>

#include "support/error.h"

/* One line while it is read. */
struct reading {
    const char *path;
    size_t line;
    const struct trainer_env *env;
    struct trainer_rollouts *rows;
    unsigned needs;
    struct trainer_error *err;
};

static enum trainer_status refuse(const struct reading *in, const char *why)
{
    return trainer_fail(in->err, TRAINER_EINVAL, "%.300s:%zu: %s", in->path, in->line, why);
}

static bool read_seed(const json_t *object, const char *name, uint64_t *seed)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text || strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        return false;
    *seed = strtoull(text, NULL, 16);
    return true;
}

/* Takes the tokens of a row, and their log-probs; both have already the length of the row. */
static enum trainer_status take_tokens(const struct reading *in, const json_t *object, size_t row)
{
    struct trainer_rollouts *r = in->rows;
    const json_t *tokens = json_object_get(object, "tokens"), *log_prob = json_object_get(object, "log_prob");
    size_t n = json_array_size(tokens), at = row * r->width;
    if (n == 0 || n > r->width)
        return refuse(in, "tokens is not a list, or is longer than a rollout of this environment");
    if (in->needs & DATA_LOG_PROBS && json_array_size(log_prob) != n)
        return refuse(in, "log_prob is not a list with a number for each token");
    for (size_t t = 0; t < n; t++) {
        const json_t *token = json_array_get(tokens, t), *number = json_array_get(log_prob, t);
        json_int_t id = json_integer_value(token);
        double value = json_number_value(number);
        if (!json_is_integer(token) || id < 0 || id >= trainer_world_tokens(&in->env->world))
            return refuse(in, "a token is not of this world");
        if (in->needs & DATA_LOG_PROBS && (!json_is_number(number) || !(value <= 0) || isinf(value)))
            return refuse(in, "a log-prob is not a number of at most 0");
        r->tokens[at + t] = (int32_t)id;
        r->log_prob[at + t] = in->needs & DATA_LOG_PROBS ? (float)value : 0;
    }
    r->length[row] = (int32_t)n;
    return TRAINER_OK;
}

/* Takes the advantages of a row: one number, or a number for each token. */
static enum trainer_status take_advantages(const struct reading *in, const json_t *object, size_t row)
{
    struct trainer_rollouts *r = in->rows;
    const json_t *given = json_object_get(object, "advantage");
    size_t n = (size_t)r->length[row], at = row * r->width;
    if (!json_is_number(given) && json_array_size(given) != n)
        return refuse(in, "advantage is not a number, or a list with a number for each token");
    for (size_t t = 0; t < n; t++) {
        const json_t *number = json_is_number(given) ? given : json_array_get(given, t);
        float value = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(value))
            return refuse(in, "an advantage is not a finite number");
        r->rewards[at + t] = value;
    }
    return TRAINER_OK;
}

/* The tool's answer must be the tokens that follow the call. Returns false if it differs. */
static bool is_answer(const struct trainer_rollouts *r, size_t row, int32_t from, const int32_t *text, size_t n)
{
    return (size_t)from + n <= (size_t)r->length[row] && memcmp(r->tokens + row * r->width + from, text, n * sizeof *text) == 0;
}

/* Plays the row's tokens from the end of the prompt on. */
static enum trainer_status play(const struct reading *in, size_t row)
{
    struct trainer_rollouts *r = in->rows;
    struct trainer_episode *episode = &r->episode[row];
    size_t at = row * r->width;
    int32_t text[TRAINER_OBSERVATION_MAX], t = r->prompt[row];
    while (t < r->length[row] && !episode->done) {
        size_t n;
        r->mask[at + (size_t)t] = 1;
        r->turn[at + (size_t)t] = r->n_turns[row];
        enum trainer_turn turn = trainer_env_step(in->env, episode, r->tokens[at + (size_t)t], text, &n);
        t++;
        if (turn != TRAINER_TURN_OBSERVED)
            continue;
        if (!is_answer(r, row, t, text, n))
            return refuse(in, "a tool answers otherwise in this environment (p_fail, facts, or another world)");
        for (size_t i = 0; i < n; i++)
            r->log_prob[at + (size_t)t + i] = 0;
        t += (int32_t)n;
        r->boundary[row * ROLLOUT_VALUES + (size_t)++r->n_turns[row]] = t;
    }
    if (!episode->done || t != r->length[row])
        return refuse(in, episode->done ? "tokens follow after the end of the rollout" : "the rollout is not finished");
    r->reward[row] = episode->reward;
    r->malformed[row] = episode->malformed;
    return TRAINER_OK;
}

static enum trainer_status take_row(const struct reading *in, const json_t *object, size_t row)
{
    struct trainer_rollouts *r = in->rows;
    const json_t *reward = json_object_get(object, "reward");
    int32_t prompt[TRAINER_PROMPT_MAX];
    uint64_t question, noise;
    if (!read_seed(object, "question", &question) || !read_seed(object, "noise", &noise))
        return refuse(in, "question and noise are not texts of 16 hexadecimal digits");
    enum trainer_status status = take_tokens(in, object, row);
    if (status == TRAINER_OK && in->needs & DATA_ADVANTAGES)
        status = take_advantages(in, object, row);
    if (status != TRAINER_OK)
        return status;
    size_t n = trainer_env_reset(in->env, question, noise, &r->episode[row], prompt);
    if (n > (size_t)r->length[row] || memcmp(r->tokens + row * r->width, prompt, n * sizeof *prompt) != 0)
        return refuse(in, "the prompt is not that of its question in this environment (world, k_min, k_max)");
    r->prompt[row] = r->boundary[row * ROLLOUT_VALUES] = (int32_t)n;
    for (size_t t = 0; t < n; t++)
        r->log_prob[row * r->width + t] = 0;
    status = play(in, row);
    if (status == TRAINER_OK && reward && fabs(json_number_value(reward) - r->reward[row]) > 0)
        return refuse(in, "the reward is not that of the environment");
    return status;
}

/* Returns the text of the file (free), or NULL with the message set. */
static char *read_file(const char *path, size_t *length, struct trainer_error *err)
{
    FILE *file = fopen(path, "rbe");
    char *text = NULL;
    size_t size = 0, got = 0;
    *length = 0;
    if (!file) {
        (void)trainer_fail(err, TRAINER_EIO, "%.300s: %s", path, strerror(errno));
        return NULL;
    }
    do {
        size = size ? 2 * size : 1 << 16;
        char *larger = realloc(text, size);
        if (!larger)
            break;
        text = larger;
        got = fread(text + *length, 1, size - *length - 1, file);
        *length += got;
    } while (*length == size - 1);
    bool good = text && *length < size - 1 && !ferror(file);
    fclose(file);
    if (good) {
        text[*length] = '\0';
        return text;
    }
    (void)trainer_fail(err, TRAINER_EIO, "%.300s: cannot be read, or memory is full", path);
    free(text);
    return NULL;
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (const char *at = text; *at; n++)
        at += strcspn(at, "\n") + (at[strcspn(at, "\n")] == '\n');
    return n;
}

/* Reads one line into the next row. Sets *label to what its group is called in the file. */
static enum trainer_status read_line(struct reading *in, const char *text, size_t length, int64_t label[2])
{
    json_error_t error;
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    enum trainer_status status = TRAINER_OK;
    if (!json_is_object(object))
        status = refuse(in, object ? "not a JSON object" : error.text);
    else if (in->needs && !json_is_integer(json_object_get(object, "group")))
        status = refuse(in, "group is not a whole number");
    label[0] = json_integer_value(json_object_get(object, "iteration"));
    label[1] = json_integer_value(json_object_get(object, "group"));
    if (status == TRAINER_OK)
        status = take_row(in, object, in->rows->n);
    in->rows->n += status == TRAINER_OK;
    json_decref(object);
    return status;
}

static enum trainer_status read_lines(struct data_set *data, struct reading *in, const char *text, size_t group_size)
{
    int64_t before[2] = {0, 0}, label[2];
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "\n"), row = in->rows->n;
        in->line++;
        TRY(read_line(in, at, n, label));
        at += n + (at[n] == '\n');
        if (!in->needs)
            continue;
        bool opens = row == 0 || label[0] != before[0] || label[1] != before[1];
        if (opens && row > 0 && row - data->group[data->n_groups - 1] != group_size)
            return refuse(in, "the group before this line has another number of rollouts than training.group_size");
        if (opens)
            data->group[data->n_groups++] = row;
        memcpy(before, label, sizeof before);
    }
    data->group[data->n_groups] = in->rows->n;
    if (data->n_groups && in->rows->n - data->group[data->n_groups - 1] != group_size)
        return refuse(in, "the last group has another number of rollouts than training.group_size");
    return TRAINER_OK;
}

enum trainer_status data_set_open(struct data_set *data, const struct trainer_recipe *recipe, int32_t task, unsigned needs,
                                  struct trainer_error *err)
{
    const struct trainer_task *settings = &recipe->tasks[task];
    struct reading in = {.path = settings->data, .env = &settings->env, .needs = needs, .err = err};
    size_t length, lines, width = (size_t)recipe->model.max_tokens;
    char *text = read_file(settings->data, &length, err);
    if (!text)
        return TRAINER_EIO;
    enum trainer_status status =
        strlen(text) == length ? TRAINER_OK : trainer_fail(err, TRAINER_EINVAL, "%.300s: has a NUL byte", in.path);
    lines = count_lines(text);
    if (status == TRAINER_OK) {
        data->needs = needs;
        data->rows = in.rows = rollouts_new(lines + 1, width);
        data->group = calloc(lines + 2, sizeof *data->group);
        status = data->rows && data->group ? TRAINER_OK : trainer_no_memory(err, rollouts_bytes(lines + 1, width));
    }
    for (size_t i = 0; status == TRAINER_OK && i < (lines + 1) * width; i++)
        in.rows->turn[i] = -1;
    if (status == TRAINER_OK)
        status = read_lines(data, &in, text, (size_t)recipe->training.group_size);
    const size_t asked = (size_t)settings->questions, wanted = asked * (size_t)recipe->training.group_size;
    if (status == TRAINER_OK && !needs && data->rows->n < wanted)
        status = trainer_fail(err, TRAINER_EINVAL, "%.300s: has %zu rollouts, but an iteration has %zu (questions * group_size)",
                              in.path, data->rows->n, wanted);
    if (status == TRAINER_OK && needs && data->n_groups < asked)
        status = trainer_fail(err, TRAINER_EINVAL, "%.300s: has %zu groups, but an iteration has %" PRId32 " questions", in.path,
                              data->n_groups, settings->questions);
    free(text);
    return status;
}

/* The text and its doubling while it grows, one parsed line, and the rows. */
double data_set_bytes(const struct trainer_recipe *recipe, int32_t task)
{
    const char *path = recipe->tasks[task].data;
    struct trainer_error err;
    size_t length = 0;
    char *text = path[0] ? read_file(path, &length, &err) : NULL;
    double lines = text ? (double)count_lines(text) + 1 : 0, longest = text ? 64 * (double)recipe->model.max_tokens * 16 : 0;
    free(text);
    return lines * (double)rollouts_bytes(1, (size_t)recipe->model.max_tokens) + 4 * (double)length + 16 * lines + longest;
}

void data_set_close(struct data_set *data)
{
    trainer_rollouts_free(data->rows);
    free(data->group);
}

/* Labels are made as for sampled rows, so that groups of two tasks or of two passes stay apart. */
void data_set_add(const struct data_set *data, struct trainer_rollouts *r, const struct rollouts_plan *plan, size_t first_row)
{
    r->n = first_row;
    for (size_t q = 0; q < plan->questions; q++) {
        size_t begin = data->needs ? data->group[(plan->first + q) % data->n_groups] : (plan->first + q) * plan->group_size;
        for (size_t i = 0; i < plan->group_size; i++) {
            size_t to = r->n, row = (begin + i) % data->rows->n;
            rollouts_add_continued(r, plan->env, data->rows, row, (size_t)data->rows->length[row], 0);
            for (size_t t = 0; data->needs & DATA_ADVANTAGES && t < r->width; t++)
                r->rewards[to * r->width + t] = data->rows->rewards[row * r->width + t];
            r->task[to] = plan->task;
            r->number[to] = (int32_t)q;
            r->group[to] = (int64_t)plan->task << 32 | (int64_t)q;
        }
    }
}
