/* blackboard.c: writes the three files, each replaced atomically; links rows to their parents; knows the short label of
 * the score. */
#define _GNU_SOURCE /* memmem */
#include "render.h"

#include <fcntl.h>
#include <math.h>

#include <lineage/text.h>

#include "../files/fs.h"
#include "out_file.h"

struct blackboard {
    const struct lineage_board *board;
    bool higher;
    const char *metric, *label, *tree_path;
};

/* Index of the last row with that id, LINEAGE_BOARD_NONE if there is none. */
static size_t bb_find(const struct blackboard *bb, const char *id)
{
    /* Goes from the last row to the first: if several rows have one id, the last one counts, as in the dictionary that
     * the blackboard builds. */
    for (size_t i = bb->board->n; i-- > 0;)
        if (strcmp(bb->board->rows[i].id, id) == 0)
            return i;
    return LINEAGE_BOARD_NONE;
}

/* The children of `row` (LINEAGE_BOARD_NONE: the roots) are by_parent[*first] and the entries after it. Returns their
 * number. by_parent is sorted by parent, so the children of a row are adjacent and found by bisection. A scan per row would
 * make printing the tree quadratic. */
static size_t bb_children(const struct blackboard *bb, size_t row, size_t *first)
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

/* ---- LEADERBOARD.md, tree.tsv and KNOWLEDGE.md of the blackboard, byte for byte as its own program
 * writes them.
 *
 * That program recurses once per level and cannot go deeper than Python's recursion limit of 1,000. Up to that depth
 * the bytes are the same. Deeper, the size of the files would grow with the square of the depth (gigabytes for a chain
 * of 100,000), because every row has a path and an indentation. So both are cut beyond DEEPEST levels.
 */

#define TOP_KEPT 20
#define RECENT 30
#define DEEPEST 1000
#define PATH_TAIL 16 /* ids at the end of a path beyond DEEPEST */

/* A table cell: `|` becomes ∣, and above max code points the first max - 3 and "...". */
static void add_table_cell(struct buf *out, const char *text, size_t max)
{
    size_t length = strlen(text), end = lineage_text_prefix(text, length, max);
    bool cut = end < length;
    if (cut)
        end = lineage_text_prefix(text, length, max - 3);
    for (size_t i = 0; i < end;) {
        size_t n = strcspn(text + i, "|");
        if (n > end - i)
            n = end - i;
        buf_add(out, text + i, n);
        i += n;
        if (i < end) {
            buf_puts(out, "∣");
            i++;
        }
    }
    buf_puts(out, cut ? "..." : "");
}

/* Adds text that is cut without a mark, for the places where the blackboard slices text without adding "...". */
static void add_prefix(struct buf *out, const char *text, size_t max)
{
    buf_add(out, text, lineage_text_prefix(text, strlen(text), max));
}

/* Cells of a short row count as empty, not missing: the blackboard prints — for both. */
static const char *or_dash(const char *text)
{
    return text[0] ? text : "—";
}

static void add_best(struct buf *out, const struct blackboard *bb)
{
    buf_puts(out, "## Current Best\n");
    if (!bb->board->best.present) {
        buf_puts(out, "*(no VALID runs yet)*\n");
        return;
    }
    buf_printf(out, "- **exp_id**: %s\n- **%s**: %s\n- **specialist**: %s\n- **hypothesis**: ", bb->board->best.id, bb->metric,
               bb->board->best.score, bb->board->best.specialist);
    add_prefix(out, bb->board->best.hypothesis, 120);
    buf_printf(out, "\n- **snapshot**: `%s`\n", bb->board->best.snapshot);
}

struct kept {
    double key;
    size_t row;
};

/* Equal keys keep the order of the log: Python's sort is stable, qsort is not. */
static int by_key(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    int order = (x->key > y->key) - (x->key < y->key);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Sorts kept rows by score; a row without a score comes last in either direction. */
static size_t sort_kept(struct kept *kept, const struct blackboard *bb)
{
    size_t n = 0;
    for (size_t i = 0; i < bb->board->n; i++) {
        const struct lineage_board_row *row = &bb->board->rows[i];
        if (row->status && strcmp(row->status, "keep") == 0)
            kept[n++] = (struct kept){bb->higher && row->key < INFINITY ? -row->key : row->key, i};
    }
    qsort(kept, n, sizeof *kept, by_key);
    return n;
}

/* A table without kept rows has one row that says so; its bytes are fixed. */
static void add_kept_rows(struct buf *out, const struct blackboard *bb)
{
    SCOPED_FREE struct kept *kept = calloc(bb->board->n + 1, sizeof *kept);
    size_t n = kept ? sort_kept(kept, bb) : 0;
    out->failed = out->failed || !kept;
    if (!n)
        buf_puts(out, "| *(none yet)* | | | | |\n");
    for (size_t i = 0; i < n && i < TOP_KEPT; i++) {
        const struct lineage_board_row *row = &bb->board->rows[kept[i].row];
        buf_printf(out, "| %s | %s | %s | %s | ", row->id, row->score, or_dash(row->delta), row->specialist);
        add_table_cell(out, row->hypothesis, 100);
        buf_puts(out, " |\n");
    }
}

static void bb_leaderboard(struct buf *out, const struct blackboard *bb)
{
    buf_puts(out, "# Leaderboard\n*Auto-generated by harness/blackboard.py — do not edit by hand.*\n\n");
    add_best(out, bb);
    buf_printf(out,
               "\n## Top 20 Kept Trials\n\n| exp | %s | Δ | specialist | hypothesis |\n"
               "|-----|---------|---|------------|------------|\n",
               bb->metric);
    add_kept_rows(out, bb);
}

/* ---- tree.tsv ---- */

/* One level of the walk: siblings, which are adjacent in by_parent, and the sibling whose subtree is being walked. */
struct level {
    size_t at, end;
    size_t row;  /* LINEAGE_BOARD_NONE before the first sibling */
    size_t path; /* length of the path that leads to the siblings */
};

struct tree_walk {
    const struct blackboard *bb;
    struct level *levels;
    size_t depth, capacity;
    bool *on_path; /* [rows] by last_row: an id already on the path is not entered again */
    struct buf path;
};

static void add_blanked(struct buf *out, const char *text)
{
    for (; *text; text++)
        buf_add(out, *text == '\t' || *text == '\n' || *text == '\r' ? " " : text, 1);
}

/* The path of a trial that is too deep: … and its last ids, enough to find the place; the columns exp_id and parent_exp
 * lead further up. */
static void add_path_tail(struct buf *out, const struct tree_walk *walk)
{
    buf_puts(out, "…");
    for (size_t i = walk->depth + 1 - PATH_TAIL; i <= walk->depth; i++)
        buf_printf(out, "/%s", walk->bb->board->rows[walk->levels[i].row].id);
}

/* Prints the cells of the last row with this row's id, under the path of this row, because the blackboard resolves a
 * repeated id in this way. */
static void add_tree_row(struct buf *out, const struct tree_walk *walk)
{
    const struct lineage_board *board = walk->bb->board;
    const struct lineage_board_row *cells = &board->rows[board->last_row[walk->levels[walk->depth].row]];
    buf_printf(out, "%s\t%s\t%zu\t", cells->id, cells->parent, walk->depth);
    if (walk->depth < DEEPEST)
        buf_puts(out, walk->path.data);
    else
        add_path_tail(out, walk);
    buf_printf(out, "\t%s\t%s\t%s\t%s\t", cells->specialist, cells->status ? cells->status : "", cells->score, cells->delta);
    add_blanked(out, cells->hypothesis);
    buf_puts(out, "\n");
}

/* Goes down to the children of `row`. The path is remembered by its length; going up cuts it there, without a copy. */
static bool go_down(struct tree_walk *walk, size_t row)
{
    size_t first, n = bb_children(walk->bb, row, &first), depth = walk->levels ? walk->depth + 1 : 0;
    if (!LIST_ROOM(walk->levels, depth, walk->capacity))
        return false;
    walk->levels[depth] = (struct level){first, first + n, LINEAGE_BOARD_NONE, walk->path.length};
    walk->depth = depth;
    return true;
}

/* Leaves the subtree of the sibling that was walked last. Marks are removed on the way up, so the check for a cycle
 * costs one step at any depth. */
static void leave(struct tree_walk *walk)
{
    const struct level *level = &walk->levels[walk->depth];
    if (level->row != LINEAGE_BOARD_NONE)
        walk->on_path[walk->bb->board->last_row[level->row]] = false;
    buf_truncate(&walk->path, level->path);
}

/* A loop with its own stack, because a chain of 100,000 trials would end a recursion. */
static bool walk_tree(struct buf *out, struct tree_walk *walk)
{
    const struct lineage_board *board = walk->bb->board;
    if (!go_down(walk, LINEAGE_BOARD_NONE))
        return false;
    for (;;) {
        struct level *level = &walk->levels[walk->depth];
        leave(walk);
        level->row = LINEAGE_BOARD_NONE;
        if (level->at == level->end) {
            if (!walk->depth--)
                return true;
            continue;
        }
        size_t row = board->by_parent[level->at++];
        if (!board->rows[row].id[0] || walk->on_path[board->last_row[row]])
            continue;
        level->row = row;
        walk->on_path[board->last_row[row]] = true;
        if (walk->depth < DEEPEST)
            buf_printf(&walk->path, "%s%s", walk->path.length ? "/" : "", board->rows[row].id);
        add_tree_row(out, walk);
        if (!go_down(walk, board->last_row[row]))
            return false;
    }
}

/* The columns are fixed; depth and path are computed here, so that an agent can slice the file with awk.
 * Returns false when out of memory. */
static bool bb_tree(struct buf *out, const struct blackboard *bb)
{
    struct tree_walk walk = {.bb = bb, .on_path = calloc(bb->board->n + 1, sizeof(bool))};
    buf_printf(out, "exp_id\tparent_exp\tdepth\tpath\tspecialist\tstatus\t%s\tdelta_vs_best\thypothesis\n", bb->metric);
    buf_puts(&walk.path, "");
    bool ok = walk.on_path && !walk.path.failed && walk_tree(out, &walk) && !walk.path.failed;
    free(walk.levels);
    free(walk.on_path);
    buf_release(&walk.path);
    return ok;
}

/* ---- KNOWLEDGE.md ---- */

/* The commands are part of the fixed bytes: agents paste them. */
static void add_head(struct buf *out, const struct blackboard *bb)
{
    buf_printf(out,
               "# Research Knowledge Base\n"
               "*Auto-generated — the `## Key Insights` section at the bottom is preserved.*\n\n"
               "## Research Tree\n"
               "Full tree is at `%s` (TSV; columns: `exp_id, parent_exp, depth, path, specialist, status, %s, "
               "delta_vs_best, hypothesis`; preorder-sorted so siblings are adjacent). Slice it from Bash, e.g.:\n\n"
               "```\n",
               bb->tree_path, bb->metric);
    buf_printf(out,
               "# subtree rooted at exp_042 (all descendants + the node itself)\n"
               "awk -F '\\t' 'NR==1 || $4 ~ /(^|\\/)042(\\/|$)/' %s\n"
               "# direct children of exp_042\n"
               "awk -F '\\t' 'NR==1 || $2==\"042\"' %s\n"
               "# only kept trials, sorted by %s\n"
               "awk -F '\\t' 'NR==1 || $6==\"keep\"' %s | sort -t $'\\t' -k7,7g\n"
               "```\n\n",
               bb->tree_path, bb->tree_path, bb->metric, bb->tree_path);
}

/* exp_ID [SPECIALIST, STATUS, short=SCORE, Δ=DELTA] HYPOTHESIS */
static void add_item(struct buf *out, const struct blackboard *bb, const struct lineage_board_row *row)
{
    buf_printf(out, "exp_%s [%s, %s, %s=%s", row->id, row->specialist, row->status ? row->status : "None", bb->label,
               or_dash(row->score));
    if (row->delta[0])
        buf_printf(out, ", Δ=%s", row->delta);
    buf_puts(out, "] ");
    add_prefix(out, row->hypothesis, 100);
}

/* Rows from the best one up to the root; the walk stops at an id seen before. NULL when out of memory. */
static size_t *climb(const struct blackboard *bb, size_t best, size_t *n)
{
    size_t *chain = calloc(bb->board->n + 1, sizeof *chain);
    SCOPED_FREE unsigned char *seen = calloc(bb->board->n + 1, 1);
    *n = 0;
    for (size_t row = best; chain && seen && row != LINEAGE_BOARD_NONE && !seen[row]; row = bb->board->parent_row[row]) {
        seen[row] = 1;
        chain[(*n)++] = row;
    }
    if (!seen) {
        free(chain);
        chain = NULL;
    }
    return chain;
}

/* Prints the children in the order of their ids as text, as the blackboard sorts siblings. */
static void add_children(struct buf *out, const struct blackboard *bb, size_t best)
{
    size_t first, n = bb_children(bb, best, &first);
    if (!n)
        return;
    buf_printf(out, "\n**Best's direct children (%zu):**\n", n);
    for (size_t i = first; i < first + n; i++) {
        buf_puts(out, "  • ");
        add_item(out, bb, &bb->board->rows[bb->board->last_row[bb->board->by_parent[i]]]);
        buf_puts(out, "\n");
    }
}

/* If the best trial is not among the rows, it has no lineage; best.json is sometimes written by hand. */
static bool add_lineage(struct buf *out, const struct blackboard *bb)
{
    size_t n, best = bb->board->best.present ? bb_find(bb, bb->board->best.id) : LINEAGE_BOARD_NONE;
    if (!bb->board->n || best == LINEAGE_BOARD_NONE) {
        buf_printf(out, "```\n%s\n```\n",
                   bb->board->n ? "(no VALID trials yet — see tree.tsv for full state)" : "(no experiments yet)");
        return true;
    }
    size_t *chain = climb(bb, best, &n);
    if (!chain)
        return false;
    buf_puts(out, "**Current-best lineage** (root → best):\n```\n");
    for (size_t i = 0; i < n; i++) {
        bool cut = n > 2 * DEEPEST && i >= DEEPEST && i < n - DEEPEST;
        if (cut) {
            buf_printf(out, "… %zu trials …\n", n - 2 * DEEPEST);
            i = n - DEEPEST;
        }
        for (size_t blank = 0; blank < 3 * (i < DEEPEST ? i : DEEPEST); blank++)
            buf_puts(out, " ");
        buf_puts(out, i ? "└─ " : "");
        add_item(out, bb, &bb->board->rows[chain[n - 1 - i]]);
        buf_puts(out, i + 1 == n ? "  ← BEST\n" : "\n");
    }
    add_children(out, bb, best);
    buf_puts(out, "```\n");
    free(chain);
    return true;
}

static void add_recent(struct buf *out, const struct blackboard *bb)
{
    size_t shown = 0;
    buf_printf(out,
               "\n## Recent Activity (last 30)\n\n| exp | specialist | status | %s | hypothesis |\n"
               "|-----|------------|--------|---------|------------|\n",
               bb->metric);
    if (!bb->board->n)
        buf_puts(out, "| *(none yet)* | | | | |\n");
    for (size_t i = bb->board->n; i-- > 0 && shown < RECENT;) {
        const struct lineage_board_row *row = &bb->board->rows[i];
        if (row->status && strcmp(row->status, "harness_abort") == 0)
            continue;
        buf_printf(out, "| %s | %s | %s | %s | ", row->id, row->specialist, row->status ? row->status : "None",
                   or_dash(row->score));
        add_table_cell(out, row->hypothesis, 80);
        buf_puts(out, " |\n");
        shown++;
    }
}

/* Whether Python's str.rstrip() removes the character (ASCII only). */
static bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f);
}

/* Prints the end of KNOWLEDGE.md that is kept from the old file (NULL if there was none).
 * The text from the first such heading after an LF in the old file: the blackboard's own rule, which also accepts
 * forged headings. */
static void bb_insights(struct buf *out, const char *old, size_t length)
{
    static const char heading[] = "\n## Key Insights";
    const char *found = old ? memmem(old, length, heading, sizeof heading - 1) : NULL;
    buf_puts(out, "\n");
    if (!found) {
        buf_puts(out, "## Key Insights\n*(Add manually — this section is preserved across regenerations.)*\n\n");
        return;
    }
    const char *start = found + 1, *end = old + length;
    while (end > start && is_white(end[-1]))
        end--;
    buf_add(out, start, (size_t)(end - start));
    buf_puts(out, "\n");
}

/* Returns false when out of memory. */
static bool bb_knowledge(struct buf *out, const struct blackboard *bb)
{
    add_head(out, bb);
    if (!add_lineage(out, bb))
        return false;
    add_recent(out, bb);
    return true;
}

/* Opens output_dir/name and, if old is given, reads it. The file is opened by its path, so that a link is followed
 * wherever it leads. The directory was created before. */
static enum lineage_status open_output(struct out_file *file, const char *output_dir, const char *name, struct buf *old,
                                       struct lineage_error *err)
{
    SCOPED_BUF path = {0};
    buf_printf(&path, "%s/%s", output_dir, name);
    TRY(path.failed ? store_no_memory(err) : out_file_open(file, path.data, err));
    return old ? out_file_read(file, old, err) : LINEAGE_OK;
}

/* NUL bytes of cells were encoded as C0 80 and are decoded here; text that a person wrote (tail) is written
 * unchanged. */
static enum lineage_status write_output(const struct out_file *file, const struct buf *text, const struct buf *tail,
                                        struct lineage_error *err)
{
    SCOPED_BUF raw = {0};
    bool nothing = text->failed || !text->data; /* an empty text means that its first line failed */
    if (!nothing) {
        add_raw(&raw, text->data);
        buf_add(&raw, tail && tail->length ? tail->data : "", tail ? tail->length : 0);
    }
    enum lineage_status status =
        nothing || raw.failed || (tail && tail->failed) ? store_no_memory(err) : out_file_write(file, raw.data, raw.length, err);
    return status;
}

/* Writes a text, which is released. */
static enum lineage_status write_file(const char *output_dir, const char *name, struct buf *out, struct lineage_error *err)
{
    RELEASED_BY(out_file_close) struct out_file file = {.dir_fd = -1};
    enum lineage_status status = open_output(&file, output_dir, name, NULL, err);
    if (status == LINEAGE_OK)
        status = write_output(&file, out, NULL, err);
    buf_release(out);
    return status;
}

/* The old file is read through links, just as it is written, so that a linked KNOWLEDGE.md keeps its insights. */
static enum lineage_status write_knowledge(const char *output_dir, const struct blackboard *bb, struct lineage_error *err)
{
    RELEASED_BY(out_file_close) struct out_file file = {.dir_fd = -1};
    SCOPED_BUF out = {0}, old = {0}, insights = {0};
    TRY(open_output(&file, output_dir, "KNOWLEDGE.md", &old, err));
    out.failed = !bb_knowledge(&out, bb);
    bb_insights(&insights, old.data, old.length);
    return write_output(&file, &out, &insights, err);
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
    SCOPED_BUF tree_path = {0};
    if (!options)
        options = &defaults;
    lineage_report_options_init(&what);
    what.rules = LINEAGE_RULES_BOARD;
    what.best_json = options->best_json;
    TRY(lineage_report_load(&report, store, &what, err));
    const char *label = options->metric_label ? options->metric_label : store->config.metric_label;
    buf_printf(&tree_path, "%s/tree.tsv", output_dir);
    struct blackboard bb = {.board = report->board,
                            .higher = report->direction == LINEAGE_HIGHER,
                            .metric = report->metric,
                            .label = label[0] ? label : short_label(report->metric),
                            .tree_path = options->tree_path ? options->tree_path : tree_path.data};
    enum lineage_status status = tree_path.failed ? store_no_memory(err) : write_all(output_dir, &bb, err);
    lineage_report_release(report);
    return status;
}
