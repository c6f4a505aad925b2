/* cmd_show.c: `lineage show`. */
#include "cli.h"
#include "output/show.h"

static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    (void)context;
    if (lineage_find(session->store, session->args.positional[0], &trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_show_trial(&trial, session->format, &session->screen);
    lineage_trial_release(&trial);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), CLI_SCREEN_OPTIONS(&session.screen), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 1, argc, argv, work, NULL);
}

const struct cli_command cmd_show = {
    .name = "show",
    .arguments = "ID",
    .description = "All columns of a trial, and what its notes say of parameters, clip scale and\n"
                   "information gain. exp_014 and 014 name the same trial.",
    .examples = "  lineage show 014\n  lineage show exp_014 --format json",
    .run = run,
};
