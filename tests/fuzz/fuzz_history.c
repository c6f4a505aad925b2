/*
 * fuzz_history.c: reads arbitrary bytes as what another tool has recorded, and makes rows of it, as `import` does. The first byte
 * says as which file. Every run must have what the rows need, and each row a name and a text that the store accepts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "histories/history_rows.h"
#include "histories/readers.h"
#include "support/files.h"

#include <lineage/notes.h>

/* Where the bytes are put in the directory, and what `import` is given; "" is the directory itself. */
static const struct {
    const char *dir, *file, *given;
} places[] = {{"", "runs.json", "runs.json"},
              {"", "table.csv", "table.csv"},
              {"", "study.db", "study.db"},
              {"events", "events.out.tfevents.1.host", ""},
              {"0", "meta.yaml", ""},
              {"0/run/metrics", "loss", ""},
              {"0/run", "meta.yaml", ""},
              {"", "run-a.wandb", "run-a.wandb"},
              {"trial", "result.json", ""},
              {"programs", "a.json", ""},
              {"1", "run.json", ""},
              {"trial_0", "trial.json", ""},
              {"p/version_0", "hparams.yaml", ""},
              {"p/version_0", "metrics.csv", ""}};
enum { WANDB = 7, RAY, SACRED = 10, LIGHTNING_SETTINGS = 12, LIGHTNING_METRICS };

static void put(const char *dir, const char *below, const char *file, const void *data, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, below);
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s%s%s", dir, below, *below ? "/" : "", file);
    write_file(path, data, size);
}

static void check_rows(const json_t *history)
{
    const struct history_mapping mapping = {.metric = "loss", .take = "min"};
    struct history_rows rows;
    char why[HISTORY_WHY_MAX] = "";
    const bool made = history_rows_make(&rows, history, &mapping, why);
    fuzz_assert(made ? rows.n + rows.n_running + rows.n_groups == json_array_size(json_object_get(history, "runs"))
                     : why[0] && !rows.n);
    for (size_t i = 0; i < rows.n; i++) {
        const struct lineage_trial *trial = &rows.trials[i];
        fuzz_assert(trial->hypothesis && trial->job_name && trial->specialist);
        for (size_t k = 0; k < trial->n_params; k++)
            fuzz_assert(lineage_param_name_ok(trial->params[k].name) &&
                        (!trial->params[k].text || lineage_param_text_ok(trial->params[k].text)));
        free(history_telemetry(&rows, i));
    }
    history_rows_release(&rows);
}

/* Makes the checksums of a run log of W&B right, so that what they guard is read. */
static void mend_checksums(uint8_t *data, size_t size)
{
    for (size_t at = 7; at + 7 <= size;) {
        const size_t n = (size_t)little_endian(data + at + 4, 2);
        if (32768 - at % 32768 < 7 || at + 7 + n > size)
            return;
        const uint32_t crc = crc32_of(0, 0xedb88320u, data + at + 6, n + 1);
        for (int i = 0; i < 4; i++)
            data[at + (size_t)i] = (uint8_t)(crc >> 8 * i);
        at += 7 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char experiment[] = "name: x\nlifecycle_stage: active\n", run[] = "run_id: r\nstatus: 3\nstart_time: 1\n";
    char *dir = make_dir(), path[512], why[HISTORY_WHY_MAX] = "";
    const size_t place = size ? data[0] % (sizeof places / sizeof *places) : 0;
    const struct history_options options = {.tool = NULL};
    if (place > 4)
        put(dir, "0", "meta.yaml", experiment, sizeof experiment - 1);
    if (place == 4 || place == 5)
        put(dir, "0/run", "meta.yaml", run, sizeof run - 1);
    if (place == RAY)
        put(dir, "trial", "params.json", "{\"lr\": 1}", 9);
    if (place == SACRED)
        put(dir, "1", "config.json", "{\"lr\": 1}", 9);
    if (place == LIGHTNING_SETTINGS)
        put(dir, "p/version_0", "metrics.csv", "step,loss\n0,1\n", 14);
    if (place == LIGHTNING_METRICS)
        put(dir, "p/version_0", "hparams.yaml", "lr: 1\n", 6);
    uint8_t *bytes = malloc(size + 1);
    memcpy(bytes, data + (size > 0), size - (size > 0));
    if (place == WANDB)
        mend_checksums(bytes, size - (size > 0));
    put(dir, places[place].dir, places[place].file, bytes, size - (size > 0));
    free(bytes);
    snprintf(path, sizeof path, "%s/%s", dir, places[place].given);
    json_t *history = history_read(path, &options, why);
    fuzz_assert(history || why[0]);
    if (history)
        check_rows(history);
    json_decref(history);
    remove_dir(dir);
    return 0;
}
