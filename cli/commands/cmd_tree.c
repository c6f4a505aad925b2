/* cmd_tree.c: `lineage tree`: prints all trials as a tree. */

#include <lineage/text.h>

#include "cli.h"

/* Draws the tree of all trials on a terminal. Every trial is below its parent, and its line continues to
 * the child that leads to the best trial, or else to the child with the most descendants; the other children branch off
 * above that child. So a chain of a hundred kept trials is a straight line, and the width of the graph is logarithmic
 * in the number of trials. */

#define NONE SIZE_MAX

/* DRAWING_MAX holds two columns for each of at most 64 levels in UTF-8, ID_MAX an id. */
enum { DRAWING_MAX = 64 * 6, ID_MAX = 60 };

struct node {
    char *id, *specialist, *hypothesis, status_text[LINEAGE_STATUS_MAX];
    enum lineage_label status;
    struct lineage_number score, delta;
    size_t parent, size; /* size: number of trials in this subtree, including this one */
    size_t first, last, next; /* first, last: children in file order; next: next sibling */
    bool to_best; /* this is the best trial or one of its ancestors */
};

struct graph {
    struct node *nodes; /* [n]; every parent precedes its children */
    size_t n, room, best;
    size_t *above; /* [depth]; the last trial at each depth */
    size_t above_room;
    const char *best_id;
    size_t hypothesis_max;
    struct cli_list *list;
    bool failed;
};

/* The hypothesis begins with a remark if the trial's place is unusual. */
static char *hypothesis_of(const struct graph *g, const struct lineage_tree_node *node)
{
    const char *mark = node->parent_missing ? "(parent missing) " : node->in_cycle ? "(in a cycle) " : "";
    char *line = cli_text_line(node->trial->hypothesis, g->hypothesis_max), *text = NULL;
    size_t size = line ? strlen(mark) + strlen(line) + 1 : 0;
    if (line && (text = malloc(size)))
        snprintf(text, size, "%s%s", mark, line);
    free(line);
    return text;
}

/* Appends the child to the list of siblings, so that branches are in file order. */
static void add_child(struct graph *g, size_t parent, size_t child)
{
    struct node *node = &g->nodes[parent];
    if (node->first == NONE)
        node->first = child;
    else
        g->nodes[node->last].next = child;
    node->last = child;
}

static bool add_node(void *context, const struct lineage_tree_node *visited)
{
    struct graph *g = context;
    const struct lineage_trial *trial = visited->trial;
    size_t depth = visited->depth;
    g->failed = !CLI_ROOM(g->nodes, g->n, g->room) || !CLI_ROOM(g->above, depth, g->above_room);
    if (g->failed)
        return false;
    struct node *node = &g->nodes[g->n];
    *node = (struct node){.id = cli_text_line(trial->exp_id, ID_MAX),
                          .specialist = strdup(trial->specialist),
                          .hypothesis = hypothesis_of(g, visited),
                          .status = trial->status,
                          .score = trial->score,
                          .delta = trial->delta_vs_best,
                          .parent = depth ? g->above[depth - 1] : NONE,
                          .size = 1,
                          .first = NONE,
                          .last = NONE,
                          .next = NONE};
    lineage_trial_status(node->status_text, trial);
    if (g->best_id && strcmp(trial->exp_id, g->best_id) == 0)
        g->best = g->n;
    g->above[depth] = g->n++;
    g->failed = !node->id || !node->specialist || !node->hypothesis;
    return !g->failed;
}

/* Links the nodes in two passes. The second adds up the sizes from the last node to the first, because parents precede
 * their children. */
static void link_nodes(struct graph *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (g->nodes[i].parent != NONE)
            add_child(g, g->nodes[i].parent, i);
    for (size_t i = g->n; i-- > 0;)
        if (g->nodes[i].parent != NONE)
            g->nodes[g->nodes[i].parent].size += g->nodes[i].size;
    for (size_t i = g->best; i != NONE; i = g->nodes[i].parent)
        g->nodes[i].to_best = true;
}

/* Returns the child to which the trial's line continues. If several subtrees have the same size, the last one wins,
 * which is usually the newest. */
static size_t straight_child(const struct graph *g, size_t i)
{
    size_t straight = NONE;
    for (size_t c = g->nodes[i].first; c != NONE; c = g->nodes[c].next)
        if (straight == NONE || g->nodes[c].to_best ||
            (!g->nodes[straight].to_best && g->nodes[c].size >= g->nodes[straight].size))
            straight = c;
    return straight;
}

/* Draws all lines to the left as continuing downwards, because a trial's branches are drawn before its straight
 * child. */
static size_t draw(char out[DRAWING_MAX + 1], size_t level, bool begins, bool ends)
{
    size_t n = 0, through = begins && level ? level - 1 : level;
    out[0] = '\0';
    for (size_t i = 0; i < through && n + 24 < DRAWING_MAX; i++)
        n += (size_t)snprintf(out + n, DRAWING_MAX - n, "%s", cli_sign("│ ", "| "));
    if (!begins)
        return n + (size_t)snprintf(out + n, DRAWING_MAX - n, "%s ", ends ? cli_sign("└", "`") : cli_sign("├", "|"));
    return n + (size_t)snprintf(out + n, DRAWING_MAX - n, "%s%s ", level ? cli_sign("├─", "|-") : "",
                                !ends ? (level ? cli_sign("┬", "+") : cli_sign("┌", ".")) : cli_sign("─", "-"));
}

static void add_row(struct graph *g, size_t i, size_t level, bool begins, bool ends)
{
    const struct node *node = &g->nodes[i];
    bool on_chain = node->to_best && lineage_label_is_kept(node->status);
    enum cli_style style = on_chain ? CLI_BEST : cli_label_style(node->status);
    char text[DRAWING_MAX + ID_MAX * 16];
    /* The drawing is the lead of the cell: it keeps its own colour and is shortened like the rest if there is no
     * room. */
    size_t lead = draw(text, level, begins, ends);
    snprintf(text + lead, sizeof text - lead, "%s%s", node->id, i == g->best ? cli_sign(" ★", " *") : "");
    cli_list_text(g->list, text);
    cli_list_style(g->list, style, lead);
    cli_list_text(g->list, node->status_text);
    cli_list_style(g->list, style, 0);
    cli_list_number(g->list, node->score.value, node->score.present);
    cli_list_style(g->list, style, 0);
    cli_list_add(g->list, CLI_NUMBER(node->delta.value, node->delta.present), CLI_TEXT(node->specialist),
                 CLI_TEXT(node->hypothesis));
    g->failed = !cli_list_end_row(g->list);
}

/* Recursive only for branches. Each has at most half of the trials, so the depth is logarithmic. */
static void add_line(struct graph *g, size_t i, size_t level)
{
    for (bool begins = true; i != NONE && !g->failed; begins = false) {
        size_t straight = straight_child(g, i);
        add_row(g, i, level, begins, straight == NONE);
        for (size_t c = g->nodes[i].first; c != NONE; c = g->nodes[c].next)
            if (c != straight && !g->failed)
                add_line(g, c, level + 1);
        i = straight;
    }
}

static int print_rows(struct graph *g, struct cli_screen *screen)
{
    g->list = cli_list_of(CLI_TABLE, screen,
                          screen->width < 60 ? "id:1/16,status:2/8,score:3,delta:5,specialist:6/8,hypothesis:4/12%"
                                             : "id:1/16,status:2/12,score:3,delta:5,specialist:6/8,hypothesis:4/12%");
    for (size_t i = 0; i < g->n; i++)
        if (g->nodes[i].parent == NONE)
            add_line(g, i, 0);
    return cli_list_finish(g->list);
}

static void release(struct graph *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->nodes[i].id);
        free(g->nodes[i].specialist);
        free(g->nodes[i].hypothesis);
    }
    free(g->nodes);
    free(g->above);
}

/* Prints the graph; returns an exit status. */
static int tree_graph_print(struct lineage_store *store, struct cli_screen *screen)
{
    struct graph g = {.best = NONE, .hypothesis_max = screen->wide ? 0 : screen->width};
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(store, &best, &err);
    int result = CLI_OK;
    g.best_id = status == LINEAGE_OK ? best.exp_id : NULL;
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        status = lineage_tree_walk(store, add_node, &g, &err);
    if (status != LINEAGE_OK)
        result = cli_fail(&err);
    else if (g.failed)
        result = cli_no_memory();
    if (result == CLI_OK) {
        link_nodes(&g);
        result = print_rows(&g, screen);
    }
    lineage_trial_release(&best);
    release(&g);
    return result;
}

struct tree_print {
    struct cli_list *list; /* TSV and JSON only */
    const struct cli_screen *screen;
    bool has_void; /* JSON only: what a void trial was */
    bool failed;
};

/* Trials below this depth are not indented further; otherwise the output of a long chain would grow with the square of
 * its length. */
enum { DEEPEST_INDENT = 64 };

static bool list_node(void *context, const struct lineage_tree_node *node)
{
    struct tree_print *print = context;
    const struct lineage_trial *trial = node->trial;
    cli_list_add(print->list, CLI_TEXT(trial->exp_id), CLI_TEXT(trial->parent_exp), CLI_COUNT(node->depth),
                 CLI_TEXT(trial->specialist), CLI_TEXT(lineage_label_name(trial->status)),
                 CLI_NUMBER(trial->score.value, trial->score.present),
                 CLI_NUMBER(trial->delta_vs_best.value, trial->delta_vs_best.present), CLI_TEXT(trial->hypothesis));
    if (print->has_void)
        cli_list_text(print->list, trial->void_label);
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
        cli_number_text(score, print->screen, trial->score.value);
    if (deep)
        snprintf(depth, sizeof depth, "  (depth %zu)", node->depth);
    print->failed = !id || !hypothesis;
    if (!print->failed)
        printf("%*s%s%s  %s%s  %s%s%s%s%s  %s\n", deep ? DEEPEST_INDENT * 2 : (int)(node->depth * 2), "",
               node->depth ? cli_sign("└─ ", "`- ") : "", id, cli_style_on(print->screen, style),
               lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, trial), score, cli_style_off(print->screen, style), depth,
               node->parent_missing ? "  (parent missing)" : "", node->in_cycle ? "  (in a cycle)" : "", hypothesis);
    free(id);
    free(hypothesis);
    return !print->failed;
}

static int work(struct cli_session *session, void *context)
{
    (void)context;
    struct tree_print print = {.screen = &session->screen, .has_void = session->format == CLI_JSON};
    struct lineage_error err;
    if (session->format == CLI_TABLE && session->screen.terminal)
        return tree_graph_print(session->store, &session->screen);
    if (session->format != CLI_TABLE)
        print.list = cli_list_of(session->format, NULL,
                                 print.has_void ? "exp_id,parent_exp,depth,specialist,status,score,delta_vs_best,hypothesis,void"
                                                : "exp_id,parent_exp,depth,specialist,status,score,delta_vs_best,hypothesis");
    enum lineage_status status = lineage_tree_walk(session->store, print.list ? list_node : draw_node, &print, &err);
    int result = print.list ? cli_list_finish(print.list) : CLI_OK;
    if (print.failed)
        return cli_no_memory();
    return status == LINEAGE_OK ? result : cli_fail(&err);
}

static struct cli_session asked;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked), CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_tree = {
    .name = "tree",
    .arguments = "",
    .description = "Prints every trial below its parent; roots and children are in file order. A trial whose\n"
                   "parent is not in the store is a root with a remark. Below depth 64 lines are not indented\n"
                   "further and give their depth.\n\n"
                   "On a terminal, the line of a trial continues to the child that leads to the best trial,\n"
                   "which is marked with a star, or else to the child with the most descendants. Its other\n"
                   "children branch off before that.",
    .examples = "  lineage tree\n  lineage tree --format tsv",
    CLI_ON_STORE(asked, table, 0, 0, work, NULL),
};
