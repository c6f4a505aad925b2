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

/* The two sides of a diff. */
struct sides {
    struct lineage_trial from, to;
};

/* Opens the directory without following links. All files in it are opened relative to this descriptor, because another
 * process could change what a path means. */
static int open_snapshot(int *fd, const char *path)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd >= 0 ? CLI_GO_ON : cli_error(CLI_SYSTEM, "cannot open the snapshot %s: %s", path, strerror(errno));
}

static int diff_directories(const char *from_path, const char *to_path, size_t limit)
{
    int from = -1, to = -1, status;
    if ((status = open_snapshot(&from, from_path)) == CLI_GO_ON && (status = open_snapshot(&to, to_path)) == CLI_GO_ON)
        status = tree_diff(from, to, limit);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return status;
}

/* Loads both trials: the two that the IDs name, or, if there is only one ID, the parent of that trial and the trial
 * itself. A trial without a parent is an error, because an empty diff would say that nothing changed. */
static int load_sides(struct sides *sides, struct cli_session *session)
{
    struct lineage_error err;
    const char *const *ids = session->args.positional;
    bool two = session->args.n_positional > 1;
    if (lineage_find(session->store, ids[two], &sides->to, &err) != LINEAGE_OK)
        return cli_fail(&err);
    const char *from = two ? ids[0] : sides->to.parent_exp;
    if (!from || !*from)
        return cli_error(CLI_USAGE, "trial '%s' has no parent; name the trial to compare it with: lineage diff ID ID",
                         sides->to.exp_id);
    return lineage_find(session->store, from, &sides->from, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static int diff_snapshots(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    char *from = NULL, *to = NULL;
    struct lineage_error err;
    int status;
    if (lineage_snapshot_path(&to, store, &sides->to, &err) != LINEAGE_OK ||
        lineage_snapshot_path(&from, store, &sides->from, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        status = diff_directories(from, to, limit);
    lineage_free(from);
    lineage_free(to);
    return status;
}

static bool has_snapshot(const struct lineage_trial *trial)
{
    return trial->snapshot_path && *trial->snapshot_path;
}

/* Compares first the provenance of two commands (changes to the code, the command, the machine), then the snapshots.
 * Discarded and failed trials have no snapshot, so their provenance is all there is to compare. */
static int diff(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool snapshots = has_snapshot(&sides->from) && has_snapshot(&sides->to);
    if (!provenance_path(from, store, sides->from.exp_id) || !provenance_path(to, store, sides->to.exp_id))
        return diff_snapshots(sides, store, limit);
    int status = diff_directories(from, to, limit);
    if (status > CLI_NO || !snapshots)
        return status;
    int second = diff_snapshots(sides, store, limit);
    return second == CLI_OK ? status : second;
}

static int work(struct cli_session *session, void *context)
{
    const struct diff_options *o = context;
    struct sides sides = {0};
    int status = load_sides(&sides, session);
    if (status == CLI_GO_ON)
        status = diff(&sides, session->store, o->limit);
    lineage_trial_release(&sides.from);
    lineage_trial_release(&sides.to);
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
        {"max-bytes", 0, POPT_ARG_STRING, &o.max_bytes, 0,
         "files larger than N bytes are only named (default: 16777216)", "N"},
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
