/*
 * cmd_run_trial.c: `lineage run-trial`, the child process of a trial. It trains, writes events to a descriptor
 * (recipe_request.h), and dies with the command that started it.
 *
 * It is a separate process because what it runs may crash, be killed for its memory, or hang in a library; the command
 * that started it survives and writes the row. Users are not meant to call it; if they do, events go to standard
 * output.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rlcore/algorithm.h>

#include "judge/judge.h"
#include "judge/trajectory.h"
#include "recipe/address_space.h"
#include "recipe/recipe_request.h"
#include "recipe/recipe_teacher.h"
#include "recipe/rollout_print.h"

/* ---- rollout stream ---- */

/*
 * Writes the token streams of a run to a file, one rollout per line (schema/rollout.schema.json). Such a file can be a data
 * set (`data.file` of an environment). Numbers have nine digits, from which a float is read back exactly. Seeds are texts,
 * because JSON's numbers are doubles in many programs, which have 53 bits.
 */

struct rollout_stream {
    const struct trainer_recipe *recipe;
    char path[1024];
    int fd;
};

static enum trainer_status rollout_stream_fail(struct trainer_error *err, const char *path, const char *why)
{
    err->status = TRAINER_EIO;
    snprintf(err->text, sizeof err->text, "%.300s: %s", path, why);
    return TRAINER_EIO;
}

/*
 * Opens the file for appending if `again` is set, because a resumed run continues it; otherwise the file must not exist
 * yet. Returns NULL with the reason in err.
 */
static struct rollout_stream *rollout_stream_open(const char *path, bool again, const struct trainer_recipe *recipe,
                                                  struct trainer_error *err)
{
    struct rollout_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        rollout_stream_fail(err, path, "out of memory");
        return NULL;
    }
    stream->recipe = recipe;
    snprintf(stream->path, sizeof stream->path, "%s", path);
    stream->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (again ? 0 : O_EXCL), 0644);
    if (stream->fd >= 0)
        return stream;
    rollout_stream_fail(err, path, strerror(errno));
    free(stream);
    return NULL;
}

/* NULL is allowed. */
static void rollout_stream_close(struct rollout_stream *stream)
{
    if (stream)
        close(stream->fd);
    free(stream);
}

static void integers(FILE *out, const char *name, const int32_t *values, int32_t n)
{
    fprintf(out, ", \"%s\": [", name);
    for (int32_t i = 0; i < n; i++)
        fprintf(out, i ? ",%" PRId32 : "%" PRId32, values[i]);
    fputs("]", out);
}

static void floats(FILE *out, const char *name, const float *values, int32_t n)
{
    fprintf(out, ", \"%s\": [", name);
    for (int32_t i = 0; values && i < n; i++)
        fprintf(out, i ? ",%.9g" : "%.9g", (double)values[i]);
    fputs("]", out);
}

/* Prints one rollout as a line. */
static void rollout_stream_line(FILE *out, const struct trainer_recipe *recipe, int32_t iteration,
                                const struct trainer_rollout *r)
{
    const struct trainer_env *env = &recipe->tasks[r->task].env;
    fprintf(out,
            "{\"iteration\": %" PRId32 ", \"environment\": \"%s\", \"task\": %" PRId32 ", \"group\": %" PRId32
            ", \"question\": \"%016" PRIx64 "\", \"noise\": \"%016" PRIx64 "\", \"reward\": %.17g, \"malformed\": %s"
            ", \"truncated\": %s, \"temperature\": %.17g, \"prompt\": %" PRId32,
            iteration, trainer_env_name(env->kind), r->task, r->group, r->episode.question, r->episode.noise, r->reward,
            r->malformed ? "true" : "false", r->episode.truncated ? "true" : "false", recipe->training.temperature, r->prompt);
    /* The number of iterations after which the weights had this value. Rollouts of a file and of a frozen model have no such number. */
    if (!recipe->tasks[r->task].data[0] &&
        !(rl_algorithm_at(recipe->tasks[r->task].algorithm.name)->needs & RL_NEED_FROZEN_SOURCE))
        fprintf(out, ", \"weight_version\": %" PRId32, iteration - r->age);
    integers(out, "tokens", r->tokens, r->length);
    fputs(", \"mask\": [", out);
    for (int32_t i = 0; i < r->length; i++)
        fprintf(out, i ? ",%d" : "%d", r->mask[i]);
    fputs("]", out);
    integers(out, "turn", r->turn, r->length);
    floats(out, "log_prob", r->log_prob, r->length);
    floats(out, "advantage", r->advantage, r->length);
    floats(out, "rl", r->rl, r->length);
    floats(out, "ce", r->ce, r->length);
    floats(out, "ref_kl", r->ref_kl, r->length);
    fputs("}\n", out);
}

/* A trainer_rollouts_fn; context is the stream. Every iteration is one write, so that a killed run leaves whole lines. */
static enum trainer_status rollout_stream_write(void *context, int32_t iteration, const struct trainer_rollouts *rollouts,
                                                struct trainer_error *err)
{
    const struct rollout_stream *stream = context;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; out && i < trainer_rollouts_count(rollouts); i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        rollout_stream_line(out, stream->recipe, iteration, &r);
    }
    bool good = out && fclose(out) == 0;
    enum trainer_status status = TRAINER_OK;
    if (!good)
        status = rollout_stream_fail(err, stream->path, "out of memory");
    else if (!cli_write_all(stream->fd, text, length))
        status = rollout_stream_fail(err, stream->path, strerror(errno));
    free(text);
    return status;
}

/* ---- runs the judge that a recipe names as a callback of the trainer, which gets rollouts and sets flags ---- */

/* A rollout is sent as the trajectory that `lineage rollout --format jsonl` prints, so that a question asked by hand
 * and the same question of a trial share one answer in the cache. */

struct recipe_judge {
    struct judge *judge;
};

static enum trainer_status fail(struct trainer_error *err, enum trainer_status status, const char *why)
{
    err->status = status;
    snprintf(err->text, sizeof err->text, "%s", why);
    return status;
}

/* Opens the judge. cache is the file of earlier answers, used unless the recipe names another; NULL means no file. */
static enum trainer_status recipe_judge_open(struct recipe_judge **judge, const struct trainer_recipe *recipe, const char *cache,
                                             struct trainer_error *err)
{
    char why[JUDGE_WHY_MAX];
    const char *own = recipe->judge.cache;
    *judge = calloc(1, sizeof **judge);
    if (!*judge)
        return fail(err, TRAINER_ENOMEM, "out of memory");
    (*judge)->judge = judge_open(&recipe->judge, own[0] ? own : cache, recipe->seed, why);
    return (*judge)->judge ? TRAINER_OK : fail(err, TRAINER_EINVAL, why);
}

static void recipe_judge_close(struct recipe_judge *judge)
{
    if (judge)
        judge_close(judge->judge);
    free(judge);
}

/*
 * A judge needs one flag for each turn that the trainer counted, so a rollout with another number of steps is not
 * judged.
 */
static bool make_case(struct judge_case *about, const struct trainer_judge_batch *batch, size_t i)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
    json_t *trajectory = rollout_trajectory(batch->recipe, &r);
    *about = (struct judge_case){.trajectory = trajectory, .flags = batch->flags + batch->start[i], .mark = batch->mark[i]};
    return trajectory && trajectory_steps(trajectory) == batch->start[i + 1] - batch->start[i];
}

static void take_case(struct trainer_judge_batch *batch, size_t i, const struct judge_case *about)
{
    bool has_flags = about->mark == TRAINER_JUDGED || about->mark == TRAINER_JUDGE_CACHED;
    batch->mark[i] = about->mark;
    batch->prompt_tokens += about->prompt_tokens;
    batch->completion_tokens += about->completion_tokens;
    if (!has_flags && about->mark != TRAINER_JUDGE_SKIPPED && !batch->why[0])
        snprintf(batch->why, sizeof batch->why, "%s", about->why);
}

/* Implements trainer_judge_fn; context is the judge. */
static enum trainer_status recipe_judge_ask(void *context, struct trainer_judge_batch *batch, struct trainer_error *err)
{
    struct recipe_judge *judge = context;
    struct judge_case *cases = calloc(batch->n, sizeof *cases);
    bool good = cases != NULL;
    for (size_t i = 0; i < batch->n && good; i++)
        good = make_case(&cases[i], batch, i);
    good = good && judge_ask(judge->judge, cases, batch->n, NULL, NULL);
    for (size_t i = 0; i < batch->n && cases; i++) {
        if (good)
            take_case(batch, i, &cases[i]);
        json_decref((json_t *)(uintptr_t)cases[i].trajectory);
        json_decref(cases[i].analysis);
    }
    free(cases);
    return good
               ? TRAINER_OK
               : fail(err, TRAINER_ENOMEM, "the judge cannot be asked: out of memory, libcurl failed, or turns and steps differ");
}

/* What commands of the recipe answer: advantages (`algorithm.custom.command`), outcomes and weights (`algorithm.hooks`). In every
 * iteration a command gets the rollouts of its environment on standard input, one per line (schema/rollout.schema.json, with
 * advantages and weights if these are known), and prints one line for each, in the same order: {"advantage": X}, {"outcome": X} or
 * {"weights": X}, where X is a number, or, but for an outcome, a list with a number for each token.
 * Input and output are files in memory, so that neither this process nor the command can wait for the other with a full pipe.
 * The command runs in the trial's process group, so the limits of the trial end it too. */

enum { ANSWER_MAX = 1 << 30 };

static const struct {
    const char *setting, *key, *wrong;
} answers[] = {
    [TRAINER_ASKED_ADVANTAGES] =
        {"custom.command", "advantage",
         "not {\"advantage\": X} with a number within 3.4e38 of 0, or a list of them for the tokens of the rollout"},
    [TRAINER_ASKED_OUTCOMES] = {"hooks.score", "outcome", "not {\"outcome\": X} with a number within 3.4e38 of 0"},
    [TRAINER_ASKED_WEIGHTS] =
        {"hooks.weights", "weights",
         "not {\"weights\": W} with a number within 3.4e38 of 0, or a list of them for the tokens of the rollout"},
};

static const char *command_of(const struct trainer_credit_batch *batch)
{
    const struct trainer_algorithm *a = &batch->recipe->tasks[batch->task].algorithm;
    return batch->asked == TRAINER_ASKED_ADVANTAGES ? a->command
           : batch->asked == TRAINER_ASKED_OUTCOMES ? a->hooks.score
                                                    : a->hooks.weights;
}

static enum trainer_status no_answer(struct trainer_error *err, const struct trainer_credit_batch *batch, const char *why,
                                     size_t line)
{
    int used = snprintf(err->text, sizeof err->text, "algorithm.%s '%.200s': ", answers[batch->asked].setting, command_of(batch));
    err->status = TRAINER_EIO;
    if (line)
        used += snprintf(err->text + used, sizeof err->text - (size_t)used, "line %zu: ", line);
    snprintf(err->text + used, sizeof err->text - (size_t)used, "%s", why);
    return TRAINER_EIO;
}

static bool write_rollouts(int fd, const struct trainer_credit_batch *batch)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    for (size_t i = 0; out && i < batch->n; i++) {
        struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
        rollout_stream_line(out, batch->recipe, batch->iteration, &r);
    }
    bool good = out && fclose(out) == 0 && cli_write_all(fd, text, length) && lseek(fd, 0, SEEK_SET) == 0;
    free(text);
    return good;
}

/* The trial's own limit of memory does not count for the command, which is another program. */
static _Noreturn void become(const char *command, int input, int output)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_AS, &limit);
    }
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Returns NULL, or why the command failed. */
static const char *run_command(const char *command, int input, int output)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        become(command, input, output);
    if (pid < 0)
        return strerror(errno);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return strerror(errno);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "it failed";
}

static char *read_output(int fd, size_t *length)
{
    off_t end = lseek(fd, 0, SEEK_END);
    char *text = end >= 0 && end < ANSWER_MAX ? malloc((size_t)end + 1) : NULL;
    size_t got = 0;
    for (ssize_t n = 1; text && got < (size_t)end && n > 0; got += n > 0 ? (size_t)n : 0)
        n = pread(fd, text + got, (size_t)end - got, (off_t)got);
    if (text)
        text[got] = '\0';
    *length = got;
    return text;
}

/* A single weight leaves tokens of the tool alone that have none, so that 1 changes nothing and 0 drops the rollout. */
static void take_number(struct trainer_credit_batch *batch, size_t i, int32_t t, double number, bool one)
{
    size_t at = i * batch->width + (size_t)t;
    if (batch->asked == TRAINER_ASKED_OUTCOMES)
        batch->outcome[i] = number;
    else if (batch->asked == TRAINER_ASKED_ADVANTAGES)
        batch->advantage[at] = (float)number;
    else
        batch->weights[at] = one ? batch->weights[at] * (float)number : (float)number;
}

/* Returns NULL, or what is wrong with the line. */
static const char *take_line(struct trainer_credit_batch *batch, size_t i, const char *line, size_t length)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *given = json_object_get(object, answers[batch->asked].key);
    bool one = json_is_number(given), list = batch->asked != TRAINER_ASKED_OUTCOMES;
    bool good = json_object_size(object) == 1 && (one || (list && json_array_size(given) == (size_t)r.length));
    for (int32_t t = 0; good && t < r.length; t++) {
        const json_t *number = one ? given : json_array_get(given, (size_t)t);
        /* the core computes in single precision, in which a larger number is infinite */
        good = json_is_number(number) && isfinite((float)json_number_value(number));
        take_number(batch, i, t, json_number_value(number), one);
    }
    json_decref(object);
    return good ? NULL : answers[batch->asked].wrong;
}

static enum trainer_status take_lines(struct trainer_credit_batch *batch, const char *text, struct trainer_error *err)
{
    size_t i = 0;
    for (const char *at = text; *at; i++) {
        size_t n = strcspn(at, "\n");
        const char *why = i < batch->n ? take_line(batch, i, at, n) : "there are fewer rollouts";
        if (why)
            return no_answer(err, batch, why, i + 1);
        at += n + (at[n] == '\n');
    }
    return i == batch->n ? TRAINER_OK : no_answer(err, batch, "it printed fewer lines than it was given rollouts", 0);
}

/* A trainer_credit_fn; context is not used. */
static enum trainer_status recipe_command_ask(void *context, struct trainer_credit_batch *batch, struct trainer_error *err)
{
    const char *why = NULL;
    int input = memfd_create("rollouts", MFD_CLOEXEC), output = memfd_create("answers", MFD_CLOEXEC);
    char *text = NULL;
    size_t length = 0;
    (void)context;
    if (input < 0 || output < 0 || !write_rollouts(input, batch))
        why = "the rollouts cannot be written to memory";
    else
        why = run_command(command_of(batch), input, output);
    if (!why && (!(text = read_output(output, &length)) || strlen(text) != length))
        why = "its output is too long, or has a NUL byte";
    enum trainer_status status = why ? no_answer(err, batch, why, 0) : take_lines(batch, text, err);
    free(text);
    cli_close(input);
    cli_close(output);
    return status;
}

/* ---- `lineage run-trial`, the child process of a trial ---- */

struct child_options {
    char *checkpoint, *judge_cache, *teacher_cache, *state, *rollouts;
    int events, state_every;
    struct recipe_events wire;
};

/* Takes ownership of the message. Writes 17 digits, so that the row has exactly the score that was computed. While the
 * reader is busy, the pipe may be full; the write then waits, and so does the trial. */
static bool say(int fd, json_t *message)
{
    char *line = json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(17));
    bool said = line && cli_write_all(fd, line, strlen(line)) && cli_write_all(fd, "\n", 1);
    free(line);
    json_decref(message);
    return said;
}

static bool on_event(void *context, const struct trainer_event *event)
{
    struct child_options *o = context;
    return say(o->events, recipe_events_event(&o->wire, event));
}

/* Called before the memory limit is set and the trainer's clock starts, so that a missing library or key is reported at
 * once. */
static enum trainer_status open_judge(struct recipe_judge **judge, const struct trainer_recipe *recipe,
                                      const struct child_options *o, struct trainer_run_options *options,
                                      struct trainer_error *error)
{
    *judge = NULL;
    if (!recipe->judge.endpoint[0])
        return TRAINER_OK;
    enum trainer_status status = recipe_judge_open(judge, recipe, o->judge_cache, error);
    options->judge = recipe_judge_ask;
    options->judge_context = *judge;
    return status;
}

/* Sets the memory limit after the recipe is read and before anything large is allocated. Returns 1 on any error,
 * because the watcher reads the error event and not the exit status. */
static int train(const char *path, struct child_options *o)
{
    struct trainer_run_options options = {
        .checkpoint = o->checkpoint, .event = on_event, .context = o, .credit = recipe_command_ask};
    struct trainer_recipe recipe;
    struct trainer_error error;
    struct recipe_judge *judge = NULL;
    struct recipe_teacher *teacher = NULL;
    struct rollout_stream *stream = NULL;
    enum trainer_status status = trainer_recipe_load_recorded(&recipe, path, &error);
    if (status == TRAINER_OK)
        status = open_judge(&judge, &recipe, o, &options, &error);
    if (status == TRAINER_OK)
        status = recipe_teacher_open(&teacher, &recipe, o->teacher_cache, &error);
    options.teacher = recipe_teacher_ask;
    options.teacher_context = teacher;
    if (status == TRAINER_OK && o->rollouts) {
        stream = rollout_stream_open(o->rollouts, o->state != NULL, &recipe, &error);
        status = stream ? TRAINER_OK : error.status;
        options.rollouts = rollout_stream_write;
        options.rollouts_context = stream;
    }
    if (status == TRAINER_OK)
        status = address_space_suffices(&recipe, trainer_memory_bound(&recipe), &error);
    if (status == TRAINER_OK) {
        const struct trainer_process process = {.state = o->state, .state_every = o->state_every};
        address_space_limit(&recipe);
        status = trainer_run_process(&recipe, &options, &process, &error);
    }
    if (status != TRAINER_OK)
        say(o->events, recipe_events_failure(&error));
    recipe_judge_close(judge);
    recipe_teacher_close(teacher);
    rollout_stream_close(stream);
    return status == TRAINER_OK ? CLI_OK : CLI_NO;
}

/* If the reader of events is gone, on_event asks the run to stop. If the process that started this one is killed, this process is killed
 * too, because nobody would use its result. */
static int work(const struct cli_args *args, void *context)
{
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return train(args->positional[0], context);
}

static struct child_options chosen = {.events = STDOUT_FILENO};
static struct poptOption table[] = {
    CLI_OPTION("checkpoint", &chosen.checkpoint, "FILE", "file for the trained policy"),
    CLI_OPTION("judge-cache", &chosen.judge_cache, "FILE", "file of the judge's answers, unless the recipe names one"),
    CLI_OPTION("teacher-cache", &chosen.teacher_cache, "FILE", "file of the answers of teachers behind an endpoint"),
    CLI_OPTION("state", &chosen.state, "FILE", "file of the run's state: continue from it if it exists"),
    {"state-every", 0, POPT_ARG_INT, &chosen.state_every, 0, "save the state every N iterations", "N"},
    CLI_OPTION("rollouts", &chosen.rollouts, "FILE", "file for the token streams of all rollouts"),
    {"events", 0, POPT_ARG_INT, &chosen.events, 0, "descriptor for events (default: 1)", "FD"},
    POPT_TABLEEND};

const struct cli_command cmd_run_trial = {
    .name = "run-trial",
    .arguments = "RECIPE",
    .description = "Trains and writes one line of JSON per event. Records nothing; see `lineage train`.",
    .examples = "  lineage run-trial recipe.json --checkpoint policy.ckpt",
    CLI_ON_ARGS(table, 1, 1, work, &chosen),
};
