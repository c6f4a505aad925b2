/* cmd_chain.c: `lineage chain`: prints the kept ancestors of a trial. */

#include <lineage/text.h>

#include "output/show.h"

enum { NARROW = 60 }; /* terminal columns; narrower terminals show no scores beside the drawing */

static const char *end_name(enum lineage_chain_end end)
{
    static const char *const names[] = {"root", "missing", "cycle"};
    return names[end];
}

/* Returns how the chain begins: "root", "missing 014" or "cycle at 014". */
static json_t *ended_json(const struct lineage_chain *chain)
{
    if (chain->end == LINEAGE_CHAIN_ROOT)
        return json_string("root");
    return json_sprintf(chain->end == LINEAGE_CHAIN_CYCLE ? "cycle at %s" : "missing %s", chain->end_id);
}

/* passed_over maps the id of an ancestor to how many trials were skipped between it and its child. The counts are
 * stored by id, so that a trial's object has the same keys here as in every other command. */
static int print_json(const struct lineage_chain *chain)
{
    json_t *list = json_array(), *passed = json_object(), *object = json_object();
    for (size_t i = 0; i < chain->n; i++) {
        json_array_append_new(list, cli_trial_json(&chain->trials[i]));
        if (i && chain->passed_over[i])
            json_object_set_new(passed, chain->trials[i - 1].exp_id, json_integer((json_int_t)chain->passed_over[i]));
    }
    cli_json_set(object, "chain", list, "passed_over", passed, "passed_over_above_top",
                 json_integer(chain->n ? (json_int_t)chain->passed_over[0] : 0), "left_out",
                 chain->left_out ? json_integer((json_int_t)chain->left_out) : NULL, "ended", ended_json(chain), "keeps_before",
                 chain->keeps ? json_integer((json_int_t)chain->keeps) : NULL, NULL);
    return cli_json_answer(object);
}

/* Shortens the hypothesis, because a chain is read as a whole; `show` prints all of it. */
static void print_line(const struct cli_screen *screen, const struct lineage_trial *trial, size_t depth)
{
    enum cli_style style = cli_label_style(trial->status);
    char score[LINEAGE_NUMBER_MAX] = "-";
    if (trial->score.present)
        cli_number_text(score, screen, trial->score.value);
    cli_print(stdout, "%s%.60s  %s%s  %s%s  [%.40s]  %.100s\n", depth ? cli_sign(" └─ ", " `- ") : "", trial->exp_id,
              cli_style_on(screen, style), lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, trial), score,
              cli_style_off(screen, style), trial->specialist, trial->hypothesis);
}

static void print_end(const struct lineage_chain *chain)
{
    if (chain->end != LINEAGE_CHAIN_ROOT)
        cli_print(stdout, "!! %s: %.60s\n", end_name(chain->end), chain->end_id);
    if (chain->left_out)
        printf("    (%zu ancestors not shown)\n", chain->left_out);
    if (chain->keeps)
        printf("    (no row names a parent; %zu keeps before it: `lineage query --status keep`)\n", chain->keeps);
}

static int print_lines(const struct lineage_chain *chain, const struct cli_screen *screen)
{
    print_end(chain);
    for (size_t i = 0; i < chain->n; i++) {
        if (chain->passed_over[i])
            printf("    (%zu passed over)\n", chain->passed_over[i]);
        print_line(screen, &chain->trials[i], i + chain->left_out);
    }
    return CLI_OK;
}

static bool has_score(const struct lineage_trial *trial)
{
    return trial->score.present && isfinite(trial->score.value);
}

/* Adds the gain of a step over its ancestor in the chain. The row has no column for it, because delta_vs_best compares
 * with another trial. */
static void add_step(struct cli_list *list, const struct lineage_chain *chain, size_t i)
{
    const struct lineage_trial *trial = &chain->trials[i];
    bool both = i && has_score(trial) && has_score(trial - 1);
    enum cli_style style = cli_label_style(trial->status);
    cli_list_text(list, trial->exp_id);
    cli_list_style(list, style, 0);
    cli_list_text(list, lineage_label_name(trial->status));
    cli_list_style(list, style, 0);
    cli_list_number(list, trial->score.value, trial->score.present);
    cli_list_style(list, style, 0);
    cli_list_number(list, both ? trial->score.value - trial[-1].score.value : 0, both);
    if (chain->passed_over[i])
        cli_list_count(list, chain->passed_over[i]);
    else
        cli_list_number(list, 0, false);
    cli_list_row(list, CLI_TEXT(trial->specialist), CLI_TEXT(trial->hypothesis));
}

static void print_sparkline(const struct lineage_chain *chain, const struct cli_screen *screen)
{
    double *scores = calloc(chain->n, sizeof *scores);
    size_t n = 0;
    for (size_t i = 0; scores && i < chain->n; i++)
        if (has_score(&chain->trials[i]))
            scores[n++] = chain->trials[i].score.value;
    if (n > 1) {
        printf("%sscore%s  ", cli_style_on(screen, CLI_QUIET), cli_style_off(screen, CLI_QUIET));
        sparkline_print(stdout, scores, n, screen->width / 2);
        printf("%s%.6g to %.6g\n", screen->width < NARROW ? "\n" : "  ", scores[0], scores[n - 1]);
    }
    free(scores);
}

static int print_fitted(const struct lineage_chain *chain, struct cli_screen *screen)
{
    struct cli_list *list =
        cli_list_of(CLI_TABLE, screen, "id:1/12,status:2/8,score:3,gain:5,passed over=passed:6,specialist:7/8,hypothesis:4/12%");
    cli_screen_expect(screen, chain->n + 4);
    print_end(chain);
    for (size_t i = 0; i < chain->n; i++)
        add_step(list, chain, i);
    int status = cli_list_finish(list);
    if (status == CLI_OK)
        print_sparkline(chain, screen);
    return status;
}

/* Prints the rows only: a column for the number of skipped trials would make the columns differ from those of other
 * commands. */
static int print_rows(const struct lineage_chain *chain, enum cli_format format)
{
    struct cli_list *list = cli_trial_list_new(format, NULL);
    for (size_t i = 0; i < chain->n; i++)
        cli_trial_list_add(list, &chain->trials[i], NULL);
    return cli_list_finish(list);
}

static int print_chain(const struct lineage_chain *chain, enum cli_format format, struct cli_screen *screen)
{
    if (cli_format_is_rows(format))
        return print_rows(chain, format);
    if (format == CLI_JSON)
        return print_json(chain);
    return screen->terminal ? print_fitted(chain, screen) : print_lines(chain, screen);
}

/* Loads the chain of the best trial if no ID was given. In a store without a best trial the answer is no, which is not
 * an error. */
static int load(struct lineage_store *store, const char *id, size_t last, struct lineage_chain *chain)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = id ? lineage_find_named(store, id, false, &best, &err) : lineage_best(store, &best, &err);
    if (status == LINEAGE_ENOTFOUND && !id)
        return cli_error(CLI_NO, "%s", err.text);
    if (status == LINEAGE_OK)
        status = lineage_chain_load_last(store, best.exp_id, last, chain, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_chain chain = {0};
    const char *limit = *(char **)context;
    size_t last = SIZE_MAX;
    if (limit && !cli_count_parse(&last, "limit", limit))
        return CLI_USAGE;
    if (!last)
        return cli_error(CLI_USAGE, "--limit 0 would print nothing; give at least 1");
    int status = load(session->store, session->args.n_positional ? session->args.positional[0] : NULL, last, &chain);
    if (status == CLI_GO_ON)
        status = print_chain(&chain, session->format, &session->screen);
    lineage_chain_release(&chain);
    return status;
}

static struct cli_session asked;
static char *limit;
static struct poptOption table[] = {CLI_OPTION("limit", &limit, "N", "print only the last N trials of the chain (default: all)"),
                                    CLI_SESSION_OPTIONS(&asked), CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_chain = {
    .name = "chain",
    .arguments = "[ID]",
    .description = "Prints a trial (default: the best) and its kept or baseline ancestors, root first.\n"
                   "Ancestors with another status are skipped and counted in place. If a parent is missing\n"
                   "or the parents form a cycle, the chain ends there with a remark. If no row names a parent,\n"
                   "the chain is the trial alone, and a remark counts the keeps before it.",
    .examples = "  lineage chain\n  lineage chain --limit 10\n  lineage chain 014 --format json | jq -r '.chain[].exp_id'",
    CLI_ON_STORE(asked, table, 0, 1, work, &limit),
};
