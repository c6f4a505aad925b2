/*
 * board.c: results.tsv and best.json as the blackboard sees them: every row, including damaged ones, cells as text.
 *
 * The mirror cannot be used here: it holds numbers, and rows that can be ranked. The blackboard prints a score as it
 * was written, and shows a row that lost half its cells.
 */
#include <jansson.h>
#include <math.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/json_text.h"
#include "../log/log.h"
#include "report_parts.h"

/* Which cell holds which column, from the header. */
struct board_reader {
    struct report_load *load;
    struct lineage_board_row *rows; /* [n], grown while reading */
    size_t n, capacity;
    struct row_layout layout;
    bool has_layout;
    struct tsv_reader *reader;
    bool failed;
};

/* Distinguishes missing from empty cells, because the status column needs the difference; the other columns do not. */
static const char *cell(struct board_reader *r, const struct tsv_cell *cells, size_t n, int index)
{
    if (index < 0 || (size_t)index >= n)
        return NULL;
    const char *text = row_cell_text(&r->load->arena, &cells[index]);
    r->failed = r->failed || !text;
    return text;
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static int column(const struct board_reader *r, const char *name)
{
    return r->layout.column[lineage_column_find(name)];
}

/* In a row that is too short, missing cells count as empty, except a missing status, which the blackboard prints as
 * None. */
static bool add_row(struct board_reader *r, const struct tsv_cell *cells, size_t n)
{
    if (!LIST_ROOM(r->rows, r->n, r->capacity))
        return false;
    struct lineage_board_row *row = &r->rows[r->n++];
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

/* The blackboard reads the file as UTF-8 and drops invalid text; so does this. */
static bool all_utf8(const struct tsv_cell *cells, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!lineage_text_is_utf8(cells[i].text, cells[i].length))
            return false;
    return true;
}

static enum lineage_status read_record(struct board_reader *r, const struct tsv_record *record, struct lineage_error *err)
{
    const struct lineage_store *store = r->load->store;
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(r->reader, record, &cells, &n, err);
    if (status == LINEAGE_OK && !r->has_layout) {
        status = row_layout_read(&r->layout, cells, n, store->config.metric, err);
        if (status == LINEAGE_OK && !store->config.metric[0])
            status = row_layout_take_score(&r->layout, lineage_store_score_name(store), err);
        r->has_layout = status == LINEAGE_OK;
    } else if (status == LINEAGE_OK && all_utf8(cells, n) && !add_row(r, cells, n)) {
        status = store_no_memory(err);
    }
    return status;
}

static enum lineage_status read_log(struct board_reader *r, struct lineage_error *err)
{
    struct lineage_store *store = r->load->store;
    SCOPED_BUF bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    struct log_state now;
    enum lineage_status status = log_look(store->log, &now, err);
    if (status == LINEAGE_OK)
        status = log_read(store->log, 0, (size_t)now.size, &bytes, err);
    tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record))
        if (record.content)
            status = read_record(r, &record, err);
    return status;
}

static void release(struct board_reader *r)
{
    free(r->rows);
    row_layout_release(&r->layout);
    tsv_reader_free(r->reader);
}

static enum lineage_status read_rows(struct report_load *load, struct lineage_board *board, struct lineage_error *err)
{
    RELEASED_BY(release) struct board_reader r = {.load = load, .reader = tsv_reader_new()};
    struct lineage_board_row *rows;
    TRY(r.reader ? read_log(&r, err) : store_no_memory(err));
    TRY(arena_items(&load->arena, r.n, sizeof *rows, &rows, err));
    if (r.n)
        memcpy(rows, r.rows, r.n * sizeof *rows);
    board->rows = rows;
    board->n = r.n;
    return LINEAGE_OK;
}

static const char *keep_text(struct report_load *load, const char *text, bool *ok)
{
    const char *out = arena_text(&load->arena, text, strlen(text));
    *ok = *ok && out;
    return out;
}

/* A value as Python's str() prints it. */
static const char *value_text(struct report_load *load, const json_t *value, const char *missing, bool *ok)
{
    char number[LINEAGE_NUMBER_MAX];
    if (!value)
        return missing;
    if (json_is_real(value))
        return keep_text(load, lineage_number_format(number, json_real_value(value)), ok);
    if (json_is_string(value))
        return keep_text(load, json_string_value(value), ok);
    if (json_is_integer(value)) {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        const char *out = text ? keep_text(load, text, ok) : NULL;
        lineage_free(text);
        *ok = *ok && out;
        return out;
    }
    return json_is_true(value) ? "True" : json_is_false(value) ? "False" : "None";
}

/* Members that best.json lacks are printed as the blackboard prints them: a question mark, or nothing. */
static bool take_best(struct report_load *load, struct lineage_board *board, const json_t *root)
{
    bool ok = true;
    board->best.present = true;
    board->best.id = value_text(load, json_object_get(root, "exp_id"), "?", &ok);
    board->best.score = value_text(load, json_object_get(root, load->report.metric), "?", &ok);
    board->best.specialist = value_text(load, json_object_get(root, "specialist"), "?", &ok);
    board->best.hypothesis = value_text(load, json_object_get(root, "hypothesis"), "", &ok);
    board->best.snapshot = value_text(load, json_object_get(root, "snapshot_path"), "", &ok);
    return ok;
}

/* If the file is absent or not a JSON object, the store has no best trial. */
static enum lineage_status read_best(struct report_load *load, struct lineage_board *board, struct lineage_error *err)
{
    const char *path = load->options->best_json;
    SCOPED_BUF text = {0};
    struct lineage_error why;
    enum lineage_status status = fs_read_file(load->store->dir_fd, path ? path : PLACE_BEST_JSON, &text, err);
    if (status == LINEAGE_ENOTFOUND && !path)
        status = LINEAGE_OK;
    json_auto_t *root = NULL;
    if (status == LINEAGE_OK &&
        json_text_parse(&root, "best.json", LINEAGE_ECORRUPT, text.data, text.length, 0, &why) == LINEAGE_ENOMEM)
        status = store_give(err, &why);
    if (json_is_object(root) && json_object_size(root) && !take_best(load, board, root))
        status = store_no_memory(err);
    return status;
}

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

/* The last row with that id, because a later row replaces an earlier one in the dictionary that the blackboard
 * builds. */
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
    return low && strcmp(entries[low - 1].id, id) == 0 ? entries[low - 1].row : LINEAGE_BOARD_NONE;
}

struct child {
    size_t parent; /* LINEAGE_BOARD_NONE sorts last: the roots */
    const char *id;
    size_t row;
};

/* Row numbers break ties, because qsort is not stable. */
static int by_parent(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    int order = (x->parent > y->parent) - (x->parent < y->parent);
    if (!order)
        order = strcmp(x->id, y->id);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Links children to parents by sorting. Of several rows with one id the last counts, as in the dictionary that the
 * blackboard builds. */
static enum lineage_status link_rows(struct report_load *load, struct lineage_board *board, struct lineage_error *err)
{
    size_t n = board->n, *parent_row = NULL, *last_row = NULL, *order = NULL;
    struct entry *entries = NULL;
    struct child *children = NULL;
    TRY(arena_items(&load->arena, n, sizeof *entries, &entries, err));
    TRY(arena_items(&load->arena, n, sizeof *children, &children, err));
    TRY(arena_items(&load->arena, n, sizeof *order, &order, err));
    TRY(arena_items(&load->arena, n, sizeof *parent_row, &parent_row, err));
    TRY(arena_items(&load->arena, n, sizeof *last_row, &last_row, err));
    for (size_t i = 0; i < n; i++)
        entries[i] = (struct entry){board->rows[i].id, i};
    qsort(entries, n, sizeof *entries, by_id);
    for (size_t i = 0; i < n; i++) {
        const struct lineage_board_row *row = &board->rows[i];
        last_row[i] = find_entry(entries, n, row->id);
        parent_row[i] = row->parent[0] ? find_entry(entries, n, row->parent) : LINEAGE_BOARD_NONE;
        children[i] = (struct child){parent_row[i], row->id, i};
    }
    qsort(children, n, sizeof *children, by_parent);
    for (size_t i = 0; i < n; i++)
        order[i] = children[i].row;
    board->by_parent = order;
    board->parent_row = parent_row;
    board->last_row = last_row;
    return LINEAGE_OK;
}

enum lineage_status report_board(struct report_load *load, struct lineage_error *err)
{
    struct lineage_board *board;
    TRY(arena_items(&load->arena, 1, sizeof *board, &board, err));
    enum lineage_status status = read_rows(load, board, err);
    if (status == LINEAGE_OK)
        status = read_best(load, board, err);
    if (status == LINEAGE_OK)
        status = link_rows(load, board, err);
    load->report.board = board;
    return status;
}
