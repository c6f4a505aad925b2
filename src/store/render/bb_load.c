/* bb_load.c: results.tsv and best.json for the blackboard's files. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "../log/fs.h"
#include "blackboard.h"

/* Which cell is what; the header's layout, with its names. */
struct bb_reader {
    struct blackboard *bb;
    struct row_layout layout;
    bool has_layout;
    struct tsv_reader *reader;
    bool failed;
};

static const char *cell(struct bb_reader *r, const struct tsv_cell *cells, size_t n, int index)
{
    if (index < 0 || (size_t)index >= n)
        return NULL;
    const char *text = row_cell_text(&r->bb->arena, &cells[index]);
    r->failed = r->failed || !text;
    return text;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int column(const struct bb_reader *r, const char *name)
{
    return r->layout.column[lineage_column_find(name)];
}

static bool add_row(struct bb_reader *r, const struct tsv_cell *cells, size_t n)
{
    struct blackboard *bb = r->bb;
    if (bb->n == bb->capacity) {
        size_t capacity = bb->capacity ? bb->capacity * 2 : 64;
        struct bb_row *rows = realloc(bb->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        bb->rows = rows;
        bb->capacity = capacity;
    }
    struct bb_row *row = &bb->rows[bb->n++];
    row->id = or_empty(cell(r, cells, n, column(r, "exp_id")));
    row->parent = or_empty(cell(r, cells, n, column(r, "parent_exp")));
    row->specialist = or_empty(cell(r, cells, n, column(r, "specialist")));
    row->hypothesis = or_empty(cell(r, cells, n, column(r, "hypothesis")));
    row->status = cell(r, cells, n, column(r, "status"));
    row->score = or_empty(cell(r, cells, n, r->layout.score));
    row->delta = or_empty(cell(r, cells, n, column(r, "delta_vs_best")));
    row->key = INFINITY;
    if (!lineage_number_parse(&row->key, row->score, strlen(row->score)) || isnan(row->key))
        row->key = INFINITY;
    return !r->failed;
}

static bool all_utf8(const struct tsv_cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!lineage_text_is_utf8(cells[i].text, cells[i].length))
            return false;
    return true;
}

static enum lineage_status read_record(struct bb_reader *r, const struct tsv_record *record, const char *metric,
                                       struct lineage_error *err)
{
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(r->reader, record, &cells, &n, err);
    if (status == LINEAGE_OK && !r->has_layout) {
        status = row_layout_read(&r->layout, cells, n, metric, err);
        r->has_layout = status == LINEAGE_OK;
    } else if (status == LINEAGE_OK && all_utf8(cells, n) && !add_row(r, cells, n)) {
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    return status;
}

static enum lineage_status read_rows(struct blackboard *bb, struct lineage_store *store, struct lineage_error *err)
{
    struct bb_reader r = {.bb = bb, .reader = tsv_reader_new()};
    struct buf bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = fs_read_file(store->dir_fd, "results.tsv", &bytes, err);
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (!r.reader)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record))
        if (record.content)
            status = read_record(&r, &record, store->config.metric, err);
    row_layout_release(&r.layout);
    tsv_reader_free(r.reader);
    buf_release(&bytes);
    return status;
}

/* ---- best.json ---- */

static const char *keep_text(struct blackboard *bb, const char *text, bool *ok)
{
    const char *out = arena_text(&bb->arena, text, strlen(text));
    *ok = *ok && out;
    return out;
}

/* A value as str() prints it. */
static const char *value_text(struct blackboard *bb, const json_t *value, const char *missing, bool *ok)
{
    char number[LINEAGE_NUMBER_MAX];
    if (!value)
        return missing;
    if (json_is_real(value))
        return keep_text(bb, lineage_number_format(number, json_real_value(value)), ok);
    if (json_is_string(value))
        return keep_text(bb, json_string_value(value), ok);
    if (json_is_integer(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        const char *out = text ? keep_text(bb, text, ok) : NULL;
        lineage_free(text);
        *ok = *ok && out;
        return out;
    }
    return json_is_true(value) ? "True" : json_is_false(value) ? "False" : "None";
}

static bool take_best(struct blackboard *bb, const json_t *root)
{
    bool ok = true;
    bb->best.present = true;
    bb->best.id = value_text(bb, json_object_get(root, "exp_id"), "?", &ok);
    bb->best.score = value_text(bb, json_object_get(root, bb->metric), "?", &ok);
    bb->best.specialist = value_text(bb, json_object_get(root, "specialist"), "?", &ok);
    bb->best.hypothesis = value_text(bb, json_object_get(root, "hypothesis"), "", &ok);
    bb->best.snapshot = value_text(bb, json_object_get(root, "snapshot_path"), "", &ok);
    return ok;
}

/* Absent or no valid JSON object: there is no best. */
static enum lineage_status read_best(struct blackboard *bb, struct lineage_store *store, const char *path,
                                     struct lineage_error *err)
{
    struct buf text = {0};
    enum lineage_status status = fs_read_file(store->dir_fd, path ? path : "best.json", &text, err);
    if (status == LINEAGE_ENOTFOUND && !path)
        status = LINEAGE_OK;
    json_t *root = status == LINEAGE_OK && text.length ? json_loadb(text.data, text.length, 0, NULL) : NULL;
    if (json_is_object(root) && json_object_size(root) && !take_best(bb, root))
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    json_decref(root);
    buf_release(&text);
    return status;
}

/* ---- links between rows ---- */

struct entry {
    const char *id;
    size_t row;
};

static int by_id(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Last row of that id in the sorted entries. */
static size_t find_entry(const struct entry *entries, size_t n, const char *id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(entries[middle].id, id) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && strcmp(entries[low - 1].id, id) == 0 ? entries[low - 1].row : NO_ROW;
}

struct child {
    size_t parent; /* NO_ROW sorts last: the roots */
    const char *id;
    size_t row;
};

static int by_parent(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    int order = (x->parent > y->parent) - (x->parent < y->parent);
    if (!order)
        order = strcmp(x->id, y->id);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static bool link_rows(struct blackboard *bb)
{
    struct entry *entries = arena_alloc(&bb->arena, bb->n, sizeof *entries);
    struct child *children = arena_alloc(&bb->arena, bb->n, sizeof *children);
    bb->by_parent = arena_alloc(&bb->arena, bb->n, sizeof *bb->by_parent);
    bb->parent_row = arena_alloc(&bb->arena, bb->n, sizeof *bb->parent_row);
    bb->last_row = arena_alloc(&bb->arena, bb->n, sizeof *bb->last_row);
    if (!entries || !children || !bb->by_parent || !bb->parent_row || !bb->last_row)
        return false;
    for (size_t i = 0; i < bb->n; i++)
        entries[i] = (struct entry){bb->rows[i].id, i};
    qsort(entries, bb->n, sizeof *entries, by_id);
    for (size_t i = 0; i < bb->n; i++) {
        const struct bb_row *row = &bb->rows[i];
        bb->last_row[i] = find_entry(entries, bb->n, row->id);
        bb->parent_row[i] = row->parent[0] ? find_entry(entries, bb->n, row->parent) : NO_ROW;
        children[i] = (struct child){bb->parent_row[i], row->id, i};
    }
    qsort(children, bb->n, sizeof *children, by_parent);
    for (size_t i = 0; i < bb->n; i++)
        bb->by_parent[i] = children[i].row;
    return true;
}

size_t bb_find(const struct blackboard *bb, const char *id)
{
    size_t found = NO_ROW;
    for (size_t i = 0; i < bb->n; i++)
        if (strcmp(bb->rows[i].id, id) == 0)
            found = i;
    return found;
}

size_t bb_children(const struct blackboard *bb, size_t row, size_t *first)
{
    size_t low = 0, high = bb->n, end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (bb->parent_row[bb->by_parent[middle]] < row)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < bb->n && bb->parent_row[bb->by_parent[end]] == row; end++)
        ;
    *first = low;
    return end - low;
}

/* ---- all of it ---- */

static const char *short_label(const char *metric)
{
    if (strcmp(metric, "val_bpb") == 0)
        return "bpb";
    if (strcmp(metric, "train_s") == 0)
        return "time";
    return strcmp(metric, "core_metric") == 0 ? "core" : metric;
}

enum lineage_status bb_load(struct blackboard *bb, struct lineage_store *store,
                            const struct lineage_blackboard_options *options, struct lineage_error *err)
{
    *bb = (struct blackboard){.higher = store->config.direction == LINEAGE_HIGHER,
                              .metric = lineage_store_metric(store)};
    bb->label = options->metric_label ? options->metric_label : store->config.metric_label;
    if (!bb->label[0])
        bb->label = short_label(bb->metric);
    enum lineage_status status = read_rows(bb, store, err);
    if (status == LINEAGE_OK)
        status = read_best(bb, store, options->best_json, err);
    if (status == LINEAGE_OK && !link_rows(bb))
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    return status;
}

void bb_release(struct blackboard *bb)
{
    free(bb->rows);
    arena_release(&bb->arena);
    *bb = (struct blackboard){0};
}
