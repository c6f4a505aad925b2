/* sections_trials.c: the sections of the native style that show trials. Every cell goes through add_safe. */
#include <string.h>

#include <lineage/text.h>

#include "native.h"

void add_id(struct buf *out, const char *id)
{
    if (strncmp(id, "exp_", 4) != 0)
        buf_puts(out, "exp_");
    add_safe(out, id, 60);
}

enum lineage_status native_count(struct native *n, const char *sql, int64_t *count, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(n->store->mirror, &stmt, sql, err);
    if (status == LINEAGE_OK)
        status = mirror_step(n->store->mirror, stmt, err);
    if (status == LINEAGE_OK) {
        *count = sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
    return status;
}

static void add_field(struct buf *out, const char *name, const char *text, size_t n)
{
    if (!text || !*text)
        return;
    buf_printf(out, "- **%s**: ", name);
    add_safe(out, text, n);
    buf_puts(out, "\n");
}

static void add_params(struct buf *out, const struct lineage_trial *trial)
{
    char number[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; i < trial->n_params; i++) {
        buf_puts(out, i ? ", " : "- **parameters**: ");
        add_safe(out, trial->params[i].name, 0);
        buf_printf(out, "=%s", lineage_number_format(number, trial->params[i].value));
    }
    if (trial->n_params)
        buf_puts(out, "\n");
}

static void add_clip_scale(struct buf *out, const struct lineage_trial *trial)
{
    char mean[LINEAGE_NUMBER_MAX] = "—", std[LINEAGE_NUMBER_MAX] = "—";
    if (!trial->ig_clip_scale_mean.present && !trial->ig_clip_scale_std.present)
        return;
    if (trial->ig_clip_scale_mean.present)
        lineage_number_format(mean, trial->ig_clip_scale_mean.value);
    if (trial->ig_clip_scale_std.present)
        lineage_number_format(std, trial->ig_clip_scale_std.value);
    buf_printf(out, "- **ig_clip_scale**: mean %s, std %s\n", mean, std);
}

enum lineage_status section_best(struct buf *out, struct native *n, struct lineage_error *err)
{
    const struct lineage_trial *best = &n->best;
    (void)err;
    if (!best->seq)
        return LINEAGE_OK;
    buf_puts(out, "\n## Current Best\n");
    add_field(out, "exp_id", best->exp_id, 60);
    char number[NUMBER_TEXT_MAX];
    buf_printf(out, "- **%s**: %s\n", n->metric, metric_text(number, best->score));
    add_field(out, "specialist", best->specialist, 60);
    add_field(out, "hypothesis", best->hypothesis, 400);
    add_params(out, best);
    add_clip_scale(out, best);
    add_field(out, "snapshot", best->snapshot_path, 200);
    return LINEAGE_OK;
}

static void add_cell(struct buf *out, const char *text, size_t n)
{
    buf_puts(out, " | ");
    add_safe(out, text, n);
}

enum lineage_status section_leaderboard(struct buf *out, struct native *n, struct lineage_error *err)
{
    static const char lower[] = "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.status IN ('keep', 'baseline')"
                                " AND t.status = 'keep' AND t.score > -9e999 AND t.score < 9e999"
                                " ORDER BY t.score, t.seq LIMIT ?1";
    static const char higher[] = "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.status IN ('keep', 'baseline')"
                                 " AND t.status = 'keep' AND t.score > -9e999 AND t.score < 9e999"
                                 " ORDER BY t.score DESC, t.seq LIMIT ?1";
    struct trial_list kept = {0};
    char number[NUMBER_TEXT_MAX];
    if (!n->options->top_k)
        return LINEAGE_OK;
    enum lineage_status status =
        trial_list_add(&kept, n->store->mirror, n->store->config.direction == LINEAGE_HIGHER ? higher : lower,
                       n->options->top_k, err);
    buf_printf(out, "\n## Leaderboard (top %zu kept trials)\n\n", kept.n);
    buf_puts(out, kept.n ? "" : "*(no keeps yet)*\n");
    if (kept.n)
        buf_printf(out, "| exp | %s | Δ | specialist | hypothesis |\n|---|---|---|---|---|\n", n->metric);
    for (size_t i = 0; i < kept.n; i++) {
        buf_puts(out, "| ");
        add_safe(out, kept.items[i].exp_id, 60);
        buf_printf(out, " | %s", metric_text(number, kept.items[i].score));
        buf_printf(out, " | %s", delta_text(number, kept.items[i].delta_vs_best));
        add_cell(out, kept.items[i].specialist, 40);
        add_cell(out, kept.items[i].hypothesis, 100);
        buf_puts(out, " |\n");
    }
    trial_list_release(&kept);
    return status;
}

/* exp_ID [SPECIALIST, STATUS, METRIC=M, Δ=D], the delta only where there is one */
static void add_item(struct buf *out, const struct native *n, const struct lineage_trial *trial)
{
    char number[NUMBER_TEXT_MAX];
    add_id(out, trial->exp_id);
    buf_puts(out, " [");
    if (trial->specialist[0]) {
        add_safe(out, trial->specialist, 40);
        buf_puts(out, ", ");
    }
    buf_puts(out, lineage_label_name(trial->status));
    if (trial->score.present)
        buf_printf(out, ", %s=%s", n->metric, metric_text(number, trial->score));
    if (trial->delta_vs_best.present)
        buf_printf(out, ", Δ=%s", delta_text(number, trial->delta_vs_best));
    buf_puts(out, "] ");
}

static void add_passed_over(struct buf *out, size_t count)
{
    if (count)
        buf_printf(out, "    (%zu passed over)\n", count);
}

enum lineage_status section_knowledge(struct buf *out, struct native *n, struct lineage_error *err)
{
    const struct lineage_chain *chain = &n->chain;
    (void)err;
    buf_puts(out, "\n## KNOWLEDGE.md\n\n");
    if (!chain->n) {
        buf_puts(out, "*(no kept or baseline trial with a score yet)*\n");
        return LINEAGE_OK;
    }
    buf_puts(out, "**Current-best lineage** (root → best, kept ancestors):\n```\n");
    if (chain->end != LINEAGE_CHAIN_ROOT) {
        buf_puts(out, chain->end == LINEAGE_CHAIN_MISSING ? "!! parent not in the store: " : "!! cycle at: ");
        add_safe(out, chain->end_id, 60);
        buf_puts(out, "\n");
    }
    for (size_t i = 0; i < chain->n; i++) {
        add_passed_over(out, chain->passed_over[i]);
        buf_puts(out, i ? " └─ " : "");
        add_item(out, n, &chain->trials[i]);
        add_safe(out, chain->trials[i].hypothesis, 100);
        buf_puts(out, i + 1 == chain->n ? " ← BEST\n" : "\n");
    }
    buf_puts(out, "```\n");
    return LINEAGE_OK;
}

static const char informational_sql[] = "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.status <> 'harness_abort'"
                                        " ORDER BY t.seq DESC LIMIT ?1";

enum lineage_status section_recent(struct buf *out, struct native *n, struct lineage_error *err)
{
    struct trial_list recent = {0};
    char number[NUMBER_TEXT_MAX];
    if (!n->options->recent)
        return LINEAGE_OK;
    enum lineage_status status =
        trial_list_add(&recent, n->store->mirror, informational_sql, n->options->recent, err);
    buf_printf(out, "\n## Recent Activity (last %zu)\n\n", recent.n);
    buf_printf(out, "| exp | specialist | status | %s | hypothesis |\n|---|---|---|---|---|\n", n->metric);
    for (size_t i = 0; i < recent.n; i++) {
        const struct lineage_trial *trial = &recent.items[i];
        buf_puts(out, "| ");
        add_safe(out, trial->exp_id, 60);
        add_cell(out, trial->specialist, 40);
        buf_printf(out, " | %s | %s", lineage_label_name(trial->status), metric_text(number, trial->score));
        add_cell(out, trial->hypothesis, 80);
        buf_puts(out, " |\n");
    }
    trial_list_release(&recent);
    return status;
}

enum lineage_status section_full(struct buf *out, struct native *n, struct lineage_error *err)
{
    struct trial_list full = {0};
    if (!n->options->full)
        return LINEAGE_OK;
    enum lineage_status status = trial_list_add(&full, n->store->mirror, informational_sql, n->options->full, err);
    buf_printf(out, "\n## Last %zu Trials in Full\n", full.n);
    for (size_t i = 0; i < full.n; i++) {
        const struct lineage_trial *trial = &full.items[i];
        buf_puts(out, "- ");
        add_item(out, n, trial);
        add_safe(out, trial->hypothesis, 0);
        buf_puts(out, "\n");
        if (trial->expected_delta[0]) {
            buf_puts(out, "  expected ");
            add_safe(out, trial->expected_delta, 60);
            buf_puts(out, "\n");
        }
        if (trial->notes[0]) {
            buf_puts(out, "  └─ ");
            add_safe(out, trial->notes, 0);
            buf_puts(out, "\n");
        }
    }
    trial_list_release(&full);
    return status;
}

enum lineage_status section_insights(struct buf *out, struct native *n, struct lineage_error *err)
{
    const char *insights = n->options->insights;
    (void)err;
    if (!insights || !*insights)
        return LINEAGE_OK;
    buf_puts(out, "\n");
    buf_puts(out, insights);
    if (insights[strlen(insights) - 1] != '\n')
        buf_puts(out, "\n");
    return LINEAGE_OK;
}
