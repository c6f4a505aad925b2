/*
 * submit_kubernetes.c: workers as the pods of a Job of Kubernetes.
 *
 * Only fields of version 1.22 or older are used (API reference of Kubernetes, batch/v1), so that clusters that are kept for long
 * accept them. kubectl reads JSON as well as YAML.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "submit/schedulers.h"
#include "submit/worker_command.h"

#define MOUNT "/sweep"
#define SECRET "lineage-postgres"

/* A ConfigMap holds at most 1 MiB. A pod that is evicted has GRACE seconds to end its trial and to append its row. A worker that
 * fails or is evicted starts again, RETRIES times in all. */
enum { CONFIG_MAX = 1000000, GRACE = 120, RETRIES = 100, MARGIN_SECONDS = 600 };

struct config {
    json_t *data;  /* {KEY: TEXT} */
    json_t *items; /* [{key, path}] */
    size_t bytes;
};

/* Keys of a ConfigMap cannot have a slash, so files have numbers, and `items` gives them their paths. */
static int add_file(struct config *config, const char *path, const char *text)
{
    char key[32];
    snprintf(key, sizeof key, "file-%zu", json_array_size(config->items));
    config->bytes += strlen(path) + strlen(text);
    if (path[0] == '/' || strstr(path, ".."))
        return cli_error(CLI_USAGE,
                         "--submit kubernetes: %s is not below the directory of the sweep; put it into the image, and "
                         "the sweep's path into the ConfigMap by hand (--print)",
                         path);
    if (config->bytes > CONFIG_MAX)
        return cli_error(CLI_USAGE, "--submit kubernetes: the files of the sweep are larger than 1 MB; put them into the image");
    if (json_object_set_new(config->data, key, json_string(text)) == 0 &&
        json_array_append_new(config->items, json_pack("{s:s, s:s}", "key", key, "path", path)) == 0)
        return CLI_GO_ON;
    return cli_error(CLI_USAGE, "--submit kubernetes: %s is not UTF-8 text, or memory ran out", path);
}

/* Adds a file that the sweep names, relative to its directory. */
static int add_named(struct config *config, const struct night_sweep *sweep, const char *name)
{
    char path[NIGHT_PATH_MAX];
    size_t length;
    int n = snprintf(path, sizeof path, "%s/%s", sweep->directory, name);
    char *text = n > 0 && (size_t)n < sizeof path ? cli_read_all(path, &length) : NULL;
    if (!text)
        return CLI_USAGE;
    int status = strlen(text) == length
                     ? add_file(config, name, text)
                     : cli_error(CLI_USAGE, "--submit kubernetes: %s is not a text; put it into the image", path);
    free(text);
    return status;
}

/* The sweep itself, the files of its trials, and the recipe. */
static int add_files(struct config *config, const struct night_sweep *sweep)
{
    const char *recipe = json_string_value(json_object_get(sweep->root, "recipe"));
    char *text = json_dumps(sweep->root, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    size_t i;
    json_t *name;
    int status = text ? add_file(config, "sweep.json", text) : cli_no_memory();
    free(text);
    if (status == CLI_GO_ON && recipe)
        status = add_named(config, sweep, recipe);
    json_array_foreach(json_object_get(sweep->root, "files"), i, name)
        if (status == CLI_GO_ON && json_is_string(name))
            status = add_named(config, sweep, json_string_value(name));
    return status;
}

static json_t *pod(const struct submission *s, const char *name, const struct config *config)
{
    char hours[32];
    snprintf(hours, sizeof hours, "%.10g", s->hours);
    json_t *worker =
        json_pack("{s:s, s:s, s:o, s:[{s:{s:s, s:b}}], s:[{s:s, s:s, s:b}]}", "name", "worker", "image", s->image, "command",
                  worker_command_json(s, MOUNT "/sweep.json", isfinite(s->hours) ? hours : NULL), "envFrom", "secretRef", "name",
                  SECRET, "optional", true, "volumeMounts", "name", "sweep", "mountPath", MOUNT, "readOnly", true);
    if (s->gpus)
        json_object_set_new(worker, "resources",
                            json_pack("{s:{s:o}}", "limits", "nvidia.com/gpu", json_sprintf("%zu", s->gpus)));
    return json_pack("{s:{s:{s:s}}, s:{s:s, s:i, s:[o], s:[{s:s, s:{s:s, s:O}}]}}", "metadata", "labels", "lineage/night", name,
                     "spec", "restartPolicy", "OnFailure", "terminationGracePeriodSeconds", GRACE, "containers", worker,
                     "volumes", "name", "sweep", "configMap", "name", name, "items", config->items);
}

static json_t *job(const struct submission *s, const char *name, const struct config *config)
{
    const json_int_t workers = s->workers ? (json_int_t)s->workers : 1;
    json_t *spec = json_pack("{s:s, s:I, s:I, s:i, s:o}", "completionMode", "Indexed", "completions", workers, "parallelism",
                             workers, "backoffLimit", RETRIES, "template", pod(s, name, config));
    if (isfinite(s->hours))
        json_object_set_new(spec, "activeDeadlineSeconds", json_integer((json_int_t)ceil(3600 * s->hours) + MARGIN_SECONDS));
    return json_pack("{s:s, s:s, s:{s:s, s:{s:s}}, s:o}", "apiVersion", "batch/v1", "kind", "Job", "metadata", "name", name,
                     "labels", "lineage/night", name, "spec", spec);
}

int submit_kubernetes_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX];
    struct config config = {json_object(), json_array(), 0};
    json_t *list = NULL;
    worker_name(name, s->sweep);
    int status = config.data && config.items ? add_files(&config, s->sweep) : cli_no_memory();
    if (status != CLI_GO_ON)
        goto done;
    list = json_pack("{s:s, s:s, s:[{s:s, s:s, s:{s:s, s:{s:s}}, s:O}, o]}", "apiVersion", "v1", "kind", "List", "items",
                     "apiVersion", "v1", "kind", "ConfigMap", "metadata", "name", name, "labels", "lineage/night", name, "data",
                     config.data, job(s, name, &config));
    if (!list || json_dumpf(list, out, JSON_INDENT(2)) != 0)
        status = cli_no_memory();
    else
        fputc('\n', out);
done:
    json_decref(list);
    json_decref(config.data);
    json_decref(config.items);
    return status;
}
