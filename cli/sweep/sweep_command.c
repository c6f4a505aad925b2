/* sweep_command.c: see sweep_command.h. */
#include "sweep/sweep_command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRACE_SECONDS = 10 };

static const char **texts_of(const json_t *list, size_t *n)
{
    const char **texts = calloc(json_array_size(list) + 1, sizeof *texts);
    for (*n = 0; texts && *n < json_array_size(list); ++*n)
        texts[*n] = json_string_value(json_array_get(list, *n));
    return texts;
}

/* A text is a line for the shell. */
static const char **words_of(const json_t *command)
{
    size_t n;
    const char **words = json_is_array(command) ? texts_of(command, &n) : calloc(4, sizeof *words);
    if (words && json_is_string(command)) {
        words[0] = "sh";
        words[1] = "-c";
        words[2] = json_string_value(command);
    }
    return words;
}

static char **environment_of(const json_t *object, const char *const *more)
{
    const char *name;
    json_t *value;
    size_t n = json_object_size(object), used = 0;
    while (more && more[n - json_object_size(object)])
        n++;
    char **environment = calloc(n + 1, sizeof *environment);
    if (!environment)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t size = strlen(name) + json_string_length(value) + 2;
        if ((environment[used] = malloc(size)))
            snprintf(environment[used++], size, "%s=%s", name, json_string_value(value));
    }
    for (; more && *more; more++)
        if ((environment[used] = strdup(*more)))
            used++;
    return environment;
}

static struct command_artifact *artifacts_of(const json_t *object)
{
    const char *glob;
    json_t *bytes;
    size_t n = 0;
    struct command_artifact *artifacts = calloc(json_object_size(object) + 1, sizeof *artifacts);
    json_object_foreach((json_t *)(uintptr_t)object, glob, bytes)
        if (artifacts)
            artifacts[n++] = (struct command_artifact){glob, json_number_value(bytes)};
    return artifacts;
}

/* A seed among the parameters is the seed of the run. */
static size_t fill_params(struct lineage_param *params, const json_t *object)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) if (strcmp(name, "seed") != 0)
        params[n++] = (struct lineage_param){name, json_is_number(value) ? json_number_value(value) : (double)NAN,
                                             json_string_value(value)};
    return n;
}

static double amount_of(const json_t *spec, const char *key)
{
    return json_number_value(json_object_get(spec, key));
}

static const char *text_of(const json_t *spec, const char *key)
{
    return json_string_value(json_object_get(spec, key));
}

bool night_command_fill(struct night_command *command, const json_t *spec, const char *const *environment)
{
    size_t n;
    *command = (struct night_command){.argv = words_of(json_object_get(spec, "command")),
                                      .metrics = texts_of(json_object_get(spec, "metrics"), &n),
                                      .environment = environment_of(json_object_get(spec, "environment"), environment),
                                      .artifacts = artifacts_of(json_object_get(spec, "artifacts"))};
    command->trial = (struct command_trial){.argv = command->argv,
                                            .metrics = command->metrics,
                                            .n_metrics = n,
                                            .eval = text_of(spec, "eval"),
                                            .preflight = text_of(spec, "preflight"),
                                            .score = text_of(spec, "score"),
                                            .environment = (const char *const *)command->environment,
                                            .artifacts = command->artifacts,
                                            .n_artifacts = json_object_size(json_object_get(spec, "artifacts")),
                                            .train_seconds = amount_of(spec, "train_seconds"),
                                            .eval_seconds = amount_of(spec, "eval_seconds"),
                                            .silence_seconds = amount_of(spec, "silence_seconds"),
                                            .memory_bytes = amount_of(spec, "memory_bytes"),
                                            .grace_seconds = json_object_get(spec, "grace_seconds")
                                                                 ? amount_of(spec, "grace_seconds")
                                                                 : GRACE_SECONDS,
                                            .stop_on_nan = json_is_true(json_object_get(spec, "stop_on_nan")),
                                            .seeds = (size_t)amount_of(spec, "seeds"),
                                            .has_seed = json_object_get(spec, "seed") != NULL,
                                            .first_seed = (uint64_t)amount_of(spec, "seed"),
                                            .specialist = text_of(spec, "name"),
                                            .domain = text_of(spec, "domain"),
                                            .hypothesis = text_of(spec, "hypothesis"),
                                            .expected_delta = text_of(spec, "expected_delta")};
    command->protect = texts_of(json_object_get(spec, "protect"), &n);
    command->trial.protect = command->protect;
    const json_t *seed = json_object_get(json_object_get(spec, "params"), "seed");
    if (json_is_number(seed)) {
        command->trial.has_seed = true;
        command->trial.first_seed = (uint64_t)json_number_value(seed);
    }
    command->trial.n_params = fill_params(command->params, json_object_get(spec, "params"));
    command->trial.params = command->params;
    return command->argv && command->metrics && command->environment && command->artifacts && command->protect;
}

void night_command_release(struct night_command *command)
{
    for (char **one = command->environment; one && *one; one++)
        free(*one);
    free((void *)command->environment);
    free((void *)command->argv);
    free((void *)command->metrics);
    free((void *)command->protect);
    free(command->artifacts);
}
