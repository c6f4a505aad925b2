/* cmd_claims.c: `lineage claims`. */

#include "output/ideas_out.h"

enum { NEWEST = 1000 };

struct claims_options {
    int all;
    char *limit;
};

static bool is_wanted(const struct lineage_novelty_claim *claim, const struct claims_options *o)
{
    return claim->n_counter || o->all;
}

static int print_json(const struct lineage_ideas *ideas, const struct lineage_novelty_list *claims,
                      const struct claims_options *o)
{
    json_t *array = json_array();
    for (size_t i = 0; i < claims->n; i++) {
        const struct lineage_novelty_claim *claim = &claims->items[i];
        if (!is_wanted(claim, o))
            continue;
        json_t *object = json_object();
        cli_json_set(object, "exp_id", cli_json_text(lineage_ideas_get(ideas, claim->trial)->exp_id), "claim",
                     cli_json_text(claim->claim), "counter", cli_idea_ids_json(ideas, claim->counter, claim->n_counter), NULL);
        json_array_append_new(array, object);
    }
    return cli_json_answer(array);
}

/* Formats the trials that contradict a claim: "036 harness_abort, 210 discard 1.0712". */
static char *counters(const struct lineage_ideas *ideas, const struct lineage_novelty_claim *claim,
                      const struct cli_screen *screen)
{
    struct cli_writer writer = {0};
    char outcome[80];
    FILE *out = cli_writer_open(&writer);
    if (!out)
        return NULL;
    for (size_t i = 0; i < claim->n_counter; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, claim->counter[i]);
        cli_idea_outcome(outcome, sizeof outcome, screen, idea);
        fprintf(out, "%s%s %s", i ? ", " : "", idea->exp_id, outcome);
    }
    return cli_writer_close(&writer);
}

static int print_list(struct cli_session *session, const struct lineage_ideas *ideas, const struct lineage_novelty_list *claims,
                      const struct claims_options *o)
{
    struct cli_list *list = cli_list_of(session->format, &session->screen, "exp_id:1,claim:2/30,counter:3/20");
    for (size_t i = 0; i < claims->n; i++) {
        const struct lineage_novelty_claim *claim = &claims->items[i];
        if (!is_wanted(claim, o))
            continue;
        char *text = counters(ideas, claim, session->format == CLI_TABLE ? &session->screen : NULL);
        cli_list_add(list, CLI_TEXT(lineage_ideas_get(ideas, claim->trial)->exp_id), CLI_TEXT(claim->claim), CLI_TEXT(text));
        free(text);
        if (!cli_list_end_row(list))
            break;
    }
    return cli_list_finish(list);
}

static int work(struct cli_session *session, void *context)
{
    const struct claims_options *o = context;
    struct lineage_novelty_list claims;
    struct lineage_ideas *ideas;
    struct lineage_error err;
    size_t newest = session->format == CLI_TABLE ? NEWEST : 0; /* other formats have no place for what is missing */
    if (o->limit && !cli_count_parse(&newest, "limit", o->limit))
        return CLI_USAGE;
    int status = cli_ideas_load(&ideas, session->store);
    if (status != CLI_OK)
        return status;
    if (lineage_ideas_claims(&claims, ideas, newest, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else {
        if (claims.unread)
            fprintf(stderr, "lineage: claims: looked up the newest %zu; %zu older trial%s left out; `--limit 0` looks up all\n",
                    claims.n, claims.unread, claims.unread == 1 ? " is" : "s are");
        status = session->format == CLI_JSON ? print_json(ideas, &claims, o) : print_list(session, ideas, &claims, o);
        lineage_novelty_release(&claims);
    }
    lineage_ideas_release(ideas);
    return status;
}

static struct cli_session asked;
static struct claims_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked), CLI_FLAG("all", &chosen.all, "list also the claims that the log bears out"),
    CLI_OPTION("limit", &chosen.limit, "N",
               "look up the newest N claims (default: 1000, for other formats than a table all; 0: all)"),
    CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_claims = {
    .name = "claims",
    .arguments = "",
    .description = "Lists the claims of novelty in hypotheses and notes (\"never tried\", \"untouched\",\n"
                   "\"the first time\") that the log contradicts, with the earlier trials that did try it\n"
                   "and how they ended; in the order of the log.",
    .examples = "  lineage claims\n  lineage claims --all --format json",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
