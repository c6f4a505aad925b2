/* measure_trial.c: compares a trial with its nearest ancestors of which the same is known. */
#include <fcntl.h>
#include <string.h>

#include "../files/fs.h"
#include "../internal.h"
#include "../questions/questions.h"
#include "trial_program.h"

/* Beyond this many ancestors nothing is worth comparing. */
enum { ANCESTORS_MAX = 1000 };

struct question {
    struct lineage_store *store;
    const struct lineage_trial *trial;
    struct lineage_measured *measured;
};

/* Steps to the parent. LINEAGE_ENOTFOUND at the root, and for a parent that comes later in the log, which would allow a
 * cycle. */
static enum lineage_status next_ancestor(struct mirror *mirror, struct lineage_trial *trial, struct arena *arena,
                                         struct lineage_error *err)
{
    int64_t seq = 0;
    uint64_t child = trial->seq;
    if (!trial->parent_exp || !*trial->parent_exp)
        return LINEAGE_ENOTFOUND;
    enum lineage_status status = mirror_find(mirror, trial->parent_exp, &seq, err);
    if (status == LINEAGE_OK && (uint64_t)seq >= child && child)
        return LINEAGE_ENOTFOUND;
    return status == LINEAGE_OK ? mirror_borrow(mirror, seq, trial, arena, err) : status;
}

static enum lineage_status ask(void *context, struct lineage_error *err)
{
    struct question *q = context;
    struct collecting c = {0};
    struct arena arena = {0};
    struct program mine, other;
    struct lineage_trial ancestor = *q->trial;
    const char *against = "", *command_against = "";
    bool code = false, command = false;
    lineage_measured_release(q->measured);
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    program_open(&mine, q->store->dir_fd, q->trial);
    for (size_t i = 0; status == LINEAGE_OK && program_is_known(&mine) && !(code && command) && i < ANCESTORS_MAX && !c.failed;
         i++) {
        status = next_ancestor(q->store->mirror, &ancestor, &arena, err);
        if (status != LINEAGE_OK)
            break;
        program_open(&other, q->store->dir_fd, &ancestor);
        if (!command && (command = program_compare_commands(&c, &other, &mine)))
            command_against = ancestor.exp_id;
        if (!code && (code = program_compare_code(&c, &other, &mine)))
            against = ancestor.exp_id;
        program_close(&other);
    }
    program_close(&mine);
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    against = arena_text(&c.arena, against, strlen(against));
    command_against = arena_text(&c.arena, command_against, strlen(command_against));
    c.failed = c.failed || !against || !command_against || status != LINEAGE_OK;
    arena_release(&arena);
    enum lineage_status finished = collect_finish(&c, q->measured, status == LINEAGE_OK ? err : NULL);
    if (status == LINEAGE_OK && finished == LINEAGE_OK) {
        q->measured->against = against;
        q->measured->command_against = command_against;
    }
    return status == LINEAGE_OK ? finished : status;
}

enum lineage_status lineage_measure_trial(struct lineage_measured *measured, struct lineage_store *store,
                                          const struct lineage_trial *trial, struct lineage_error *err)
{
    struct question q = {store, trial, measured};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    return mirror_ask(store->mirror, ask, &q, err);
}

enum lineage_status lineage_measure_snapshots(struct lineage_measured *measured, struct lineage_store *store,
                                              const struct lineage_trial *from, const struct lineage_trial *to,
                                              struct lineage_error *err)
{
    struct program before, after;
    struct collecting c = {0};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    program_open(&before, store->dir_fd, from);
    program_open(&after, store->dir_fd, to);
    const struct lineage_trial *missing = before.snapshot_fd < 0 ? from : after.snapshot_fd < 0 ? to : NULL;
    if (!missing)
        collect_trees(&c, before.snapshot_fd, after.snapshot_fd);
    const char *against = arena_text(&c.arena, from->exp_id, strlen(from->exp_id));
    program_close(&before);
    program_close(&after);
    c.failed = c.failed || !against || missing;
    enum lineage_status status = collect_finish(&c, measured, missing ? NULL : err);
    if (missing)
        return store_fail(err, LINEAGE_ENOTFOUND, "trial '%.80s' has no snapshot in this store", missing->exp_id);
    if (status == LINEAGE_OK)
        measured->against = against;
    return status;
}
