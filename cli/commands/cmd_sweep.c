/* cmd_sweep.c: `lineage sweep`: prints which values of parameters were tried. */

#include <lineage/notes.h>
#include <lineage/text.h>

#include "output/display_width.h"
#include "output/ideas_out.h"

/* A parameter may be a number in some trials and a text in others; each is printed as its own type. */
static void add_value(struct cli_list *list, double value, const char *text)
{
    char number[LINEAGE_NUMBER_MAX];
    if (text)
        cli_list_text(list, text);
    else
        cli_list_digits(list, lineage_setting_format(number, value));
}

static int print_cells(const struct lineage_sweep *sweep, const char *x, const char *y, enum cli_format format,
                       struct cli_screen *screen)
{
    const char *columns[6] = {x,       y ? y : "trials", y ? "trials" : "best", y ? "best" : "best_id", y ? "best_id" : "labels",
                              "labels"};
    struct cli_list *list = cli_list_new(format, y ? 6 : 5, columns);
    char labels[CLI_LABELS_MAX];
    cli_list_fit(list, screen, y ? ":1/12,:2/12,:4,:3,:5/12,:6/12" : ":1/12,:4,:3,:5/12,:6/12");
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const struct lineage_sweep_cell *cell = &sweep->cells[i];
        cli_labels_text(labels, cell->labels);
        add_value(list, cell->x, cell->x_text);
        if (y)
            add_value(list, cell->y, cell->y_text);
        cli_list_add(list, CLI_COUNT(cell->count), CLI_NUMBER(cell->best.value, cell->best.present));
        cli_list_style(list, cell->labels[LINEAGE_KEEP] + cell->labels[LINEAGE_BASELINE] ? CLI_KEPT : CLI_PLAIN, 0);
        cli_list_row(list, CLI_TEXT(cell->best_id), CLI_TEXT(labels));
    }
    return cli_list_finish(list);
}

/* The number 0 and the text "0" are different values. */
static bool is_value(double a, const char *a_text, double b, const char *b_text)
{
    return a_text && b_text ? strcmp(a_text, b_text) == 0 : !a_text && !b_text && a == b;
}

/* Whether cells[next] holds the i-th value of x and the j-th value of y. Cells are sorted by these values. */
static bool is_next(const struct lineage_sweep *sweep, size_t next, size_t i, size_t j)
{
    const struct lineage_sweep_cell *cell = &sweep->cells[next];
    return next < sweep->n_cells && is_value(cell->x, cell->x_text, sweep->xs[i], sweep->x_texts[i]) &&
           is_value(cell->y, cell->y_text, sweep->ys[j], sweep->y_texts[j]);
}

/* Prints the untried pairs: x and y were both tried, but not together. */
static void print_untried(FILE *out, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    char a[LINEAGE_PARAM_QUOTED_MAX], b[LINEAGE_PARAM_QUOTED_MAX];
    size_t next = 0, shown = 0, untried = sweep->n_xs * sweep->n_ys - sweep->n_cells;
    if (!y || !untried || sweep->measured)
        return;
    fprintf(out, "untried (%zu):", untried);
    for (size_t i = 0; i < sweep->n_xs && shown < 20; i++)
        for (size_t j = 0; j < sweep->n_ys && shown < 20; j++)
            if (is_next(sweep, next, i, j)) {
                next++;
            } else {
                fprintf(out, "%s %s=%s %s=%s", shown ? "," : "", x, cli_value_text(a, sweep->xs[i], sweep->x_texts[i]), y,
                        cli_value_text(b, sweep->ys[j], sweep->y_texts[j]));
                shown++;
            }
    fputs(untried > shown ? ", ...\n" : "\n", out);
}

static json_t *value_json(double value, const char *text)
{
    return text ? cli_json_text(text) : cli_json_setting(value);
}

static json_t *cell_json(const struct lineage_sweep_cell *cell, const char *x, const char *y)
{
    json_t *object = json_object(), *labels = json_object();
    json_object_set_new(object, x, value_json(cell->x, cell->x_text));
    if (y)
        json_object_set_new(object, y, value_json(cell->y, cell->y_text));
    cli_json_set(object, "trials", json_integer((json_int_t)cell->count), "best",
                 cell->best.present ? cli_json_number(cell->best.value) : json_null(), "best_id",
                 cell->best_id ? cli_json_text(cell->best_id) : json_null(), NULL);
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (cell->labels[i])
            json_object_set_new(labels, lineage_label_name((enum lineage_label)i), json_integer((json_int_t)cell->labels[i]));
    json_object_set_new(object, "labels", labels);
    return object;
}

/* Lists all pairs, although people are shown only twenty, because a planner chooses from the list. */
static json_t *untried_json(const struct lineage_sweep *sweep, const char *x, const char *y)
{
    json_t *list = json_array();
    size_t next = 0;
    for (size_t i = 0; y && !sweep->measured && i < sweep->n_xs; i++)
        for (size_t j = 0; j < sweep->n_ys; j++)
            if (is_next(sweep, next, i, j))
                next++;
            else
                json_array_append_new(list, json_pack("{s:o, s:o}", x, value_json(sweep->xs[i], sweep->x_texts[i]), y,
                                                      value_json(sweep->ys[j], sweep->y_texts[j])));
    return list;
}

static int print_json(const struct lineage_sweep *sweep, const struct lineage_settings *settings, const char *x, const char *y)
{
    json_t *root = json_object(), *cells = json_array();
    for (size_t i = 0; i < sweep->n_cells; i++)
        json_array_append_new(cells, cell_json(&sweep->cells[i], x, y));
    cli_json_set(root, "cells", cells, "untried", untried_json(sweep, x, y), "without", json_integer((json_int_t)sweep->without),
                 "aborted", json_integer((json_int_t)sweep->aborted), "source",
                 settings ? cli_settings_sources_json(settings) : NULL, NULL);
    return cli_json_answer(root);
}

static void print_remarks(FILE *out, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    if (sweep->without)
        fprintf(out, "%zu trial%s not set %s%s%s\n", sweep->without, sweep->without == 1 ? " does" : "s do", x, y ? " or " : "",
                y ? y : "");
    if (sweep->aborted)
        fprintf(out, "%zu trial%s with harness_abort left out\n", sweep->aborted, sweep->aborted == 1 ? "" : "s");
}

/* Prints the remarks below the table. On a terminal a remark may take several lines. */
static void print_below(const struct cli_screen *screen, const struct lineage_sweep *sweep, const char *x, const char *y,
                        const struct lineage_settings *settings)
{
    struct cli_writer text = {0};
    FILE *out = cli_writer_open(&text);
    char *rest, *line;
    if (!out)
        return;
    print_untried(out, sweep, x, y);
    print_remarks(out, sweep, x, y);
    cli_settings_explain(out, settings, "");
    if (cli_writer_close(&text))
        for (rest = text.text; (line = strsep(&rest, "\n")) && *line;)
            display_wrapped(stdout, line, screen->terminal ? screen->width : SIZE_MAX);
    free(text.text);
}

static int print_sweep(struct cli_session *session, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    const struct lineage_settings *settings = lineage_store_settings(session->store);
    if (session->format == CLI_JSON)
        return print_json(sweep, settings, x, y);
    if (cli_format_is_rows(session->format))
        return print_cells(sweep, x, y, session->format, &session->screen);
    int status = print_cells(sweep, x, y, CLI_TABLE, &session->screen);
    print_below(&session->screen, sweep, x, y, settings);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_sweep sweep;
    struct lineage_error err;
    const char *x = session->args.positional[0];
    const char *y = session->args.n_positional > 1 ? session->args.positional[1] : NULL;
    (void)context;
    enum lineage_status found = lineage_sweep_load(session->store, x, y, &sweep, &err);
    if (found != LINEAGE_OK)
        return found == LINEAGE_ENOTFOUND ? cli_error(CLI_NO, "%s", err.text) : cli_fail(&err);
    int status = print_sweep(session, &sweep, x, y);
    lineage_sweep_release(&sweep);
    return status;
}

static struct cli_session asked;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked), CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_sweep = {
    .name = "sweep",
    .arguments = "PARAMETER [PARAMETER]",
    .description = "Prints one line per value, or per pair of values: the number of trials, the best score\n"
                   "among kept, discarded and baseline trials, and the labels. For two parameters, pairs that\n"
                   "were not tried although both values were are listed. Trials with harness_abort are left\n"
                   "out. Exit status 1 if no trial has the parameters. A name that no trial declares as a\n"
                   "parameter is looked up among the settings that trials changed in words. A metric or a\n"
                   "numeric extra column can replace a parameter; untried pairs are then not listed.\n"
                   "`lineage report --svg coverage` draws pairs of parameters as a map.",
    .examples = "  lineage sweep alpha\n  lineage sweep alpha gamma --format json\n  lineage sweep optimizer alpha",
    CLI_ON_STORE(asked, table, 1, 2, work, NULL),
};
