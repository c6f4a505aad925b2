/*
 * A trial that overwrites its evaluator is disqualified, and so the next trial would begin with the evaluator that it left.
 * Therefore the night compares the files with those of its start before each trial.
 */
#include "sweep/night_sweep.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "run/protected_files.h"

/* ---- names ---- */

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

/* ---- bytes ---- */

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
