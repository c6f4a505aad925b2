/*
 * Numbers have nine digits, from which a float is read back exactly. Seeds are texts, because JSON's numbers are doubles in
 * many programs, which have 53 bits.
 */
#include "recipe/rollout_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

struct rollout_stream {
    const struct trainer_recipe *recipe;
    char path[1024];
    int fd;
};

static enum trainer_status fail(struct trainer_error *err, const char *path, const char *why)
{
    err->status = TRAINER_EIO;
    snprintf(err->text, sizeof err->text, "%.300s: %s", path, why);
    return TRAINER_EIO;
}

struct rollout_stream *rollout_stream_open(const char *path, bool again, const struct trainer_recipe *recipe,
                                           struct trainer_error *err)
{
    struct rollout_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        fail(err, path, "out of memory");
        return NULL;
    }
    stream->recipe = recipe;
    snprintf(stream->path, sizeof stream->path, "%s", path);
    stream->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (again ? 0 : O_EXCL), 0644);
    if (stream->fd >= 0)
        return stream;
    fail(err, path, strerror(errno));
    free(stream);
    return NULL;
}

void rollout_stream_close(struct rollout_stream *stream)
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

void rollout_stream_line(FILE *out, const struct trainer_recipe *recipe, int32_t iteration, const struct trainer_rollout *r)
{
    const struct trainer_env *env = &recipe->tasks[r->task].env;
    fprintf(out,
            "{\"iteration\": %" PRId32 ", \"environment\": \"%s\", \"task\": %" PRId32 ", \"group\": %" PRId32
            ", \"question\": \"%016" PRIx64 "\", \"noise\": \"%016" PRIx64 "\", \"reward\": %.17g, \"malformed\": %s"
            ", \"truncated\": %s, \"temperature\": %.17g, \"prompt\": %" PRId32,
            iteration, trainer_env_name(env->kind), r->task, r->group, r->episode.question, r->episode.noise, r->reward,
            r->malformed ? "true" : "false", r->episode.truncated ? "true" : "false", recipe->training.temperature, r->prompt);
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

enum trainer_status rollout_stream_write(void *context, int32_t iteration, const struct trainer_rollouts *rollouts,
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
        status = fail(err, stream->path, "out of memory");
    else if (!cli_write_all(stream->fd, text, length))
        status = fail(err, stream->path, strerror(errno));
    free(text);
    return status;
}
