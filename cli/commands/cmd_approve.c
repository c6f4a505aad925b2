/* cmd_approve.c: `lineage approve`: accepts, edits or refuses proposals that a night waits with (`night --approve`). */
#include <unistd.h>

#include <lineage/text.h>

#include "plan/planning.h"

struct approve_options {
    char *refuse, **params;
    int all;
};

static int list_questions(struct cli_session *session, const struct approve_options *o, const json_t *questions)
{
    struct cli_list *list = cli_list_of(session->format, NULL, "id,time,sweep,decision,proposal");
    size_t i;
    json_t *question;
    json_array_foreach((json_t *)(uintptr_t)questions, i, question) {
        const char *decision = cli_json_member(question, "decision");
        const json_t *edited = json_object_get(question, "edited");
        char *proposal = json_dumps(edited ? edited : json_object_get(question, "proposal"), JSON_COMPACT | JSON_SORT_KEYS);
        if (!*decision || o->all)
            cli_list_row(list, CLI_TEXT(cli_json_member(question, "id")), CLI_TEXT(cli_json_member(question, "time")),
                         CLI_TEXT(cli_json_member(question, "sweep")), CLI_TEXT(*decision ? decision : "waits"),
                         CLI_TEXT(proposal ? proposal : ""));
        free(proposal);
    }
    return cli_list_finish(list);
}

/* The proposal with the parameters NAME=VALUE in place of its own, which its hypothesis says: a number where the text is one. A new reference; NULL after printing
 * why. Whether the sweep allows the values is decided by the night, as for any proposal. */
static json_t *edit(const json_t *proposal, char *const *texts)
{
    json_t *edited = json_deep_copy(proposal), *params = json_object_get(edited, "params");
    char changed[256] = "";
    size_t n = 0;
    for (; edited && *texts; texts++) {
        const char *equals = strchr(*texts, '=');
        double value;
        n += n < sizeof changed ? (size_t)snprintf(changed + n, sizeof changed - n, "%s%s", n ? ", " : "", *texts) : 0;
        if (!equals || equals == *texts || !equals[1]) {
            cli_error(CLI_USAGE, "approve: --param '%s' is not NAME=VALUE", *texts);
            json_decref(edited);
            return NULL;
        }
        if (!params)
            json_object_set_new(edited, "params", params = json_object());
        json_object_setn_new(params, *texts, (size_t)(equals - *texts),
                             !lineage_param_is_text(equals + 1) && lineage_number_parse(&value, equals + 1, strlen(equals + 1))
                                 ? cli_json_setting(value)
                                 : cli_json_text(equals + 1));
    }
    if (edited && *cli_json_member(edited, "hypothesis"))
        json_object_set_new(edited, "hypothesis",
                            json_sprintf("%s (a person set %s)", cli_json_member(edited, "hypothesis"), changed));
    if (!edited)
        cli_no_memory();
    return edited;
}

/* A planner that could accept its own proposals would make the question pointless: it has no terminal. */
static int decide(struct cli_session *session, const struct approve_options *o, const json_t *questions, const char *id)
{
    json_t *question = approval_find(questions, id), *edited = NULL;
    if (!question)
        return cli_error(CLI_USAGE, "approve: no proposal has the id '%s'; `lineage approve` lists those that wait", id);
    if (!isatty(STDIN_FILENO))
        return cli_error(CLI_USAGE, "approve: a person decides at a terminal, and standard input is none");
    if (o->refuse && o->params)
        return cli_error(CLI_USAGE, "approve: --refuse and --param exclude each other");
    if (o->refuse && (!*o->refuse || strlen(o->refuse) >= APPROVAL_REASON_MAX))
        return cli_error(CLI_USAGE, "approve: --refuse needs a reason of at most %d bytes", APPROVAL_REASON_MAX - 1);
    if (o->params && !(edited = edit(json_object_get(question, "proposal"), o->params)))
        return CLI_USAGE;
    const bool good = approval_decide(session->store, id, edited, o->refuse);
    json_decref(edited);
    return good ? CLI_OK : CLI_SYSTEM;
}

static int work(struct cli_session *session, void *context)
{
    const struct approve_options *o = context;
    json_t *questions = approval_read(session->store);
    if (!questions)
        return CLI_SYSTEM;
    int status = session->args.n_positional ? decide(session, o, questions, session->args.positional[0])
                 : o->refuse || o->params   ? cli_error(CLI_USAGE, "approve: name the proposal: its ID")
                                            : list_questions(session, o, questions);
    json_decref(questions);
    return status;
}

static struct cli_session asked;
static struct approve_options chosen;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked),
                                    CLI_OPTION("refuse", &chosen.refuse, "REASON", "refuse it, and do not ask about it again"),
                                    {"param", 'p', POPT_ARG_ARGV, &chosen.params, 0,
                                     "accept it with this value in place of its own; may be repeated", "NAME=VALUE"},
                                    CLI_FLAG("all", &chosen.all, "list the decided ones, too"),
                                    POPT_TABLEEND};

const struct cli_command cmd_approve = {
    .name = "approve",
    .arguments = "[ID]",
    .description = "Accepts the proposal that a night with --approve waits with, and prints nothing; with\n"
                   "--param it runs with other values, with --refuse it does not run and is not asked about\n"
                   "again. The planner gets the reason. Without ID, lists the proposals that wait. A decision\n"
                   "needs a terminal, which planners and agents do not have; it can be changed until the\n"
                   "night has taken it up. Decisions are kept in telemetry/approvals.jsonl.",
    .examples = "  lineage approve -C runs/mine\n  lineage approve -C runs/mine 3fa2c1 -p lr=0.01\n"
                "  lineage approve -C runs/mine 3fa2c1 --refuse 'tried by hand last week'",
    CLI_ON_STORE(asked, table, 0, 1, work, &chosen),
};
