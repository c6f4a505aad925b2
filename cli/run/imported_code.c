/* imported_code.c: see imported_code.h. */
#include "run/imported_code.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>

#include "git/repository.h"
#include "git/trial_ref.h"
#include "run/code_ref.h"

enum { ABBREVIATED = 7, WHOLE = 64 }; /* digits of a commit's name in such a log */

/* An id is a commit, perhaps with the prefix or the ending that makes it an id (lineage_import_log): g1234567, a1b2c3d-2. */
static bool read_commit(char commit[WHOLE + 1], const char *id)
{
    id += id[0] == 'g';
    size_t n = strspn(id, "0123456789abcdef");
    if (n < ABBREVIATED || n > WHOLE || (id[n] && id[n] != '-'))
        return false;
    memcpy(commit, id, n);
    commit[n] = '\0';
    return true;
}

/* The trial was not run here, so the command is not known. */
static bool write_run(const char *provenance, const char *exp_id, const struct repository *r, const char *commit)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", provenance, exp_id);
    if (n < 0 || (size_t)n >= sizeof path - 16 || (mkdir(provenance, 0700) != 0 && errno != EEXIST) || mkdir(path, 0700) != 0)
        return false;
    strcat(path, "/run.json");
    json_t *run = json_pack("{s:[], s:s, s:{}, s:{s:s, s:s, s:s}}", "command", "directory", r->top, "params", "git", "commit",
                            commit, "top", r->top, "code", commit);
    FILE *out = cli_private_file(path);
    if (out)
        cli_json_print(out, run, true);
    json_decref(run);
    return out && fclose(out) == 0;
}

static bool keep(struct lineage_store *store, const char *provenance, const char *exp_id, const struct repository *r)
{
    char name[WHOLE + 1], commit[REPOSITORY_COMMIT_MAX];
    if (strchr(exp_id, '/') || !read_commit(name, exp_id) || !repository_commit(commit, r, name) ||
        strncmp(commit, name, strlen(name)) != 0 || !write_run(provenance, exp_id, r, commit))
        return false;
    if (repository_flag(r, "lineage.refs", true))
        code_ref_add(store, exp_id);
    return true;
}

size_t imported_code_keep(struct lineage_store *store, const char *dir)
{
    const struct lineage_query every = {0};
    struct repository *r = calloc(1, sizeof *r);
    struct lineage_cursor *cursor = NULL;
    struct lineage_error err;
    char *provenance = NULL;
    size_t n = 0;
    if (r && repository_find(r, dir) && lineage_store_path(&provenance, store, LINEAGE_PLACE_PROVENANCE, &err) == LINEAGE_OK &&
        lineage_query_open(&cursor, store, &every, &err) == LINEAGE_OK) {
        struct lineage_trial trial = {0};
        for (; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; lineage_trial_release(&trial))
            n += keep(store, provenance, trial.exp_id, r);
        lineage_cursor_close(cursor);
    }
    lineage_free(provenance);
    free(r);
    return n;
}
