/* unwritten_row.c: see unwritten_row.h. */
#include "trial/unwritten_row.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "unwritten-XXXXXX.json"

static void set_number(json_t *row, const char *key, const struct lineage_number *number)
{
    if (number->present)
        json_object_set_new(row, key, cli_json_number(number->value));
}

static json_t *turns_of(const struct lineage_trial *trial)
{
    json_t *turns = json_array();
    for (size_t i = 0; i < trial->n_turns; i++)
        json_array_append_new(turns, json_pack("{s:I, s:o, s:o, s:I}", "turn", (json_int_t)trial->turns[i].turn, "mean",
                                               cli_json_number(trial->turns[i].mean), "std", cli_json_number(trial->turns[i].std),
                                               "n", (json_int_t)trial->turns[i].count));
    return turns;
}

static json_t *make_row(const struct lineage_trial *trial, const struct lineage_append_options *options)
{
    const struct {
        const char *key, *text;
    } texts[] = {{"specialist", trial->specialist},
                 {"parent_exp", trial->parent_exp},
                 {"domain", trial->domain},
                 {"hypothesis", trial->hypothesis},
                 {"job_name", trial->job_name},
                 {"notes", trial->notes},
                 {"expected_delta", trial->expected_delta},
                 {"status", options->auto_status ? "auto" : lineage_label_name(trial->status)}};
    json_t *row = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text && *texts[i].text)
            json_object_set_new(row, texts[i].key, cli_json_text(texts[i].text));
    set_number(row, "core_metric", &trial->core_metric);
    set_number(row, "train_s", &trial->train_s);
    set_number(row, "total_s", &trial->total_s);
    set_number(row, "ig_clip_scale_mean", &trial->ig_clip_scale_mean);
    set_number(row, "ig_clip_scale_std", &trial->ig_clip_scale_std);
    if (trial->n_params)
        json_object_set_new(row, "params", cli_json_params(trial->params, trial->n_params));
    if (trial->n_turns)
        json_object_set_new(row, "turns", turns_of(trial));
    if (options->telemetry)
        json_object_set_new(row, "telemetry", json_loadb(options->telemetry, options->telemetry_length, 0, NULL));
    return row;
}

static bool save(char path[PATH_MAX], const char *dir, const json_t *row)
{
    int n = snprintf(path, PATH_MAX, "%s/" NAME, dir);
    int fd = n > 0 && n < PATH_MAX ? mkostemps(path, (int)strlen(".json"), O_CLOEXEC) : -1;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out)
        cli_json_print(out, row, true);
    else if (fd >= 0)
        close(fd);
    bool saved = out && fflush(out) == 0 && fsync(fd) == 0;
    if (out)
        saved = fclose(out) == 0 && saved;
    if (fd >= 0 && !saved)
        unlink(path);
    return saved;
}

void unwritten_row_save(const struct lineage_store *store, const struct lineage_trial *trial,
                        const struct lineage_append_options *options)
{
    const char *dir = lineage_store_dir(store), *elsewhere = getenv("TMPDIR");
    char path[PATH_MAX], said[2 * PATH_MAX + 128];
    json_t *row = make_row(trial, options);
    if (save(path, dir, row) || save(path, elsewhere && *elsewhere ? elsewhere : "/tmp", row)) {
        snprintf(said, sizeof said, "the row is kept in %s; once the log can be written: lineage append -C %s --json %s", path,
                 dir, path);
        cli_say(said);
    }
    json_decref(row);
}
