/*
 * recipe_advantages.c: see recipe_advantages.h.
 *
 * Input and output are files in memory, so that neither this process nor the command can wait for the other with a full pipe.
 * The command runs in the trial's process group, so the limits of the trial end it too.
 */
#define _GNU_SOURCE
#include "recipe/recipe_advantages.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "cli.h"
#include "recipe/rollout_stream.h"

enum { ANSWER_MAX = 1 << 30 };

static enum trainer_status fail(struct trainer_error *err, const char *command, const char *why, size_t line)
{
    err->status = TRAINER_EIO;
    if (line)
        snprintf(err->text, sizeof err->text, "algorithm.custom.command '%.200s': line %zu: %s", command, line, why);
    else
        snprintf(err->text, sizeof err->text, "algorithm.custom.command '%.200s': %s", command, why);
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

/* Returns NULL, or what is wrong with the line. */
static const char *take_line(struct trainer_credit_batch *batch, size_t i, const char *line, size_t length)
{
    struct trainer_rollout r = trainer_rollouts_get(batch->rollouts, batch->first + i);
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *given = json_object_get(object, "advantage");
    bool one = json_is_number(given), good = one || json_array_size(given) == (size_t)r.length;
    for (int32_t t = 0; good && t < r.length; t++) {
        const json_t *number = one ? given : json_array_get(given, (size_t)t);
        float value = (float)json_number_value(number);
        good = json_is_number(number) && isfinite(value);
        batch->advantage[i * batch->width + (size_t)t] = value;
    }
    json_decref(object);
    return good ? NULL : "not {\"advantage\": X} with a finite number, or a list of them for the tokens of the rollout";
}

static enum trainer_status take_lines(struct trainer_credit_batch *batch, const char *command, const char *text,
                                      struct trainer_error *err)
{
    size_t i = 0;
    for (const char *at = text; *at; i++) {
        size_t n = strcspn(at, "\n");
        const char *why = i < batch->n ? take_line(batch, i, at, n) : "there are fewer rollouts";
        if (why)
            return fail(err, command, why, i + 1);
        at += n + (at[n] == '\n');
    }
    return i == batch->n ? TRAINER_OK : fail(err, command, "it printed fewer lines than it was given rollouts", 0);
}

enum trainer_status recipe_advantages_ask(void *context, struct trainer_credit_batch *batch, struct trainer_error *err)
{
    const char *command = batch->recipe->tasks[batch->task].algorithm.command, *why = NULL;
    int input = memfd_create("rollouts", MFD_CLOEXEC), output = memfd_create("advantages", MFD_CLOEXEC);
    char *text = NULL;
    size_t length = 0;
    (void)context;
    if (input < 0 || output < 0 || !write_rollouts(input, batch))
        why = "the rollouts cannot be written to memory";
    else
        why = run_command(command, input, output);
    if (!why && (!(text = read_output(output, &length)) || strlen(text) != length))
        why = "its output is too long, or has a NUL byte";
    enum trainer_status status = why ? fail(err, command, why, 0) : take_lines(batch, command, text, err);
    free(text);
    if (input >= 0)
        close(input);
    if (output >= 0)
        close(output);
    return status;
}
