/* measure_trial.c: compares a trial with its nearest ancestors whose code and command are known. */
#include "measure_trial.h"

#include <string.h>

#include "../internal.h"
#include "../questions/questions.h"
#include "trial_program.h"

/* Files of this many ancestors are looked for. */
enum { ANCESTORS_MAX = 100 };

struct question {
    struct lineage_store *store;
    uint64_t seq;
    struct lineage_measured *measured;
    bool settled;
};

/* Steps to the trial `id`. LINEAGE_ENOTFOUND if there is none, and for a trial that comes later in the log, which would
 * allow a cycle. */
static enum lineage_status go_back_to(struct mirror *mirror, const char *id, struct lineage_trial *trial, struct arena *arena,
                                      struct lineage_error *err)
{
    int64_t seq = 0;
    if (!*id)
        return LINEAGE_ENOTFOUND;
    enum lineage_status status = mirror_find(mirror, id, &seq, err);
    if (status == LINEAGE_OK && (uint64_t)seq >= trial->seq)
        return LINEAGE_ENOTFOUND;
    return status == LINEAGE_OK ? mirror_borrow(mirror, seq, trial, arena, err) : status;
}

/* The names of the ancestors that a comparison used. */
struct against {
    const char *code, *command; /* NULL: not yet */
};

static enum lineage_status compare(struct question *q, struct collecting *c, struct against *against, struct arena *arena,
                                   struct lineage_error *err)
{
    struct lineage_trial trial;
    struct program mine, other;
    enum lineage_status status = mirror_borrow(q->store->mirror, (int64_t)q->seq, &trial, arena, err);
    if (status != LINEAGE_OK)
        return status;
    program_open(&mine, q->store, &trial);
    q->settled = !mine.gone;
    c->failed = mine.failed;
    bool code = program_has_code(&mine), command = program_has_command(&mine);
    for (size_t i = 0; (code || command) && i < ANCESTORS_MAX && !c->failed; i++) {
        bool done = false;
        /* A row that names no parent may have been run from the best trial. */
        const char *parent = i == 0 && !*trial.parent_exp ? program_against(&mine) : trial.parent_exp;
        if ((status = go_back_to(q->store->mirror, parent, &trial, arena, err)) != LINEAGE_OK)
            break;
        program_open(&other, q->store, &trial);
        c->failed = c->failed || other.failed;
        if (command && program_compare_commands(c, &other, &mine)) {
            against->command = trial.exp_id;
            command = false;
        }
        if (code) {
            q->settled = q->settled && !other.gone;
            status = program_compare_code(&done, c, q->store, &other, &mine, err);
            against->code = done ? trial.exp_id : NULL;
            code = !done;
        }
        program_close(&other);
        if (status != LINEAGE_OK)
            break;
    }
    program_close(&mine);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status ask(void *context, struct lineage_error *err)
{
    struct question *q = context;
    struct collecting c = {0};
    struct arena arena = {0};
    struct against against = {NULL, NULL};
    lineage_measured_release(q->measured);
    enum lineage_status status = compare(q, &c, &against, &arena, err);
    const char *code = against.code ? arena_text(&c.arena, against.code, strlen(against.code)) : "";
    const char *command = against.command ? arena_text(&c.arena, against.command, strlen(against.command)) : "";
    c.failed = c.failed || !code || !command || status != LINEAGE_OK;
    arena_release(&arena);
    enum lineage_status finished = collect_finish(&c, q->measured, status == LINEAGE_OK ? err : NULL);
    if (finished == LINEAGE_OK) {
        q->measured->against = code;
        q->measured->command_against = command;
    }
    return status == LINEAGE_OK ? finished : status;
}

enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err)
{
    struct question q = {.store = store, .seq = seq, .measured = measured};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    enum lineage_status status = mirror_ask(store->mirror, ask, &q, err);
    *settled = q.settled;
    /* `lineage verify` reports damaged objects of the code; here they are files that cannot be compared. */
    if (status == LINEAGE_ECORRUPT || status == LINEAGE_EIO || status == LINEAGE_ENOTFOUND || status == LINEAGE_EAWAY) {
        *settled = false;
        return LINEAGE_OK;
    }
    return status;
}

enum lineage_status lineage_measure_pair(struct lineage_measured *measured, struct lineage_store *store,
                                         const struct lineage_trial *from, const struct lineage_trial *to,
                                         struct lineage_error *err)
{
    return lineage_measure_pair_by(measured, store, from, to, NULL, 0, err);
}

enum lineage_status lineage_measure_pair_by(struct lineage_measured *measured, struct lineage_store *store,
                                            const struct lineage_trial *from, const struct lineage_trial *to, const char *diff,
                                            size_t length, struct lineage_error *err)
{
    struct program before, after;
    struct collecting c = {0};
    bool code = false;
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    program_open(&before, store, from);
    program_open(&after, store, to);
    before.diff = (struct file_text){diff, length};
    c.failed = before.failed || after.failed;
    bool command = program_compare_commands(&c, &before, &after);
    enum lineage_status status = program_compare_code(&code, &c, store, &before, &after, err);
    program_close(&before);
    program_close(&after);
    const char *against = arena_text(&c.arena, from->exp_id, strlen(from->exp_id));
    bool nothing = status == LINEAGE_OK && !code && !command && !c.failed;
    c.failed = c.failed || !against || status != LINEAGE_OK || nothing;
    enum lineage_status finished = collect_finish(&c, measured, status == LINEAGE_OK && !nothing ? err : NULL);
    if (status != LINEAGE_OK)
        return status;
    if (nothing)
        return store_fail(err, LINEAGE_ENOTFOUND,
                          "trials '%.80s' and '%.80s' have no code or command in this store that could be compared", from->exp_id,
                          to->exp_id);
    if (finished == LINEAGE_OK) {
        measured->against = code ? against : "";
        measured->command_against = command ? against : "";
    }
    return finished;
}
