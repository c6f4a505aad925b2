/* cmd_restore.c: `lineage restore`: puts back rows that are gone, or a record that was moved aside as torn. */

#include "run/run_parts.h"

enum { IDS_NAMED = 8 };

/* The code of trials whose files went together with their rows is still in the refs of the repository. Writes the ids of trials that have
 * no command, which were run elsewhere, or not by `run`, into `without`. */
static size_t restore_code(struct lineage_store *store, char *without, size_t room)
{
    const struct lineage_query every = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial trial = {0};
    char path[PATH_MAX];
    size_t n = 0, length = 0, n_without = 0;
    *without = '\0';
    if (lineage_query_open(&cursor, store, &every, NULL) != LINEAGE_OK)
        return 0;
    for (; lineage_cursor_next(cursor, &trial, NULL) == LINEAGE_OK; lineage_trial_release(&trial)) {
        if (!provenance_path(path, store, trial.exp_id) && n_without++ < IDS_NAMED)
            length += (size_t)snprintf(without + length, room - length, "%s%.60s", length ? ", " : "", trial.exp_id);
        n += code_ref_restore(store, &trial);
    }
    if (n_without > IDS_NAMED)
        snprintf(without + length, room - length, " and %zu more", n_without - IDS_NAMED);
    lineage_cursor_close(cursor);
    return n;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_error err;
    char without[IDS_NAMED * 64 + 32] = "";
    size_t n;
    cli_deliver_waiting(session->store);
    n = *(size_t *)context;
    if (!n &&
        lineage_restore(session->store, session->args.n_positional ? session->args.positional[0] : NULL, &n, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t runs = session->args.n_positional ? 0 : code_ref_restore_runs(session->store);
    size_t code = session->args.n_positional ? 0 : restore_code(session->store, without, sizeof without);
    printf("%zu row%s put back\n", n, n == 1 ? "" : "s");
    if (runs)
        printf("the command%s of %zu trial%s put back; logs, telemetry and snapshots are not repeated\n", runs == 1 ? "" : "s",
               runs, runs == 1 ? "" : "s");
    if (runs && *without)
        printf("no command is repeated of %s\n", without);
    if (code)
        printf("the code of %zu trial%s found in refs of the repository\n", code, code == 1 ? "" : "s");
    return CLI_OK;
}

/* Without a store in the directory there is nothing to open yet. */
static int make_again(struct cli_session *session, void *context)
{
    const char *dir = session->where.dir ? session->where.dir : ".";
    size_t *n = context;
    *n = session->args.n_positional || cli_is_store(dir) ? 0 : lineage_store_lost(dir);
    int status = *n ? cli_store_create(dir, NULL) : CLI_OK;
    return status == CLI_OK ? CLI_GO_ON : status;
}

static size_t restored;
static struct cli_session asked = {.before_open = make_again};
static struct poptOption table[] = {CLI_STORE_OPTIONS(&asked.where), POPT_TABLEEND};

const struct cli_command cmd_restore = {
    .name = "restore",
    .arguments = "[FILE]",
    .description = "Puts back the rows that were acknowledged to you and are gone from results.tsv, because a\n"
                   "reset, a checkout, `git clean` or somebody has taken them away. Your state directory\n"
                   "(~/.local/state/lineage) repeats the rows and settings of each store, and the commands of its\n"
                   "trials; their code is in the refs of the repository. Logs, telemetry and snapshots are not\n"
                   "repeated. To accept that rows are gone: lineage rebuild --digests.\n\n"
                   "With FILE: a record without a line end may be incomplete, so the next append moves it to a file\n"
                   "results.tsv.torn-N in the store and reports that. If you know that the record is complete,\n"
                   "`restore` appends it and removes the file. Its rows must be valid and their ids unused.",
    .examples = "  lineage restore -C runs/mine\n  lineage restore results.tsv.torn-1",
    CLI_ON_STORE(asked, table, 0, 1, work, &restored),
};
