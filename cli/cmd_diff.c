/* cmd_diff.c: `lineage diff`: git's own diff between two snapshots. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "cli.h"

extern char **environ;

/* 0 same, 1 different; anything else is git's failure. */
static int run_git(const char *from, const char *to)
{
    const char *const argv[] = {"git", "--no-pager", "-c", "core.quotePath=false", "diff", "--no-index", "--no-color",
                                "--no-ext-diff", "--", from, to, NULL};
    pid_t child;
    int state;
    fflush(stdout);
    int error = posix_spawnp(&child, "git", NULL, NULL, (char *const *)(uintptr_t)argv, environ);
    if (error)
        return cli_error(CLI_SYSTEM, "cannot run git: %s", strerror(error));
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_SYSTEM, "git was lost: %s", strerror(errno));
    if (WIFEXITED(state) && WEXITSTATUS(state) <= 1)
        return CLI_OK;
    return cli_error(CLI_SYSTEM, "git diff failed");
}

/* The trial to compare with: the second ID, or the parent. */
static int load_other(struct cli_session *session, const struct lineage_trial *trial, struct lineage_trial *other)
{
    struct lineage_error err;
    const char *id = session->args.n_positional > 1 ? session->args.positional[1] : trial->parent_exp;
    if (!id || !*id)
        return cli_error(CLI_USAGE, "trial '%s' has no parent to compare with", trial->exp_id);
    return lineage_find(session->store, id, other, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* With one ID: from the parent to the trial. With two: from the first to the second. */
static int diff(struct cli_session *session, const struct lineage_trial *trial, const struct lineage_trial *other)
{
    bool two = session->args.n_positional > 1;
    char *here = NULL, *there = NULL;
    struct lineage_error err;
    int status;
    if (lineage_snapshot_path(&here, session->store, trial, &err) != LINEAGE_OK ||
        lineage_snapshot_path(&there, session->store, other, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        status = two ? run_git(here, there) : run_git(there, here);
    lineage_free(here);
    lineage_free(there);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0}, other = {0};
    struct lineage_error err;
    (void)context;
    int status = CLI_GO_ON;
    if (lineage_find(session->store, session->args.positional[0], &trial, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    if (status == CLI_GO_ON)
        status = load_other(session, &trial, &other);
    if (status == CLI_GO_ON)
        status = diff(session, &trial, &other);
    lineage_trial_release(&trial);
    lineage_trial_release(&other);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&session.where), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 2, argc, argv, work, NULL);
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .arguments = "ID [ID]",
    .summary = "show what a trial changed: its snapshot against its parent's",
    .description = "Unified diff of two snapshots, made by git (binary files are named). With one ID the\n"
                   "parent's snapshot is compared with the trial's, with two the first with the second.",
    .examples = "  lineage diff 014\n  lineage diff 003 014",
    .run = run,
};
