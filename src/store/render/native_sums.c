/* native_sums.c: the sections with sums: coverage, failures, calibration, information gain. */

#include "native.h"

#define SPECIALISTS 12   /* shown for a class of failure */
#define REASONS 4        /* shown for a class of failure */
#define CELLS_BRIEF 6    /* untried cells shown for a pair */
#define CELLS_FULL 24

/* 0.3 (2 keep, 4 discard; best 0.818359). Counts instead of a rate, because one keep of two differs from ten of
 * twenty. */
static void add_outcomes(struct buf *out, const struct lineage_report_value *value)
{
    const char *comma = " (";
    add_setting(out, value->value, value->text);
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (value->labels[i]) {
            buf_printf(out, "%s%llu %s", comma, (unsigned long long)value->labels[i], lineage_label_name((enum lineage_label)i));
            comma = ", ";
        }
    if (value->best.present) {
        add_shape(out, "; best %S", value->best);
    }
    buf_puts(out, ")");
}

/* 0.3 ×6 best 0.818359. Outcomes by label are the longest part of coverage; under a budget a count and the best score
 * must be enough. */
static void add_brief(struct buf *out, const struct lineage_report_value *value)
{
    add_shape(out, "%P ×%L", value->value, value->text, (unsigned long long)value->n);
    if (value->best.present)
        add_shape(out, " best %A", value->best.value);
}

/* One function prints both forms, so that they differ only in the outcomes. */
static void add_values(struct buf *out, const struct lineage_report_param *param,
                       void (*add)(struct buf *out, const struct lineage_report_value *value))
{
    add_shape(out, "- **%N**: ", param->name);
    for (size_t i = 0; i < param->n_values; i++) {
        buf_puts(out, i ? ", " : "");
        add(out, &param->values[i]);
    }
    /* A parameter with very many values (a seed, a size) is shown as a range, because a list would fill the block. */
    if (param->more)
        add_shape(out, ", and more up to %P", param->high, param->high_text);
    buf_puts(out, "\n");
}

/* A parameter with one value says something about the trials only, so such parameters share a line. */
static bool has_one_value(const struct lineage_report_param *param)
{
    return param->n_values == 1 && !param->more;
}

/* Prints the parameters with only one value in one line: either those that all trials set, or those that some set.
 * Constant parameters are printed only here; repeated with the best trial and with each other trial, they would fill
 * half of the block. */
static void add_single(struct block *block, const struct native *n, bool constant)
{
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    size_t shown = 0;
    for (size_t i = 0; i < report->n_params; i++) {
        const struct lineage_report_param *param = &report->params[i];
        if (!has_one_value(param) || param->constant != constant)
            continue;
        add_shape(out, "%T%N=",
                  shown++    ? ", "
                  : constant ? "- same in all trials: "
                             : "- tried at one value only: ",
                  param->name);
        if (constant)
            add_setting(out, param->values[0].value, param->values[0].text);
        else
            add_outcomes(out, &param->values[0]);
    }
    if (!shown)
        return;
    buf_puts(out, "\n");
    block_row_end(block, constant ? 40 : 30, constant);
}

/* Cells are counted as well as listed: 3 of 40 untried is a gap, 37 of 40 is a grid that nobody meant to fill. */
static void add_cells(struct buf *out, const struct lineage_report_grid *grid, size_t most)
{
    add_shape(out, "- untried %N × %N (%Z of %Z): ", grid->x->name, grid->y->name, grid->n_untried, grid->n_cells);
    for (size_t i = 0; i < grid->n_untried && i < most; i++) {
        buf_puts(out, i ? ", " : "");
        const struct lineage_report_value *x = &grid->x->values[grid->untried[i][0]];
        const struct lineage_report_value *y = &grid->y->values[grid->untried[i][1]];
        add_shape(out, "%P×%P", x->value, x->text, y->value, y->text);
    }
    buf_puts(out, grid->n_untried > most ? ", …\n" : "\n");
}

/* Pairs in the order of the parameters, which begins with alpha, beta and gamma. */
static void add_grids(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    for (size_t i = 0; i < n->report->n_grids; i++) {
        const struct lineage_report_grid *grid = &n->report->grids[i];
        /* If two parameters are linked, all cells except the diagonal are untried: true, long, and useless, because nobody
         * changes one alone. */
        if (grid->linked) {
            add_shape(out, "- only moved together: %N and %N\n", grid->x->name, grid->y->name);
        } else {
            add_cells(out, grid, CELLS_BRIEF);
            block_brief_end(block);
            add_cells(out, grid, CELLS_FULL);
        }
        /* What was tried last says more about what to try next than a gap does, so these rows are not core. */
        block_row_end(block, 45 / (1 + 0.3 * (double)i), false);
    }
}

/* Constants come first, because all later lines hold only for those values. Other parameters with one value come last:
 * they were tried, but not compared. */
void section_sweep(struct block *block, const struct native *n)
{
    const struct lineage_report *report = n->report;
    struct buf *out = &block->text;
    size_t shown = 0;
    if (!report->n_params)
        return;
    add_shape(out, "\n## Sweep Coverage (value, outcomes, best %N)\n", report->metric);
    block_head_end(block);
    add_single(block, n, true);
    for (size_t i = 0; i < report->n_params; i++)
        if (!has_one_value(&report->params[i])) {
            add_values(out, &report->params[i], add_brief);
            block_brief_end(block);
            add_values(out, &report->params[i], add_outcomes);
            block_row_end(block, 45 / (1 + 0.1 * (double)shown++), true);
        }
    add_grids(block, n);
    add_single(block, n, false);
    /* The other parameters are mentioned even without their names, because the list is incomplete. */
    if (!report->more_params)
        return;
    buf_printf(out, "- and %zu more parameters\n", report->more_params);
    block_row_end(block, 2, false);
}

/* Shows which specialists the failures belong to. If one specialist has all failures, the cause is that specialist's
 * habit; if all specialists have some, the cause is the harness. */
static void add_class(struct buf *out, const struct lineage_report_failure *failure, size_t most)
{
    buf_printf(out, "- **%s**: %llu (", lineage_label_name(failure->label), (unsigned long long)failure->n);
    for (size_t i = 0; i < failure->n_specialists && i < most; i++) {
        const struct lineage_report_count *count = &failure->specialists[i];
        buf_puts(out, i ? ", " : "");
        if (count->specialist[0])
            add_name(out, count->specialist);
        else
            buf_puts(out, "—");
        buf_printf(out, " %llu", (unsigned long long)count->n);
    }
    buf_puts(out, failure->n_specialists > most ? ", …)\n" : ")\n");
}

/* Names the newest trial with this reason, so that its snapshot and its notes can be looked up. */
static void add_reason(struct buf *out, const struct lineage_report_reason *reason, size_t width)
{
    add_shape(out, "  - %I", reason->exp_id);
    if (reason->n > 1)
        buf_printf(out, " and %llu more", (unsigned long long)(reason->n - 1));
    if (reason->cause && reason->cause != LINEAGE_CAUSE_CODE) /* the text itself names an error of the code */
        buf_printf(out, " (%s)", lineage_cause_name(reason->cause));
    buf_puts(out, ": ");
    if (reason->text[0])
        add_quoted(out, reason->text, width);
    else
        buf_puts(out, "no reason in its notes");
    buf_puts(out, "\n");
}

/* Reasons follow their class, and each is worth less than the one before, so the budget never prints a reason without
 * its class. */
static void add_failure(struct block *block, const struct lineage_report_failure *failure, size_t i)
{
    struct buf *out = &block->text;
    double first = 50 / (1 + 0.2 * (double)i);
    add_class(out, failure, 3);
    block_brief_end(block);
    add_class(out, failure, SPECIALISTS);
    /* A class without its count is useless, so the count is a core row; so is the first reason. */
    block_row_end(block, first, true);
    /* Only the most frequent reasons: the others occur once each, and lineage query lists them. */
    for (size_t j = 0; j < failure->n_reasons && j < REASONS; j++) {
        add_reason(out, &failure->reasons[j], 80);
        block_brief_end(block);
        add_reason(out, &failure->reasons[j], 240);
        block_row_end(block, first / (double)(2 + 2 * j), j == 0);
    }
}

/* A plan must avoid a night of crashes first, so this section is dropped last. */
void section_failures(struct block *block, const struct native *n)
{
    if (!n->report->n_failures)
        return;
    buf_puts(&block->text, "\n## Failure Classes (where they cluster, and the newest reasons)\n");
    block_head_end(block);
    for (size_t i = 0; i < n->report->n_failures; i++)
        add_failure(block, &n->report->failures[i], i);
}

/* Prints the same expectations against the scores of the parents. */
static void add_on_parent(struct buf *out, const struct lineage_report_calibration *c, bool columns)
{
    bool any = c->on_parent.n > 0;
    if (!columns)
        return;
    add_shape(out, " | %L of %L | %D | %S", (unsigned long long)c->on_parent.same_sign, (unsigned long long)c->on_parent.n,
              (struct lineage_number){any, c->on_parent.happened}, (struct lineage_number){any, c->on_parent.error});
}

static bool has_parents(const struct lineage_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->n_calibration; i++)
        any = any || report->calibration[i].on_parent.n;
    return any;
}

static bool has_verdicts(const struct lineage_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->n_calibration; i++)
        for (int v = LINEAGE_SUPPORTED; v < LINEAGE_N_VERDICTS; v++)
            any = any || report->calibration[i].verdicts[v];
    return any;
}

static void add_verdicts(struct buf *out, const struct lineage_report_calibration *c)
{
    for (int v = LINEAGE_SUPPORTED; v < LINEAGE_N_VERDICTS; v++)
        buf_printf(out, " | %llu", (unsigned long long)c->verdicts[v]);
    buf_printf(out, " | %llu", (unsigned long long)c->covered);
}

/* An agent that sees its own optimism corrects for it. This section is worth least, because it does not suggest a
 * trial. */
static void add_specialists(struct block *block, const struct native *n, bool columns)
{
    struct buf *out = &block->text;
    for (size_t i = 0; i < n->report->n_calibration; i++) {
        const struct lineage_report_calibration *c = &n->report->calibration[i];
        add_shape(out, "| %N | %L | %L | %D | %D | %S", c->specialist, (unsigned long long)c->n, (unsigned long long)c->same_sign,
                  (struct lineage_number){true, c->expected}, (struct lineage_number){true, c->happened},
                  (struct lineage_number){true, c->error});
        add_on_parent(out, c, columns);
        if (has_verdicts(n->report))
            add_verdicts(out, c);
        buf_puts(out, " |\n");
        block_row_end(block, 8 / (1 + 0.2 * (double)i), false);
    }
}

static void add_proposer(struct buf *out, const struct lineage_report_proposer *p)
{
    bool told = p->n_expected > 0;
    add_shape(out, "| %N | %L | %L | %L of %L | %D | %D | %S | %D |\n", p->name, (unsigned long long)p->n,
              (unsigned long long)p->kept, (unsigned long long)p->same_sign, (unsigned long long)p->n_expected,
              (struct lineage_number){told, p->expected}, (struct lineage_number){told, p->happened},
              (struct lineage_number){told, p->error}, p->gain_per_hour);
}

/* All proposers are in one row, because they must be compared with each other. */
static void add_proposers(struct block *block, const struct native *n)
{
    if (!n->report->n_proposers)
        return;
    buf_puts(&block->text, "\n| proposer | trials | kept | same sign | expected | happened | mean error | gain per hour |\n"
                           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n->report->n_proposers; i++)
        add_proposer(&block->text, &n->report->proposers[i]);
    block_row_end(block, 7, false);
}

void section_calibration(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    if (!n->report->n_calibration && !n->report->n_proposers)
        return;
    bool columns = has_parents(n->report);
    buf_puts(out, columns ? "\n## Calibration (expected_delta against delta_vs_best, and against the parent's score)\n"
                          : "\n## Calibration (expected_delta against delta_vs_best)\n");
    if (n->report->n_calibration) {
        bool verdicts = has_verdicts(n->report);
        add_shape(out,
                  "\n| specialist | trials | same sign | expected | happened | mean error |%T%T\n|---|---|---|---|---|---|%T%T",
                  columns ? " against the parent: same sign | happened | mean error |" : "",
                  verdicts ? " supported | refuted | inconclusive | interval covers it |" : "", columns ? "---|---|---|" : "",
                  verdicts ? "---|---|---|---|\n" : "\n");
    }
    block_head_end(block);
    add_specialists(block, n, columns);
    add_proposers(block, n);
}

/* Shown by turn, because a policy that gains nothing after its second search could use fewer turns. */
void section_info_gain(struct block *block, const struct native *n)
{
    const struct lineage_trial *best = n->report->best;
    struct buf *out = &block->text;
    if (!best || !best->n_turns)
        return;
    add_shape(out, "\n## Information Gain by Turn (%I)\n\n| turn | mean | std |\n|---|---|---|\n", best->exp_id);
    block_head_end(block);
    for (size_t i = 0; i < best->n_turns; i++) {
        add_shape(out, "| %U | %D | %S |\n", best->turns[i].turn, (struct lineage_number){true, best->turns[i].mean},
                  (struct lineage_number){true, best->turns[i].std});
        block_row_end(block, 5 / (1 + 0.2 * (double)i), false);
    }
}
