/* cmd_sweep.c: `lineage sweep`. */
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"

/* "1 crash, 2 keep" */
static void labels_text(char out[256], const struct lineage_sweep_cell *cell)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < LINEAGE_N_LABELS && used < 200; i++)
        if (cell->labels[i])
            used += (size_t)snprintf(out + used, 256 - used, "%s%zu %s", used ? ", " : "", cell->labels[i],
                                     lineage_label_name((enum lineage_label)i));
}

static int print_cells(const struct lineage_sweep *sweep, const char *x, const char *y, enum cli_format format)
{
    const char *columns[6] = {x, y ? y : "trials", y ? "trials" : "best", y ? "best" : "best_id",
                              y ? "best_id" : "labels", "labels"};
    struct cli_list *list = cli_list_new(format, stdout, y ? 6 : 5, columns);
    char labels[256];
    for (size_t i = 0; list && i < sweep->n_cells; i++) {
        const struct lineage_sweep_cell *cell = &sweep->cells[i];
        labels_text(labels, cell);
        cli_list_number(list, cell->x, true);
        if (y)
            cli_list_number(list, cell->y, true);
        cli_list_count(list, cell->count);
        cli_list_number(list, cell->best.value, cell->best.present);
        cli_list_text(list, cell->best_id);
        cli_list_text(list, labels);
        cli_list_end_row(list);
    }
    return cli_list_finish(list);
}

static const struct lineage_sweep_cell *find_cell(const struct lineage_sweep *sweep, double x, double y)
{
    for (size_t i = 0; i < sweep->n_cells; i++)
        if (sweep->cells[i].x == x && sweep->cells[i].y == y)
            return &sweep->cells[i];
    return NULL;
}

/* Untried cells lie between tried values: combinations whose x and y were both tried, but not together. */
static void print_untried(const struct lineage_sweep *sweep, const char *x, const char *y)
{
    char a[LINEAGE_NUMBER_MAX], b[LINEAGE_NUMBER_MAX];
    size_t shown = 0, untried = sweep->n_xs * sweep->n_ys - sweep->n_cells;
    if (!y || !untried)
        return;
    printf("untried (%zu):", untried);
    for (size_t i = 0; i < sweep->n_xs && shown < 20; i++)
        for (size_t j = 0; j < sweep->n_ys && shown < 20; j++)
            if (!find_cell(sweep, sweep->xs[i], sweep->ys[j])) {
                printf("%s %s=%s %s=%s", shown ? "," : "", x, lineage_number_format(a, sweep->xs[i]), y,
                       lineage_number_format(b, sweep->ys[j]));
                shown++;
            }
    puts(untried > shown ? ", ..." : "");
}

static json_t *cell_json(const struct lineage_sweep_cell *cell, const char *x, const char *y)
{
    json_t *object = json_object(), *labels = json_object();
    json_object_set_new(object, x, cli_json_number(cell->x));
    if (y)
        json_object_set_new(object, y, cli_json_number(cell->y));
    json_object_set_new(object, "trials", json_integer((json_int_t)cell->count));
    json_object_set_new(object, "best", cell->best.present ? cli_json_number(cell->best.value) : json_null());
    json_object_set_new(object, "best_id", cell->best_id ? cli_json_text(cell->best_id) : json_null());
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (cell->labels[i])
            json_object_set_new(labels, lineage_label_name((enum lineage_label)i),
                                json_integer((json_int_t)cell->labels[i]));
    json_object_set_new(object, "labels", labels);
    return object;
}

static json_t *untried_json(const struct lineage_sweep *sweep, const char *x, const char *y)
{
    json_t *list = json_array();
    for (size_t i = 0; y && i < sweep->n_xs; i++)
        for (size_t j = 0; j < sweep->n_ys; j++)
            if (!find_cell(sweep, sweep->xs[i], sweep->ys[j]))
                json_array_append_new(list, json_pack("{s:f, s:f}", x, sweep->xs[i], y, sweep->ys[j]));
    return list;
}

static int print_json(const struct lineage_sweep *sweep, const char *x, const char *y)
{
    json_t *root = json_object(), *cells = json_array();
    for (size_t i = 0; i < sweep->n_cells; i++)
        json_array_append_new(cells, cell_json(&sweep->cells[i], x, y));
    json_object_set_new(root, "cells", cells);
    json_object_set_new(root, "untried", untried_json(sweep, x, y));
    json_object_set_new(root, "without", json_integer((json_int_t)sweep->without));
    cli_json_print(stdout, root, true);
    json_decref(root);
    return CLI_OK;
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
    int status = session->format == CLI_JSON ? print_json(&sweep, x, y) : print_cells(&sweep, x, y, session->format);
    if (session->format == CLI_TABLE) {
        print_untried(&sweep, x, y);
        if (sweep.without)
            printf("%zu trials name no %s%s%s\n", sweep.without, x, y ? " and " : "", y ? y : "");
    }
    lineage_sweep_release(&sweep);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 2, argc, argv, work, NULL);
}

const struct cli_command cmd_sweep = {
    .name = "sweep",
    .arguments = "PARAMETER [PARAMETER]",
    .summary = "print which values of one or two parameters were tried, and how it went",
    .description = "One line per value (or pair of values): trials, best score among kept, discarded and\n"
                   "baseline trials, labels. For two parameters the pairs that were not tried, although\n"
                   "both values were, are named. Exit status 1 if no trial has the parameters.",
    .examples = "  lineage sweep alpha\n  lineage sweep alpha gamma --format json",
    .run = run,
};
