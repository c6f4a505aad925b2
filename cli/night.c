/* night.c: which trials of a sweep were run, which files they leave to each other. */
#include "night.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static int make_room(struct night *night)
{
    night->n = trainer_sweep_count(night->sweep);
    night->exp_id = calloc(night->n, sizeof *night->exp_id);
    night->label = calloc(night->n, sizeof *night->label);
    return night->exp_id && night->label ? CLI_GO_ON : cli_error(CLI_SYSTEM, "out of memory");
}

int night_open(struct night *night, struct lineage_store *store, const char *sweep)
{
    struct trainer_error err;
    night->store = store;
    night->lock = -1;
    int n = snprintf(night->dir, sizeof night->dir, "%s/checkpoints", lineage_store_dir(store));
    if ((size_t)n >= sizeof night->dir)
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (trainer_sweep_load(&night->sweep, sweep, &err) != TRAINER_OK)
        return cli_error(CLI_USAGE, "%s", err.text);
    return make_room(night);
}

int night_lock(struct night *night)
{
    mkdir(night->dir, 0777);
    night->lock = open(night->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (night->lock < 0)
        return cli_error(CLI_SYSTEM, "cannot open %s: %s", night->dir, strerror(errno));
    if (flock(night->lock, LOCK_EX | LOCK_NB) == 0)
        return CLI_GO_ON;
    return cli_error(CLI_SYSTEM, "another night runs in %s", lineage_store_dir(night->store));
}

void night_close(struct night *night)
{
    for (size_t i = 0; night->exp_id && i < night->n; i++)
        free(night->exp_id[i]);
    free((void *)night->exp_id);
    free(night->label);
    trainer_sweep_free(night->sweep);
    if (night->lock >= 0)
        close(night->lock);
}

/* ---- rows ---- */

const char *night_remark(char out[NIGHT_REMARK_MAX], const struct night *night, size_t i)
{
    const struct trainer_trial *trial = trainer_sweep_trial(night->sweep, i);
    snprintf(out, NIGHT_REMARK_MAX, "night %.64s, trial %s, key %016" PRIx64,
             trainer_sweep_name(night->sweep), trial->name, trial->key);
    return out;
}

/* The 16 hexadecimal digits behind ", key " that end a piece of notes. */
static bool read_key(uint64_t *key, const char *notes)
{
    static const char mark[] = ", key ";
    for (const char *at = notes; (at = strstr(at, mark)); at++) {
        const char *digits = at + strlen(mark);
        size_t n = strspn(digits, "0123456789abcdef");
        if (n == 16 && (digits[n] == '\0' || digits[n] == ';')) {
            *key = strtoull(digits, NULL, 16);
            return true;
        }
    }
    return false;
}

static bool take_row(struct night *night, const struct lineage_trial *row)
{
    uint64_t key;
    if (row->status == LINEAGE_HARNESS_ABORT || !row->notes || !read_key(&key, row->notes))
        return true;
    for (size_t i = 0; i < night->n; i++)
        if (trainer_sweep_trial(night->sweep, i)->key == key) {
            free(night->exp_id[i]);
            night->label[i] = row->status;
            return (night->exp_id[i] = strdup(row->exp_id)) != NULL;
        }
    return true;
}

int night_read_rows(struct night *night)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    bool taken = true;
    if (lineage_query_open(&cursor, night->store, &all, &err) != LINEAGE_OK)
        return cli_fail(&err);
    enum lineage_status status = LINEAGE_OK;
    while (taken && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK)
        taken = take_row(night, &row);
    lineage_cursor_close(cursor);
    if (!taken)
        return cli_error(CLI_SYSTEM, "out of memory");
    return status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

/* ---- files ---- */

void night_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night, size_t i)
{
    snprintf(out, TRAINER_PATH_MAX, "%s/%016" PRIx64 ".ckpt", night->dir,
             trainer_sweep_trial(night->sweep, i)->key);
}

void night_warm_recipe(struct trainer_recipe *warm, const struct trainer_recipe *recipe)
{
    trainer_recipe_init(warm);
    snprintf(warm->name, sizeof warm->name, "warm start, seed %" PRIu64, recipe->seed);
    warm->seed = recipe->seed;
    warm->world = recipe->world;
    warm->model = recipe->model;
    warm->warm_start = recipe->warm_start;
    warm->n_tasks = recipe->n_tasks;
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        warm->tasks[i] = warm->tasks[0];
        warm->tasks[i].env = recipe->tasks[i].env;
    }
    warm->training.iterations = 0;
    warm->training.clip_norm = recipe->training.clip_norm;
    warm->evaluation.questions = 1;
    warm->evaluation.seeds = 1;
    warm->evaluation.every = 0;
}

static uint64_t warm_digest(const struct trainer_recipe *recipe)
{
    struct trainer_recipe warm;
    night_warm_recipe(&warm, recipe);
    char *text = trainer_recipe_text(&warm);
    uint64_t digest = text ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    return digest;
}

void night_warm_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night,
                           const struct trainer_recipe *recipe)
{
    snprintf(out, TRAINER_PATH_MAX, "%s/warm-%016" PRIx64 ".ckpt", night->dir, warm_digest(recipe));
}

static bool warms_up(const struct trainer_trial *trial)
{
    return trial->parent == TRAINER_PARENT_BASE && !trial->recipe.checkpoint[0] &&
           trial->recipe.warm_start.steps > 0;
}

bool night_shares_warm_start(const struct night *night, size_t i)
{
    const struct trainer_trial *trial = trainer_sweep_trial(night->sweep, i);
    if (!warms_up(trial))
        return false;
    uint64_t digest = warm_digest(&trial->recipe);
    for (size_t j = 0; j < night->n; j++) {
        const struct trainer_trial *other = trainer_sweep_trial(night->sweep, j);
        if (j != i && warms_up(other) && warm_digest(&other->recipe) == digest)
            return true;
    }
    return false;
}

bool night_is_parent(const struct night *night, size_t i)
{
    for (size_t j = i + 1; j < night->n; j++) {
        const struct trainer_trial *trial = trainer_sweep_trial(night->sweep, j);
        if (trial->parent == TRAINER_PARENT_TRIAL && trial->parent_trial == i)
            return true;
    }
    return false;
}
