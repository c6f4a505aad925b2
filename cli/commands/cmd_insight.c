/* cmd_insight.c: `lineage insight`. */

#include <lineage/insights.h>
#include <lineage/knobs.h>

#include "output/ideas_out.h"

struct insight_options {
    char *evidence, *supersedes, *author;
    int all;
};

struct listing {
    struct lineage_ideas *ideas;
    struct lineage_store *marks; /* the store, in a table for people; else NULL */
    struct lineage_knobs knobs;
    struct cli_list *list; /* NULL for JSON */
    json_t *array;
    bool all;
};

enum { AGAINST_MAX = 20 };

/* With a store, marks the trials that show nothing, because they became void since the claim was made, or the machine ended them. */
static char *join_ids(struct lineage_store *store, const char *const *ids, size_t n)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (size_t i = 0; out && i < n; i++) {
        struct lineage_trial trial = {0};
        char text[LINEAGE_STATUS_MAX];
        fprintf(out, "%s%s", i ? "," : "", ids[i]);
        if (store && lineage_find(store, ids[i], &trial, NULL) == LINEAGE_OK && trial.status == LINEAGE_HARNESS_ABORT)
            fprintf(out, " (%s)", lineage_trial_status(text, &trial));
        lineage_trial_release(&trial);
    }
    return cli_writer_close(&writer);
}

static bool list_one(void *context, const struct lineage_insight *insight)
{
    struct listing *l = context;
    size_t against[AGAINST_MAX];
    const char *ids[AGAINST_MAX];
    if (insight->superseded_by && !l->all)
        return true;
    size_t n =
        lineage_knobs_against(against, AGAINST_MAX, &l->knobs, l->ideas, insight->evidence, insight->n_evidence, insight->rows);
    for (size_t i = 0; i < n; i++)
        ids[i] = lineage_ideas_get(l->ideas, against[i])->exp_id;
    if (l->array) {
        json_t *evidence = json_array(), *object;
        for (size_t i = 0; i < insight->n_evidence; i++)
            json_array_append_new(evidence, cli_json_text(insight->evidence[i]));
        object = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "insight", (json_int_t)insight->number, "time",
                           cli_json_text(insight->timestamp), "author", cli_json_text(insight->author), "text",
                           cli_json_text(insight->text), "evidence", evidence, "contradicted_by",
                           cli_idea_ids_json(l->ideas, against, n), "superseded_by",
                           insight->superseded_by ? json_integer((json_int_t)insight->superseded_by) : json_null());
        json_array_append_new(l->array, object);
        return true;
    }
    char number[24], superseded[24], *evidence = join_ids(l->marks, insight->evidence, insight->n_evidence),
                                     *later = join_ids(NULL, ids, n);
    snprintf(number, sizeof number, "%llu", (unsigned long long)insight->number);
    snprintf(superseded, sizeof superseded, "%llu", (unsigned long long)insight->superseded_by);
    cli_list_add(l->list, CLI_TEXT(number), CLI_TEXT(insight->text), CLI_TEXT(evidence), CLI_TEXT(later),
                 CLI_TEXT(insight->superseded_by ? superseded : NULL));
    free(evidence);
    free(later);
    return cli_list_end_row(l->list);
}

static int list_insights(struct cli_session *session, const struct insight_options *o)
{
    struct listing l = {.all = o->all};
    struct lineage_error err;
    int status = CLI_OK;
    if (cli_ideas_read(&l.ideas, session->store, NULL, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (lineage_knobs_find(&l.knobs, l.ideas, SIZE_MAX, 0, &err) != LINEAGE_OK) {
        status = cli_fail(&err);
        goto done;
    }
    l.marks = session->format == CLI_TABLE ? session->store : NULL;
    if (session->format == CLI_JSON)
        l.array = json_array();
    else
        l.list =
            cli_list_of(session->format, &session->screen, "insight:1,text:2/30,evidence:3,contradicted_by:4,superseded_by:5");
    if (!l.array && !l.list) {
        status = cli_no_memory();
        goto done;
    }
    enum lineage_status read = lineage_insights_read(session->store, list_one, &l, &err);
    if (l.list)
        status = cli_list_finish(l.list);
    else
        cli_json_print(stdout, l.array, true);
    if (read != LINEAGE_OK)
        status = cli_fail(&err);

done:
    json_decref(l.array);
    lineage_knobs_release(&l.knobs);
    lineage_ideas_release(l.ideas);
    return status;
}

static int record(struct cli_session *session, const struct insight_options *o, const char *text)
{
    const char *ids[LINEAGE_EVIDENCE_MAX + 1];
    struct lineage_insight insight = {.text = text, .author = o->author, .evidence = ids};
    struct lineage_error err;
    size_t supersedes = 0;
    uint64_t number;
    if (!o->evidence)
        return cli_error(CLI_USAGE, "insight: --evidence is missing; name the trials that show it: --evidence 223,234");
    if (o->supersedes && !cli_count_parse(&supersedes, "supersedes", o->supersedes))
        return CLI_USAGE;
    insight.supersedes = supersedes;
    char *list = strdup(o->evidence);
    if (!list)
        return cli_no_memory();
    for (char *id = strtok(list, ", "); id && insight.n_evidence <= LINEAGE_EVIDENCE_MAX; id = strtok(NULL, ", "))
        ids[insight.n_evidence++] = id;
    enum lineage_status status = lineage_insight_append(session->store, &insight, &number, &err);
    free(list);
    if (status != LINEAGE_OK)
        return status == LINEAGE_ENOTFOUND ? cli_error(CLI_USAGE, "insight: %s", err.text) : cli_fail(&err);
    if (session->format == CLI_JSON)
        printf("{\"insight\": %llu}\n", (unsigned long long)number);
    else
        printf("%llu\n", (unsigned long long)number);
    return CLI_OK;
}

static int work(struct cli_session *session, void *context)
{
    const struct insight_options *o = context;
    return session->args.n_positional ? record(session, o, session->args.positional[0]) : list_insights(session, o);
}

static struct cli_session asked;
static struct insight_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_OPTION("evidence", &chosen.evidence, "IDS", "the trials that show it, separated by commas"),
    CLI_OPTION("supersedes", &chosen.supersedes, "N", "the number of an earlier insight that this one replaces"),
    CLI_OPTION("author", &chosen.author, "NAME", "author of the insight"),
    CLI_FLAG("all", &chosen.all, "list insights that were superseded too"),
    CLI_SCREEN_OPTIONS(&asked.screen),
    POPT_TABLEEND};

const struct cli_command cmd_insight = {
    .name = "insight",
    .arguments = "[TEXT]",
    .description = "Records what several trials show, with these trials as evidence, and prints its number.\n"
                   "The block shows it to every agent until another insight supersedes it, and flags it when\n"
                   "later trials contradict it. Insights are only added: insights.jsonl beside the log.\n\n"
                   "Without TEXT, lists the insights in force, with the later trials that contradict them:\n"
                   "trials that gave a setting of the evidence the same value, or moved it further in the\n"
                   "same direction, and ended otherwise.",
    .examples = "  lineage insight 'TTT epochs above 4 exceed the evaluation budget' \\\n      --evidence 223,234\n"
                "  lineage insight 'above 6, since the evaluator is faster' \\\n      --evidence 301,305 --supersedes 1\n"
                "  lineage insight --all --format json",
    CLI_ON_STORE(asked, table, 0, 1, work, &chosen),
};
