/* cmd_diff.c: `lineage diff`: a unified diff of what two trials were run from. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "cli.h"
#include "output/tree_diff.h"
#include "run/provenance_read.h"

#define MAX_BYTES ((size_t)16 << 20)

struct diff_options {
    struct cli_session session;
    char *max_bytes;
    size_t limit;
};

/* Opens a descriptor and follows no link: everything below is found through it, not by a path that another process
 * could change meanwhile. */
static int open_snapshot(int *fd, const char *path)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd >= 0 ? CLI_GO_ON : cli_error(CLI_SYSTEM, "cannot open the snapshot %s: %s", path, strerror(errno));
}

static int compare(const char *from, const char *to, size_t limit)
{
    int a = -1, b = -1, status = open_snapshot(&a, from);
    if (status == CLI_GO_ON)
        status = open_snapshot(&b, to);
    if (status == CLI_GO_ON)
        status = tree_diff(a, b, limit);
    if (a >= 0)
        close(a);
    if (b >= 0)
        close(b);
    return status;
}

/* Loads the trial to compare with: the second ID, or the parent. A trial without a parent is an error, because an empty
 * diff would say that nothing changed. */
static int load_other(struct cli_session *session, const struct lineage_trial *trial, struct lineage_trial *other)
{
    struct lineage_error err;
    const char *id = session->args.n_positional > 1 ? session->args.positional[1] : trial->parent_exp;
    if (!id || !*id)
        return cli_error(CLI_USAGE, "trial '%s' has no parent; name the trial to compare it with: lineage "
                                    "diff ID ID", trial->exp_id);
    return lineage_find(session->store, id, other, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* With one ID the diff goes from the parent to the trial, with two from the first to the second. */
static int diff(struct cli_session *session, const struct lineage_trial *trial, const struct lineage_trial *other,
                size_t limit)
{
    bool two = session->args.n_positional > 1;
    char *here = NULL, *there = NULL;
    struct lineage_error err;
    int status;
    if (lineage_snapshot_path(&here, session->store, trial, &err) != LINEAGE_OK ||
        lineage_snapshot_path(&there, session->store, other, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        status = two ? compare(here, there, limit) : compare(there, here, limit);
    lineage_free(here);
    lineage_free(there);
    return status;
}

/* Compares what two commands were run from: changes to the code, the command, the machine. Returns CLI_GO_ON if either
 * trial has no provenance. */
static int diff_provenance(struct cli_session *session, const struct lineage_trial *trial,
                           const struct lineage_trial *other, size_t limit)
{
    char here[PATH_MAX], there[PATH_MAX];
    if (!provenance_path(here, session->store, trial->exp_id) || !provenance_path(there, session->store, other->exp_id))
        return CLI_GO_ON;
    return session->args.n_positional > 1 ? compare(here, there, limit) : compare(there, here, limit);
}

static bool has_snapshot(const struct lineage_trial *trial)
{
    return trial->snapshot_path && *trial->snapshot_path;
}

/* Discarded and failed trials have no snapshot; their provenance is all there is to compare. */
static int diff_both(struct cli_session *session, const struct lineage_trial *trial, const struct lineage_trial *other,
                     size_t limit)
{
    int first = diff_provenance(session, trial, other, limit);
    if (first > CLI_NO || (first != CLI_GO_ON && (!has_snapshot(trial) || !has_snapshot(other))))
        return first;
    int second = diff(session, trial, other, limit);
    return second == CLI_OK && first != CLI_GO_ON ? first : second;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0}, other = {0};
    struct lineage_error err;
    const struct diff_options *o = context;
    int status = CLI_GO_ON;
    if (lineage_find(session->store, session->args.positional[0], &trial, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    if (status == CLI_GO_ON)
        status = load_other(session, &trial, &other);
    if (status == CLI_GO_ON)
        status = diff_both(session, &trial, &other, o->limit);
    lineage_trial_release(&trial);
    lineage_trial_release(&other);
    return status;
}

static int read_limit(struct cli_session *session, void *context)
{
    struct diff_options *o = context;
    (void)session;
    return o->max_bytes && !cli_count_parse(&o->limit, "max-bytes", o->max_bytes) ? CLI_USAGE : CLI_GO_ON;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct diff_options o = {.session.before_open = read_limit, .limit = MAX_BYTES};
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&o.session.where),
        {"max-bytes", 0, POPT_ARG_STRING, &o.max_bytes, 0, "files larger than N bytes are only named "
                                                           "(default: 16777216)", "N"},
        POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 1, 2, argc, argv, work, &o);
}

const struct cli_command cmd_diff = {
    .name = "diff",
    .arguments = "ID [ID]",
    .description = "Prints a unified diff of two snapshots, and of what two commands were run from\n"
                   "(provenance/ID/). Binary and large files are only named. With one ID, the parent is\n"
                   "compared with the trial; with two, the first with the second. The output depends only "
                   "on\n"
                   "the bytes of the files; git's configuration and attributes are not read.",
    .examples = "  lineage diff 014\n  lineage diff 003 014",
    .run = run,
};
