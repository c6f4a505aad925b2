/* repeated_failures.c: see repeated_failures.h. */
#include "night/repeated_failures.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/voids.h>

#include "cli.h"

bool night_ending_is_measured(const struct night_ending *ending)
{
    return !ending->late && (ending->label == LINEAGE_KEEP || ending->label == LINEAGE_DISCARD ||
                             ending->label == LINEAGE_BASELINE);
}

static void forget_ids(struct repeated_failures *failures)
{
    for (size_t i = 0; i < failures->n_ids; i++)
        free(failures->ids[i]);
    failures->n_ids = 0;
}

void repeated_failures_release(struct repeated_failures *failures)
{
    forget_ids(failures);
}

/* A trial that reported something, or ran out of memory, may have failed because of its settings. */
static bool blames_no_setting(const struct night_ending *ending)
{
    return ending->evidence[0] && !ending->begun && ending->cause != LINEAGE_CAUSE_MEMORY;
}

/* Skips rows that are void already and rows that do not count anyway. */
static void void_rows(struct repeated_failures *failures, struct lineage_store *store)
{
    char reason[TRIAL_EVIDENCE_MAX + 64];
    size_t n = 0;
    snprintf(reason, sizeof reason, "%zu trials in a row failed alike: %s", failures->n, failures->last.evidence);
    for (size_t i = 0; i < failures->n_ids && failures->last.label != LINEAGE_HARNESS_ABORT; i++) {
        struct lineage_error err;
        enum lineage_status status = lineage_void_append(store, failures->ids[i], reason, NULL, &err);
        n += status == LINEAGE_OK;
        if (status != LINEAGE_OK && status != LINEAGE_EINVAL)
            cli_fail(&err);
    }
    forget_ids(failures);
    if (n)
        fprintf(stderr, "lineage: their rows are void, so that a later night runs them again: `lineage void` lists them\n");
}

/*
 * A full disk or a missing driver makes every trial fail, which would leave hundreds of rows. Failures are compared by
 * label, exit status and signal. Messages do not decide whether the night stops, because they may contain a time or an
 * address. Rows are voided only if error and place are equal, too.
 */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending, const char *exp_id,
                            struct lineage_store *store)
{
    const struct night_ending *last = &failures->last;
    bool lacks = ending->lacks &&
                 (ending->end == TRIAL_FAILED || ending->end == TRIAL_PREFLIGHT_FAILED);
    bool failed = !ending->late && !night_ending_is_measured(ending) && (ending->label != LINEAGE_HARNESS_ABORT || lacks);
    bool alike = last->label == ending->label && last->end == ending->end && last->exit_status == ending->exit_status &&
                 last->signal == ending->signal;
    bool first = !failed || failures->n == 0 || !alike;
    failures->same = failed && blames_no_setting(ending) &&
                     (first || (failures->same && strcmp(last->evidence, ending->evidence) == 0));
    failures->n = !failed ? 0 : first ? 1 : failures->n + 1;
    if (first || !failures->same)
        forget_ids(failures);
    if (failures->same && failures->n_ids < REPEATED_IDS_MAX && (failures->ids[failures->n_ids] = strdup(exp_id)))
        failures->n_ids++;
    failures->last = *ending;
    size_t limit = lacks && failures->same && failures->stop_after > REPEATED_LACKS ? REPEATED_LACKS : failures->stop_after;
    if (!limit || failures->n < limit)
        return CLI_GO_ON;
    if (!failures->same)
        return cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence (--stop-after)",
                         failures->n, lineage_label_name(ending->label));
    cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence: %s (--stop-after)",
              failures->n, lineage_label_name(ending->label), ending->evidence);
    void_rows(failures, store);
    return CLI_SYSTEM;
}
