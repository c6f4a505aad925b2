/* cmd_best.c: `lineage best`. */
#include "cli.h"
#include "output/show.h"

/* 1 for a store in which nothing ranks yet: scripts ask that before their first trial, and it
 * is no error then. */
static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    (void)context;
    enum lineage_status found = lineage_best(session->store, &trial, &err);
    if (found == LINEAGE_ENOTFOUND)
        return cli_error(CLI_NO, "%s", err.text);
    if (found != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_show_trial(&trial, session->format);
    lineage_trial_release(&trial);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, NULL);
}

const struct cli_command cmd_best = {
    .name = "best",
    .arguments = "",
    .description = "The best kept or baseline trial with a finite score, in the store's direction;\n"
                   "the first one wins a tie. Exit status 1 if no trial ranks.",
    .examples = "  lineage best\n  lineage best --direction higher --format json | jq .exp_id",
    .run = run,
};
