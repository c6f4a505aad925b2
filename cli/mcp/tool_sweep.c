/*
 * tool_sweep.c: the tool `sweep`: coverage of one or two parameters. Untried combinations are on the first page,
 * because they are what the question is about and agents rarely read the second page.
 */

#include <lineage/notes.h>
#include <lineage/text.h>

#include "mcp/page.h"
#include "mcp/tools.h"

enum { UNTRIED_MAX = 20, FRAME = 500 };

static const char *const field_names[] = {"trials", "best", "best_id", "labels", NULL};

static const struct mcp_argument arguments[] = {{"x", MCP_TEXT, true, "parameter", 0, 200, NULL},
                                                {"y", MCP_TEXT, false, "second parameter", 0, 200, NULL},
                                                {"fields", MCP_TEXTS, false, "default trials, best, best_id", 0, 0, field_names},
                                                {"limit", MCP_COUNT, false, "cells, default 100", 1, 2000, NULL},
                                                {"max_bytes", MCP_COUNT, false, MCP_BYTES_DEFAULT, 1000, 200000, NULL},
                                                {"cursor", MCP_TEXT, false, "`next` of the last page", 0, 600, NULL},
                                                {.name = NULL}};

struct sweeping {
    struct mcp_call *call;
    const char *x, *y;
    struct lineage_sweep sweep;
};

/* A cell is named by its values. Trials are only added, so its place in the order is stable. */
static json_t *cell_name(const struct sweeping *s, const struct lineage_sweep_cell *cell)
{
    char x[LINEAGE_PARAM_QUOTED_MAX], y[LINEAGE_PARAM_QUOTED_MAX];
    const char *name = cli_value_text(x, cell->x, cell->x_text);
    return s->y ? json_sprintf("%s,%s", name, cli_value_text(y, cell->y, cell->y_text)) : json_string(name);
}

/* Numbers sort before texts, as in the sweep. */
static int compare_values(double a, const char *a_text, double b, const char *b_text)
{
    if (a_text && b_text)
        return strcmp(a_text, b_text);
    if (a_text || b_text)
        return a_text ? 1 : -1;
    return (a > b) - (a < b);
}

struct axis_value {
    double number;
    const char *text; /* NULL or owned */
    char own[LINEAGE_PARAM_TEXT_MAX + 1];
};

/* Parses a value as value_name writes it; *text is moved past the value and its comma. */
static bool take_value(struct axis_value *value, const char **text)
{
    size_t n = strcspn(*text, ",");
    value->text = NULL;
    if (!lineage_param_is_text(*text) && lineage_number_parse(&value->number, *text, n)) {
        *text += n + ((*text)[n] == ',');
        return true;
    }
    value->text = value->own;
    return lineage_param_text_next(value->own, text);
}

static bool is_cell_at(const struct lineage_sweep_cell *cell, const struct axis_value *x, const struct axis_value *y)
{
    return compare_values(cell->x, cell->x_text, x->number, x->text) == 0 &&
           compare_values(cell->y, cell->y_text, y->number, y->text) == 0;
}

/* Finds the place by order, not by equality, because cells may have been added since; the page continues after the
 * named values. */
static bool start_of(size_t *start, const struct sweeping *s)
{
    const char *cursor = mcp_text_argument(s->call, "cursor");
    const char *rest = cursor;
    struct axis_value x, y = {.number = 0};
    *start = 0;
    if (!cursor || !*cursor)
        return true;
    bool ok = take_value(&x, &rest) && (*rest != '\0') == (s->y != NULL) && (!*rest || (take_value(&y, &rest) && !*rest));
    for (; ok && *start < s->sweep.n_cells; ++*start) {
        const struct lineage_sweep_cell *cell = &s->sweep.cells[*start];
        int order = compare_values(cell->x, cell->x_text, x.number, x.text);
        if (order > 0 || (!order && compare_values(cell->y, cell->y_text, y.number, y.text) > 0))
            break;
    }
    if (ok && (x.text || y.text)) /* any word parses as a text, so it must be one of the sweep's */
        ok = *start && is_cell_at(&s->sweep.cells[*start - 1], &x, &y);
    if (!ok)
        mcp_trouble(s->call, "cursor: '%.60s' is not the `next` of a page of this sweep", cursor);
    return ok;
}

/* Lists only the labels that occur, because zeros for the others would fill most of the answer. */
static json_t *labels_text(const struct lineage_sweep_cell *cell)
{
    char text[CLI_LABELS_MAX];
    return json_string(cli_labels_text(text, cell->labels));
}

/* If every trial of a cell failed, there is no best score, and the field is null instead of 0. */
static json_t *cell_field(const struct lineage_sweep_cell *cell, const char *field)
{
    if (strcmp(field, "trials") == 0)
        return json_integer((json_int_t)cell->count);
    if (strcmp(field, "best") == 0)
        return cell->best.present ? cli_json_number(cell->best.value) : json_null();
    if (strcmp(field, "best_id") == 0)
        return cell->best_id ? mcp_cell(cell->best_id, 80) : json_null();
    return labels_text(cell);
}

/* The parameters' names go through mcp_cell although the caller gave them, because any trial may have invented them. */
static json_t *columns_of(const struct sweeping *s)
{
    const json_t *fields = json_object_get(s->call->arguments, "fields");
    json_t *columns = json_array();
    json_array_append_new(columns, mcp_cell(s->x, 80));
    if (s->y)
        json_array_append_new(columns, mcp_cell(s->y, 80));
    for (size_t i = 0; i < json_array_size(fields); i++)
        json_array_append(columns, json_array_get(fields, i));
    for (size_t i = 0; !json_array_size(fields) && i < 3; i++)
        json_array_append_new(columns, json_string(field_names[i]));
    return columns;
}

static json_t *value_json(double value, const char *text)
{
    return text ? mcp_cell(text, 0) : cli_json_setting(value);
}

static json_t *row_of(const struct sweeping *s, const struct lineage_sweep_cell *cell, const json_t *columns)
{
    json_t *row = json_array();
    json_array_append_new(row, value_json(cell->x, cell->x_text));
    if (s->y)
        json_array_append_new(row, value_json(cell->y, cell->y_text));
    for (size_t i = json_array_size(row); i < json_array_size(columns); i++)
        json_array_append_new(row, cell_field(cell, json_string_value(json_array_get(columns, i))));
    return row;
}

/* Lists combinations whose values were both tried, but not together. Both lists are sorted alike, so one pass finds
 * them. */
static json_t *untried_cells(const struct sweeping *s, size_t *n)
{
    const struct lineage_sweep *sweep = &s->sweep;
    json_t *list = json_array();
    size_t at = 0;
    *n = s->y ? sweep->n_xs * sweep->n_ys - sweep->n_cells : 0;
    for (size_t i = 0; *n && i < sweep->n_xs && json_array_size(list) < UNTRIED_MAX; i++)
        for (size_t j = 0; j < sweep->n_ys && json_array_size(list) < UNTRIED_MAX; j++) {
            const struct lineage_sweep_cell *cell = &sweep->cells[at];
            bool tried = at < sweep->n_cells && compare_values(cell->x, cell->x_text, sweep->xs[i], sweep->x_texts[i]) == 0 &&
                         compare_values(cell->y, cell->y_text, sweep->ys[j], sweep->y_texts[j]) == 0;
            at += tried;
            if (!tried)
                json_array_append_new(list, json_pack("[o,o]", value_json(sweep->xs[i], sweep->x_texts[i]),
                                                      value_json(sweep->ys[j], sweep->y_texts[j])));
        }
    return list;
}

/* A page has at least one cell, whatever its size, so that the cursor always advances. */
static json_t *sweep_page(const struct sweeping *s, size_t start)
{
    size_t limit = mcp_count_argument(s->call, "limit", 100), bytes = FRAME, untried, i = start;
    size_t max_bytes = mcp_count_argument(s->call, "max_bytes", MCP_DEFAULT_BYTES);
    json_t *columns = columns_of(s), *rows = json_array(), *result = json_object();
    for (; i < s->sweep.n_cells && i - start < limit; i++) {
        size_t length = 0;
        json_t *row = row_of(s, &s->sweep.cells[i], columns);
        free(cli_json_compact(row, &length));
        bytes += length + 1;
        if (bytes > max_bytes && i > start) {
            json_decref(row);
            break;
        }
        json_array_append_new(rows, row);
    }
    cli_json_set(result, "shown", mcp_shown(i - start, s->sweep.n_cells), "next",
                 i < s->sweep.n_cells && i > start ? cell_name(s, &s->sweep.cells[i - 1]) : NULL, "columns", columns, "rows",
                 rows, NULL);
    json_t *list = untried_cells(s, &untried);
    json_object_set_new(result, "untried", json_integer((json_int_t)untried));
    if (untried && start == 0)
        json_object_set(result, "untried_cells", list);
    json_decref(list);
    json_object_set_new(result, "without", json_integer((json_int_t)s->sweep.without));
    return result;
}

static json_t *call_sweep(struct mcp_call *call)
{
    struct sweeping s = {.call = call, .x = mcp_text_argument(call, "x"), .y = mcp_text_argument(call, "y")};
    struct lineage_error err;
    size_t start;
    json_t *result = NULL;
    if (!mcp_check_param(call, s.x) || (s.y && !mcp_check_param(call, s.y)))
        return NULL;
    if (lineage_sweep_load(call->server->store, s.x, s.y, &s.sweep, &err) != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    if (start_of(&start, &s))
        result = sweep_page(&s, start);
    mcp_set_source(result, lineage_store_settings(call->server->store));
    lineage_sweep_release(&s.sweep);
    return result;
}

const struct mcp_tool mcp_tool_sweep = {
    .name = "sweep",
    .title = "Coverage",
    .description = "Which values of one or two parameters were tried: trials and best score of each cell, and the cells between "
                   "them without a trial.",
    .arguments = arguments,
    .output = MCP_LIST_OUTPUT
    ",\"untried\":{\"type\":\"integer\",\"description\":\"cells\"},\"untried_cells\":{\"type\":\"array\",\"description\":\"[x, "
    "y], 20 at most\"},\"without\":{\"type\":\"integer\",\"description\":\"trials that do not set them\"}",
    .needed = "\"shown\",\"columns\",\"rows\",\"untried\",\"without\"",
    .call = call_sweep,
};
