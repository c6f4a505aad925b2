/* cmd_lease.c: `lineage lease`: claims an idea before it is trained, so that no other agent trains it. */
#include <unistd.h>

#include "git/git.h"
#include "output/ideas_out.h"
#include "output/lease_idea.h"

enum { LEASE_SECONDS = 3600, PARAMS_MAX = 64 };

struct lease_options {
    struct cli_session session;
    char *agent, *hypothesis, *seconds, *end, **params;
    int again;
    char name[AGENT_NAME_MAX];
    struct cli_texts texts;
    char names[PARAMS_MAX][LINEAGE_NAME_MAX];
    struct lineage_param wanted[PARAMS_MAX];
    struct cli_list *list;
};

static void list_lease(void *context, const struct lease *lease)
{
    struct lease_options *o = context;
    size_t length;
    const json_t *given = json_object_get(lease->object, "params"); /* the file may be anybody's */
    char *params = json_object_size(given) ? cli_json_compact(given, &length) : NULL;
    char left[32];
    cli_duration_format(left, lease->runs ? 0 : lease->left);
    cli_list_add(o->list, CLI_TEXT(lease->id), CLI_TEXT(lease->agent));
    if (o->session.format == CLI_TABLE)
        cli_list_text(o->list, lease->runs ? "trains" : left);
    else
        cli_list_number(o->list, floor(lease->left), !lease->runs);
    cli_list_row(o->list, CLI_TEXT(cli_json_member(lease->object, "hypothesis")), CLI_TEXT(params ? params : ""));
    free(params);
}

static int list_leases(struct lease_options *o)
{
    o->list = cli_list_of(o->session.format, NULL, "lease,agent,left,hypothesis,params");
    leases_each(lineage_store_dir(o->session.store), list_lease, o);
    return cli_list_finish(o->list);
}

static bool read_params(struct lease_options *o, size_t *n)
{
    const char *value;
    for (char **option = o->params; option && *option; option++, ++*n) {
        if (*n == PARAMS_MAX)
            return cli_refuse("lease: more than %d parameters", PARAMS_MAX);
        if (!cli_assignment_parse(o->names[*n], &value, "param", *option) ||
            !cli_value_parse(&o->wanted[*n], &o->texts, o->names[*n], value))
            return false;
        o->wanted[*n].name = o->names[*n];
    }
    return true;
}

static int ask_and_take(struct lease_options *o, const struct lease_idea *idea, double seconds)
{
    char id[LEASE_ID_BYTES];
    json_t *reasons = json_array();
    int status = lease_reasons(reasons, o->session.store, idea, true);
    if (status == CLI_GO_ON && !o->again && !json_array_size(reasons))
        status = cli_tried_reasons(reasons, o->session.store, idea->hypothesis, idea->params, idea->n_params);
    status = cli_reasons_print(reasons, status);
    if (status == CLI_GO_ON)
        status = lease_take(id, o->session.store, idea, seconds, NULL);
    if (status == CLI_GO_ON)
        puts(id);
    return status == CLI_GO_ON ? CLI_OK : status;
}

static int work(struct cli_session *session, void *context)
{
    struct lease_options *o = context;
    struct lease_idea idea = {.agent = o->name, .hypothesis = o->hypothesis, .params = o->wanted};
    double seconds = LEASE_SECONDS;
    if (!o->hypothesis && !o->params && !o->end)
        return list_leases(o);
    if (o->end && (o->hypothesis || o->params))
        return cli_error(CLI_USAGE, "lease: --end and an idea exclude each other");
    if (!agent_name(o->name, o->agent))
        return CLI_USAGE;
    if (!read_params(o, &idea.n_params) || (o->seconds && !cli_measure_parse(&seconds, CLI_SECONDS, "for", o->seconds)))
        return CLI_USAGE;
    if (!o->end && !*idea.agent)
        return cli_error(CLI_USAGE, "lease: whose is it? --agent NAME, or LINEAGE_AGENT, or a work tree of lineage worktree");
    if (seconds < 1)
        return cli_error(CLI_USAGE, "lease: --for %s: use at least 1 second", o->seconds);
    int lock = leases_lock(lineage_store_dir(session->store));
    if (lock < 0)
        return CLI_SYSTEM;
    int status = !o->end ? ask_and_take(o, &idea, seconds)
                 : lease_remove(lineage_store_dir(session->store), o->end)
                     ? CLI_OK
                     : cli_error(CLI_NO, "lease: there is no lease %s; `lineage lease` lists those there are", o->end);
    close(lock);
    return status;
}

static struct lease_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&chosen.session),
    CLI_OPTION("agent", &chosen.agent, "NAME", "whose it is (default: LINEAGE_AGENT, or the agent of this work tree)"),
    CLI_OPTION("hypothesis", &chosen.hypothesis, "TEXT", "the idea in words: what will be changed, and why"),
    {"param", 'p', POPT_ARG_ARGV, &chosen.params, 0, "a parameter that will be changed; may be repeated", "NAME=VALUE"},
    CLI_OPTION("for", &chosen.seconds, "TIME", "how long, in seconds, also 30m, 2h, unless it is trained before (default: 1h)"),
    CLI_FLAG("again", &chosen.again, "lease it although an earlier trial tried it"),
    CLI_OPTION("end", &chosen.end, "LEASE", "end this lease, also of another agent that is gone"),
    POPT_TABLEEND};

const struct cli_command cmd_lease = {
    .name = "lease",
    .arguments = "",
    .description = "Claims an idea before it is trained: no other agent leases it, and `lineage run` refuses\n"
                   "another agent that would train it. Prints the id of the lease. Exit status 1, with the\n"
                   "reasons on standard error, if another agent has leased the same idea, a trial with it is\n"
                   "running, or an earlier trial tried it. Two ideas are the same if all their parameters are\n"
                   "equal or, where one has none, if the words of the earlier one state all changes of the other.\n\n"
                   "A lease ends with its time, with --end, or when its agent has trained the idea: `lineage\n"
                   "run` takes a lease over, and holds it until the row is in the store or its process is gone.\n"
                   "Without an idea, lists the leases.",
    .examples = "  lineage lease -C runs --hypothesis 'lr 0.02 -> 0.04' -p lr=0.04\n  lineage lease -C runs\n"
                "  lineage lease -C runs --end 3fa2c1",
    CLI_ON_STORE(chosen.session, table, 0, 0, work, &chosen),
};
