/* idea_facts.c: the newest trials as a set of ideas, and what the sections about ideas compute from it. */
#include "idea_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>
#include <lineage/text.h>

#include "../internal.h"

enum { EXTRAS_MAX = 16 };

bool idea_is_kept(enum lineage_label label)
{
    return label == LINEAGE_KEEP || label == LINEAGE_BASELINE;
}

bool idea_is_finished(enum lineage_label label)
{
    return idea_is_kept(label) || label == LINEAGE_DISCARD;
}

static bool is_stopped(enum lineage_label label)
{
    return label == LINEAGE_SIZE_BLOCKED || label == LINEAGE_TRAIN_BUDGET_OVERRUN || label == LINEAGE_EVAL_BUDGET_OVERRUN;
}

bool idea_is_better(const struct lineage_report *report, double a, double b)
{
    return report->direction == LINEAGE_HIGHER ? a > b : a < b;
}

/* Largest value of a numeric extra column among the kept trials. */
struct largest {
    char name[LINEAGE_NAME_MAX];
    double value;
};

static void note_extras(struct largest *largest, size_t *n, const struct lineage_trial *trial)
{
    for (size_t i = 0; i < trial->n_extras; i++) {
        const char *name = trial->extras[i].column, *text = trial->extras[i].text;
        size_t at = 0;
        double value;
        if (strlen(name) >= LINEAGE_NAME_MAX || !lineage_number_parse(&value, text, strlen(text)) || !isfinite(value))
            continue;
        while (at < *n && strcmp(largest[at].name, name) != 0)
            at++;
        if (at == EXTRAS_MAX)
            continue;
        if (at == *n) {
            strcpy(largest[(*n)++].name, name);
            largest[at].value = value;
        }
        largest[at].value = fmax(largest[at].value, value);
    }
}

static bool note_blocked(struct idea_facts *ideas, const struct lineage_trial *trial, const struct largest *largest,
                         size_t n_largest)
{
    struct blocked_idea *grown = realloc(ideas->blocked, (ideas->n_blocked + 1) * sizeof *grown);
    struct blocked_idea blocked = {.trial = SIZE_MAX};
    if (!grown)
        return false;
    ideas->blocked = grown;
    if (!lineage_ideas_find(&blocked.trial, ideas->ideas, trial->exp_id))
        return true;
    for (size_t i = 0; i < trial->n_extras && !blocked.column; i++)
        for (size_t k = 0; k < n_largest && !blocked.column; k++) {
            double value;
            const char *text = trial->extras[i].text;
            if (strcmp(largest[k].name, trial->extras[i].column) != 0 ||
                !lineage_number_parse(&value, text, strlen(text)) || !(value > largest[k].value))
                continue;
            blocked.column = strdup(largest[k].name);
            blocked.value = value;
            blocked.largest_kept = largest[k].value;
        }
    ideas->blocked[ideas->n_blocked++] = blocked;
    return true;
}

/* Needs a second pass over the trials, after the limits of the kept trials are known, because the set of ideas does not
 * store extra columns. */
static enum lineage_status find_blocked(struct idea_facts *ideas, struct lineage_store *store,
                                        const struct lineage_report *report, struct lineage_error *err)
{
    const struct lineage_query query = {.labels = 1u << LINEAGE_SIZE_BLOCKED | 1u << LINEAGE_TRAIN_BUDGET_OVERRUN |
                                                  1u << LINEAGE_EVAL_BUDGET_OVERRUN | 1u << LINEAGE_KEEP |
                                                  1u << LINEAGE_BASELINE,
                                        .after = ideas->unread};
    enum lineage_status status = LINEAGE_OK;
    struct largest largest[EXTRAS_MAX];
    size_t n = 0;
    for (int pass = 0; pass < 2 && status == LINEAGE_OK; pass++) {
        struct lineage_cursor *cursor;
        struct lineage_trial trial;
        status = lineage_query_open(&cursor, store, &query, err);
        if (status != LINEAGE_OK)
            return status;
        while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK) {
            if (pass == 0 && idea_is_kept(trial.status))
                note_extras(largest, &n, &trial);
            else if (pass == 1 && is_stopped(trial.status) && trial.score.present && isfinite(trial.score.value) &&
                     report->best && idea_is_better(report, trial.score.value, report->best->score.value) &&
                     !note_blocked(ideas, &trial, largest, n)) {
                status = store_no_memory(err);
                break;
            }
        }
        lineage_cursor_close(cursor);
        status = status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    }
    return status;
}

/* If two trials with one parent gave one knob the same value and changed nothing else, they are equal, and their scores
 * differ only by noise. */
static void estimate_noise(struct idea_facts *ideas)
{
    double sum = 0;
    for (size_t i = 0; i < ideas->knobs.n; i++) {
        const struct lineage_knob *knob = &ideas->knobs.items[i];
        for (size_t k = 1; k < knob->n; k++) {
            const struct lineage_idea *a = lineage_ideas_get(ideas->ideas, knob->tries[k - 1].trial);
            const struct lineage_idea *b = lineage_ideas_get(ideas->ideas, knob->tries[k].trial);
            if (a == b || a->n_changes != 1 || b->n_changes != 1 || !a->score.present || !b->score.present ||
                !idea_is_finished(a->status) || !idea_is_finished(b->status) || !*a->parent_exp ||
                strcmp(a->parent_exp, b->parent_exp) != 0 ||
                !lineage_quantity_equal(knob->tries[k - 1].change->to, knob->tries[k].change->to))
                continue;
            double d = a->score.value - b->score.value;
            if (isfinite(d)) {
                sum += d * d / 2;
                ideas->n_pairs++;
            }
        }
    }
    ideas->noise = ideas->n_pairs ? sqrt(sum / (double)ideas->n_pairs) : 0;
}

/* Whether a hypothesis may state a change: `lr 3e-4 → 1e-4`, `jit=off`, `from 4 to 8`. Much cheaper than reading it. */
static bool may_state(const char *hypothesis)
{
    if (strstr(hypothesis, "→") || strstr(hypothesis, "->") || strchr(hypothesis, '='))
        return true;
    for (const char *to = strstr(hypothesis, " to "); to; to = strstr(to + 4, " to "))
        if (to[4] >= '0' && to[4] <= '9')
            return true;
    return false;
}

static bool any_may_state(const struct lineage_trial *trials, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (may_state(trials[i].hypothesis))
            return true;
    return false;
}

/* Reading a thousand hypotheses takes longer than everything else in a block, and is useless for stores whose trials
 * are described by parameters. The trials that the report contains anyway show which kind of store this is. */
static bool is_in_words(const struct lineage_report *report)
{
    return any_may_state(report->recent, report->n_recent) || any_may_state(report->leaders, report->n_leaders) ||
           any_may_state(report->chain.trials, report->chain.n);
}

enum lineage_status idea_facts_load(struct idea_facts *ideas, struct lineage_store *store,
                                      const struct lineage_report *report, struct lineage_error *err)
{
    struct lineage_query query = {0};
    *ideas = (struct idea_facts){.store = store, .best = SIZE_MAX};
    if (!is_in_words(report))
        return LINEAGE_OK;
    if (report->rows > IDEA_FACTS_TRIALS)
        ideas->unread = query.after = report->rows - IDEA_FACTS_TRIALS;
    enum lineage_status status = lineage_ideas_new(&ideas->ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_query(ideas->ideas, store, &query, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(ideas->ideas, err);
    if (status != LINEAGE_OK)
        return status;
    size_t count = lineage_ideas_count(ideas->ideas);
    for (size_t i = 0; i < count; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas->ideas, i);
        bool states = false;
        for (size_t k = 0; k < idea->n_changes && !states; k++)
            states = idea->changes[k].source != LINEAGE_CHANGE_DECLARED;
        ideas->stated += states;
    }
    if (!ideas->stated)
        return LINEAGE_OK;
    if (report->best && !lineage_ideas_find(&ideas->best, ideas->ideas, report->best->exp_id))
        ideas->best = SIZE_MAX;
    ideas->line = calloc(count + 1, sizeof *ideas->line);
    if (!ideas->line)
        return store_no_memory(err);
    ideas->n_line = lineage_knobs_line(ideas->line, count, ideas->ideas, ideas->best);
    status = lineage_knobs_find(&ideas->knobs, ideas->ideas, ideas->best, err);
    if (status != LINEAGE_OK)
        return status;
    estimate_noise(ideas);
    return find_blocked(ideas, store, report, err);
}

void idea_facts_release(struct idea_facts *ideas)
{
    for (size_t i = 0; i < ideas->n_blocked; i++)
        free(ideas->blocked[i].column);
    free(ideas->blocked);
    free(ideas->line);
    lineage_knobs_release(&ideas->knobs);
    lineage_ideas_release(ideas->ideas);
    *ideas = (struct idea_facts){0};
}

