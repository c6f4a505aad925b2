/*
 * replicas.c: trials that ran with equal settings, and the noise of the score between them.
 *
 * Going through the log, each trial either joins an earlier trial whose replica it is or begins a group of its own. Two
 * rules make it a replica, see lineage/replicas.h. For the first, a trial whose headline names nothing but its changes
 * has a state: the trial that its chain of such trials begins with, and a sum over the settings that differ from those of
 * that trial. Sums do not depend on the order in which settings were changed.
 */
#include <lineage/replicas.h>

#include <math.h>

#include <xxhash.h>

#include "../format/setting_digest.h"
#include "ideas_internal.h"

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { CANDIDATES_MAX = 32, FEWEST_WORDS = 5, STEPS_MAX = 65536 };

/* Share of the words of both hypotheses that must be common, and share of a repeated run's words that the first one must
 * have. Of the pairs found in two labelled logs, 63 of 66 are labelled as repeats; with 0.4 it is 96 of 102, with 0.3
 * 107 of 115. */
static const double ALIKE = 0.5, REPEATED = 0.7;

struct trial_state {
    size_t joined;     /* the first trial of the group */
    size_t next;       /* the next trial of the group, SIZE_MAX for none */
    size_t last;       /* of the first trial: the last one of the group */
    size_t anchor;     /* of the state */
    uint64_t sum;      /* of the state: over the settings that differ from the anchor's */
    uint64_t own;      /* over the trial's own changes or parameters */
    bool has_own;
    bool plain;        /* the state follows from the base's: the headline names nothing but changes */
};

/* The first trials of groups by a key: a state, or a base with own settings. */
struct bucket {
    UT_hash_handle hh;
    uint64_t key;
    size_t trials[CANDIDATES_MAX], n;
};

struct finder {
    struct lineage_ideas *ideas;
    struct trial_state *states;
    struct bucket *plain, *alike;
    struct arena arena;
};

/* A value in one spelling: a number by its value, a text by its letters in lower case. */
static uint64_t hash_setting(const char *knob, struct lineage_number number, const char *text)
{
    char value[64];
    size_t length = 0;
    if (number.present)
        length = (size_t)snprintf(value, sizeof value, "%.6g", number.value);
    else
        for (; text[length] && length < sizeof value; length++)
            value[length] = ascii_lower(text[length]);
    return XXH3_64bits_withSeed(value, length, XXH3_64bits(knob, strlen(knob)));
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t pair[2] = {a, b};
    return XXH3_64bits(pair, sizeof pair);
}

/* Whether change i is the most trusted one for its knob, and not that of a seed. */
static bool counts(const struct lineage_ideas *ideas, const struct idea_row *row, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(row->search->changes[k].knob, row->search->changes[i].knob) == 0)
            return false;
    return !setting_names_seed(row->search->changes[i].name, ideas->seeds);
}

/* Adds up a trial's own settings: all of its parameters and the changes of other sources. */
static void sum_own(struct trial_state *s, const struct lineage_ideas *ideas, const struct idea_row *row)
{
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param p = row_param(ideas, row, i);
        const struct lineage_number number = {!p.text, p.value};
        if (setting_names_seed(p.name, ideas->seeds))
            continue;
        s->own += hash_setting(p.name, number, p.text ? p.text : "");
        s->has_own = true;
    }
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        const struct lineage_change *c = &row->search->changes[i];
        if ((row->n_params && c->source == LINEAGE_CHANGE_DECLARED) || !counts(ideas, row, i))
            continue;
        s->own += hash_setting(c->knob, c->to_value, c->to);
        s->has_own = true;
    }
}

static bool is_name_part(const struct idea_row *row, const char *part)
{
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        struct knob_words words;
        const char *name = row->search->changes[i].name;
        knob_words_split(&words, name, strlen(name));
        for (size_t k = 0; k < words.n; k++)
            if (strcmp(words.words[k], part) == 0)
                return true;
    }
    return false;
}

static bool is_id(const struct tokens *t, size_t i)
{
    const struct token *word = &t->items[i];
    return word->length > 3 && ascii_begins_same(t->text + word->at, "exp", 3) && token_has_digit(t, i);
}

/* Whether the headline says nothing but which settings change: besides their names there are only verbs of change, weak
 * words, numbers, and ids of trials. *ok becomes false when out of memory. */
static bool is_plain(const struct idea_row *row, bool *ok)
{
    const char *text = row->idea.hypothesis;
    struct tokens t;
    bool plain = true;
    if (!(*ok = tokens_of_text(&t, text)))
        return false;
    for (size_t i = 0; plain && i < t.n && t.items[i].clause == 0; i++) {
        const char *word = text + t.items[i].at;
        struct knob_words parts;
        const size_t length = t.items[i].length;
        if (t.items[i].kind != TOKEN_WORD || is_id(&t, i) || row_is_weak(word, length) || stated_is_verb(&t, i))
            continue;
        knob_words_split(&parts, word, length);
        for (size_t k = 0; plain && k < parts.n; k++)
            plain = is_name_part(row, parts.words[k]);
    }
    free(t.items);
    return plain;
}

/* Finds, among the plain trials from `at` down to the anchor, what they say about a knob: *nearest is the change that set
 * it last and *first the one that set it first. Returns false if that takes more steps than *steps allows. */
static bool find_setters(const struct finder *f, size_t at, const char *knob, const struct lineage_change **nearest,
                         const struct lineage_change **first, size_t *steps)
{
    while (at != TRIAL_NONE && f->states[at].plain) {
        const struct idea_row *row = &f->ideas->rows[at];
        if (*steps < row->idea.n_changes + 1)
            return false;
        *steps -= row->idea.n_changes + 1;
        for (size_t i = 0; i < row->idea.n_changes; i++)
            if (strcmp(row->search->changes[i].knob, knob) == 0 && counts(f->ideas, row, i)) {
                *nearest = *nearest ? *nearest : &row->search->changes[i];
                *first = &row->search->changes[i];
                break;
            }
        at = f->ideas->rows[at].base;
    }
    return true;
}

/* What a value adds to the sum of a state: nothing, if it is the value of the anchor. */
static uint64_t part(const struct lineage_change *c, const char *origin)
{
    return origin && lineage_quantity_equal(origin, c->to) ? 0 : hash_setting(c->knob, c->to_value, c->to);
}

/* Sets the state of a plain trial from that of its base. If that takes too long, the trial counts as one that is not
 * plain: it begins a chain of its own. */
static void apply_changes(const struct finder *f, size_t trial, size_t base)
{
    struct trial_state *s = &f->states[trial];
    const struct idea_row *row = &f->ideas->rows[trial];
    size_t steps = STEPS_MAX;
    s->anchor = f->states[base].anchor;
    s->sum = f->states[base].sum;
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        const struct lineage_change *nearest = NULL, *first = NULL, *c = &row->search->changes[i];
        if (!counts(f->ideas, row, i))
            continue;
        if (!find_setters(f, base, c->knob, &nearest, &first, &steps)) {
            s->plain = false;
            s->anchor = trial;
            s->sum = 0;
            return;
        }
        const char *origin = first ? first->from : c->from;
        s->sum += part(c, origin) - (nearest ? part(nearest, origin) : 0);
    }
}

static bool look(struct bucket **bucket, struct bucket **table, struct arena *arena, uint64_t key)
{
    HASH_FIND(hh, *table, &key, sizeof key, *bucket);
    if (*bucket)
        return true;
    *bucket = arena_alloc(arena, 1, sizeof **bucket);
    if (!*bucket)
        return false;
    (*bucket)->key = key;
    HASH_ADD(hh, *table, key, sizeof key, *bucket);
    return (*bucket)->hh.tbl != NULL;
}

/* How many terms the hypothesis of b has, *all, how many both have together, and *shared, how many in common. */
static size_t count_terms(size_t *shared, size_t *all, const struct idea_row *a, const struct idea_row *b)
{
    const struct term *x = a->search->terms, *end = x + a->search->n_terms;
    size_t n = 0;
    *shared = *all = 0;
    for (size_t i = 0; i < b->search->n_terms; i++) {
        const struct term *y = &b->search->terms[i];
        if (!(y->where & IN_TEXT))
            continue;
        for (; x < end && x->number < y->number; x++)
            *all += x->where & IN_TEXT;
        *shared += x < end && x->number == y->number && x->where & IN_TEXT;
        n++;
    }
    for (; x < end; x++)
        *all += x->where & IN_TEXT;
    *all += n - *shared;
    return n;
}

/* Whether two hypotheses say the same, or the later one says that it runs the earlier one again. */
static bool same_text(const struct finder *f, size_t earlier, size_t later)
{
    const struct idea_row *a = &f->ideas->rows[earlier], *b = &f->ideas->rows[later];
    if (strcmp(a->idea.hypothesis, b->idea.hypothesis) == 0)
        return f->states[later].has_own || *a->idea.hypothesis;
    size_t shared, all, n = count_terms(&shared, &all, a, b);
    /* Few words tell settings apart, but not techniques. */
    if (shared >= (f->states[later].has_own ? 1 : FEWEST_WORDS) && (double)shared >= ALIKE * (double)all)
        return true;
    for (size_t i = 0; b->search->again && i < b->idea.n_cites; i++)
        if (b->idea.cites[i] == earlier)
            return n && (double)shared >= REPEATED * (double)n;
    return false;
}

static size_t find_alike(const struct finder *f, const struct bucket *bucket, size_t trial)
{
    for (size_t i = 0; i < bucket->n; i++)
        if (same_text(f, bucket->trials[i], trial))
            return bucket->trials[i];
    return SIZE_MAX;
}

/* Whether the row lacks a parameter of the trial that it is compared with although that is not its parent: no change says so. */
static bool lacks_param(const struct lineage_ideas *ideas, const struct idea_row *row)
{
    const struct idea_row *base =
        row->parent == TRIAL_NONE && row->base != TRIAL_NONE && row->n_params ? &ideas->rows[row->base] : NULL;
    for (uint32_t i = 0; base && i < base->n_params; i++) {
        uint32_t k = 0;
        while (k < row->n_params && row->params[k].name != base->params[i].name)
            k++;
        if (k == row->n_params && !setting_names_seed(ideas->names.entries[base->params[i].name].text, ideas->seeds))
            return true;
    }
    return false;
}

static bool place(struct finder *f, size_t trial)
{
    struct lineage_ideas *ideas = f->ideas;
    struct idea_row *row = &ideas->rows[trial];
    struct trial_state *s = &f->states[trial];
    struct bucket *plain = NULL, *alike;
    size_t base = row->base == TRIAL_NONE ? SIZE_MAX : row->base, found = SIZE_MAX;
    bool ok = row_expand(ideas, row);
    if (!ok)
        return false;
    *s = (struct trial_state){.joined = trial, .next = SIZE_MAX, .last = trial, .anchor = trial};
    sum_own(s, ideas, row);
    s->plain = base != SIZE_MAX && row->idea.n_changes && !lacks_param(ideas, row) && is_plain(row, &ok);
    if (s->plain)
        apply_changes(f, trial, base);
    if (ok && s->plain)
        ok = look(&plain, &f->plain, &f->arena, mix(s->anchor, s->sum));
    if (ok && plain && plain->n)
        found = plain->trials[0];
    else if (ok && s->plain && s->sum == 0)
        found = f->states[s->anchor].joined; /* everything was set back */
    ok = ok && look(&alike, &f->alike, &f->arena, mix(base == SIZE_MAX ? base : f->states[base].joined, s->own));
    if (ok && found == SIZE_MAX)
        found = find_alike(f, alike, trial);
    if (!ok)
        return false;
    if (found != SIZE_MAX) {
        struct trial_state *first = &f->states[f->states[found].joined];
        s->joined = f->states[found].joined;
        f->states[first->last].next = trial;
        first->last = trial;
        if (!s->plain) { /* its replicas' changes on top of it are those on top of the first one */
            s->plain = first->plain;
            s->anchor = first->anchor;
            s->sum = first->sum;
        }
    }
    if (plain && !plain->n)
        plain->trials[plain->n++] = s->joined;
    if (alike->n < CANDIDATES_MAX)
        alike->trials[alike->n++] = trial;
    return true;
}

static void add_scores(struct lineage_replicas *r, const struct lineage_ideas *ideas, const struct lineage_replica_group *group,
                       double *squares)
{
    double sum = 0, mean;
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        mean = n ? sum / (double)n : 0;
        for (size_t i = 0; i < group->n; i++) {
            const struct lineage_idea *idea = &ideas->rows[group->trials[i]].idea;
            if ((idea->status != LINEAGE_KEEP && idea->status != LINEAGE_DISCARD && idea->status != LINEAGE_BASELINE) ||
                idea->running || !idea->score.present || !isfinite(idea->score.value))
                continue;
            if (pass == 0) {
                sum += idea->score.value;
                n++;
            } else if (n > 1)
                *squares += (idea->score.value - mean) * (idea->score.value - mean);
        }
    }
    if (n > 1) {
        r->scored += n;
        r->freedom += n - 1;
    }
}

static bool collect(struct lineage_replicas *r, const struct finder *f, struct arena *arena)
{
    double squares = 0;
    size_t n = f->ideas->n, *members = arena_alloc(arena, n + 1, sizeof *members), at = 0;
    r->groups = arena_alloc(arena, n / 2 + 1, sizeof *r->groups);
    if (!members || !r->groups)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (f->states[i].joined != i || f->states[i].next == SIZE_MAX)
            continue;
        struct lineage_replica_group *group = &r->groups[r->n++];
        group->trials = members + at;
        for (size_t k = i; k != SIZE_MAX; k = f->states[k].next)
            members[at++] = k;
        group->n = (size_t)(members + at - group->trials);
        add_scores(r, f->ideas, group, &squares);
    }
    r->noise = r->freedom ? sqrt(squares / (double)r->freedom) : 0;
    return true;
}

enum lineage_status lineage_replicas_find(struct lineage_replicas *replicas, struct lineage_ideas *ideas,
                                          struct lineage_error *err)
{
    struct arena *arena = calloc(1, sizeof *arena);
    struct finder f = {.ideas = ideas, .states = calloc(ideas->n + 1, sizeof *f.states)};
    *replicas = (struct lineage_replicas){.memory = arena};
    bool ok = arena && f.states && ideas->settled && ideas_prepare_search(ideas);
    for (size_t i = 0; ok && i < ideas->n; i++)
        ok = place(&f, i);
    ok = ok && collect(replicas, &f, arena);
    HASH_CLEAR(hh, f.plain);
    HASH_CLEAR(hh, f.alike);
    arena_release(&f.arena);
    free(f.states);
    if (ok)
        return LINEAGE_OK;
    lineage_replicas_release(replicas);
    return ideas->settled ? store_no_memory(err)
                          : store_fail(err, LINEAGE_EINVAL, "replicas are found in a settled set of ideas");
}

void lineage_replicas_release(struct lineage_replicas *replicas)
{
    if (replicas->memory)
        arena_release(replicas->memory);
    free(replicas->memory);
    *replicas = (struct lineage_replicas){0};
}
