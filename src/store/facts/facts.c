/* facts.c: the newest trials as a set of ideas, and what can be computed from it. */
#include <lineage/facts.h>

#include <math.h>

#include <lineage/code.h>
#include <lineage/query.h>
#include <lineage/replicas.h>
#include <lineage/text.h>

#include "../fail.h"

enum { EXTRAS_MAX = 16 };

static bool is_finished(enum lineage_label label)
{
    return lineage_label_is_kept(label) || label == LINEAGE_DISCARD;
}

static bool is_stopped(enum lineage_label label)
{
    return label == LINEAGE_SIZE_BLOCKED || label == LINEAGE_TRAIN_BUDGET_OVERRUN || label == LINEAGE_EVAL_BUDGET_OVERRUN;
}

static bool is_better(const struct lineage_report *report, double a, double b)
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

static bool note_blocked(struct lineage_facts *facts, const struct lineage_trial *trial, const struct largest *largest,
                         size_t n_largest)
{
    struct lineage_blocked *grown = realloc(facts->blocked, (facts->n_blocked + 1) * sizeof *grown);
    struct lineage_blocked blocked = {.trial = SIZE_MAX};
    if (!grown)
        return false;
    facts->blocked = grown;
    if (!lineage_ideas_find(&blocked.trial, facts->ideas, trial->exp_id))
        return true;
    for (size_t i = 0; i < trial->n_extras && !blocked.column; i++)
        for (size_t k = 0; k < n_largest && !blocked.column; k++) {
            double value;
            const char *text = trial->extras[i].text;
            if (strcmp(largest[k].name, trial->extras[i].column) != 0 || !lineage_number_parse(&value, text, strlen(text)) ||
                !(value > largest[k].value))
                continue;
            blocked.column = strdup(largest[k].name);
            blocked.value = value;
            blocked.largest_kept = largest[k].value;
        }
    facts->blocked[facts->n_blocked++] = blocked;
    return true;
}

/* Needs a second pass over the trials, after the limits of the kept trials are known, because the set of ideas does not
 * store extra columns. */
static enum lineage_status find_blocked(struct lineage_facts *facts, struct lineage_store *store,
                                        const struct lineage_report *report, struct lineage_error *err)
{
    const struct lineage_query query = {.labels = 1u << LINEAGE_SIZE_BLOCKED | 1u << LINEAGE_TRAIN_BUDGET_OVERRUN |
                                                  1u << LINEAGE_EVAL_BUDGET_OVERRUN | 1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE,
                                        .after = facts->unread};
    enum lineage_status status = LINEAGE_OK;
    struct largest largest[EXTRAS_MAX];
    size_t n = 0;
    for (int pass = 0; pass < 2 && status == LINEAGE_OK; pass++) {
        struct lineage_cursor *cursor;
        struct lineage_trial trial;
        status = lineage_query_open(&cursor, store, &query, err);
        TRY(status);
        while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK) {
            if (pass == 0 && lineage_label_is_kept(trial.status))
                note_extras(largest, &n, &trial);
            else if (pass == 1 && is_stopped(trial.status) && trial.score.present && isfinite(trial.score.value) &&
                     report->best && is_better(report, trial.score.value, report->best->score.value) &&
                     !note_blocked(facts, &trial, largest, n)) {
                status = store_no_memory(err);
                break;
            }
        }
        lineage_cursor_close(cursor);
        status = status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    }
    return status;
}

static enum lineage_status estimate_noise(struct lineage_facts *facts, struct lineage_error *err)
{
    struct lineage_replicas replicas;
    TRY(lineage_replicas_find(&replicas, facts->ideas, err));
    facts->noise = replicas.noise;
    facts->freedom = replicas.freedom;
    facts->n_replicas = replicas.scored;
    lineage_replicas_release(&replicas);
    return LINEAGE_OK;
}

void lineage_facts_rate(struct lineage_rate *rate, const struct lineage_facts *facts, const char *specialist)
{
    size_t count = facts->ideas ? lineage_ideas_count(facts->ideas) : 0;
    *rate = (struct lineage_rate){0};
    for (size_t i = 0; i < count; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, i);
        bool recent = count - i <= LINEAGE_FACTS_RECENT;
        if (specialist && strcmp(idea->specialist, specialist) != 0)
            continue;
        rate->trials++;
        rate->kept += idea->status == LINEAGE_KEEP;
        rate->recent += recent;
        rate->recent_kept += recent && idea->status == LINEAGE_KEEP;
    }
}

/* Counts the gains on the line of the best that are larger than noise: a difference between two trials has √2 times the
 * noise of one, and twice that is called real. */
static void count_gains(struct lineage_facts *facts)
{
    for (size_t i = 0; i < facts->n_line; i++) {
        const struct lineage_number delta = lineage_ideas_get(facts->ideas, facts->line[i])->delta_vs_best;
        facts->gains += delta.present;
        facts->large_gains += delta.present && facts->noise > 0 && fabs(delta.value) > facts->noise * 2 * sqrt(2);
    }
}

static bool is_on_line(const struct lineage_facts *facts, size_t trial)
{
    for (size_t i = 0; i < facts->n_line; i++)
        if (facts->line[i] == trial)
            return true;
    return false;
}

/* Trials without a difference come last; equal gains stay in the order of the log. */
static bool find_beside(struct lineage_facts *facts, const struct lineage_report *report)
{
    size_t count = facts->best == SIZE_MAX ? 0 : lineage_ideas_count(facts->ideas);
    facts->beside = calloc(count + 1, sizeof *facts->beside);
    for (size_t i = 0; facts->beside && i < count; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, i);
        if (idea->status != LINEAGE_KEEP || is_on_line(facts, i))
            continue;
        const struct lineage_number a = idea->delta_vs_best;
        size_t at = facts->n_beside++;
        for (; at > 0; at--) {
            const struct lineage_number b = lineage_ideas_get(facts->ideas, facts->beside[at - 1])->delta_vs_best;
            if (!a.present || (b.present && !is_better(report, a.value, b.value)))
                break;
            facts->beside[at] = facts->beside[at - 1];
        }
        facts->beside[at] = i;
    }
    return facts->beside != NULL;
}

static bool find_again(struct lineage_facts *facts)
{
    size_t *counted =
        calloc(lineage_ideas_count(facts->ideas) + 1, sizeof *counted); /* the last knob that a trial counts for, + 1 */
    facts->again = calloc(facts->knobs.n + 1, sizeof *facts->again);
    for (size_t i = 0; counted && facts->again && i < facts->knobs.n; i++) {
        const struct lineage_knob *knob = &facts->knobs.items[i];
        struct lineage_again again = {.knob = i};
        size_t kept = 0;
        for (size_t k = 0; k < knob->n_tries; k++) {
            const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, knob->tries[k].trial);
            const struct lineage_number delta = idea->delta_vs_best;
            if (counted[knob->tries[k].trial] == i + 1)
                continue;
            counted[knob->tries[k].trial] = i + 1;
            if (again.trials < LINEAGE_AGAIN_LISTED)
                again.listed[again.trials] = knob->tries[k].trial;
            again.trials++;
            kept += lineage_label_is_kept(idea->status);
            again.failed += !is_finished(idea->status);
            if (!is_finished(idea->status) || !delta.present)
                continue;
            if (!again.low.present || delta.value < again.low.value)
                again.low = delta;
            if (!again.high.present || delta.value > again.high.value)
                again.high = delta;
        }
        if (again.trials >= 3 && !kept)
            facts->again[facts->n_again++] = again;
    }
    const bool ok = counted && facts->again;
    free(counted);
    return ok;
}

static bool has_files(const struct lineage_trial *trial)
{
    struct lineage_code_note note;
    return (trial->snapshot_path && *trial->snapshot_path) || lineage_code_note_parse(&note, trial->notes);
}

/* The oldest trials are tried first; a long line of trials whose files are gone is not worth more attempts. */
static enum lineage_status compare_code(struct lineage_facts *facts, struct lineage_store *store,
                                        const struct lineage_report *report, struct lineage_error *err)
{
    enum { ATTEMPTS = 8 };
    enum lineage_status status = LINEAGE_OK;
    if (facts->best == SIZE_MAX || !has_files(report->best))
        return LINEAGE_OK;
    for (size_t i = facts->n_line, tries = 0; i-- > 1 && tries < ATTEMPTS && status == LINEAGE_OK && !*facts->code.against;) {
        struct lineage_trial root;
        status = lineage_find(store, lineage_ideas_get(facts->ideas, facts->line[i])->exp_id, &root, err);
        if (status == LINEAGE_OK && has_files(&root)) {
            tries++;
            status = lineage_measure_pair(&facts->code, store, &root, report->best, err);
            /* `lineage verify` reports files that are gone or damaged, so this is not an error here. */
            if (status == LINEAGE_ENOTFOUND || status == LINEAGE_ECORRUPT || status == LINEAGE_EIO || status == LINEAGE_EAWAY)
                status = LINEAGE_OK;
        }
        lineage_trial_release(&root);
    }
    return status;
}

enum lineage_status lineage_facts_load(struct lineage_facts *facts, struct lineage_store *store,
                                       const struct lineage_report *report, struct lineage_error *err)
{
    struct lineage_query query = {0};
    *facts = (struct lineage_facts){.best = SIZE_MAX, .last_kept = SIZE_MAX, .code = {.against = "", .command_against = ""}};
    /* Reading a thousand hypotheses takes longer than everything else in a block, and is useless for stores whose trials are
     * described by parameters. */
    if (!report->in_words)
        return LINEAGE_OK;
    if (report->rows > LINEAGE_FACTS_TRIALS)
        facts->unread = query.after = report->rows - LINEAGE_FACTS_TRIALS;
    TRY(lineage_ideas_new(&facts->ideas, err));
    TRY(lineage_ideas_add_query(facts->ideas, store, &query, err));
    TRY(lineage_ideas_settle(facts->ideas, err));
    size_t count = lineage_ideas_count(facts->ideas);
    for (size_t i = 0; i < count; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, i);
        bool states = false;
        struct lineage_change change;
        for (size_t k = 0; !states && lineage_ideas_change_at(&change, facts->ideas, i, k); k++)
            states = change.source != LINEAGE_CHANGE_DECLARED;
        facts->stated += states;
        facts->last_kept = lineage_label_is_kept(idea->status) ? i : facts->last_kept;
    }
    if (!facts->stated)
        return LINEAGE_OK;
    if (report->best && !lineage_ideas_find(&facts->best, facts->ideas, report->best->exp_id))
        facts->best = SIZE_MAX;
    facts->line = calloc(count + 1, sizeof *facts->line);
    if (!facts->line)
        return store_no_memory(err);
    facts->n_line = lineage_knobs_line(facts->line, count, facts->ideas, facts->best);
    TRY(lineage_knobs_find(&facts->knobs, facts->ideas, facts->best, 0, err));
    TRY(estimate_noise(facts, err));
    if (report->noise_std > 0)
        facts->noise = report->noise_std;
    facts->noise_estimated = report->noise_std <= 0 && facts->noise > 0;
    count_gains(facts);
    if (!find_beside(facts, report) || !find_again(facts))
        return store_no_memory(err);
    TRY(compare_code(facts, store, report, err));
    return find_blocked(facts, store, report, err);
}

void lineage_facts_release(struct lineage_facts *facts)
{
    for (size_t i = 0; i < facts->n_blocked; i++)
        free(facts->blocked[i].column);
    free(facts->blocked);
    free(facts->again);
    free(facts->beside);
    free(facts->line);
    lineage_measured_release(&facts->code);
    lineage_knobs_release(&facts->knobs);
    lineage_ideas_release(facts->ideas);
    *facts = (struct lineage_facts){0};
}
