#include "sweep/night_sweep.h"

#include <sys/stat.h>
#include <xxhash.h>

#include "run/command_trial.h"
#include "run/run_parts.h"

/* A trial that overwrites its evaluator is disqualified, and so the next trial would begin with the evaluator that it left.
 * Therefore the night compares the files with those of its start before each trial. */

bool protected_names_has(const json_t *protect, const char *name)
{
    char plain[PATH_MAX], one[PATH_MAX];
    if (!protected_name(plain, sizeof plain, name))
        return true; /* no file has such a name */
    for (size_t i = 0; i < json_array_size(protect); i++)
        if (protected_name(one, sizeof one, json_string_value(json_array_get(protect, i))) && strcmp(one, plain) == 0)
            return true;
    return false;
}

static bool path_of(char out[PATH_MAX], const struct night_sweep *sweep, const char *name)
{
    return snprintf(out, PATH_MAX, "%s/%s", sweep->directory, name) < PATH_MAX;
}

static bool is_same_file(const struct night_sweep *sweep, const char *protected, const char *name)
{
    char path[PATH_MAX];
    struct stat a, b;
    return path_of(path, sweep, name) && stat(protected, &a) == 0 && stat(path, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

static bool add_to(json_t *protect, const struct night_sweep *sweep)
{
    const json_t *files = json_object_get(sweep->root, "files");
    size_t n = json_array_size(protect);
    bool good = true;
    for (size_t f = 0; good && f < json_array_size(files); f++) {
        char plain[PATH_MAX];
        const char *name = json_string_value(json_array_get(files, f));
        bool named = protected_names_has(protect, name);
        for (size_t i = 0; !named && i < n; i++)
            named = is_same_file(sweep, json_string_value(json_array_get(protect, i)), name);
        if (named && protected_name(plain, sizeof plain, name))
            good = json_array_append_new(protect, json_string(plain)) == 0;
    }
    return good;
}

bool protected_names_add(struct night_sweep *sweep)
{
    size_t i;
    json_t *trial, *protect = json_object_get(sweep->root, "protect");
    bool good = !protect || add_to(protect, sweep);
    json_array_foreach(json_object_get(sweep->root, "trials"), i, trial) {
        protect = json_object_get(trial, "protect");
        good = good && (!json_is_array(protect) || add_to(protect, sweep));
    }
    return good;
}

static uint64_t add_digest(uint64_t sum, const struct protected_digest *digest)
{
    const uint64_t values[] = {digest->low, digest->high, (uint64_t)digest->size};
    return XXH64(values, sizeof values, sum);
}

/* Returns false, with errno set, if no file of this name can be read. */
static bool add_file(uint64_t *sum, const struct night_sweep *sweep, const char *name)
{
    char path[PATH_MAX];
    struct protected_digest digest;
    bool outside = protected_file_digest(&digest, name);
    int error = errno;
    if (outside)
        *sum = add_digest(*sum, &digest);
    if (!protected_names_has(json_object_get(sweep->root, "files"), name))
        return errno = error, outside;
    if (!path_of(path, sweep, name) || !protected_file_digest(&digest, path))
        return false;
    *sum = add_digest(*sum, &digest);
    return true;
}

/* Returns NULL, or the name of a file that cannot be read, with errno set. */
static const char *add_list(uint64_t *sum, const struct night_sweep *sweep, const json_t *protect)
{
    for (size_t i = 0; i < json_array_size(protect); i++)
        if (!add_file(sum, sweep, json_string_value(json_array_get(protect, i))))
            return json_string_value(json_array_get(protect, i));
    return NULL;
}

static const char *digest_all(uint64_t *sum, const struct night_sweep *sweep)
{
    size_t i;
    json_t *trial;
    *sum = 0;
    const char *missing = add_list(sum, sweep, json_object_get(sweep->root, "protect"));
    json_array_foreach(json_object_get(sweep->root, "trials"), i, trial)
        missing = missing ? missing : add_list(sum, sweep, json_object_get(trial, "protect"));
    return missing;
}

static const char *reason(int error)
{
    return error == EINVAL ? "it is not a regular file" : strerror(error);
}

int protected_names_check(struct night_sweep *sweep)
{
    const char *missing = sweep->of_commands ? digest_all(&sweep->protected_digest, sweep) : NULL;
    if (!missing)
        return CLI_GO_ON;
    return cli_error(CLI_USAGE, "%s: protect: %s: %s", sweep->file, missing, reason(errno));
}

bool protected_names_same(const struct night_sweep *sweep, char why[NIGHT_WHY_MAX])
{
    uint64_t now;
    const char *missing = digest_all(&now, sweep);
    if (missing)
        snprintf(why, NIGHT_WHY_MAX, "the protected file %.300s: %s", missing, reason(errno));
    else if (now != sweep->protected_digest)
        snprintf(why, NIGHT_WHY_MAX, "a protected file has changed since the night began");
    return !missing && now == sweep->protected_digest;
}

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
