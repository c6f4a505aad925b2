/* render.c: renders one block as text; numbers and cells of the styles of other tools. */
#include "render.h"

#include <math.h>

#include <lineage/text.h>

/* ---- formats numbers and cells for the fieldkit and blackboard styles ---- */

static const char *number_text(char out[NUMBER_TEXT_MAX], struct lineage_number number, bool sign)
{
    if (!number.present)
        return "—";
    if (isnan(number.value))
        return sign ? "+nan" : "nan";
    snprintf(out, NUMBER_TEXT_MAX, sign ? "%+.6f" : "%.6f", number.value);
    for (char *c = out; *c; c++)
        if (*c == ',') /* the locale's decimal point */
            *c = '.';
    return out;
}

/* Six decimals including zeros: what Python's :.6f prints. */
const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, false);
}

/* Always with a sign, as :+.6f prints it; nan has one too. */
const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, true);
}

static void add_decoded(struct buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        const char *nul = memchr(text + i, '\xc0', length - i);
        size_t n = nul ? (size_t)(nul - text) - i : length - i;
        buf_add(out, text + i, n);
        i += n;
        if (nul) {
            buf_add(out, "", 1);
            i += 2;
        }
    }
}

void add_raw(struct buf *out, const char *text)
{
    add_decoded(out, text, strlen(text));
}

/* The mark replaces the last character, so the cut text has exactly n characters. */
void add_cut(struct buf *out, const char *text, size_t n)
{
    size_t length = strlen(text), end = lineage_text_prefix(text, length, n);
    if (end < length)
        end = lineage_text_prefix(text, length, n ? n - 1 : 0);
    add_decoded(out, text, end);
    if (end < length)
        buf_puts(out, "…");
}

/*
 * Prints byte for byte what fieldkit.lineage's render_prompt prints: its choice of best (whatever its
 * label), all ancestors, cells unchanged. Unchanged cells can forge any part of the block, so the native style quotes
 * them.
 */

/* The title says core_metric whatever the column is called, because these bytes are fixed. */
static void add_title(struct buf *out, const struct lineage_report *report, const struct lineage_render_options *options)
{
    char number[NUMBER_TEXT_MAX];
    const char *timestamp = options->timestamp && *options->timestamp ? options->timestamp : "—";
    buf_printf(out, "# Session start — %s\nYou are specialist **%s**. Current best: **exp_", timestamp,
               options->specialist ? options->specialist : "");
    add_raw(out, report->best->exp_id);
    buf_printf(out, "** (core_metric=%s).\n\n", metric_text(number, report->best->score));
}

/* Texts are cut at 110 characters here, at 100 in tables and at 80 in recent rows, as in fieldkit. */
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

/* The heading gives the number of trials shown, not the number that was asked for. */
static void add_kept(struct buf *out, const struct lineage_report *report)
{
    char number[NUMBER_TEXT_MAX];
    buf_printf(out, "## Top %zu Kept Trials\n\n", report->n_leaders);
    if (!report->n_leaders)
        buf_puts(out, "*(no keeps yet)*\n");
    else
        buf_puts(out, "| exp | core_metric | Δ | specialist | hypothesis |\n"
                      "|-----|-------------|---|------------|------------|\n");
    for (size_t i = 0; i < report->n_leaders; i++) {
        const struct lineage_trial *trial = &report->leaders[i];
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

/* exp_ID [SPECIALIST, STATUS, metric=M, Δ=D]. metric and Δ are always there, as — if absent. */
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

/* Prints the whole chain, however long, because a limit would change the bytes. */
static void add_chain(struct buf *out, const struct lineage_report_chain *chain)
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

/* harness_abort rows are included, because fieldkit includes them. */
static void add_recent(struct buf *out, const struct lineage_report *report)
{
    char number[NUMBER_TEXT_MAX];
    buf_printf(out,
               "## Recent Activity (last %zu)\n\n| exp | specialist | status | core_metric | hypothesis |\n"
               "|-----|------------|--------|-------------|------------|\n",
               report->n_recent);
    for (size_t i = 0; i < report->n_recent; i++) {
        const struct lineage_trial *trial = &report->recent[i];
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

/* Notes are cut at 200 characters; hypotheses are never cut. */
static void add_full(struct buf *out, const struct lineage_report *report)
{
    buf_printf(out, "## Recent Activity (most recent %zu — full hypothesis)\n", report->n_full);
    for (size_t i = 0; i < report->n_full; i++) {
        const struct lineage_trial *trial = &report->full[i].trial;
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

/* For an empty store, fieldkit prints a single line instead of the block. */
static enum lineage_status render_fieldkit(struct buf *out, struct lineage_store *store,
                                           const struct lineage_render_options *options, struct lineage_error *err)
{
    const struct lineage_report_options what = {
        .rules = LINEAGE_RULES_FIELDKIT, .leaders = options->top_k, .recent = options->recent, .full = options->full};
    struct lineage_report *report;
    TRY(lineage_report_load(&report, store, &what, err));
    if (!report->best) {
        buf_puts(out, "# Session start — empty lineage\n");
    } else {
        add_title(out, report, options);
        add_best(out, report->best);
        add_kept(out, report);
        add_chain(out, &report->chain);
        add_recent(out, report);
        add_full(out, report);
    }
    lineage_report_release(report);
    return LINEAGE_OK;
}

void lineage_render_options_init(struct lineage_render_options *options)
{
    *options = (struct lineage_render_options){.top_k = 20, .recent = 30, .full = 10, .max_bytes = LINEAGE_RENDER_BYTES};
}

enum lineage_status lineage_render(char **text, size_t *length, struct lineage_store *store,
                                   const struct lineage_render_options *options, struct lineage_error *err)
{
    struct lineage_render_options defaults;
    struct buf out = {0};
    *text = NULL;
    *length = 0;
    lineage_render_options_init(&defaults);
    if (!options)
        options = &defaults;
    enum lineage_status status = options->style == LINEAGE_STYLE_FIELDKIT ? render_fieldkit(&out, store, options, err)
                                                                          : render_native(&out, store, options, err);
    /* Printers do not check each addition, because after a failure all later ones do nothing. */
    if (status == LINEAGE_OK && out.failed)
        status = store_no_memory(err);
    if (status != LINEAGE_OK) {
        buf_release(&out);
        return status;
    }
    *text = out.data;
    *length = out.length;
    return LINEAGE_OK;
}
