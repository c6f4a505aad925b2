/*
 * knobs.c: the changes of all trials, grouped by the setting that they change.
 *
 * The trials go by once, in the order of the log. Sums, names and the value in force need the change before only, so a knob keeps
 * no more tries than are listed.
 */
#include <lineage/knobs.h>

#include <strings.h>

#include "ideas_internal.h"

#define NO_KNOB UINT32_MAX

enum { NAMES_COUNTED = 256, SPARE = LINEAGE_IDEAS_CHANGES };

/* A try that may be listed. */
struct tried {
    uint32_t trial;
    uint16_t change; /* of the trial */
    uint8_t direction;
};

/* What is known about a knob while the trials go by in the order of the log. Of its tries the newest are kept, and a few more,
 * because a trial is listed with all of its tries or not at all. */
struct gathered {
    struct lineage_knob knob;
    struct tried *tries; /* the last n_tries of them, in a circle of `capacity` once that is `most` */
    size_t n_tries, capacity, at;
    uint32_t *names; /* of its first changes, at most NAMES_COUNTED */
    size_t n_changes, names_capacity;
    /* The last change: its trial, its new value and its source */
    size_t trial;
    uint32_t to;
    uint8_t source;
    uint32_t value; /* the value in force if knob.set_by is known */
    uint32_t from;  /* the newest old value that is known, or TEXT_NONE */
};

struct knobs_memory {
    struct arena arena; /* of the tries and their changes */
    bool *tried;        /* [n_names] whether a try has the name */
    uint32_t n_names;
};

struct gathering {
    const struct lineage_ideas *ideas;
    struct knobs_memory *memory;
    struct gathered *items;
    size_t n, capacity;
    uint32_t *knob_of; /* [ideas->knobs.n] the item of a knob, or NO_KNOB */
    bool *on_line;     /* [ideas->n] */
    size_t most;       /* tries of a knob that are kept while the trials go by */
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

/* Finds the item of a knob, or makes it. NULL when out of memory. */
static struct gathered *knob_of(struct gathering *g, uint32_t name)
{
    const struct knob_name *named = &g->ideas->named[name];
    if (g->knob_of[named->number] != NO_KNOB)
        return &g->items[g->knob_of[named->number]];
    if (!LIST_ROOM(g->items, g->n, g->capacity))
        return NULL;
    g->knob_of[named->number] = (uint32_t)g->n;
    g->items[g->n] = (struct gathered){.knob = {.knob = named->knob, .set_by = SIZE_MAX}, .trial = SIZE_MAX, .from = TEXT_NONE};
    return &g->items[g->n++];
}

static bool keep_name(struct gathered *k, uint32_t name)
{
    if (k->n_changes++ >= NAMES_COUNTED)
        return true;
    const size_t n = k->n_changes - 1;
    if (!LIST_ROOM(k->names, n, k->names_capacity))
        return false;
    k->names[k->n_changes - 1] = name;
    return true;
}

static bool keep_try(struct gathered *k, size_t most, struct tried try)
{
    if (k->n_tries == k->capacity && k->capacity < most) {
        size_t capacity = k->capacity ? 2 * k->capacity : 4;
        capacity = capacity < most ? capacity : most;
        struct tried *tries = realloc(k->tries, capacity * sizeof *tries);
        if (!tries)
            return false;
        k->tries = tries;
        k->capacity = capacity;
    }
    if (k->n_tries < k->capacity) {
        k->tries[k->n_tries++] = try;
        return true;
    }
    k->tries[k->at] = try;
    k->at = k->at + 1 < k->capacity ? k->at + 1 : 0;
    return true;
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
static void take_value(struct gathered *k, const struct gathering *g, size_t trial, const struct row_change *change)
{
    if (value_text(g->ideas, change->from))
        k->from = change->from;
    if (!g->on_line[trial] || (k->trial == trial && k->source < change->source))
        return;
    k->value = change->to;
    k->knob.set_by = trial;
}

static bool take_change(struct gathering *g, size_t trial, size_t i)
{
    const struct idea_row *row = &g->ideas->rows[trial];
    const struct row_change *change = &row->own[i];
    struct gathered *k = knob_of(g, change->name);
    if (!k || !keep_name(k, change->name))
        return false;
    if (g->ideas->named[change->name].ruled)
        k->knob.name = g->ideas->named[change->name].ruled;
    take_value(k, g, trial, change);
    /* If one trial both declares and states a change, the more trusted source comes first and counts. */
    bool again = k->trial == trial && lineage_quantity_equal(value_text(g->ideas, change->to), value_text(g->ideas, k->to));
    k->trial = trial;
    k->to = change->to;
    k->source = change->source;
    if (again)
        return true;
    g->memory->tried[change->name] = true;
    k->knob.n++;
    unsigned direction =
        take_direction(&k->knob, value_number(g->ideas, change->from), value_number(g->ideas, change->to), &row->idea);
    return keep_try(k, g->most, (struct tried){(uint32_t)trial, (uint16_t)i, (uint8_t)direction});
}

/* Returns the name that most changes of the knob use; if several are equally frequent, the first one. */
static const char *common_name(const struct lineage_ideas *ideas, const struct gathered *k)
{
    size_t most = 0, best = 0;
    for (size_t i = 0; i < k->n_changes && k->n_changes <= NAMES_COUNTED; i++) {
        size_t same = 0;
        for (size_t j = 0; j < k->n_changes; j++)
            same += k->names[i] == k->names[j];
        if (same > most) {
            most = same;
            best = i;
        }
    }
    return ideas->names.entries[k->names[best]].text;
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

/* Lists the newest tries, each with its change. */
static bool list_tries(struct lineage_knob *knob, const struct gathered *k, struct gathering *g, size_t newest)
{
    size_t n = k->n_tries, first = newest && n > newest ? n - newest : 0;
    while (first && k->tries[(k->at + first - 1) % n].trial == k->tries[(k->at + first) % n].trial)
        first--;
    knob->n_tries = n - first;
    knob->tries = arena_alloc(&g->memory->arena, knob->n_tries, sizeof *knob->tries);
    struct lineage_change *changes = arena_alloc(&g->memory->arena, knob->n_tries, sizeof *changes);
    if (!knob->tries || !changes)
        return false;
    for (size_t i = 0; i < knob->n_tries; i++) {
        const struct tried *try = &k->tries[(k->at + first + i) % n];
        changes[i] = change_of(g->ideas, &g->ideas->rows[try->trial].own[try->change]);
        knob->tries[i] = (struct lineage_knob_try){.trial = try->trial, .change = &changes[i], .direction = try->direction};
    }
    qsort(knob->tries, knob->n_tries, sizeof *knob->tries, by_value);
    return true;
}

static bool finish_knob(struct lineage_knob *knob, struct gathered *k, struct gathering *g, size_t newest)
{
    *knob = k->knob;
    knob->name = knob->name ? knob->name : common_name(g->ideas, k);
    if (knob->set_by != SIZE_MAX)
        knob->value = value_text(g->ideas, k->value);
    else if (k->from != TEXT_NONE)
        knob->value = value_text(g->ideas, k->from);
    bool ok = list_tries(knob, k, g, newest);
    free(k->tries);
    free(k->names);
    k->tries = NULL;
    k->names = NULL;
    return ok;
}

static bool gather(struct gathering *g, size_t best)
{
    const size_t count = g->ideas->n;
    size_t *line = calloc(count + 1, sizeof *line);
    bool ok = line != NULL;
    if (ok)
        for (size_t i = lineage_knobs_line(line, count, g->ideas, best); i-- > 0;)
            g->on_line[line[i]] = true;
    free(line);
    for (size_t i = 0; ok && i < count; i++)
        for (size_t k = 0; ok && k < g->ideas->rows[i].idea.n_changes; k++)
            ok = take_change(g, i, k);
    return ok;
}

static bool begin(struct gathering *g, const struct lineage_ideas *ideas, size_t newest)
{
    const size_t n_names = ideas->names.n, n_knobs = ideas->knobs.n;
    *g = (struct gathering){.ideas = ideas,
                            .memory = calloc(1, sizeof *g->memory),
                            .knob_of = malloc((n_knobs + 1) * sizeof *g->knob_of),
                            .on_line = calloc(ideas->n + 1, sizeof *g->on_line),
                            .most = newest && newest < SIZE_MAX - SPARE ? newest + SPARE : SIZE_MAX};
    if (!g->memory || !g->knob_of || !g->on_line)
        return false;
    memset(g->knob_of, 0xff, n_knobs * sizeof *g->knob_of); /* NO_KNOB */
    g->memory->n_names = (uint32_t)n_names;
    g->memory->tried = calloc(n_names + 1, sizeof *g->memory->tried);
    return g->memory->tried != NULL;
}

enum lineage_status lineage_knobs_find(struct lineage_knobs *knobs, const struct lineage_ideas *ideas, size_t best, size_t newest,
                                       struct lineage_error *err)
{
    struct gathering g;
    *knobs = (struct lineage_knobs){0};
    if (!ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "knobs are found in a settled set of ideas");
    bool ok = begin(&g, ideas, newest) && gather(&g, best);
    *knobs = (struct lineage_knobs){.memory = g.memory};
    knobs->items = ok ? calloc(g.n + 1, sizeof *knobs->items) : NULL;
    ok = knobs->items != NULL;
    for (size_t i = 0; i < g.n; i++) {
        if (ok) {
            ok = finish_knob(&knobs->items[i], &g.items[i], &g, newest);
        } else {
            free(g.items[i].tries);
            free(g.items[i].names);
        }
    }
    if (ok && g.n) {
        qsort(knobs->items, g.n, sizeof *knobs->items, by_tries);
        knobs->n = g.n;
    }
    free(g.items);
    free(g.knob_of);
    free(g.on_line);
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
        if (memory->tried[i] && strcasecmp(ideas->names.entries[i].text, name) == 0)
            for (size_t k = 0; k < first; k++)
                if (knobs->items[k].knob == ideas->named[i].knob)
                    first = k;
    return first;
}

const struct lineage_knob *lineage_knobs_named(const struct lineage_knobs *knobs, struct lineage_ideas *ideas, const char *name)
{
    struct arena arena = {0};
    const char *knob = ideas_knob_of(ideas, name, &arena);
    size_t at = 0;
    while (at < knobs->n && (!knob || strcmp(knobs->items[at].knob, knob) != 0))
        at++;
    if (at == knobs->n)
        at = spelled(knobs, ideas, name);
    arena_release(&arena);
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
