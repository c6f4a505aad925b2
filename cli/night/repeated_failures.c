/* repeated_failures.c: see repeated_failures.h. */
#include "night/repeated_failures.h"

#include "cli.h"

bool night_ending_is_measured(const struct night_ending *ending)
{
    return !ending->late && (ending->label == LINEAGE_KEEP || ending->label == LINEAGE_DISCARD ||
                             ending->label == LINEAGE_BASELINE);
}

/*
 * A full disk or a missing driver makes every trial fail, which would leave hundreds of rows. Failures are compared by
 * label, exit status and signal. Their messages are not compared, because they may contain a time or an address.
 */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending)
{
    const struct night_ending *last = &failures->last;
    bool failed = !ending->late && !night_ending_is_measured(ending) && ending->label != LINEAGE_HARNESS_ABORT;
    bool alike = last->label == ending->label && last->end == ending->end && last->exit_status == ending->exit_status &&
                 last->signal == ending->signal;
    failures->n = !failed ? 0 : failures->n > 0 && alike ? failures->n + 1 : 1;
    failures->last = *ending;
    if (!failures->stop_after || failures->n < failures->stop_after)
        return CLI_GO_ON;
    return cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence (--stop-after)",
                     failures->n, lineage_label_name(ending->label));
}
