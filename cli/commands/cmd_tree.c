/* cmd_tree.c: `lineage tree`: prints all trials as a tree. */
#include <stdlib.h>

#include <lineage/text.h>

#include "cli.h"
#include "output/tree_graph.h"

struct tree_print {
    struct cli_list *list; /* TSV and JSON only */
    const struct cli_screen *screen;
    bool failed;
};

/* Trials below this depth are not indented further; otherwise the output of a long chain would grow with the square of
 * its length. */
enum { DEEPEST_INDENT = 64 };

static const char *const columns[] = {"exp_id", "parent_exp", "depth",         "specialist",
                                      "status", "score",      "delta_vs_best", "hypothesis"};

static bool list_node(void *context, const struct lineage_tree_node *node)
{
    struct tree_print *print = context;
    const struct lineage_trial *trial = node->trial;
    cli_list_text(print->list, trial->exp_id);
    cli_list_text(print->list, trial->parent_exp);
    cli_list_count(print->list, node->depth);
    cli_list_text(print->list, trial->specialist);
    cli_list_text(print->list, lineage_label_name(trial->status));
    cli_list_number(print->list, trial->score.value, trial->score.present);
    cli_list_number(print->list, trial->delta_vs_best.value, trial->delta_vs_best.present);
    cli_list_text(print->list, trial->hypothesis);
    return cli_list_end_row(print->list);
}

/* Prints each line while the store walks the tree, so that printing a million trials to a pipe needs no memory for
 * them. The graph on a terminal is drawn only when all trials are known. */
static bool draw_node(void *context, const struct lineage_tree_node *node)
{
    struct tree_print *print = context;
    const struct lineage_trial *trial = node->trial;
    char score[LINEAGE_NUMBER_MAX] = "-", depth[40] = "";
    enum cli_style style = cli_label_style(trial->status);
    bool deep = node->depth > DEEPEST_INDENT;
    char *id = cli_text_line(trial->exp_id, 60), *hypothesis = cli_text_line(trial->hypothesis, 80);
    if (trial->score.present)
        lineage_number_format(score, trial->score.value);
    if (deep)
        snprintf(depth, sizeof depth, "  (depth %zu)", node->depth);
    print->failed = !id || !hypothesis;
    if (!print->failed)
        printf("%*s%s%s  %s%s  %s%s%s%s%s  %s\n", deep ? DEEPEST_INDENT * 2 : (int)(node->depth * 2), "",
               node->depth ? cli_sign("└─ ", "`- ") : "", id, cli_style_on(print->screen, style),
               lineage_label_name(trial->status), score, cli_style_off(print->screen, style), depth,
               node->parent_missing ? "  (parent missing)" : "", node->in_cycle ? "  (in a cycle)" : "", hypothesis);
    free(id);
    free(hypothesis);
    return !print->failed;
}

static int work(struct cli_session *session, void *context)
{
    (void)context;
    struct tree_print print = {.screen = &session->screen};
    struct lineage_error err;
    if (session->format == CLI_TABLE && session->screen.terminal)
        return tree_graph_print(session->store, &session->screen);
    if (session->format != CLI_TABLE)
        print.list = cli_list_new(session->format, stdout, sizeof columns / sizeof *columns, columns);
    enum lineage_status status = lineage_tree_walk(session->store, print.list ? list_node : draw_node, &print, &err);
    int result = print.list ? cli_list_finish(print.list) : CLI_OK;
    if (print.failed)
        return cli_no_memory();
    return status == LINEAGE_OK ? result : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), CLI_SCREEN_OPTIONS(&session.screen), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, NULL);
}

const struct cli_command cmd_tree = {
    .name = "tree",
    .arguments = "",
    .description = "Prints every trial below its parent; roots and children are in file order. A trial "
                   "whose\n"
                   "parent is not in the store is a root with a remark. Below depth 64 lines are not "
                   "indented\n"
                   "further and give their depth.\n"
                   "\n"
                   "On a terminal, the line of a trial continues to the child that leads to the best trial,\n"
                   "which is marked with a star, or else to the child with the most descendants. Its other\n"
                   "children branch off before that.",
    .examples = "  lineage tree\n  lineage tree --format tsv",
    .run = run,
};
