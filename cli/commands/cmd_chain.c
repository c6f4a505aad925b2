/* cmd_chain.c: `lineage chain`. */
#include <stdlib.h>

#include <lineage/text.h>

#include "cli.h"

static const char *end_name(enum lineage_chain_end end)
{
    static const char *const names[] = {"root", "missing", "cycle"};
    return names[end];
}

/* "root", "missing 014", "cycle at 014" */
static json_t *ended_json(const struct lineage_chain *chain)
{
    if (chain->end == LINEAGE_CHAIN_ROOT)
        return json_string("root");
    return json_sprintf(chain->end == LINEAGE_CHAIN_CYCLE ? "cycle at %s" : "missing %s", chain->end_id);
}

/* passed_over: under the id of each ancestor, how many were passed over between it and its
 * child. Counts by id, so that a trial's object is the same here as in every other command. */
static int print_json(const struct lineage_chain *chain)
{
    json_t *list = json_array(), *passed = json_object(), *object = json_object();
    for (size_t i = 0; i < chain->n; i++) {
        json_array_append_new(list, cli_trial_json(&chain->trials[i]));
        if (i && chain->passed_over[i])
            json_object_set_new(passed, chain->trials[i - 1].exp_id,
                                json_integer((json_int_t)chain->passed_over[i]));
    }
    json_object_set_new(object, "chain", list);
    json_object_set_new(object, "passed_over", passed);
    json_object_set_new(object, "passed_over_above_top",
                        json_integer(chain->n ? (json_int_t)chain->passed_over[0] : 0));
    json_object_set_new(object, "ended", ended_json(chain));
    cli_json_print(stdout, object, true);
    json_decref(object);
    return CLI_OK;
}

static void print_passed(size_t n)
{
    if (n)
        printf("    (%zu passed over)\n", n);
}

/* Cut, since a chain is looked at as a whole; `show` has the rest. */
static void print_line(const struct lineage_trial *trial, size_t depth)
{
    char score[LINEAGE_NUMBER_MAX] = "-";
    char *id = cli_text_line(trial->exp_id, 60), *specialist = cli_text_line(trial->specialist, 40);
    char *hypothesis = cli_text_line(trial->hypothesis, 100);
    if (trial->score.present)
        lineage_number_format(score, trial->score.value);
    printf("%s%s  %s  %s  [%s]  %s\n", depth ? " └─ " : "", id, lineage_label_name(trial->status), score,
           specialist, hypothesis);
    free(id);
    free(specialist);
    free(hypothesis);
}

static int print_lines(const struct lineage_chain *chain)
{
    char *end_id = cli_text_line(chain->end_id, 60);
    if (chain->end != LINEAGE_CHAIN_ROOT)
        printf("!! %s: %s\n", end_name(chain->end), end_id);
    free(end_id);
    for (size_t i = 0; i < chain->n; i++) {
        print_passed(chain->passed_over[i]);
        print_line(&chain->trials[i], i);
    }
    return CLI_OK;
}

/* Rows alone: what was passed over has no row, and a column of its own would change the trials' columns. */
static int print_tsv(const struct lineage_chain *chain)
{
    struct cli_list *list = cli_trial_list_new(CLI_TSV, stdout);
    for (size_t i = 0; list && i < chain->n; i++)
        cli_trial_list_add(list, &chain->trials[i]);
    return cli_list_finish(list);
}

static int print_chain(const struct lineage_chain *chain, enum cli_format format)
{
    if (format == CLI_TSV)
        return print_tsv(chain);
    return format == CLI_JSON ? print_json(chain) : print_lines(chain);
}

/* Without an ID, the chain of the best trial. A store without one has no chain: the answer is no, not an error. */
static int load(struct lineage_store *store, const char *id, struct lineage_chain *chain)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = LINEAGE_OK;
    if (!id)
        status = lineage_best(store, &best, &err);
    if (status == LINEAGE_ENOTFOUND)
        return cli_error(CLI_NO, "%s", err.text);
    if (status == LINEAGE_OK)
        status = lineage_chain_load(store, id ? id : best.exp_id, chain, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_chain chain = {0};
    (void)context;
    int status = load(session->store, session->args.n_positional ? session->args.positional[0] : NULL, &chain);
    if (status == CLI_GO_ON)
        status = print_chain(&chain, session->format);
    lineage_chain_release(&chain);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 1, argc, argv, work, NULL);
}

const struct cli_command cmd_chain = {
    .name = "chain",
    .arguments = "[ID]",
    .description = "The trial (default: the best) and its kept or baseline ancestors, root first.\n"
                   "Ancestors with another status are passed over and counted in place; a missing\n"
                   "parent or a cycle ends the walk with a mark.",
    .examples = "  lineage chain\n  lineage chain 014 --format json | jq -r '.chain[].exp_id'",
    .run = run,
};
