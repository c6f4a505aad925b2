/* knobs.c: the changes of all trials, grouped by the setting that they change. */
#include <lineage/knobs.h>

#include "ideas_internal.h"

struct knobs_memory {
    struct arena arena; /* of the tries and their changes */
    bool *tried;        /* [n_names] whether a try has the name */
    uint32_t n_names;
};

/* A change of a trial. */
struct made {
    uint32_t trial;
    uint16_t change, direction;
};

struct gathering {
    const struct lineage_ideas *ideas;
    struct knobs_memory *memory;
    bool *on_line;     /* [ideas->n] */
    struct made *made;  /* all changes by knob, those of a knob in the order of the log */
    size_t *ends;       /* [ideas->knobs.n + 1] those of knob i end before ends[i] */
    uint32_t *counts;   /* [ideas->names.n] how many changes of a knob have a name; all 0 between knobs */
    size_t newest;
};

static int by_tries(const void *a, const void *b)
{
    const struct lineage_knob *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->knob, y->knob);
}

size_t lineage_knobs_line(size_t *line, size_t capacity, const struct lineage_ideas *ideas, size_t best)
{
    size_t n = 0;
    for (size_t at = best; at < ideas->n; at = ideas->rows[at].base) {
        if (at != best && !lineage_label_is_kept(ideas->rows[at].idea.status))
            continue;
        if (n < capacity)
            line[n] = at;
        n++;
    }
    return n < capacity ? n : capacity;
}

static unsigned take_direction(struct lineage_knob *knob, const struct lineage_number from, const struct lineage_number to,
                               const struct lineage_idea *idea)
{
    bool kept = lineage_label_is_kept(idea->status), finished = kept || idea->status == LINEAGE_DISCARD;
    if (!from.present || !to.present || from.value == to.value)
        return LINEAGE_KNOB_UNKNOWN;
    bool up = to.value > from.value;
    knob->up += up && finished;
    knob->up_kept += up && kept;
    knob->down += !up && finished;
    knob->down_kept += !up && kept;
    return up ? LINEAGE_KNOB_UP : LINEAGE_KNOB_DOWN;
}

/* The value in force is what the last trial on the line that set the knob gave it, else the value that the newest trial started
 * from. If that trial gave it several values, the last of the least trusted source and the more trusted ones right before it
 * compete, and the most trusted one wins: what was measured counts more than what was stated. */
static void take_values(struct lineage_knob *knob, const struct gathering *g, const struct made *made, size_t n)
{
    const char *from = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct row_change *row = g->ideas->rows[made[i].trial].own, *c = &row[made[i].change];
        const bool behind = i && made[i - 1].trial == made[i].trial && row[made[i - 1].change].source < c->source;
        from = value_text(g->ideas, c->from) ? value_text(g->ideas, c->from) : from;
        if (!g->on_line[made[i].trial] || behind)
            continue;
        knob->value = value_text(g->ideas, c->to);
        knob->set_by = made[i].trial;
    }
    knob->value = knob->set_by == SIZE_MAX ? from : knob->value;
}

/* The name that a rule gives the knob, else the one that most of its changes use; the first of equally frequent ones. */
static void take_name(struct lineage_knob *knob, const struct gathering *g, const struct made *made, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        g->counts[g->ideas->rows[made[i].trial].own[made[i].change].name]++;
    for (size_t i = 0; i < n; i++) {
        const uint32_t name = g->ideas->rows[made[i].trial].own[made[i].change].name, count = g->counts[name];
        g->counts[name] = 0;
        if (g->ideas->named[name].ruled)
            knob->name = g->ideas->named[name].ruled;
        else if (count > most)
            knob->name = g->ideas->names.entries[name].text;
        most = g->ideas->named[name].ruled ? UINT32_MAX : count > most ? count : most;
    }
}

/* Keeps the changes that are tries, and counts them. If one trial both declares and states a change, the more trusted source
 * comes first and counts. */
static void take_tries(struct lineage_knob *knob, const struct gathering *g, struct made *made, size_t n)
{
    size_t last = SIZE_MAX;
    const char *to = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct idea_row *row = &g->ideas->rows[made[i].trial];
        const struct row_change *c = &row->own[made[i].change];
        const char *before = to;
        const bool again = last == made[i].trial && lineage_quantity_equal(value_text(g->ideas, c->to), before);
        to = value_text(g->ideas, c->to);
        last = made[i].trial;
        if (again)
            continue;
        g->memory->tried[c->name] = true;
        made[knob->n] = made[i];
        made[knob->n++].direction =
            (uint16_t)take_direction(knob, value_number(g->ideas, c->from), value_number(g->ideas, c->to), &row->idea);
    }
}

static int by_value(const void *a, const void *b)
{
    const struct lineage_knob_try *x = a, *y = b;
    const struct lineage_number p = x->change->to_value, q = y->change->to_value;
    if (p.present != q.present)
        return p.present ? -1 : 1;
    int order = p.present ? (p.value > q.value) - (p.value < q.value) : strcmp(x->change->to, y->change->to);
    if (order || x->trial != y->trial)
        return order ? order : x->trial > y->trial ? 1 : -1;
    return (x->change > y->change) - (x->change < y->change);
}

/* Lists the newest tries, each with its change; a trial is listed with all of its tries or not at all. */
static bool list_tries(struct lineage_knob *knob, const struct gathering *g, const struct made *made)
{
    size_t first = g->newest && knob->n > g->newest ? knob->n - g->newest : 0;
    while (first && made[first - 1].trial == made[first].trial)
        first--;
    knob->n_tries = knob->n - first;
    knob->tries = arena_alloc(&g->memory->arena, knob->n_tries, sizeof *knob->tries);
    struct lineage_change *changes = arena_alloc(&g->memory->arena, knob->n_tries, sizeof *changes);
    if (!knob->tries || !changes)
        return false;
    for (size_t i = 0; i < knob->n_tries; i++) {
        const struct made *m = &made[first + i];
        changes[i] = change_of(g->ideas, &g->ideas->rows[m->trial].own[m->change]);
        knob->tries[i] = (struct lineage_knob_try){.trial = m->trial, .change = &changes[i], .direction = m->direction};
    }
    qsort(knob->tries, knob->n_tries, sizeof *knob->tries, by_value);
    return true;
}

/* A trial that is void, or that the machine ended, has tried nothing: `tried`, sweeps and the block leave it out, too. */
static size_t tried_changes(const struct lineage_ideas *ideas, size_t i)
{
    const struct lineage_idea *idea = &ideas->rows[i].idea;
    return idea->status == LINEAGE_HARNESS_ABORT && !idea->running ? 0 : idea->n_changes;
}

/* Marks the trials of the best trial's line, and orders all changes by their knobs. */
static bool gather(struct gathering *g, size_t best)
{
    const struct lineage_ideas *ideas = g->ideas;
    size_t n = 0, *line = calloc(ideas->n + 1, sizeof *line);
    for (size_t i = line ? lineage_knobs_line(line, ideas->n, ideas, best) : 0; i-- > 0;)
        g->on_line[line[i]] = true;
    free(line);
    for (size_t i = 0; i < ideas->n; i++) {
        n += tried_changes(ideas, i);
        for (size_t k = 0; k < tried_changes(ideas, i); k++)
            g->ends[ideas->named[ideas->rows[i].own[k].name].number + 1]++;
    }
    for (size_t i = 0; i < ideas->knobs.n; i++)
        g->ends[i + 1] += g->ends[i];
    g->made = calloc(n + 1, sizeof *g->made);
    for (size_t i = 0; g->made && i < ideas->n; i++)
        for (size_t k = 0; k < tried_changes(ideas, i); k++)
            g->made[g->ends[ideas->named[ideas->rows[i].own[k].name].number]++] = (struct made){(uint32_t)i, (uint16_t)k, 0};
    return line && g->made;
}

enum lineage_status lineage_knobs_find(struct lineage_knobs *knobs, const struct lineage_ideas *ideas, size_t best, size_t newest,
                                       struct lineage_error *err)
{
    struct gathering g = {.ideas = ideas, .newest = newest};
    *knobs = (struct lineage_knobs){0};
    if (!ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "knobs are found in a settled set of ideas");
    knobs->memory = g.memory = calloc(1, sizeof *g.memory);
    knobs->items = calloc(ideas->knobs.n + 1, sizeof *knobs->items);
    g.on_line = calloc(ideas->n + 1, sizeof *g.on_line);
    g.ends = calloc(ideas->knobs.n + 2, sizeof *g.ends);
    g.counts = calloc(ideas->names.n + 1, sizeof *g.counts);
    bool ok = g.memory && knobs->items && g.on_line && g.ends && g.counts;
    if (ok) {
        g.memory->n_names = ideas->names.n;
        g.memory->tried = calloc(ideas->names.n + 1, sizeof *g.memory->tried);
        ok = g.memory->tried && gather(&g, best);
    }
    for (size_t i = 0, from = 0; ok && i < ideas->knobs.n; from = g.ends[i++]) {
        struct lineage_knob *knob = &knobs->items[knobs->n];
        struct made *made = g.made + from;
        const size_t n = g.ends[i] - from;
        if (!n) /* a name of parameters alone, or of changes that others repeat */
            continue;
        *knob = (struct lineage_knob){.knob = ideas->knobs.entries[i].text, .set_by = SIZE_MAX};
        take_values(knob, &g, made, n);
        take_name(knob, &g, made, n);
        take_tries(knob, &g, made, n);
        ok = list_tries(knob, &g, made);
        knobs->n++;
    }
    if (ok && knobs->n)
        qsort(knobs->items, knobs->n, sizeof *knobs->items, by_tries);
    free(g.on_line);
    free(g.ends);
    free(g.counts);
    free(g.made);
    if (ok)
        return LINEAGE_OK;
    lineage_knobs_release(knobs);
    return store_no_memory(err);
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

size_t lineage_knobs_against(size_t *found, size_t capacity, const struct lineage_knobs *knobs, const struct lineage_ideas *ideas,
                             const char *const *evidence, size_t n_evidence, uint64_t after)
{
    enum { EVIDENCE_MAX = 64 };
    size_t trials[EVIDENCE_MAX], n_trials = 0, kept = 0, finished = 0, n = 0;
    for (size_t i = 0; i < n_evidence && n_trials < EVIDENCE_MAX; i++) {
        if (!lineage_ideas_find(&trials[n_trials], ideas, evidence[i]))
            continue;
        const struct lineage_idea *idea = lineage_ideas_get(ideas, trials[n_trials++]);
        kept += lineage_label_is_kept(idea->status);
        finished += lineage_label_is_kept(idea->status) || idea->status == LINEAGE_DISCARD;
    }
    if (!n_trials || (kept && kept < n_trials))
        return 0;
    for (size_t k = 0; k < knobs->n; k++) {
        const struct lineage_knob *knob = &knobs->items[k];
        for (size_t i = 0; i < knob->n_tries; i++) {
            if (!is_among(knob->tries[i].trial, trials, n_trials))
                continue;
            for (size_t j = 0; j < knob->n_tries && n < capacity; j++) {
                const struct lineage_idea *later = lineage_ideas_get(ideas, knob->tries[j].trial);
                bool otherwise = kept        ? later->status == LINEAGE_DISCARD
                                 : !finished ? lineage_label_is_kept(later->status) || later->status == LINEAGE_DISCARD
                                             : lineage_label_is_kept(later->status);
                if (later->seq > after && otherwise && !later->running && repeats(&knob->tries[i], &knob->tries[j]) &&
                    !is_among(knob->tries[j].trial, found, n))
                    found[n++] = knob->tries[j].trial;
            }
        }
    }
    return n;
}

/* Returns the place of the first knob of which a try is spelled by the name, ignoring case; knobs->n if there is none. */
static size_t spelled(const struct lineage_knobs *knobs, const struct lineage_ideas *ideas, const char *name)
{
    const struct knobs_memory *memory = knobs->memory;
    size_t first = knobs->n;
    for (uint32_t i = 0; i < memory->n_names; i++)
        if (memory->tried[i] && ascii_same(ideas->names.entries[i].text, name))
            for (size_t k = 0; k < first; k++)
                if (knobs->items[k].knob == ideas->named[i].knob)
                    first = k;
    return first;
}

const struct lineage_knob *lineage_knobs_named(const struct lineage_knobs *knobs, struct lineage_ideas *ideas, const char *name)
{
    SCOPED_ARENA arena = {0};
    const char *knob = ideas_knob_of(ideas, name, &arena);
    size_t at = 0;
    while (at < knobs->n && (!knob || strcmp(knobs->items[at].knob, knob) != 0))
        at++;
    if (at == knobs->n)
        at = spelled(knobs, ideas, name);
    return at < knobs->n ? &knobs->items[at] : NULL;
}

void lineage_knobs_release(struct lineage_knobs *knobs)
{
    struct knobs_memory *memory = knobs->memory;
    if (memory) {
        arena_release(&memory->arena);
        free(memory->tried);
    }
    free(memory);
    free(knobs->items);
    *knobs = (struct lineage_knobs){0};
}
