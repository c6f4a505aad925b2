/* cmd_settings.c: `lineage settings`: mean, interval and runs of each setting, in order. */
#include "output/show.h"

enum { PAGE = 1000 };

static int work(struct cli_session *session, void *context)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    const char *const *limit = context;
    size_t most = session->format == CLI_TABLE ? PAGE : 0; /* other formats have no place for what is missing */
    if (*limit && !cli_count_parse(&most, "limit", *limit))
        return CLI_USAGE;
    if (lineage_evidence_load(&evidence, session->store, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_ranked_print(&evidence, session, most ? most : SIZE_MAX);
    lineage_evidence_release(&evidence);
    return status;
}

static struct cli_session asked;
static char *limit;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_OPTION("limit", &limit, "N", "print the first N settings (default: 1000, for other formats than a table all; 0: all)"),
    CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_settings = {
    .name = "settings",
    .arguments = "",
    .description = "Prints a line for each setting, the best first: its parameters without the seed, the number of its\n"
                   "runs, their mean with half of the 95 % interval (n/a: the noise is unknown), what further runs are\n"
                   "expected to score (the mean, drawn to the middle of all as far as noise may explain the difference),\n"
                   "runs that diverged and are left out, and runs without a score. Settings with only failed runs come\n"
                   "last, and standard error says why they failed. The runs of a setting are its first\n"
                   "row, the rows that run it again, and rows that differ in a seed alone: the parameter seed,\n"
                   "random_seed, or one that \"seeds\" in lineage.json names.",
    .examples = "  lineage settings\n  lineage settings --format json",
    CLI_ON_STORE(asked, table, 0, 0, work, &limit),
};
