/* cmd_show.c: `lineage show`. */
#include "cli.h"
#include "output/show.h"
#include "run/provenance_read.h"

/* A command's trial with what it was run from; TSV is a row of results.tsv and no more. */
static int show(struct cli_session *session, const struct lineage_trial *trial)
{
    int status = CLI_OK;
    json_t *run = provenance_load(session->store, trial->exp_id);
    if (!run || session->format != CLI_JSON) {
        status = cli_show_trial(trial, session->format, &session->screen);
        if (run && status == CLI_OK && session->format == CLI_TABLE)
            provenance_print(run, &session->screen);
    } else {
        json_t *object = cli_trial_json(trial);
        json_object_set(object, "provenance", run);
        cli_json_print(stdout, object, true);
        json_decref(object);
    }
    json_decref(run);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    (void)context;
    if (lineage_find(session->store, session->args.positional[0], &trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = show(session, &trial);
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
                   "information gain; of a command's trial what it was run from. exp_014 and 014 name the same\n"
                   "trial.",
    .examples = "  lineage show 014\n  lineage show exp_014 --format json",
    .run = run,
};
