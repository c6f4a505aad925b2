/*
 * layout.c: reads the header, to find which cell holds which column and which column is the score. Columns are found by
 * name, never by position, because the three tools that write such files order and extend them differently.
 */
#include <stdlib.h>
#include <string.h>

#include "../fail.h"
#include "row.h"

/* Column names of the five-column log, and the columns that they correspond to here. karpathy/autoresearch writes
 * `commit val_bpb memory_gb status description`. Such a log can be opened without conversion, so that people can
 * compare trials with it before they decide to import it. */
static const struct {
    const char *theirs, *ours;
} autoresearch_names[] = {{"commit", "exp_id"}, {"description", "hypothesis"}};

size_t row_layout_place(const struct row_layout *layout, const char *name)
{
    size_t low = 0, high = layout->n_cells;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(layout->names[layout->by_name[middle]], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Names are compared by bytes including case, as in Python's csv.DictReader: `Status` differs from `status`, so it is
 * an extra column. */
int row_layout_find(const struct row_layout *layout, const char *name)
{
    size_t place = row_layout_place(layout, name);
    bool found = place < layout->n_cells && strcmp(layout->names[layout->by_name[place]], name) == 0;
    return found ? (int)layout->by_name[place] : -1;
}

/* Drops the byte order mark that a spreadsheet puts in front of the first name. The names are copied, because a
 * layout outlives the bytes of its header by many syncs. */
static bool copy_names(struct row_layout *layout, const struct tsv_cell *cells, size_t n)
{
    static const char mark[] = "\xef\xbb\xbf";
    layout->names = calloc(n + 1, sizeof *layout->names);
    for (size_t i = 0; layout->names && i < n; i++) {
        const char *text = cells[i].text;
        if (i == 0 && strncmp(text, mark, 3) == 0)
            text += 3;
        if (!(layout->names[i] = strdup(text)))
            return false;
        layout->n_cells = i + 1;
    }
    return layout->names != NULL;
}

/* A name and its cell, for the sort. */
struct named_cell {
    const char *name;
    size_t cell;
};

static int in_order(const void *a, const void *b)
{
    const struct named_cell *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->cell > y->cell) - (x->cell < y->cell);
}

static bool sort_names(struct row_layout *layout)
{
    struct named_cell *cells = calloc(layout->n_cells + 1, sizeof *cells);
    layout->by_name = calloc(layout->n_cells + 1, sizeof *layout->by_name);
    bool ok = cells && layout->by_name;
    for (size_t i = 0; ok && i < layout->n_cells; i++)
        cells[i] = (struct named_cell){layout->names[i], i};
    if (ok && layout->n_cells)
        qsort(cells, layout->n_cells, sizeof *cells, in_order);
    for (size_t i = 0; ok && i < layout->n_cells; i++)
        layout->by_name[i] = cells[i].cell;
    free(cells);
    return ok;
}

/* If two columns have the same name, the first one counts, so adding a column at the end changes nothing. */
static void map_columns(struct row_layout *layout)
{
    layout->identical = layout->n_cells == LINEAGE_N_COLUMNS;
    layout->n_extras = layout->n_cells;
    for (int i = 0; i < LINEAGE_N_COLUMNS; i++) {
        layout->column[i] = row_layout_find(layout, lineage_column((size_t)i)->name);
        layout->n_extras -= layout->column[i] >= 0;
        layout->identical = layout->identical && layout->column[i] == i;
    }
}

/* A file with an exp_id column is not an autoresearch log, even if it also has a commit column; that column is then an
 * extra column. */
static void map_autoresearch(struct row_layout *layout)
{
    if (row_layout_find(layout, "exp_id") >= 0 || row_layout_find(layout, "commit") < 0)
        return;
    layout->shape = ROW_AUTORESEARCH;
    for (size_t i = 0; i < sizeof autoresearch_names / sizeof *autoresearch_names; i++) {
        int column = lineage_column_find(autoresearch_names[i].ours);
        int cell = row_layout_find(layout, autoresearch_names[i].theirs);
        if (layout->column[column] < 0 && cell >= 0) {
            layout->column[column] = cell;
            layout->n_extras--;
        }
    }
}

/* If the configured column is missing, this is an error: a guessed column would rank the trials by another measure, and
 * no output would show it. Without a configured column core_metric is tried first, because every file that this library
 * writes has it. */
static enum lineage_status choose_metric(struct row_layout *layout, const char *metric, struct lineage_error *err)
{
    const char *name = metric;
    if (!name || !*name)
        name = row_layout_find(layout, "core_metric") >= 0 ? "core_metric" : "val_bpb";
    layout->score = row_layout_find(layout, name);
    if (layout->score < 0 && metric && *metric)
        return store_fail(err, LINEAGE_EINVAL, "results.tsv: no column '%s' to take the score from", metric);
    layout->metric = strdup(name);
    return layout->metric ? LINEAGE_OK : store_no_memory(err);
}

enum lineage_status row_layout_read(struct row_layout *layout, const struct tsv_cell *cells, size_t n, const char *metric,
                                    struct lineage_error *err)
{
    enum lineage_status status;
    *layout = (struct row_layout){.score = -1};
    if (!copy_names(layout, cells, n) || !sort_names(layout)) {
        row_layout_release(layout);
        return store_no_memory(err);
    }
    map_columns(layout);
    map_autoresearch(layout);
    if (layout->shape != ROW_AUTORESEARCH && layout->n_extras)
        layout->shape = ROW_BLACKBOARD;
    if (layout->column[0] < 0)
        status = store_fail(err, LINEAGE_ECORRUPT, "results.tsv:1: no exp_id or commit column in the header");
    else
        status = choose_metric(layout, metric, err);
    if (status != LINEAGE_OK)
        row_layout_release(layout);
    return status;
}

void row_layout_release(struct row_layout *layout)
{
    for (size_t i = 0; i < layout->n_cells; i++)
        free(layout->names[i]);
    free(layout->names);
    free(layout->by_name);
    free(layout->metric);
    *layout = (struct row_layout){.score = -1};
}
