/* command_record.c: see command_record.h. */
#include "run/command_record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const json_t *run, const char *key)
{
    return json_number_value(json_object_get(run, key));
}

static const char *text_of(const json_t *run, const char *key)
{
    return json_string_value(json_object_get(run, key));
}

/* Takes the text over. */
static const char *own(struct command_record *r, char *text)
{
    char **grown = text ? realloc((void *)r->owned, (r->n_owned + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(text);
        return NULL;
    }
    r->owned = grown;
    return r->owned[r->n_owned++] = text;
}

static const char *join(struct command_record *r, const char *a, const char *between, const char *b)
{
    size_t n = strlen(a) + strlen(between) + strlen(b) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s%s", a, between, b);
    return own(r, text);
}

/* The texts of a list, ended by NULL; relative ones below dir, if that is not NULL. */
static const char **read_list(struct command_record *r, const json_t *list, const char *dir)
{
    const char **out = calloc(json_array_size(list) + 1, sizeof *out);
    size_t n = 0;
    for (size_t i = 0; out && i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text)
            out[n++] = dir && text[0] != '/' ? join(r, dir, "/", text) : text;
    }
    return out;
}

static const char **read_environment(struct command_record *r, const json_t *object)
{
    const char **out = calloc(json_object_size(object) + 1, sizeof *out), *name;
    size_t n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const char *text = json_is_string(value) ? json_string_value(value) : getenv(name);
        if (out && text)
            out[n++] = join(r, name, "=", text);
    }
    return out;
}

static const char **read_names(const json_t *object)
{
    const char **out = calloc(json_object_size(object) + 1, sizeof *out), *name;
    size_t n = 0;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (out)
            out[n++] = name;
    return out;
}

static bool read_params(struct command_record *r, const json_t *object)
{
    const char *name;
    json_t *value;
    r->params = calloc(json_object_size(object) + 1, sizeof *r->params);
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (r->params)
            r->params[r->trial.n_params++] = (struct lineage_param){
                name, json_is_number(value) ? json_number_value(value) : (double)NAN, json_string_value(value)};
    r->trial.params = r->params;
    return r->params;
}

/* A pattern with {workdir} is absolute once that is put in. */
static bool read_artifacts(struct command_record *r, const json_t *list, const char *dir)
{
    r->artifacts = calloc(json_array_size(list) + 1, sizeof *r->artifacts);
    for (size_t i = 0; r->artifacts && i < json_array_size(list); i++) {
        const char *glob = text_of(json_array_get(list, i), "glob");
        if (!glob)
            continue;
        r->artifacts[r->trial.n_artifacts++] =
            (struct command_artifact){glob[0] == '/' || glob[0] == '{' ? glob : join(r, dir, "/", glob),
                                      number_of(json_array_get(list, i), "max_bytes")};
    }
    r->trial.artifacts = r->artifacts;
    return r->artifacts;
}

static void read_limits(struct command_trial *t, const json_t *run)
{
    t->eval = text_of(run, "eval");
    t->preflight = text_of(run, "preflight");
    t->score = text_of(run, "score");
    t->train_seconds = number_of(run, "train_seconds");
    t->eval_seconds = number_of(run, "eval_seconds");
    t->silence_seconds = number_of(run, "silence_seconds");
    t->memory_bytes = number_of(run, "memory_bytes_limit");
    t->grace_seconds = number_of(run, "grace_seconds");
    t->seeds = (size_t)fmax(0, number_of(run, "seeds"));
    t->has_seed = json_is_integer(json_object_get(run, "first_seed"));
    t->first_seed = t->has_seed ? (uint64_t)json_integer_value(json_object_get(run, "first_seed")) : 1;
    t->stop_on_nan = json_is_true(json_object_get(run, "stop_on_nan"));
}

bool command_record_read(struct command_record *r, const json_t *run, const char *dir)
{
    struct command_trial *t = &r->trial;
    *r = (struct command_record){0};
    if (!json_is_string(json_array_get(json_object_get(run, "command"), 0)))
        return cli_error(CLI_USAGE, "its run.json has no command"), false;
    read_limits(t, run);
    r->lists[0] = read_list(r, json_object_get(run, "command"), NULL);
    r->lists[1] = read_list(r, json_object_get(run, "metrics"), NULL);
    r->lists[2] = read_list(r, json_object_get(run, "protect"), dir);
    r->lists[3] = read_names(json_object_get(run, "versions"));
    r->lists[4] = read_environment(r, json_object_get(run, "env"));
    bool ok = read_params(r, json_object_get(run, "params")) && read_artifacts(r, json_object_get(run, "artifacts"), dir);
    for (size_t i = 0; i < 5; i++)
        ok = ok && r->lists[i];
    if (!ok)
        return cli_no_memory(), false;
    t->argv = r->lists[0];
    t->metrics = r->lists[1];
    while (t->metrics[t->n_metrics])
        t->n_metrics++;
    t->protect = r->lists[2];
    t->version_of = r->lists[3];
    t->environment = r->lists[4];
    t->dir = dir;
    return true;
}

void command_record_release(struct command_record *r)
{
    for (size_t i = 0; i < 5; i++)
        free((void *)r->lists[i]);
    for (size_t i = 0; i < r->n_owned; i++)
        free(r->owned[i]);
    free((void *)r->owned);
    free(r->params);
    free(r->artifacts);
    *r = (struct command_record){0};
}
