/* cmd_refs.c: `lineage refs`: lists, removes and adds the refs that keep the code of trials. */

#include "git/git.h"
#include "run/run_parts.h"

struct refs {
    struct cli_session session;
    int remove, add, all, without_rows;
    struct cli_list *list;
    size_t changed, missing, others;
    bool closed; /* the provenance of a trial is */
};

/* Trials that were run outside of a repository have no line. */
static void show(struct refs *o, const char *exp_id)
{
    json_t *run = provenance_load(o->session.store, exp_id), *git = json_object_get(run, "git");
    const char *ref = cli_json_member(git, "ref");
    char lack[TRIAL_PLACE_LACK_MAX];
    bool exists = git && trial_ref_exists(git);
    if (git) {
        cli_list_row(o->list, CLI_TEXT(exp_id), CLI_TEXT(ref), CLI_TEXT(trial_place_code(git)),
                     CLI_TEXT(!*ref                 ? "none"
                              : exists              ? "kept"
                              : trial_place_of(git) ? "missing"
                                                    : "unknown"));
        o->missing += *ref && !exists;
        o->others += *ref && !exists && trial_ref_is_other(git);
        if (*ref && !trial_place_of(git))
            cli_error(CLI_NO, "the ref of %s is unknown: %s", exp_id, trial_place_lack(lack, git));
    }
    json_decref(run);
}

static void show_without_row(void *context, const char *id, const char *ref)
{
    struct refs *o = context;
    cli_list_row(o->list, CLI_TEXT(id), CLI_TEXT(ref), CLI_TEXT(NULL), CLI_TEXT("no row"));
}

static void visit(struct refs *o, const char *exp_id)
{
    if (provenance_is_closed(o->session.store, exp_id))
        o->closed = true;
    else if (o->remove)
        o->changed += code_ref_remove(o->session.store, exp_id);
    else if (o->add)
        o->changed += code_ref_add(o->session.store, exp_id);
    else
        show(o, exp_id);
}

static int visit_named(struct refs *o)
{
    const struct cli_args *args = &o->session.args;
    struct lineage_error err;
    for (size_t i = 0; i < args->n_positional; i++) {
        struct lineage_trial trial = {0};
        if (lineage_find_named(o->session.store, args->positional[i], false, &trial, &err) != LINEAGE_OK)
            return cli_fail(&err);
        visit(o, trial.exp_id);
        lineage_trial_release(&trial);
    }
    return CLI_OK;
}

static int visit_all(struct refs *o)
{
    const struct lineage_query every = {0};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    enum lineage_status status = lineage_query_open(&cursor, o->session.store, &every, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    for (;;) {
        struct lineage_trial trial = {0};
        status = lineage_cursor_next(cursor, &trial, &err);
        if (status != LINEAGE_OK)
            break;
        visit(o, trial.exp_id);
        lineage_trial_release(&trial);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? CLI_OK : cli_fail(&err);
}

static int work(struct cli_session *session, void *context)
{
    struct refs *o = context;
    bool lists = !o->remove && !o->add, named = session->args.n_positional > 0;
    if (o->remove && o->add)
        return cli_error(CLI_USAGE, "refs: --remove and --add exclude each other");
    if (!lists && named == (o->all != 0))
        return cli_error(CLI_USAGE, "refs: name the trials, or give --all");
    if (o->without_rows && (!lists || named))
        return cli_error(CLI_USAGE,
                         "refs: --without-rows lists what no trial of the store has: it takes no ids, --remove or --add");
    if (!o->without_rows && provenance_is_closed(session->store, NULL))
        return CLI_SYSTEM;
    if (lists)
        o->list = cli_list_of(session->format, NULL, "exp_id,ref,commit,state");
    if (o->without_rows)
        trial_ref_without_row(o->session.store, show_without_row, o);
    int status = o->without_rows ? CLI_OK : named ? visit_named(o) : visit_all(o);
    if (!lists)
        printf("%zu refs %s\n", o->changed, o->remove ? "removed" : "in place");
    int listed = lists ? cli_list_finish(o->list) : CLI_OK;
    if (o->others)
        cli_say("where a ref is there and listed as missing, it names another commit than the trial: the history was rewritten, "
                "and only "
                "the list of git filter-repo, or refs/original of one git filter-branch, says which commit became which");
    return status != CLI_OK ? status : listed != CLI_OK ? listed : o->closed ? CLI_SYSTEM : o->missing ? CLI_NO : CLI_OK;
}

static struct refs chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&chosen.session),
    CLI_FLAG("remove", &chosen.remove, "remove the refs of the trials; git may then remove their code"),
    CLI_FLAG("add", &chosen.add, "make refs for trials that have none, if their commits still exist"),
    CLI_FLAG("all", &chosen.all, "with --remove or --add: of all trials"),
    CLI_FLAG("without-rows", &chosen.without_rows,
             "list only refs without a row in any store that is there; their ids are not given to other trials"),
    POPT_TABLEEND};

const struct cli_command cmd_refs = {
    .name = "refs",
    .arguments = "[ID...]",
    .description = "Lists the refs that keep the code of trials in the git repository that they were run\n"
                   "from. `lineage run` gives each trial a ref, refs/lineage/ID, of its commit or, if files had\n"
                   "changes, of a commit with these changes in it; so neither a reset nor a garbage collection\n"
                   "loses the code, and `git diff refs/lineage/003 refs/lineage/014` works. HEAD, branches and\n"
                   "the index are never touched. No refs are made after `git config lineage.refs false` in the\n"
                   "repository, or with --no-refs. Exit status: 1 if a ref is missing.",
    .examples = "  lineage refs -C runs/mine\n  lineage refs -C runs/mine --remove 014",
    CLI_ON_STORE(chosen.session, table, 0, SIZE_MAX, work, &chosen),
};
