/*
 * night.c: which trials of a sweep were run, which files they leave to each other.
 *
 * A night keeps no state of its own: what was done is read from the rows, so that it can be killed
 * at any moment and started again by the same command, and so that a store copied elsewhere goes
 * on where it was.
 */
#include "night/night_claims.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include <lineage/blobs.h>
#include <lineage/render.h>

/* Times 50 ms: how long a night waits for the leavings of the one before. */
enum { LOCK_TRIES = 60 };

bool night_add(struct night *night, const struct night_trial *trial)
{
    if (night->n == night->room) {
        size_t room = night->room ? 2 * night->room : 64;
        struct night_trial *trials = realloc(night->trials, room * sizeof *trials);
        if (!trials)
            return false;
        night->trials = trials;
        night->room = room;
    }
    night->trials[night->n++] = *trial;
    return true;
}

static int add_list(struct night *night)
{
    for (size_t i = 0; i < night->sweep.n; i++)
        if (!night_add(night, &night->sweep.list[i]))
            return cli_no_memory();
    return CLI_GO_ON;
}

/* lock is -1 from the start: night_close runs whatever came of the rest. */
int night_read(struct night *night, const char *sweep)
{
    night->lock = -1;
    int status = night_sweep_read(&night->sweep, sweep);
    return status == CLI_GO_ON ? add_list(night) : status;
}

/* The path comes out of the store, which alone knows where its side files are. It must leave
 * room for the names of checkpoints, or a trial would train for an hour and then have nowhere
 * to go. */
int night_open(struct night *night, struct lineage_store *store)
{
    struct lineage_error why;
    char *checkpoints;
    night->store = store;
    if (lineage_store_path(&checkpoints, store, LINEAGE_PLACE_CHECKPOINTS, &why) != LINEAGE_OK)
        return cli_error(CLI_SYSTEM, "%s", why.text);
    int n = snprintf(night->dir, sizeof night->dir, "%s", checkpoints);
    lineage_free(checkpoints);
    if ((size_t)n >= sizeof night->dir)
        return cli_error(CLI_USAGE, "the path of the store is too long");
    return CLI_GO_ON;
}

/* On the directory, which the kernel unlocks whatever becomes of the process; a file with a pid
 * in it would have to be judged. mkdir's own failure is not looked at: open says what is wrong,
 * and a directory that is there already is the usual case. A night that is refused has done
 * nothing yet, so a second one in cron is harmless. A night that was killed is over when what it
 * ran is gone, for which a guardian may take a moment; hence the tries. Workers share it, and keep out a night by itself,
 * which would take their trials for its own. */
int night_lock(struct night *night)
{
    const struct timespec moment = {.tv_nsec = 50000000};
    mkdir(night->dir, 0777);
    night->lock = open(night->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (night->lock < 0)
        return cli_error(CLI_SYSTEM, "cannot open %s: %s", night->dir, strerror(errno));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(night->lock, (night->worker ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
            return CLI_GO_ON;
        nanosleep(&moment, NULL);
    }
    return cli_error(CLI_SYSTEM, "another night runs in %s", lineage_store_dir(night->store));
}

/* Closing the descriptor lets the lock go. */
void night_close(struct night *night)
{
    night_claims_close(night);
    for (size_t i = 0; i < night->n; i++)
        night_trial_release(&night->trials[i]);
    free(night->trials);
    night->trials = NULL;
    night->n = 0;
    json_decref(night->queue);
    night->queue = NULL;
    night_sweep_release(&night->sweep);
    if (night->lock >= 0)
        close(night->lock);
}

/* ---- rows ---- */

const char *night_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct night *night, size_t i)
{
    const struct night_trial *trial = &night->trials[i];
    return lineage_night_link_format(out, night->sweep.name, trial->name, trial->key);
}

/* The last row of a key wins: rows stand in the order in which they were run. A sweep that
 * changed finds the rows of its unchanged trials, since keys do not depend on their neighbours.
 * Aborted rows are passed over, which makes the trial one that is still to be run. A store has
 * rows of people and other programs too: what carries no link is theirs. */
static bool take_row(struct night *night, const struct lineage_trial *row)
{
    struct lineage_night_link link;
    night->seen = row->seq;
    if (row->status == LINEAGE_HARNESS_ABORT || !lineage_night_link_parse(&link, row->notes))
        return true;
    for (size_t i = 0; i < night->n; i++)
        if (night->trials[i].key == link.key) {
            if (night->trials[i].exp_id && strcmp(night->trials[i].exp_id, row->exp_id) == 0)
                return true; /* it was run here */
            free(night->trials[i].exp_id);
            night->trials[i].label = row->status;
            if (row->core_metric.present && row->total_s.present)
                night_learn_row(night, i, row->total_s.value);
            return (night->trials[i].exp_id = strdup(row->exp_id)) != NULL;
        }
    night->n_proposed += strcmp(link.sweep, night->sweep.name) == 0;
    return true;
}

/* One pass over all rows, oldest first, at the start of a night: the pace is learned from
 * nights before this one on the way. Later, over what came in meanwhile. */
int night_read_rows(struct night *night)
{
    const struct lineage_query all = {.after = night->seen};
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
        return cli_no_memory();
    return status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

/* ---- files ---- */

/* By key and not by exp_id, because the file is wanted before there is a row, and by the
 * trial's children, who know the key. */
void night_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night, size_t i)
{
    snprintf(out, TRAINER_PATH_MAX, "%s/%016" PRIx64 ".ckpt", night->dir,
             night->trials[i].key);
}

static const char *blob_name(char out[64], const char *path)
{
    snprintf(out, 64, "checkpoints/%.48s", strrchr(path, '/') + 1);
    return out;
}

void night_checkpoint_send(const struct night *night, const char *path)
{
    char name[64];
    struct lineage_error err;
    if (access(path, R_OK) == 0 && lineage_blob_put(night->store, blob_name(name, path), &err) != LINEAGE_OK)
        cli_say(err.text);
}

void night_checkpoint_bring(const struct night *night, const char *path)
{
    char name[64];
    struct lineage_error err;
    enum lineage_status status = lineage_blob_get(night->store, blob_name(name, path), &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        cli_say(err.text);
}

/* Everything that does not reach the warm start is at its default, so that trials which differ
 * in it share one. Evaluation is cut to one question: the run has to end with one, and nobody
 * reads this score. clip_norm stays, since the warm start's updates are cut by it. */
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

/* Of the text, not of the struct: padding differs, and a digest must be the same tomorrow. */
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

/* A trial that starts from a checkpoint or a parent has its warm start behind it. */
static bool warms_up(const struct night_trial *trial)
{
    return trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0] &&
           trial->recipe->warm_start.steps > 0;
}

/* All pairs, digest by digest: a sweep has at most some thousand trials, and this is asked once
 * for each of them. */
bool night_shares_warm_start(const struct night *night, size_t i)
{
    const struct night_trial *trial = &night->trials[i];
    if (!warms_up(trial))
        return false;
    uint64_t digest = warm_digest(trial->recipe);
    for (size_t j = 0; j < night->n; j++) {
        const struct night_trial *other = &night->trials[j];
        if (j != i && warms_up(other) && warm_digest(other->recipe) == digest)
            return true;
    }
    return false;
}

bool night_has_warm_start(const struct night *night, size_t i)
{
    char checkpoint[TRAINER_PATH_MAX];
    if (!night_shares_warm_start(night, i))
        return false;
    night_warm_checkpoint(checkpoint, night, night->trials[i].recipe);
    return access(checkpoint, R_OK) == 0;
}

/* Only later trials: parents come before their children (recipe/sweep.c of the trainer). */
bool night_is_parent(const struct night *night, size_t i)
{
    for (size_t j = i + 1; j < night->n; j++) {
        const struct night_trial *trial = &night->trials[j];
        if (trial->parent == TRAINER_PARENT_TRIAL && trial->parent_trial == i)
            return true;
    }
    return false;
}
