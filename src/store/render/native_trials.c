/* native_trials.c: the sections that show trials. */
#include <math.h>

#include "native.h"

enum { RECENT_BRIEF = 36, RECENT_FULL = 80 }; /* code points of a hypothesis in Recent Activity */

/* Worth of the i-th row of a list. It falls like 1/(1+k·i): the first rows of a list are worth several of its last
 * rows, but every row is worth something, so a large budget still prints whole lists. */
static double worth(double first, double fall, size_t i)
{
    return first / (1 + fall * (double)i);
}

/* Looked up by name, because a trial may lack parameters that others have. */
static bool is_constant(const struct lineage_report *report, const char *name)
{
    for (size_t i = 0; i < report->n_params; i++)
        if (strcmp(report->params[i].name, name) == 0)
            return report->params[i].constant;
    return false;
}

/* ---- best ---- */

/* Parameters that are the same in all trials are printed once, under Sweep Coverage. The parameters that differ are
 * those that the next trial can change. */
static void add_params(struct block *block, const struct native *n)
{
    const struct lineage_trial *best = n->report->best;
    struct buf *out = &block->text;
    size_t shown = 0;
    for (size_t i = 0; i < best->n_params; i++)
        if (!is_constant(n->report, best->params[i].name) && strcmp(best->params[i].name, "proposer") != 0)
            add_shape(out, "%T%N=%P", shown++ ? ", " : "- **parameters**: ", best->params[i].name, best->params[i].value,
                      best->params[i].text);
    if (!shown)
        return;
    buf_puts(out, "\n");
    /* Core: without the parameters of the best there is nothing to start from. */
    block_row_end(block, 50, true);
}

/* Shown for the best only; for other trials, lineage show prints it. */
static void add_clip_scale(struct block *block, const struct lineage_trial *best)
{
    if (!best->ig_clip_scale_mean.present && !best->ig_clip_scale_std.present)
        return;
    add_shape(&block->text, "- **ig_clip_scale**: mean %S, std %S\n", best->ig_clip_scale_mean, best->ig_clip_scale_std);
    block_row_end(block, 8, false);
}

/* Adds a cell in two lengths: the planner needs the first words of a hypothesis, and the rest if there is room. */
static void add_field(struct block *block, const char *name, const char *text, size_t brief, size_t full, double value, bool core)
{
    if (!text[0])
        return;
    buf_printf(&block->text, "- **%s**: ", name);
    add_quoted(&block->text, text, brief);
    buf_puts(&block->text, "\n");
    block_brief_end(block);
    buf_printf(&block->text, "- **%s**: ", name);
    add_quoted(&block->text, text, full);
    buf_puts(&block->text, "\n");
    block_row_end(block, value, core);
}

/* The parameters and the snapshot are separate rows, because under a budget only the parameters are needed. */
/* The trials that are best in both scores, as one row: an agent that aims at the second score starts from one of them. */
static void add_front(struct block *block, const struct native *n)
{
    enum { SHOWN = 12 };
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    if (!report->n_front)
        return;
    add_shape(out, "- **front** of %N and %N (a trial is kept also if no kept trial is as good in both): ", report->metric,
              report->second);
    for (size_t i = 0; i < report->n_front && i < SHOWN; i++) {
        add_shape(out, "%T%I (%S, %S)", i ? ", " : "", report->front[i].exp_id,
                  (struct lineage_number){true, report->front[i].score}, (struct lineage_number){true, report->front[i].second});
    }
    if (report->n_front > SHOWN)
        buf_printf(out, " and %zu more", report->n_front - SHOWN);
    buf_puts(out, "\n");
    block_row_end(block, 58, true);
}

/* The claim is the label of the best trial; the ranking is the estimate. */
static void add_settings(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    char mean[LINEAGE_NUMBER_MAX];
    if (!report->n_settings)
        return;
    buf_printf(out, "- **settings** (mean%s, runs): ", report->same_scores ? "" : " ± half of its 95 % interval");
    for (size_t i = 0; i < report->n_settings; i++) {
        const struct lineage_report_setting *s = &report->settings[i];
        add_shape(out, "%T%I %T", i ? ", " : "", s->exp_id, lineage_mean_text(mean, s->mean, s->margin));
        if (isfinite(s->margin) && !report->same_scores)
            buf_printf(out, " ± %.2g", s->margin);
        buf_printf(out, " (%zu)", s->runs);
    }
    buf_printf(out, "; the first is the best with probability %.2f%s", fmin(report->sure, 0.99),
               report->proven ? "" : ", an estimate: it is not proven to be better than the kept trials");
    if (report->held_back) {
        add_shape(out, "; %I %T (%Z) is not named, because more of its runs diverged than did not; run it again",
                  report->held_back->exp_id, lineage_mean_text(mean, report->held_back->mean, report->held_back->margin),
                  report->held_back->runs);
    }
    buf_puts(out, "\n");
    block_row_end(block, 58, true);
}

void section_best(struct block *block, const struct native *n)
{
    const struct lineage_trial *best = n->report->best;
    struct buf *out = &block->text;
    buf_puts(out, "\n## Current Best\n");
    block_head_end(block);
    /* The title says that no trial qualifies. */
    if (!best)
        return;
    add_shape(out, "- %I", best->exp_id);
    if (names_specialist(n, best))
        add_shape(out, " by %N", best->specialist);
    add_shape(out, ", %N %S\n", n->report->metric, best->score);
    block_row_end(block, 60, true);
    add_settings(block, n);
    add_front(block, n);
    /* What the best trial did is the first thing to know; only a small block has no room for it. */
    const size_t room = n->options->max_bytes;
    add_field(block, "hypothesis", best->hypothesis, room && room < 8000 ? 100 : 400, 400, 55, true);
    add_params(block, n);
    add_clip_scale(block, best);
    add_field(block, "snapshot", best->snapshot_path, 200, 200, 12, false);
}

/* ---- tables ---- */

/* A table keeps its columns even if a cell is empty. */
static void add_cell_name(struct buf *out, const char *text)
{
    add_shape(out, " | %N", text);
}

/* Half of the 95 % interval of the score, without which luck looks like progress. A row that does not name its runs has as
 * many as the store's settings say. */
static void add_margin(struct buf *out, const struct lineage_report *report, const struct lineage_trial *trial)
{
    size_t runs = lineage_score_runs(trial->notes);
    if (!(report->noise.freedom > 0) || !trial->score.present)
        return;
    add_shape(out, " ± %A", lineage_noise_margin(&report->noise, runs > 1 ? runs : report->noise_seeds));
}

/* The table has no status column, because all its trials are kept, as the heading says. */
static void add_leader(struct buf *out, const struct native *n, const struct lineage_trial *trial, size_t width)
{
    add_shape(out, "| %N | %S", trial->exp_id, trial->score);
    add_margin(out, n->report, trial);
    add_shape(out, " | %D", trial->delta_vs_best);
    if (!n->by)
        add_cell_name(out, trial->specialist);
    buf_puts(out, " | ");
    add_idea(out, n, trial->exp_id, trial->hypothesis, width);
    buf_puts(out, " |\n");
}

void section_leaderboard(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    if (!n->options->top_k)
        return;
    /* The heading gives the number of kept trials that exist, not the number shown; the last line of the block says
     * that a list is cut. */
    buf_printf(out, "\n## Leaderboard (%llu kept trials, best first%s)\n\n", (unsigned long long)report->labels[LINEAGE_KEEP],
               report->noise.freedom > 0 ? "; ±: 95 % interval; `lineage compare --runs` says which to run again" : "");
    if (report->n_leaders)
        add_shape(out, "| exp | %N%T", report->metric,
                  n->by ? " | Δ | hypothesis |\n|---|---|---|---|\n"
                        : " | Δ | specialist | hypothesis |\n|---|---|---|---|---|\n");
    block_head_end(block);
    for (size_t i = 0; i < report->n_leaders; i++) {
        add_leader(out, n, &report->leaders[i], 40);
        block_brief_end(block);
        add_leader(out, n, &report->leaders[i], 100);
        block_row_end(block, worth(30, 0.15, i), false);
    }
    if (report->n_leaders)
        return;
    /* An empty table looks broken. */
    buf_puts(out, "*(no keeps yet)*\n");
    block_row_end(block, 5, false);
}

/* The status includes the reason of a discard, so that no row needs a column for it. */
static void add_recent(struct buf *out, const struct native *n, size_t i, size_t width)
{
    const struct lineage_trial *trial = &n->report->recent[i];
    add_shape(out, "| %N", trial->exp_id);
    if (!n->by)
        add_cell_name(out, trial->specialist);
    buf_puts(out, " | ");
    add_outcome(out, n, trial, n->report->recent_vs_parent[i]);
    add_shape(out, " | %S | ", trial->score);
    add_idea(out, n, trial->exp_id, trial->hypothesis, width);
    buf_puts(out, " |\n");
}

/* The newest rows are worth most, because the agent has not seen them yet. Under a budget they go before all rows that
 * are not core: a planner that does not know what was tried last proposes it again. */
void section_recent(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    if (!report->n_recent)
        return;
    block->parts[block->n_parts - 1].early = true;
    add_shape(out, "\n## Recent Activity (newest first)\n\n| exp | %T%N%T", n->by ? "status | " : "specialist | status | ",
              report->metric, n->by ? " | hypothesis |\n|---|---|---|---|\n" : " | hypothesis |\n|---|---|---|---|---|\n");
    block_head_end(block);
    for (size_t i = 0; i < report->n_recent; i++) {
        add_recent(out, n, i, RECENT_BRIEF);
        block_brief_end(block);
        add_recent(out, n, i, RECENT_FULL);
        block_row_end(block, worth(30, 0.06, i), false);
    }
}

/* ---- chain and last trials ---- */

/* exp_ID [SPECIALIST, STATUS, METRIC=M, Δ=D]; the delta is printed only if it exists and the status does not contain
 * it. The chain and the last trials have the same form, so that an agent learns it once. */
static void add_item(struct buf *out, const struct native *n, const struct lineage_trial *trial, struct lineage_number vs_parent)
{
    add_shape(out, "%I [", trial->exp_id);
    if (names_specialist(n, trial))
        add_shape(out, "%N, ", trial->specialist);
    add_outcome(out, n, trial, vs_parent);
    if (trial->score.present)
        add_shape(out, ", %N=%S", n->report->metric, trial->score);
    if (trial->delta_vs_best.present && trial->status != LINEAGE_DISCARD) {
        add_shape(out, ", Δ=%D", trial->delta_vs_best);
    }
    buf_puts(out, "] ");
}

/* The marks (trials passed over, links missing in between) belong to the link that follows them and are printed only
 * with it. */
static void add_link(struct buf *out, const struct native *n, size_t i, size_t width)
{
    const struct lineage_report_chain *chain = &n->report->chain;
    if (i == chain->first && chain->n < chain->total)
        buf_printf(out,
                   chain->by_keeps ? " … %zu keeps between: `lineage query --status keep`\n"
                                   : " … %zu kept ancestors between: `lineage chain`\n",
                   chain->total - chain->n);
    if (chain->passed_over[i])
        buf_printf(out, "    (%zu passed over)\n", chain->passed_over[i]);
    buf_puts(out, i ? " └─ " : "");
    add_item(out, n, &chain->trials[i], (struct lineage_number){0});
    add_idea(out, n, chain->trials[i].exp_id, chain->trials[i].hypothesis, width);
    buf_puts(out, i + 1 == chain->n ? " ← BEST\n" : "\n");
}

/* Worth falls from both ends towards the middle: the beginning and the steps that led to the best are worth most. It
 * falls half as fast from the best as from the root, because the last steps explain more than the beginning. */
static double link_worth(const struct lineage_report_chain *chain, size_t i)
{
    size_t from_best = chain->n - 1 - i, from_root = i;
    return 40.0 / (double)(1 + (from_best < 2 * from_root ? from_best : 2 * from_root));
}

/* The chain is printed in a code fence, because its lines are indented and Markdown would join them. Cells inside are
 * quoted all the same, for readers of the source. */
void section_chain(struct block *block, const struct native *n)
{
    const struct lineage_report_chain *chain = &n->report->chain;
    struct buf *out = &block->text;
    struct budget_part *part = &block->parts[block->n_parts - 1];
    part->cut_inside = true;
    part->beyond = chain->total - chain->n;
    part->beyond_at = part->first + chain->first;
    buf_puts(out, chain->by_keeps ? "\n## Keeps up to the Best (no row names a parent)\n"
                                  : "\n## Lineage of the Best (root → best, kept ancestors)\n");
    if (!chain->n) {
        block_head_end(block);
        buf_puts(out, "\n*(no kept or baseline trial with a score yet)*\n");
        block_row_end(block, 5, false);
        return;
    }
    buf_puts(out, "```\n");
    /* A chain that does not reach a root would mislead, so this is stated first. */
    if (chain->end != LINEAGE_CHAIN_ROOT)
        add_shape(out, "%T%N\n",
                  chain->end == LINEAGE_CHAIN_MISSING ? "!! parent not in the store: " : "!! cycle at: ", chain->end_id);
    block_head_end(block);
    for (size_t i = 0; i < chain->n; i++) {
        add_link(out, n, i, 40);
        block_brief_end(block);
        add_link(out, n, i, 100);
        /* A plan needs the root, the best, and the parent of the best. */
        block_row_end(block, link_worth(chain, i), i == 0 || i + 2 >= chain->n);
    }
    buf_puts(out, "```\n");
    block_tail_end(block);
}

/* Only changes are printed: a trial has dozens of parameters, and two of them changed. */
static void add_change(struct buf *out, const struct lineage_report_change *change)
{
    if (!change->after.present) {
        add_shape(out, "without %N", change->name);
        return;
    }
    add_name(out, change->name);
    if (change->before.present)
        add_shape(out, " %P", change->before.value, change->before_text);
    add_shape(out, "%T%P", change->before.present ? " → " : "=", change->after.value, change->after_text);
}

/* The compared trial comes first, because the change depends on it. */
static void add_changes(struct buf *out, const struct lineage_report_full *full)
{
    if (full->compared_with[0])
        add_shape(out, "against %I: ", full->compared_with);
    for (size_t i = 0; i < full->n_changes; i++) {
        buf_puts(out, i ? ", " : "");
        add_change(out, &full->changes[i]);
    }
    if (full->code[0]) {
        add_shape(out, "%T%Q", full->n_changes ? "; code: " : "code: ", full->code, (size_t)120);
    }
}

/* Whether Recent Activity gives the changes of parameters as the hypothesis (report_describe). */
static bool is_told(const struct lineage_report_full *full)
{
    return !*full->trial.hypothesis && full->n_changes && !full->code[0];
}

static bool has_changes(const struct lineage_report_full *full)
{
    return full->n_changes || full->code[0];
}

/* ---- remarks ---- */

/* Whether one of the pieces of a remark, which are separated by "; ", is the piece. */
static bool has_piece(const char *remark, const char *piece, size_t length)
{
    for (const char *at = remark; *at; at += *at ? 2 : 0) {
        size_t n = strcspn(at, ";");
        if (n == length && memcmp(at, piece, n) == 0)
            return true;
        at += n;
        if (!*at || !at[1])
            return false;
    }
    return false;
}

/* Whether all remarks have the piece, so that it is printed once. Two remarks may agree by chance. */
static bool in_all(const struct lineage_report *report, const char *piece, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < report->n_full; i++) {
        const char *remark = report->full[i].remark;
        if (*remark && !has_piece(remark, piece, length))
            return false;
        n += *remark != '\0';
    }
    return n > 2;
}

/* Adds the pieces of the remark that all remarks have, or those that they do not all have. */
static void add_pieces(struct buf *out, const struct native *n, const char *remark, bool common, const char *before)
{
    SCOPED_BUF text = {0};
    for (const char *at = remark; *at;) {
        size_t length = strcspn(at, ";");
        if (length && in_all(n->report, at, length) == common) {
            buf_puts(&text, text.length ? "; " : "");
            buf_add(&text, at, length);
        }
        at += length + (at[length] == ';');
        at += *at == ' ';
    }
    if (text.length)
        add_shape(out, "%T%Q\n", before, text.data, (size_t)0);
    out->failed = out->failed || text.failed;
}

/* ---- last trials ---- */

/* The verdict follows the expectation where the noise is known; without it every one would be inconclusive. */
static void add_expectation(struct buf *out, const struct native *n, const struct lineage_trial *trial, const char *before)
{
    struct lineage_hypothesis h = lineage_hypothesis_of(trial, n->report->margin);
    add_shape(out, "%T%Q", before, trial->expected_delta, (size_t)60);
    if (h.verdict && h.margin > 0)
        buf_printf(out, " (%s)", lineage_verdict_name(h.verdict));
}

/* A trial that is a row of Recent Activity is not described again: its changes follow its id, and its hypothesis only if
 * that row cuts it. */
static void add_known(struct buf *out, const struct native *n, const struct lineage_report_full *full, size_t width)
{
    const struct lineage_trial *trial = &full->trial;
    add_shape(out, "- %I ", trial->exp_id);
    if (has_changes(full))
        add_changes(out, full);
    if (!width && trial->expected_delta[0])
        add_expectation(out, n, trial, has_changes(full) ? "; expected " : "expected ");
    /* On the same line, so that a long text does not change the number of lines. */
    if (!width && code_points(trial->hypothesis) > RECENT_FULL) {
        buf_puts(out, has_changes(full) || trial->expected_delta[0] ? "; in full: " : "in full: ");
        add_idea(out, n, trial->exp_id, trial->hypothesis, 0);
    }
    buf_puts(out, "\n");
    if (!width)
        add_pieces(out, n, full->remark, false, "  └─ ");
}

/* The first line is that of the chain, the second the changes, then what was expected and the notes in full, because
 * only this section prints notes. */
static void add_trial(struct buf *out, const struct native *n, const struct lineage_report_full *full, size_t width)
{
    const struct lineage_trial *trial = &full->trial;
    buf_puts(out, "- ");
    add_item(out, n, trial, full->delta_vs_parent);
    add_idea(out, n, trial->exp_id, trial->hypothesis, width);
    buf_puts(out, "\n");
    if (has_changes(full)) {
        buf_puts(out, "  ");
        add_changes(out, full);
        buf_puts(out, "\n");
    }
    /* The brief form shows what was tried and how it ended; expectation and notes are only in the full form. */
    if (width)
        return;
    if (trial->expected_delta[0]) {
        add_expectation(out, n, trial, "  expected ");
        buf_puts(out, "\n");
    }
    add_pieces(out, n, full->remark, false, "  └─ ");
}

/* Whether the changes alone say something. */
static bool adds_something(const struct lineage_report_full *full)
{
    return (has_changes(full) && !is_told(full)) || full->trial.expected_delta[0] || full->remark[0] ||
           code_points(full->trial.hypothesis) > RECENT_FULL;
}

static const struct budget_part *asked_part(const struct block *block, const char *name)
{
    for (size_t i = 0; i < block->n_parts; i++)
        if (block->parts[i].asked && strcmp(block->parts[i].name, name) == 0)
            return &block->parts[i];
    return NULL;
}

/* The budget decides between brief entries for many trials and full ones for few. Both lists show the newest trials, so
 * that the i-th trial here is the i-th row of Recent Activity. */
void section_full(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    const struct budget_part *recent = asked_part(block, "recent");
    size_t first = 0, known = 0;
    if (!report->n_full)
        return;
    if (recent) {
        first = recent->first;
        known = recent->n;
    }
    buf_puts(&block->text, "\n## Last Trials in Full (what each changed)\n");
    for (size_t i = 0, done = 0; i < report->n_full && !done; i++)
        if (report->full[i].remark[0]) {
            add_pieces(&block->text, n, report->full[i].remark, true, "In the notes of all: ");
            done = 1;
        }
    block_head_end(block);
    for (size_t i = 0; i < report->n_full; i++) {
        if (i < known && !adds_something(&report->full[i]))
            continue;
        if (i >= known || has_changes(&report->full[i])) { /* else a brief form would be its id alone */
            (i < known ? add_known : add_trial)(&block->text, n, &report->full[i], 60);
            block_brief_end(block);
        }
        (i < known ? add_known : add_trial)(&block->text, n, &report->full[i], 0);
        block_row_end(block, worth(45, 0.25, i), false);
        if (i < known && !block->failed)
            block->rows[block->n_rows - 1].needs = first + i + 1;
    }
}

/* ---- near misses ---- */

/* A discard that improved on its parent, or that noise may have decided, is a place to go on from. */
void section_near_misses(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    if (!report->n_near_misses)
        return;
    buf_puts(&block->text, "\n## Near Misses (discarded, but better than their parent or within the noise; best first)\n");
    block_head_end(block);
    for (size_t i = 0; i < report->n_near_misses; i++)
        for (size_t full = 0; full < 2; full++) {
            const struct lineage_report_near_miss *miss = &report->near_misses[i];
            buf_puts(&block->text, "- ");
            add_item(&block->text, n, &miss->trial, miss->delta_vs_parent);
            add_idea(&block->text, n, miss->trial.exp_id, miss->trial.hypothesis, full ? 100 : 40);
            buf_puts(&block->text, "\n");
            if (full)
                block_row_end(block, worth(34, 0.3, i), false);
            else
                block_brief_end(block);
        }
}
