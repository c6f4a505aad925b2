/* knobs.c: the changes of all trials, grouped by the setting that they change. */
#include <lineage/knobs.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ideas_internal.h"

/* A change and the trial that made it, used for sorting. */
struct tried {
    const struct lineage_change *change;
    size_t trial;
};

static const char *knob_of(const struct lineage_change *change)
{
    return change->knob ? change->knob : change->name;
}

static int by_knob(const void *a, const void *b)
{
    const struct tried *x = a, *y = b;
    int order = strcmp(knob_of(x->change), knob_of(y->change));
    if (order || x->trial != y->trial)
        return order ? order : x->trial < y->trial ? -1 : 1;
    /* Within a trial the most trusted source comes first. */
    if (x->change->source != y->change->source)
        return x->change->source < y->change->source ? -1 : 1;
    return (x->change > y->change) - (x->change < y->change);
}

static int by_value(const void *a, const void *b)
{
    const struct lineage_knob_try *x = a, *y = b;
    const struct lineage_number p = x->change->to_value, q = y->change->to_value;
    if (p.present != q.present)
        return p.present ? -1 : 1;
    int order = p.present ? (p.value > q.value) - (p.value < q.value) : strcmp(x->change->to, y->change->to);
    return order ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

static int by_tries(const void *a, const void *b)
{
    const struct lineage_knob *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->knob, y->knob);
}

static bool is_kept(enum lineage_label label)
{
    return label == LINEAGE_KEEP || label == LINEAGE_BASELINE;
}

size_t lineage_knobs_line(size_t *line, size_t capacity, const struct lineage_ideas *ideas, size_t best)
{
    size_t n = 0, count = lineage_ideas_count(ideas), at = best;
    bool parents = false;
    for (size_t i = 0; i < count && !parents; i++)
        parents = *lineage_ideas_get(ideas, i)->parent_exp != '\0';
    /* A parent that comes later in the log would allow a cycle, so the walk only goes back. */
    while (at < count) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, at);
        if ((at == best || is_kept(idea->status)) && n < capacity)
            line[n] = at;
        n += at == best || is_kept(idea->status);
        size_t next = at;
        if (parents && !lineage_ideas_find(&next, ideas, idea->parent_exp))
            break;
        if (!parents)
            next = at - 1; /* SIZE_MAX before the first trial */
        if (next >= at)
            break;
        at = next;
    }
    return n < capacity ? n : capacity;
}

/* Returns the name that most changes of the knob use; if several are equally frequent, the first one. */
static const char *common_name(const struct tried *tried, size_t n)
{
    size_t most = 0, best = 0;
    for (size_t i = 0; i < n && n <= 256; i++) {
        size_t same = 0;
        for (size_t k = 0; k < n; k++)
            same += strcmp(tried[i].change->name, tried[k].change->name) == 0;
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return tried[best].change->name;
}

static void take_direction(struct lineage_knob *knob, struct lineage_knob_try *attempt, const struct lineage_idea *idea)
{
    const struct lineage_change *change = attempt->change;
    bool kept = is_kept(idea->status), finished = kept || idea->status == LINEAGE_DISCARD;
    if (!change->from_value.present || !change->to_value.present || change->from_value.value == change->to_value.value)
        return;
    bool up = change->to_value.value > change->from_value.value;
    attempt->direction = up ? LINEAGE_KNOB_UP : LINEAGE_KNOB_DOWN;
    knob->up += up && finished;
    knob->up_kept += up && kept;
    knob->down += !up && finished;
    knob->down_kept += !up && kept;
}

/* Finds the value in force: the value set by the last trial on the line that set the knob, else the value that the
 * newest trial started from. */
static void find_value(struct lineage_knob *knob, const struct tried *tried, size_t n, const bool *on_line)
{
    knob->set_by = SIZE_MAX;
    for (size_t i = n; i-- > 0 && knob->set_by == SIZE_MAX;)
        if (on_line[tried[i].trial]) {
            /* What was measured counts more than what was stated. */
            while (i > 0 && tried[i - 1].trial == tried[i].trial && tried[i - 1].change->source < tried[i].change->source)
                i--;
            knob->value = tried[i].change->to;
            knob->set_by = tried[i].trial;
        }
    for (size_t i = n; i-- > 0 && !knob->value;)
        knob->value = tried[i].change->from;
}

enum lineage_status lineage_knobs_find(struct lineage_knobs *knobs, const struct lineage_ideas *ideas, size_t best,
                                       struct lineage_error *err)
{
    size_t count = lineage_ideas_count(ideas), n = 0, at = 0, n_knobs = 0;
    struct lineage_knob_try *tries = NULL;
    struct tried *tried = NULL;
    size_t *line = calloc(count + 1, sizeof *line);
    bool *on_line = calloc(count + 1, sizeof *on_line);
    enum lineage_status status = LINEAGE_OK;
    *knobs = (struct lineage_knobs){0};
    for (size_t i = 0; i < count; i++)
        n += lineage_ideas_get(ideas, i)->n_changes;
    tried = calloc(n + 1, sizeof *tried);
    tries = calloc(n + 1, sizeof *tries);
    knobs->items = calloc(n + 1, sizeof *knobs->items);
    if (!line || !on_line || !tried || !tries || !knobs->items) {
        status = store_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < lineage_ideas_get(ideas, i)->n_changes; k++)
            tried[at++] = (struct tried){&lineage_ideas_get(ideas, i)->changes[k], i};
    for (size_t i = lineage_knobs_line(line, count, ideas, best); i-- > 0;)
        on_line[line[i]] = true;
    qsort(tried, n, sizeof *tried, by_knob);
    for (size_t from = 0, to; from < n; from = to) {
        struct lineage_knob *knob = &knobs->items[n_knobs++];
        for (to = from + 1; to < n && strcmp(knob_of(tried[to].change), knob_of(tried[from].change)) == 0; to++)
            ;
        *knob = (struct lineage_knob){.name = common_name(tried + from, to - from), .knob = knob_of(tried[from].change),
                                      .tries = tries + from};
        for (size_t i = from; i < to; i++) {
            /* If one trial both declares and states a change, the more trusted source comes first and counts. */
            if (i > from && tried[i].trial == tried[i - 1].trial &&
                lineage_quantity_equal(tried[i].change->to, tried[i - 1].change->to))
                continue;
            struct lineage_knob_try *attempt = &knob->tries[knob->n++];
            *attempt = (struct lineage_knob_try){.trial = tried[i].trial, .change = tried[i].change};
            take_direction(knob, attempt, lineage_ideas_get(ideas, tried[i].trial));
        }
        for (size_t i = from; i < to && ideas->n_rules; i++) {
            const char *name = knob_rule_name(ideas, tried[i].change->name, NULL);
            knob->name = name ? name : knob->name;
        }
        find_value(knob, tried + from, to - from, on_line);
        qsort(knob->tries, knob->n, sizeof *knob->tries, by_value);
    }
    qsort(knobs->items, n_knobs, sizeof *knobs->items, by_tries);
    knobs->n = n_knobs;
    knobs->memory = tries;
    tries = NULL;

done:
    free(line);
    free(on_line);
    free(tried);
    free(tries);
    if (status != LINEAGE_OK)
        lineage_knobs_release(knobs);
    return status;
}

/* Whether b gives the knob the value of a, or moves it at least as far in the same direction. */
static bool repeats(const struct lineage_knob_try *a, const struct lineage_knob_try *b)
{
    const struct lineage_number x = a->change->to_value, y = b->change->to_value;
    if (lineage_quantity_equal(a->change->to, b->change->to))
        return true;
    if (!x.present || !y.present || a->direction != b->direction || !a->direction)
        return false;
    return a->direction == LINEAGE_KNOB_UP ? y.value >= x.value : y.value <= x.value;
}

static bool is_among(size_t trial, const size_t *trials, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (trials[i] == trial)
            return true;
    return false;
}

size_t lineage_knobs_against(size_t *found, size_t capacity, const struct lineage_knobs *knobs,
                             const struct lineage_ideas *ideas, const char *const *evidence, size_t n_evidence, uint64_t after)
{
    enum { EVIDENCE_MAX = 64 };
    size_t trials[EVIDENCE_MAX], n_trials = 0, kept = 0, finished = 0, n = 0;
    for (size_t i = 0; i < n_evidence && n_trials < EVIDENCE_MAX; i++) {
        if (!lineage_ideas_find(&trials[n_trials], ideas, evidence[i]))
            continue;
        const struct lineage_idea *idea = lineage_ideas_get(ideas, trials[n_trials++]);
        kept += is_kept(idea->status);
        finished += is_kept(idea->status) || idea->status == LINEAGE_DISCARD;
    }
    if (!n_trials || (kept && kept < n_trials))
        return 0;
    for (size_t k = 0; k < knobs->n; k++) {
        const struct lineage_knob *knob = &knobs->items[k];
        for (size_t i = 0; i < knob->n; i++) {
            if (!is_among(knob->tries[i].trial, trials, n_trials))
                continue;
            for (size_t j = 0; j < knob->n && n < capacity; j++) {
                const struct lineage_idea *later = lineage_ideas_get(ideas, knob->tries[j].trial);
                bool otherwise = kept        ? later->status == LINEAGE_DISCARD
                                 : !finished ? is_kept(later->status) || later->status == LINEAGE_DISCARD
                                             : is_kept(later->status);
                if (later->seq > after && otherwise && !later->running && repeats(&knob->tries[i], &knob->tries[j]) &&
                    !is_among(knob->tries[j].trial, found, n))
                    found[n++] = knob->tries[j].trial;
            }
        }
    }
    return n;
}

/* The name is normalised as in a hypothesis, so that the text of a person and the text of a trial mean the same knob. */
const struct lineage_knob *lineage_knobs_named(const struct lineage_knobs *knobs, struct lineage_ideas *ideas, const char *name)
{
    static const char statement[] = " 1 → 2";
    const struct lineage_knob *found = NULL;
    struct lineage_change_list changes = {0};
    struct lineage_error err;
    size_t length = strlen(name);
    char *text = malloc(length + sizeof statement);
    if (!text)
        return NULL;
    memcpy(text, name, length);
    memcpy(text + length, statement, sizeof statement);
    if (lineage_ideas_changes(&changes, ideas, text, &err) == LINEAGE_OK)
        for (size_t i = 0; i < knobs->n && changes.n && !found; i++)
            if (changes.items[0].knob && strcmp(knobs->items[i].knob, changes.items[0].knob) == 0)
                found = &knobs->items[i];
    for (size_t i = 0; i < knobs->n && !found; i++)
        for (size_t k = 0; k < knobs->items[i].n && !found; k++)
            if (strcasecmp(knobs->items[i].tries[k].change->name, name) == 0)
                found = &knobs->items[i];
    lineage_change_list_release(&changes);
    free(text);
    return found;
}

void lineage_knobs_release(struct lineage_knobs *knobs)
{
    free(knobs->items);
    free(knobs->memory);
    *knobs = (struct lineage_knobs){0};
}
