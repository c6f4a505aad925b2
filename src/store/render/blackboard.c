/* blackboard.c: writes the three files, each replaced atomically; links rows to their parents; knows the short label of
 * the score. */
#include "render.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../files/fs.h"
#include "out_file.h"

/* Opens output_dir/name and, if old is given, reads it. The file is opened by its path, so that a link is followed
 * wherever it leads. The directory was created before. */
static enum lineage_status open_output(struct out_file *file, const char *output_dir, const char *name, struct buf *old,
                                       struct lineage_error *err)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", output_dir, name);
    enum lineage_status status = path.failed ? store_no_memory(err) : out_file_open(file, path.data, err);
    if (status == LINEAGE_OK && old)
        status = out_file_read(file, old, err);
    buf_release(&path);
    return status;
}

/* NUL bytes of cells were encoded as C0 80 and are decoded here; text that a person wrote (tail) is written
 * unchanged. */
static enum lineage_status write_output(const struct out_file *file, const struct buf *text, const struct buf *tail,
                                        struct lineage_error *err)
{
    struct buf raw = {0};
    bool nothing = text->failed || !text->data; /* an empty text means that its first line failed */
    if (!nothing) {
        add_raw(&raw, text->data);
        buf_add(&raw, tail && tail->length ? tail->data : "", tail ? tail->length : 0);
    }
    enum lineage_status status =
        nothing || raw.failed || (tail && tail->failed) ? store_no_memory(err) : out_file_write(file, raw.data, raw.length, err);
    buf_release(&raw);
    return status;
}

/* Writes a text, which is released. */
static enum lineage_status write_file(const char *output_dir, const char *name, struct buf *out, struct lineage_error *err)
{
    struct out_file file = {.dir_fd = -1};
    enum lineage_status status = open_output(&file, output_dir, name, NULL, err);
    if (status == LINEAGE_OK)
        status = write_output(&file, out, NULL, err);
    out_file_close(&file);
    buf_release(out);
    return status;
}

/* The old file is read through links, just as it is written, so that a linked KNOWLEDGE.md keeps its insights. */
static enum lineage_status write_knowledge(const char *output_dir, const struct blackboard *bb, struct lineage_error *err)
{
    struct out_file file = {.dir_fd = -1};
    struct buf out = {0}, old = {0}, insights = {0};
    enum lineage_status status = open_output(&file, output_dir, "KNOWLEDGE.md", &old, err);
    if (status == LINEAGE_OK) {
        out.failed = !bb_knowledge(&out, bb);
        bb_insights(&insights, old.data, old.length);
        status = write_output(&file, &out, &insights, err);
    }
    out_file_close(&file);
    buf_release(&out);
    buf_release(&old);
    buf_release(&insights);
    return status;
}

/* KNOWLEDGE.md comes last, because it points to tree.tsv. */
static enum lineage_status write_all(const char *output_dir, const struct blackboard *bb, struct lineage_error *err)
{
    if (fs_mkdir(AT_FDCWD, output_dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", output_dir);
    struct buf board = {0}, tree = {0};
    bb_leaderboard(&board, bb);
    tree.failed = !bb_tree(&tree, bb);
    enum lineage_status status = write_file(output_dir, "LEADERBOARD.md", &board, err);
    enum lineage_status written = write_file(output_dir, "tree.tsv", &tree, status == LINEAGE_OK ? err : NULL);
    status = status == LINEAGE_OK ? written : status;
    return status == LINEAGE_OK ? write_knowledge(output_dir, bb, err) : status;
}

size_t bb_find(const struct blackboard *bb, const char *id)
{
    /* Goes from the last row to the first: if several rows have one id, the last one counts, as in the dictionary that
     * the blackboard builds. */
    for (size_t i = bb->board->n; i-- > 0;)
        if (strcmp(bb->board->rows[i].id, id) == 0)
            return i;
    return LINEAGE_BOARD_NONE;
}

/* by_parent is sorted by parent, so the children of a row are adjacent and found by bisection. A scan per row would
 * make printing the tree quadratic. */
size_t bb_children(const struct blackboard *bb, size_t row, size_t *first)
{
    const struct lineage_board *board = bb->board;
    size_t low = 0, high = board->n, end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (board->parent_row[board->by_parent[middle]] < row)
            low = middle + 1;
        else
            high = middle;
    }
    for (end = low; end < board->n && board->parent_row[board->by_parent[end]] == row; end++)
        ;
    *first = low;
    return end - low;
}

/* The short labels of the two columns that the blackboard's own runs use; any other column is its own label. */
static const char *short_label(const char *metric)
{
    if (strcmp(metric, "val_bpb") == 0)
        return "bpb";
    if (strcmp(metric, "train_s") == 0)
        return "time";
    return strcmp(metric, "core_metric") == 0 ? "core" : metric;
}

enum lineage_status lineage_render_blackboard(struct lineage_store *store, const char *output_dir,
                                              const struct lineage_blackboard_options *options, struct lineage_error *err)
{
    static const struct lineage_blackboard_options defaults;
    struct lineage_report_options what;
    struct lineage_report *report;
    struct buf tree_path = {0};
    if (!options)
        options = &defaults;
    lineage_report_options_init(&what);
    what.rules = LINEAGE_RULES_BOARD;
    what.best_json = options->best_json;
    enum lineage_status status = lineage_report_load(&report, store, &what, err);
    if (status != LINEAGE_OK)
        return status;
    const char *label = options->metric_label ? options->metric_label : store->config.metric_label;
    buf_printf(&tree_path, "%s/tree.tsv", output_dir);
    struct blackboard bb = {.board = report->board,
                            .higher = report->direction == LINEAGE_HIGHER,
                            .metric = report->metric,
                            .label = label[0] ? label : short_label(report->metric),
                            .tree_path = options->tree_path ? options->tree_path : tree_path.data};
    status = tree_path.failed ? store_no_memory(err) : write_all(output_dir, &bb, err);
    buf_release(&tree_path);
    lineage_report_release(report);
    return status;
}
