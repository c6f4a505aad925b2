/*
 * fieldkit.c: byte for byte what fieldkit.lineage's render_prompt prints (schema/FORMAT.md, "fieldkit style"):
 * its choice of best (whatever its label), all ancestors, cells as they are.
 */
#include <math.h>
#include <string.h>

#include "render.h"

struct block {
    struct lineage_trial best;
    struct lineage_chain chain;
    struct trial_list kept, recent, full;
};

static const char newest_sql[] = "SELECT " TRIAL_COLUMNS " FROM trials t ORDER BY t.seq DESC LIMIT ?1";

/* Load the trial that a statement of one seq gives. */
static enum lineage_status load_one(struct mirror *mirror, const char *sql, struct lineage_trial *trial,
                                    struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status == LINEAGE_OK)
        status = mirror_step(mirror, stmt, err);
    if (status != LINEAGE_OK)
        return status;
    status = mirror_own_trial(mirror, stmt, trial, err);
    sqlite3_reset(stmt);
    return status;
}

#define SCORED "(t.score IS NOT NULL OR t.special & 32) AND t.status <> 'harness_abort'"

/* A walk with `<`: a nan that comes first is never beaten, a nan that comes later never wins. */
static enum lineage_status choose_best(struct lineage_store *store, struct lineage_trial *best,
                                       struct lineage_error *err)
{
    struct mirror *mirror = store->mirror;
    bool higher = store->config.direction == LINEAGE_HIGHER;
    enum lineage_status status =
        load_one(mirror, "SELECT " TRIAL_COLUMNS " FROM trials t WHERE " SCORED " ORDER BY t.seq LIMIT 1", best, err);
    if (status == LINEAGE_ENOTFOUND)
        return load_one(mirror, "SELECT " TRIAL_COLUMNS " FROM trials t ORDER BY t.seq LIMIT 1", best, err);
    if (status != LINEAGE_OK || isnan(best->score.value))
        return status;
    lineage_trial_release(best);
    return load_one(mirror,
                    higher ? "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.score IS NOT NULL"
                             " AND t.status <> 'harness_abort' ORDER BY t.score DESC, t.seq LIMIT 1"
                           : "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.score IS NOT NULL"
                             " AND t.status <> 'harness_abort' ORDER BY t.score, t.seq LIMIT 1",
                    best, err);
}

/* The chain starts from the best one's id, which is the last row of that id. */
static enum lineage_status load_chain(struct lineage_store *store, struct block *block, struct lineage_error *err)
{
    int64_t seq;
    if (!block->best.exp_id[0])
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(store->mirror, block->best.exp_id, &seq, err);
    return status == LINEAGE_OK ? mirror_chain(store->mirror, seq, CHAIN_ALL, &block->chain, err) : status;
}

#define KEPT "FROM trials t WHERE t.status IN ('keep', 'baseline') AND t.status = 'keep'"
#define UNSCORED " AND (t.score IS NULL OR t.score = 9e999) ORDER BY t.seq LIMIT ?1"

/* An absent metric counts as +inf: last when lower is better, first when higher is. */
static enum lineage_status choose_kept(struct lineage_store *store, struct trial_list *kept, size_t top_k,
                                       struct lineage_error *err)
{
    static const char unscored[] = "SELECT " TRIAL_COLUMNS " " KEPT UNSCORED;
    static const char lower[] = "SELECT " TRIAL_COLUMNS " " KEPT " AND t.score < 9e999 ORDER BY t.score, t.seq LIMIT ?1";
    static const char higher[] =
        "SELECT " TRIAL_COLUMNS " " KEPT " AND t.score < 9e999 ORDER BY t.score DESC, t.seq LIMIT ?1";
    bool up = store->config.direction == LINEAGE_HIGHER;
    if (!top_k)
        return LINEAGE_OK;
    enum lineage_status status = trial_list_add(kept, store->mirror, up ? unscored : lower, top_k, err);
    if (status == LINEAGE_OK && kept->n < top_k)
        status = trial_list_add(kept, store->mirror, up ? higher : unscored, top_k - kept->n, err);
    return status;
}

static void add_title(struct buf *out, const struct block *block, const struct lineage_render_options *options)
{
    char number[NUMBER_TEXT_MAX];
    const char *timestamp = options->timestamp && *options->timestamp ? options->timestamp : "—";
    buf_printf(out, "# Session start — %s\nYou are specialist **%s**. Current best: **exp_", timestamp,
               options->specialist ? options->specialist : "");
    add_raw(out, block->best.exp_id);
    buf_printf(out, "** (core_metric=%s).\n\n", metric_text(number, block->best.score));
}

static void add_best(struct buf *out, const struct lineage_trial *best)
{
    char number[NUMBER_TEXT_MAX];
    buf_puts(out, "## LEADERBOARD.md\n\n## Current Best\n- **exp_id**: ");
    add_raw(out, best->exp_id);
    buf_printf(out, "\n- **core_metric**: %s\n- **specialist**: ", metric_text(number, best->score));
    add_raw(out, best->specialist);
    buf_puts(out, "\n- **hypothesis**: ");
    add_cut(out, best->hypothesis, 110);
    buf_puts(out, "\n");
    if (best->snapshot_path[0]) {
        buf_puts(out, "- **snapshot**: `");
        add_raw(out, best->snapshot_path);
        buf_puts(out, "`\n");
    }
    buf_puts(out, "\n");
}

static void add_kept(struct buf *out, const struct trial_list *kept)
{
    char number[NUMBER_TEXT_MAX];
    buf_printf(out, "## Top %zu Kept Trials\n\n", kept->n);
    if (!kept->n)
        buf_puts(out, "*(no keeps yet)*\n");
    else
        buf_puts(out, "| exp | core_metric | Δ | specialist | hypothesis |\n"
                      "|-----|-------------|---|------------|------------|\n");
    for (size_t i = 0; i < kept->n; i++) {
        const struct lineage_trial *trial = &kept->items[i];
        buf_puts(out, "| ");
        add_raw(out, trial->exp_id);
        buf_printf(out, " | %s", metric_text(number, trial->score));
        buf_printf(out, " | %s | ", delta_text(number, trial->delta_vs_best));
        add_raw(out, trial->specialist);
        buf_puts(out, " | ");
        add_cut(out, trial->hypothesis, 100);
        buf_puts(out, " |\n");
    }
    buf_puts(out, "\n");
}

/* exp_ID [SPECIALIST, STATUS, metric=M, Δ=D] */
static void add_item(struct buf *out, const struct lineage_trial *trial, const char *no_specialist)
{
    char number[NUMBER_TEXT_MAX];
    buf_puts(out, "exp_");
    add_raw(out, trial->exp_id);
    buf_puts(out, " [");
    add_raw(out, trial->specialist[0] ? trial->specialist : no_specialist);
    buf_printf(out, ", %s, metric=%s", lineage_label_name(trial->status), metric_text(number, trial->score));
    buf_printf(out, ", Δ=%s] ", delta_text(number, trial->delta_vs_best));
}

static void add_chain(struct buf *out, const struct lineage_chain *chain)
{
    buf_puts(out, "## KNOWLEDGE.md\n\n**Current-best lineage** (root → best):\n```\n");
    for (size_t i = 0; i < chain->n; i++) {
        buf_puts(out, i ? " └─ " : "");
        add_item(out, &chain->trials[i], "baseline");
        add_cut(out, chain->trials[i].hypothesis, 100);
        buf_puts(out, i + 1 == chain->n ? " ← BEST\n" : "\n");
    }
    buf_puts(out, "```\n\n");
}

static void add_recent(struct buf *out, const struct trial_list *recent)
{
    char number[NUMBER_TEXT_MAX];
    buf_printf(out, "## Recent Activity (last %zu)\n\n| exp | specialist | status | core_metric | hypothesis |\n"
                    "|-----|------------|--------|-------------|------------|\n", recent->n);
    for (size_t i = 0; i < recent->n; i++) {
        const struct lineage_trial *trial = &recent->items[i];
        buf_puts(out, "| ");
        add_raw(out, trial->exp_id);
        buf_puts(out, " | ");
        add_raw(out, trial->specialist);
        buf_printf(out, " | %s | %s | ", lineage_label_name(trial->status), metric_text(number, trial->score));
        add_cut(out, trial->hypothesis, 80);
        buf_puts(out, " |\n");
    }
    buf_puts(out, "\n");
}

static void add_full(struct buf *out, const struct trial_list *full)
{
    buf_printf(out, "## Recent Activity (most recent %zu — full hypothesis)\n", full->n);
    for (size_t i = 0; i < full->n; i++) {
        const struct lineage_trial *trial = &full->items[i];
        buf_puts(out, "- ");
        add_item(out, trial, "");
        add_raw(out, trial->hypothesis);
        buf_puts(out, "\n");
        if (trial->notes[0]) {
            buf_puts(out, "  └─ ");
            add_cut(out, trial->notes, 200);
            buf_puts(out, "\n");
        }
    }
    buf_puts(out, "\n");
}

static enum lineage_status select_block(struct block *block, struct lineage_store *store,
                                        const struct lineage_render_options *options, struct lineage_error *err)
{
    enum lineage_status status = choose_best(store, &block->best, err);
    if (status == LINEAGE_OK)
        status = load_chain(store, block, err);
    if (status == LINEAGE_OK)
        status = choose_kept(store, &block->kept, options->top_k, err);
    if (status == LINEAGE_OK)
        status = trial_list_add(&block->recent, store->mirror, newest_sql, options->recent, err);
    if (status == LINEAGE_OK)
        status = trial_list_add(&block->full, store->mirror, newest_sql, options->full, err);
    return status;
}

static void release_block(struct block *block)
{
    lineage_trial_release(&block->best);
    lineage_chain_release(&block->chain);
    trial_list_release(&block->kept);
    trial_list_release(&block->recent);
    trial_list_release(&block->full);
}

enum lineage_status render_fieldkit(struct buf *out, struct lineage_store *store,
                                    const struct lineage_render_options *options, struct lineage_error *err)
{
    struct block block = {0};
    enum lineage_status status = select_block(&block, store, options, err);
    if (status == LINEAGE_ENOTFOUND) {
        buf_puts(out, "# Session start — empty lineage\n");
        status = LINEAGE_OK;
    } else if (status == LINEAGE_OK) {
        add_title(out, &block, options);
        add_best(out, &block.best);
        add_kept(out, &block.kept);
        add_chain(out, &block.chain);
        add_recent(out, &block.recent);
        add_full(out, &block.full);
    }
    release_block(&block);
    return status;
}
