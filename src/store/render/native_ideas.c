/*
 * native_ideas.c: the sections about ideas: the state of the search, what the best is made of, every knob with its
 * values, kept trials beside the line of the best, trials that a limit stopped, and ideas that keep failing.
 *
 * They are for logs whose trials are described in words. A store whose hypotheses state no change gets none of them:
 * its parameters are in the section on coverage.
 */

#include <lineage/facts.h>
#include <lineage/insights.h>

#include "native.h"

enum { SPECIALISTS_SHOWN = 6, VALUES_BRIEF = 4 };

/* ---- pieces ---- */

/* Whether a trial ran to its end. */
static bool is_finished(enum lineage_label label)
{
    return lineage_label_is_measured(label);
}

static const struct lineage_idea *idea_at(const struct native *n, size_t i)
{
    return lineage_ideas_get(n->ideas->ideas, i);
}

static bool has_ideas(const struct native *n)
{
    return n->ideas && n->ideas->stated;
}

/* A value of a knob is text that somebody wrote, so it is quoted unless it is a plain word or number. */
static void add_knob_value(struct buf *out, const char *value)
{
    if (value)
        add_name(out, value);
    else
        buf_puts(out, "?");
}

void add_result(struct buf *out, const struct lineage_idea *idea)
{
    bool discard = idea->status == LINEAGE_DISCARD && idea->delta_vs_best.present;
    if (!discard)
        buf_puts(out, lineage_label_name(idea->status));
    if (idea->delta_vs_best.present && is_finished(idea->status))
        add_shape(out, "%T%G", discard ? "" : " ", idea->delta_vs_best);
}

/* How many bytes the first `width` code points of a text have. */
static size_t bytes_of(const char *text, size_t width)
{
    size_t bytes = 0;
    for (size_t shown = 0; text[bytes]; bytes++)
        if (((unsigned char)text[bytes] & 0xc0) != 0x80 && shown++ == width)
            break;
    return bytes;
}

/* Finds the first change whose new value is not in the first `width` code points of the hypothesis. Returns false if all are
 * there. */
static bool lost_change(struct lineage_change *change, const struct native *n, const char *exp_id, const char *hypothesis,
                        size_t width)
{
    size_t trial, bytes = bytes_of(hypothesis, width);
    if (!hypothesis[bytes] || !has_ideas(n) || !lineage_ideas_find(&trial, n->ideas->ideas, exp_id))
        return false;
    for (size_t i = 0; lineage_ideas_change_at(change, n->ideas->ideas, trial, i); i++) {
        const char *value = strstr(hypothesis, change->to);
        if (!value || (size_t)(value - hypothesis) + strlen(change->to) > bytes)
            return true;
    }
    return false;
}

/* Adds "`lr 0.1 → 0.2, wd = 0.01`": what a trial without words and parameters changed in its program. Returns false if nothing is known. */
static bool add_measured(struct buf *out, const struct native *n, const char *exp_id)
{
    enum { SHOWN = 4 };
    size_t trial, i;
    struct lineage_change change;
    if (!has_ideas(n) || !lineage_ideas_find(&trial, n->ideas->ideas, exp_id))
        return false;
    for (i = 0; i < SHOWN && lineage_ideas_change_at(&change, n->ideas->ideas, trial, i); i++) {
        buf_puts(out, i ? ", " : "`");
        add_safe(out, change.name, 24);
        buf_puts(out, " ");
        if (change.from)
            add_safe(out, change.from, 20);
        buf_puts(out, change.from ? " → " : "= ");
        add_safe(out, change.to, 20);
    }
    buf_puts(out, i ? "`" : "");
    return i > 0;
}

void add_idea(struct buf *out, const struct native *n, const char *exp_id, const char *hypothesis, size_t width)
{
    struct lineage_change lost, *change = &lost;
    if (!*hypothesis && add_measured(out, n, exp_id))
        return;
    if (!width || !lost_change(change, n, exp_id, hypothesis, width) || code_points(change->to) > 20) {
        add_quoted(out, hypothesis, width);
        return;
    }
    size_t taken = 8 + (code_points(change->name) < 24 ? code_points(change->name) : 24) + code_points(change->to) +
                   (change->from ? code_points(change->from) + 3 : 0);
    buf_puts(out, "`");
    add_safe(out, hypothesis, width > taken + 12 ? width - taken : 12);
    buf_puts(out, " (");
    add_safe(out, change->name, 24);
    if (change->from && code_points(change->from) <= 20) {
        buf_puts(out, " ");
        add_safe(out, change->from, 20);
        buf_puts(out, " →");
    } else {
        buf_puts(out, " =");
    }
    buf_puts(out, " ");
    add_safe(out, change->to, 20);
    buf_puts(out, ")`");
}

/* ---- the state of the search ---- */

static void add_rate(struct buf *out, const struct native *n, const char *specialist)
{
    struct lineage_rate rate;
    lineage_facts_rate(&rate, n->ideas, specialist);
    buf_printf(out, "%zu of %zu kept", rate.kept, rate.trials);
    if (lineage_ideas_count(n->ideas->ideas) > LINEAGE_FACTS_RECENT)
        buf_printf(out, " (%zu of the last %zu)", rate.recent_kept, rate.recent);
}

void section_standing(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    if (!has_ideas(n))
        return;
    size_t count = lineage_ideas_count(n->ideas->ideas), last = n->ideas->last_kept, shown = 0;
    buf_puts(out, "\n## State of the Search\n");
    block_head_end(block);
    buf_puts(out, "- ");
    if (last < count) {
        add_shape(out, "%Z trials since the last keep, %I", count - 1 - last, idea_at(n, last)->exp_id);
        if (idea_at(n, last)->delta_vs_best.present)
            add_shape(out, " (%G)", idea_at(n, last)->delta_vs_best);
        buf_puts(out, "; ");
    }
    add_rate(out, n, NULL);
    buf_puts(out, "\n");
    block_row_end(block, 60, true);
    if (n->ideas->noise > 0) {
        add_shape(out, "%T%A",
                  n->ideas->noise_estimated ? "- noise, an estimate: scores of equal trials have a standard deviation of "
                                            : "- noise: scores of equal trials have a standard deviation of ",
                  n->ideas->noise);
        if (n->ideas->noise_estimated)
            buf_printf(out, ", from %zu replicas (%zu degree%s of freedom)", n->ideas->n_replicas, n->ideas->freedom,
                       n->ideas->freedom == 1 ? "" : "s");
        buf_printf(out, "; %zu of the %zu gains on the best's line exceed 2·√2 times that\n", n->ideas->large_gains,
                   n->ideas->gains);
        block_row_end(block, 55, true);
    }
    /* Specialists by their number of trials: an exhausted line of work shows here first. */
    for (size_t i = 0; i < count && shown < SPECIALISTS_SHOWN; i++) {
        const char *specialist = idea_at(n, i)->specialist;
        bool seen = !*specialist;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(idea_at(n, k)->specialist, specialist) == 0;
        if (seen)
            continue;
        add_shape(out, "%T%N ", shown++ ? "; " : "- by specialist: ", specialist);
        add_rate(out, n, specialist);
    }
    if (!shown)
        return;
    buf_puts(out, "\n");
    block_row_end(block, 25, false);
}

/* ---- what the best is made of ---- */

/* The next function or class by its number of changed lines, of those in lines[from..to) that are smaller than `last` or
 * come behind it; SIZE_MAX if there is none. */
static size_t next_part(const struct lineage_measured *code, size_t from, size_t to, size_t last)
{
    size_t found = SIZE_MAX, size = 0;
    for (size_t i = from; i < to; i++) {
        size_t mine = code->lines[i].added + code->lines[i].removed;
        size_t before = last == SIZE_MAX ? SIZE_MAX : code->lines[last].added + code->lines[last].removed;
        if ((mine < before || (mine == before && last != SIZE_MAX && i > last)) && (found == SIZE_MAX || mine > size)) {
            found = i;
            size = mine;
        }
    }
    return found;
}

static void add_lines(struct buf *out, const struct lineage_measured_lines *lines)
{
    if (lines->kind == LINEAGE_LINES_COUNTED)
        buf_printf(out, " +%zu -%zu", lines->added, lines->removed);
    else
        buf_puts(out, lines->kind == LINEAGE_LINES_BINARY ? " (binary)" : " (large)");
}

/* One row for each file of the best trial that differs from the root's, with the functions that changed most. */
static void add_code(struct block *block, const struct lineage_measured *code)
{
    enum { FILES_SHOWN = 8, PARTS_SHOWN = 5 };
    struct buf *out = &block->text;
    size_t files = 0;
    for (size_t i = 0, end; i < code->n_lines && files < FILES_SHOWN; i = end, files++) {
        size_t part = SIZE_MAX;
        for (end = i + 1; end < code->n_lines && code->lines[end].heading; end++)
            ;
        add_shape(out, "- code against %I: %N", code->against, code->lines[i].file);
        add_lines(out, &code->lines[i]);
        for (size_t k = 0; k < PARTS_SHOWN && (part = next_part(code, i + 1, end, part)) != SIZE_MAX; k++) {
            buf_puts(out, k ? ", " : " (");
            if (*code->lines[part].heading)
                add_name(out, code->lines[part].heading);
            else
                buf_puts(out, "outside of functions");
            add_lines(out, &code->lines[part]);
        }
        buf_puts(out, end > i + 1 ? ")\n" : "\n");
        block_row_end(block, 40 / (1 + (double)files), false);
    }
}

void section_made_of(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    size_t shown = 0;
    if (!has_ideas(n) || n->ideas->best == SIZE_MAX)
        return;
    for (size_t i = 0; i < n->ideas->knobs.n; i++)
        shown += n->ideas->knobs.items[i].set_by != SIZE_MAX;
    if (!shown && !n->ideas->code.n_lines)
        return;
    buf_puts(out, "\n## What the Best Is Made Of (settings in force, and the trial that set each)\n");
    block_head_end(block);
    /* Adds a row for each trial of the line, from the newest step to the oldest. */
    for (size_t i = 0; i < n->ideas->n_line; i++) {
        const char *comma = ": ";
        for (size_t k = 0; k < n->ideas->knobs.n; k++) {
            const struct lineage_knob *knob = &n->ideas->knobs.items[k];
            if (knob->set_by != n->ideas->line[i])
                continue;
            if (*comma == ':')
                add_shape(out, "- %I", idea_at(n, knob->set_by)->exp_id);
            add_shape(out, "%T%N ", comma, knob->name);
            add_knob_value(out, knob->value);
            comma = ", ";
        }
        if (*comma == ',') {
            buf_puts(out, "\n");
            block_row_end(block, 44 / (1 + 0.05 * (double)i), i < 3);
        }
    }
    add_code(block, &n->ideas->code);
}

/* ---- insights ---- */

struct insight_rows {
    struct block *block;
    const struct native *n;
    size_t shown;
};

static void add_insight(struct insight_rows *rows, const struct lineage_insight *insight, size_t width)
{
    const struct native *n = rows->n;
    struct buf *out = &rows->block->text;
    size_t against[6], m = 0;
    add_shape(out, "- %L: %Q", (unsigned long long)insight->number, insight->text, width);
    for (size_t i = 0; i < insight->n_evidence; i++) {
        SCOPED_TRIAL trial = {0};
        struct lineage_error err;
        add_shape(out, "%T%B", i ? ", " : " (evidence: ", insight->evidence[i]);
        if (lineage_find(n->store, insight->evidence[i], &trial, &err) == LINEAGE_OK && trial.status == LINEAGE_HARNESS_ABORT)
            add_shape(out, " (%T)", lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, &trial));
    }
    buf_puts(out, insight->n_evidence ? ")" : "");
    if (has_ideas(n))
        m = lineage_knobs_against(against, sizeof against / sizeof *against, &n->ideas->knobs, n->ideas->ideas, insight->evidence,
                                  insight->n_evidence, insight->rows);
    for (size_t i = 0; i < m; i++)
        add_shape(out, "%T%B %R", i ? ", " : " — later trials contradict it: ", idea_at(n, against[i])->exp_id,
                  idea_at(n, against[i]));
    buf_puts(out, "\n");
}

static bool add_insight_row(void *context, const struct lineage_insight *insight)
{
    struct insight_rows *rows = context;
    if (insight->superseded_by)
        return true;
    if (!rows->shown) {
        buf_puts(&rows->block->text, "\n## Insights (claims in force, and the trials that support them)\n");
        block_head_end(rows->block);
    }
    add_insight(rows, insight, 160);
    block_brief_end(rows->block);
    add_insight(rows, insight, 0);
    /* The newest trials are the last ones of the file, so worth grows slightly with the position. */
    block_row_end(rows->block, 50 + 0.001 * (double)rows->shown, true);
    rows->shown++;
    return true;
}

void section_claims(struct block *block, const struct native *n)
{
    struct insight_rows rows = {block, n, 0};
    struct lineage_error err;
    if (n->ideas && lineage_insights_read(n->store, add_insight_row, &rows, &err) != LINEAGE_OK)
        block->failed = true;
}

/* ---- knobs ---- */

/* Which of two tries of one value is shown: a kept one, then the better score, then the newer one. */
static bool says_more(const struct native *n, const struct lineage_idea *a, const struct lineage_idea *b)
{
    const bool higher = n->report->direction == LINEAGE_HIGHER;
    if ((a->status == LINEAGE_KEEP) != (b->status == LINEAGE_KEEP))
        return a->status == LINEAGE_KEEP;
    if (is_finished(a->status) != is_finished(b->status))
        return is_finished(a->status);
    if (is_finished(a->status) && a->delta_vs_best.present && b->delta_vs_best.present)
        return higher ? a->delta_vs_best.value > b->delta_vs_best.value : a->delta_vs_best.value < b->delta_vs_best.value;
    return true;
}

/* Prints the tries [i, end) of one value: "0.78 size_blocked (459)", and how many there are beside the one that is shown. */
static void add_tries(struct buf *out, const struct native *n, const struct lineage_knob *knob, size_t i, size_t end)
{
    const struct lineage_idea *shown = idea_at(n, knob->tries[i].trial);
    for (size_t k = i + 1; k < end; k++)
        shown = says_more(n, idea_at(n, knob->tries[k].trial), shown) ? idea_at(n, knob->tries[k].trial) : shown;
    add_knob_value(out, knob->tries[i].change->to);
    add_shape(out, " %R (%B", shown, shown->exp_id);
    if (end - i > 1)
        buf_printf(out, ", %zu trials", end - i);
    buf_puts(out, ")");
}

/* Prints a line such as "warmdown_frac 0.72: 0.67 +0.0007 (892) · 0.78 size_blocked (459, 3 trials)": each value once, because a plan
 * asks which values were tried, and resubmissions of one would hide the others. */
static void add_knob(struct buf *out, const struct native *n, const struct lineage_knob *knob, size_t most)
{
    size_t i = 0, end, values = 0;
    add_shape(out, "- %N", knob->name);
    if (knob->value) {
        buf_puts(out, " ");
        add_knob_value(out, knob->value);
    }
    buf_puts(out, ": ");
    for (; i < knob->n_tries && values < most; i = end, values++) {
        for (end = i + 1; end < knob->n_tries && lineage_quantity_equal(knob->tries[end].change->to, knob->tries[i].change->to);)
            end++;
        buf_puts(out, values ? " · " : "");
        add_tries(out, n, knob, i, end);
    }
    if (knob->n > i)
        buf_printf(out, " · and %zu more", knob->n - i);
    buf_puts(out, "\n");
}

/* The number of trials that varied the knob; trials of the reader's own specialist count twice. */
static double knob_worth(const struct native *n, const struct lineage_knob *knob)
{
    const char *reader = n->options->specialist ? n->options->specialist : "";
    double own = 0;
    for (size_t i = 0; i < knob->n_tries && *reader; i++)
        own += strcmp(idea_at(n, knob->tries[i].trial)->specialist, reader) == 0;
    return (double)knob->n + own;
}

void section_knobs(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    const struct lineage_knobs *knobs = has_ideas(n) ? &n->ideas->knobs : NULL;
    size_t shown = 0;
    if (!knobs || !knobs->n)
        return;
    buf_puts(out, "\n## Knobs (name, value in force: each value tried, outcome or difference to the best of its day, trial)\n");
    block_head_end(block);
    SCOPED_FREE bool *done = calloc(knobs->n, sizeof *done);
    for (; done && shown < knobs->n; shown++) {
        size_t next = knobs->n;
        for (size_t i = 0; i < knobs->n; i++)
            if (!done[i] && (next == knobs->n || knob_worth(n, &knobs->items[i]) > knob_worth(n, &knobs->items[next])))
                next = i;
        done[next] = true;
        add_knob(out, n, &knobs->items[next], VALUES_BRIEF);
        block_brief_end(block);
        add_knob(out, n, &knobs->items[next], n->options->max_bytes ? n->options->max_bytes / 500 : SIZE_MAX);
        block_row_end(block, 42 / (1 + 0.06 * (double)shown), shown < 8);
    }
    block->failed = block->failed || !done;
    if (n->ideas->unread) {
        buf_printf(out, "- the oldest %llu trials were not read for this block: `lineage knobs` reads all\n",
                   (unsigned long long)n->ideas->unread);
        block_row_end(block, 20, false);
    }
}

/* ---- kept, but not under the best ---- */

static void add_elsewhere(struct buf *out, const struct native *n, size_t trial, size_t width)
{
    const struct lineage_idea *idea = idea_at(n, trial);
    size_t shown = 0;
    add_shape(out, "- %I %R %Q", idea->exp_id, idea, idea->hypothesis, width);
    for (size_t i = 0; i < idea->n_cited_by && shown < 4; i++) {
        const struct lineage_idea *citing = idea_at(n, idea->cited_by[i]);
        add_shape(out, "%T%B %R", shown++ ? ", " : "; taken up by ", citing->exp_id, citing);
    }
    buf_puts(out, "\n");
}

void section_elsewhere(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    size_t count = has_ideas(n) ? n->ideas->n_beside : 0;
    if (count) {
        buf_puts(out, "\n## Kept, but Not under the Best (largest gain first)\n");
        block_head_end(block);
    }
    for (size_t i = 0; i < count; i++) {
        add_elsewhere(out, n, n->ideas->beside[i], 60);
        block_brief_end(block);
        add_elsewhere(out, n, n->ideas->beside[i], 160);
        block_row_end(block, 32 / (1 + 0.2 * (double)i), i < 3);
    }
}

/* ---- stopped by a wall ---- */

static void add_blocked(struct buf *out, const struct native *n, const struct lineage_blocked *blocked, size_t width)
{
    const struct lineage_idea *idea = idea_at(n, blocked->trial);
    add_shape(out, "- %I %T %S", idea->exp_id, lineage_label_name(idea->status), idea->score);
    if (blocked->column) {
        add_shape(out, ", %N %S (largest kept: %S)", blocked->column, (struct lineage_number){true, blocked->value},
                  (struct lineage_number){true, blocked->largest_kept});
    }
    add_shape(out, " %Q\n", idea->hypothesis, width);
}

void section_walls(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    if (!has_ideas(n) || !n->ideas->n_blocked)
        return;
    buf_puts(out, "\n## Better than the Best, but Stopped by a Limit\n");
    block_head_end(block);
    for (size_t i = n->ideas->n_blocked; i-- > 0;) { /* newest first */
        add_blocked(out, n, &n->ideas->blocked[i], 60);
        block_brief_end(block);
        add_blocked(out, n, &n->ideas->blocked[i], 160);
        block_row_end(block, 38 / (1 + 0.2 * (double)(n->ideas->n_blocked - 1 - i)), i + 2 >= n->ideas->n_blocked);
    }
}

/* ---- tried again and again ---- */

void section_again(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    size_t count = has_ideas(n) ? n->ideas->n_again : 0;
    if (count) {
        buf_puts(out, "\n## Tried Again and Again (three trials or more, none kept)\n");
        block_head_end(block);
    }
    for (size_t i = 0; i < count; i++) {
        const struct lineage_again *again = &n->ideas->again[i];
        const struct lineage_knob *knob = &n->ideas->knobs.items[again->knob];
        add_shape(out, "- %N: %Z trials, %Z failed", knob->name, again->trials, again->failed);
        if (again->low.present) {
            add_shape(out, ", %G", again->low);
            if (again->high.value > again->low.value)
                add_shape(out, " to %G", again->high);
        }
        for (size_t k = 0; k < again->trials && k < 6; k++)
            add_shape(out, "%T%B", k ? ", " : ": ", idea_at(n, again->listed[k])->exp_id);
        buf_puts(out, "\n");
        block_row_end(block, 36 / (1 + 0.3 * (double)i), i < 3);
    }
}

/* ---- everything else ---- */

/* How many code points of a hypothesis tell it from others; trials that agree in them share a row. */
enum { TOPIC_BRIEF = 44 };

/* The trials of a row: the newest, and those before it with the same text. */
struct topic {
    size_t newest, same[2], n_same; /* same: the first two of n_same, the newest first */
};

/* Marks the trials of the row as done. */
static struct topic take_topic(const struct native *n, bool *done, size_t newest)
{
    struct topic topic = {.newest = newest};
    const struct lineage_idea *idea = idea_at(n, newest);
    const size_t bytes = bytes_of(idea->hypothesis, TOPIC_BRIEF);
    const size_t compared = bytes + !idea->hypothesis[bytes]; /* a text that ends here is compared with its end */
    for (size_t k = newest; k-- > 0;) {
        const struct lineage_idea *other = idea_at(n, k);
        if (other->n_changes || strncmp(other->hypothesis, idea->hypothesis, compared) != 0 ||
            strcmp(other->specialist, idea->specialist) != 0)
            continue;
        done[k] = true;
        if (topic.n_same < 2)
            topic.same[topic.n_same] = k;
        topic.n_same++;
    }
    return topic;
}

/* Prints `172 +0.0039 ..`, or `178, 189, 192 and 2 more size_blocked ..`. */
static void add_topic(struct buf *out, const struct native *n, const struct topic *topic, size_t width)
{
    const struct lineage_idea *idea = idea_at(n, topic->newest);
    buf_puts(out, "- ");
    if (!n->by && *idea->specialist)
        add_shape(out, "%N ", idea->specialist);
    add_bare_id(out, idea->exp_id);
    for (size_t i = 0; i < topic->n_same && i < 2; i++)
        add_shape(out, ", %B", idea_at(n, topic->same[i])->exp_id);
    if (topic->n_same > 2)
        buf_printf(out, " and %zu more", topic->n_same - 2);
    add_shape(out, " %R %Q\n", idea, idea->hypothesis, width);
}

static bool is_recent(const struct native *n, const struct lineage_idea *idea)
{
    bool recent = false;
    for (size_t i = 0; i < n->report->n_recent && !recent; i++)
        recent = strcmp(n->report->recent[i].exp_id, idea->exp_id) == 0;
    return recent;
}

/* Every trial is in the block: trials that changed a setting are listed with the knobs, all other trials here, those with one
 * text once. A plan that must not repeat anything needs these rows more than longer texts elsewhere. */
void section_other_ideas(struct block *block, const struct native *n)
{
    struct buf *out = &block->text;
    size_t count = has_ideas(n) ? lineage_ideas_count(n->ideas->ideas) : 0, shown = 0;
    SCOPED_FREE bool *done = count ? calloc(count, sizeof *done) : NULL;
    block->failed = block->failed || (count && !done);
    for (size_t k = done ? count : 0; k-- > 0;) { /* newest first; the oldest rows are left out first */
        const struct lineage_idea *idea = idea_at(n, k);
        if (done[k] || idea->n_changes || !*idea->hypothesis)
            continue;
        if (!shown) {
            buf_puts(out, "\n## Ideas without a Setting (`lineage similar ID` finds relatives)\n");
            block_head_end(block);
        }
        const struct topic topic = take_topic(n, done, k);
        add_topic(out, n, &topic, TOPIC_BRIEF);
        block_brief_end(block);
        add_topic(out, n, &topic, 2 * TOPIC_BRIEF);
        /* What Recent Activity shows anyway comes last. */
        block_row_end(block, (is_recent(n, idea) ? 4 : 18) / (1 + 0.004 * (double)shown++), false);
    }
}
