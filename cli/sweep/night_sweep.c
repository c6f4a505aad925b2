#include "sweep/night_sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/command_settings.h"

void night_sweep_release(struct night_sweep *sweep)
{
    if (sweep->recipes)
        sweep->release_recipes(sweep->recipes);
    free(sweep->list);
    json_decref(sweep->root);
    free(sweep->directory);
    free(sweep->require);
    *sweep = (struct night_sweep){.file = sweep->file, .trainer = sweep->trainer};
}

void night_trial_release(struct night_trial *trial)
{
    if (trial->own)
        trial->release_own(trial->own);
    json_decref(trial->command);
    json_decref(trial->cost);
    free(trial->own_name);
    free(trial->proposer);
    free(trial->again);
    free(trial->replicates);
    free(trial->own_parent);
    free(trial->x);
    free(trial->exp_id);
    free(trial->claim);
    *trial = (struct night_trial){0};
}

void night_trial_rekey(struct night_trial *trial)
{
    const char *again = trial->again ? trial->again : "";
    trial->key = XXH64(again, strlen(again), trial->key);
}

/* ---- command program ---- */

/* Files are at most this large (lineage/code.h); what is behind it does not count. */
enum { FILE_BYTES = 1 << 20 };

uint64_t command_files_digest(const struct night_sweep *sweep)
{
    uint64_t digest = 0;
    size_t i;
    json_t *name;
    char *bytes = malloc(FILE_BYTES);
    json_array_foreach(json_object_get(sweep->root, "files"), i, name) {
        char path[PATH_MAX];
        const char *text = json_string_value(name);
        bool fits = bytes && text && snprintf(path, sizeof path, "%s/%s", sweep->directory, text) < PATH_MAX;
        FILE *in = fits ? fopen(path, "re") : NULL;
        size_t n = in ? fread(bytes, 1, FILE_BYTES, in) : 0;
        if (in)
            fclose(in);
        digest = XXH64(bytes ? bytes : "", n, text ? XXH64(text, strlen(text), digest) : digest);
    }
    free(bytes);
    return digest;
}

const char *command_program(char out[COMMAND_PROGRAM_MAX], const struct night_sweep *sweep, const json_t *spec)
{
    const struct command_setting *setting;
    json_t *result = json_object();
    for (size_t i = 0; (setting = command_setting_at(i)); i++)
        if (setting->key && setting->decides_result && setting->kind != SETTING_PARAMS && setting->kind != SETTING_SEED &&
            setting->kind != SETTING_COUNT)
            json_object_set(result, setting->key, json_object_get(spec ? spec : sweep->root, setting->key));
    char *text = json_dumps(result, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(result);
    snprintf(out, COMMAND_PROGRAM_MAX, "%016" PRIx64,
             (uint64_t)XXH64(text ? text : "", text ? strlen(text) : 0, sweep->files_digest));
    free(text);
    return out;
}
