/*
 * lineage/voids.h: taking a trial out of the count, and back.
 *
 * A trial may turn out to say nothing: a module was missing, the evaluator was broken, another job took the processor. A
 * row of the log is never changed, so a void is a row of its own, which names the trial as its parent: status
 * harness_abort, job_name `lineage-void` (`lineage-unvoid` takes it back), and the reason as its hypothesis. Tools that
 * do not know voids see one more harness_abort.
 *
 * For every question of this library a void trial reads as harness_abort and has no score: it is not ranked, tried,
 * proposed from, the best, part of a chain of kept trials, or counted in sums; and a night runs it again. Its row,
 * snapshot and telemetry stay, and trials that continue from it keep their parent. The last void or unvoid of a trial
 * counts.
 */
#ifndef LINEAGE_VOIDS_H
#define LINEAGE_VOIDS_H

#include <lineage/store.h>

#define LINEAGE_VOID_REASON_MAX 2000 /* bytes */

/* job_name of the rows that void a trial and that take it back. */
#define LINEAGE_VOID_JOB "lineage-void"
#define LINEAGE_UNVOID_JOB "lineage-unvoid"

struct lineage_void {
    const char *exp_id;       /* the void trial */
    const char *by;           /* exp_id of the row that voids it */
    const char *timestamp;    /* of that row */
    const char *reason;
    enum lineage_label label; /* what the trial's own row says */
    struct lineage_number score;
    uint64_t seq;             /* of the void trial; several may have its exp_id */
};

/* Whether the row voids its parent trial, or takes that back (*back; may be NULL). */
LINEAGE_API bool lineage_is_void_row(const struct lineage_trial *trial, bool *back);

/*
 * Appends the row that voids a trial, and fills in *row (may be NULL), which the caller releases. LINEAGE_ENOTFOUND if
 * there is no such trial; LINEAGE_EINVAL if it is void already, if it is itself such a row, or without a reason;
 * LINEAGE_ELIMIT for a reason that is too long.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_void_append(struct lineage_store *store, const char *exp_id,
                                                                      const char *reason, struct lineage_trial *row,
                                                                      struct lineage_error *err);

/* Takes a void back; LINEAGE_EINVAL if the trial is not void. The reason may be empty. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_void_take_back(struct lineage_store *store, const char *exp_id,
                                                                         const char *reason, struct lineage_trial *row,
                                                                         struct lineage_error *err);

/* Calls visit for each void trial in the order of the log (exp_id NULL: all), until visit returns false. The strings are
 * valid during the call. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_voids_read(struct lineage_store *store, const char *exp_id,
                                                                     bool (*visit)(void *context,
                                                                                   const struct lineage_void *entry),
                                                                     void *context, struct lineage_error *err);

#endif
