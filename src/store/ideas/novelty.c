/* novelty.c: claims that something was never tried, and the earlier trials that contradict them. */
#include "ideas_internal.h"

enum { PAIRS_MAX = 64, CLAIM_BYTES = 240, COUNTERS_MAX = 32 };

/* General English words for having been tried. */
#define TRIED                                                                                                                    \
    " tried tested varied changed touched explored attempted combined moved swept tuned probed isolated modified "               \
    "investigated examined ablated measured adjusted studied evaluated experimented "
#define UNTRIED                                                                                                                  \
    " untouched untested untried unexplored untuned unvaried unswept unprobed never-tried never-tested never-touched "           \
    "never-varied never-explored not-yet-tried unattempted uninvestigated "
#define TRIALS                                                                                                                   \
    " trial trials experiment experiments run runs attempt attempts exp exps submission submissions lineage tree "               \
    "history log search swarm campaign session "
#define COMBINED                                                                                                                 \
    " combination combinations combined combining combine stack stacked stacking together composing composed jointly "
#define ALONE " alone individually separately isolation "
#define DIRECTION " direction side bracket upward downward upwards downwards "

/* What a claim says. */
enum claim_scope {
    CLAIM_KNOB,      /* nobody touched this */
    CLAIM_DIRECTION, /* nobody moved the knob in this direction */
    CLAIM_WHOLE,     /* nobody made this change, or this combination */
    CLAIM_BASE       /* nobody made the change on this base, which the log can hardly contradict */
};

/* Returns the index of the first word of the list within `reach` tokens after i in its sentence, or 0. */
static size_t within(const struct tokens *t, size_t i, size_t reach, const char *list)
{
    for (size_t k = i + 1; k < t->n && k <= i + reach && t->items[k].sentence == t->items[i].sentence; k++)
        if (token_in(t, k, list))
            return k;
    return 0;
}

/* Besides UNTRIED and TRIED before "only", the words with which a claim may begin: those of claims_novelty. */
#define FIRST_WORDS " hasn haven wasn weren isn never not no zero none first novel "

/* Whether token i begins a claim of novelty. */
static bool claims_novelty(const struct tokens *t, size_t i)
{
    if (token_in(t, i, UNTRIED))
        return true;
    if (token_in(t, i, TRIED) && token_is(t, i + 1, "only"))
        return within(t, i + 1, 3, " one once single ");
    /* hasn't is split at the apostrophe, which ends a word. */
    if (token_in(t, i, " hasn haven wasn weren isn "))
        return within(t, i, 7, TRIED);
    if (token_in(t, i, " never "))
        return within(t, i, 5, TRIED);
    if (token_is(t, i, "not"))
        return within(t, i, 4, TRIED) && within(t, i, 3, " been previously yet ever ") && i &&
               token_in(t, i - 1, " has have was were had combination technique approach idea yet ");
    if (token_in(t, i, " no zero none "))
        return within(t, i, 3, TRIALS) && within(t, i, 9, TRIED) &&
               within(t, i, 4, " prior previous earlier trial trials experiment experiments ");
    if (token_is(t, i, "first"))
        return within(t, i, 1, " time trial experiment attempt exploration test try probe ") ||
               (token_is(t, i + 1, "to") &&
                within(t, i + 1, 1, " touch try test vary explore change attempt move modify target ")) ||
               (within(t, i, 6, " in ") && within(t, i, 8, TRIALS) && token_in(t, i ? i - 1 : 0, " the genuinely is : "));
    if (token_is(t, i, "novel"))
        return within(t, i, 2, " in to combination technique direction approach mechanism axis axes knob idea ") ||
               (i && token_in(t, i - 1, " is structurally genuinely truly completely entirely "));
    return false;
}

static enum claim_scope scope_of(const struct tokens *t, size_t i, const struct idea_row *row)
{
    size_t from = i > 12 ? i - 12 : 0;
    enum claim_scope scope = CLAIM_KNOB;
    if (token_is(t, i + 1, "on") && within(t, i, 4, " best current "))
        return CLAIM_BASE;
    if (token_is(t, i + 1, "only"))
        return CLAIM_WHOLE;
    /* "A + B were tried together, so A alone is untested" speaks of A. */
    for (size_t k = i > 4 ? i - 4 : 0; k < t->n && k <= i + 4; k++)
        if (t->items[k].sentence == t->items[i].sentence && token_in(t, k, ALONE))
            return CLAIM_KNOB;
    for (size_t k = from; k < t->n && k <= i + 10; k++) {
        if (t->items[k].sentence != t->items[i].sentence)
            continue;
        if (token_in(t, k, COMBINED)) /* one change combined with the base */
            return row->idea.n_changes == 1 ? CLAIM_BASE : CLAIM_WHOLE;
        if (token_in(t, k, DIRECTION))
            scope = CLAIM_DIRECTION;
    }
    return scope;
}

/* changes_same_knob of two names that differ in at most one common word. */
static const double SURELY_ONE_KNOB = 0.82;

static const double LEAST_VERDICT = -1;

struct claims {
    struct lineage_ideas *ideas;
    struct arena *arena;
    struct lineage_novelty_claim *items;
    size_t n, capacity;
    struct similar_pair *pairs;
};

/* The clauses around token i, at most CLAIM_BYTES long. */
static const char *claim_text(struct arena *arena, const struct tokens *t, size_t i)
{
    size_t first = i, last = i;
    while (first > 0 && t->items[first - 1].clause == t->items[i].clause &&
           t->items[i].at - t->items[first - 1].at < CLAIM_BYTES / 2)
        first--;
    while (last + 1 < t->n && t->items[last + 1].sentence == t->items[i].sentence &&
           t->items[last + 1].clause == t->items[i].clause && t->items[last + 1].at - t->items[first].at < CLAIM_BYTES)
        last++;
    return arena_text(arena, t->text + t->items[first].at, t->items[last].at + t->items[last].length - t->items[first].at);
}

static bool contradicts(const struct claims *claims, const struct idea_row *row, const struct similar_pair *pair,
                        enum claim_scope scope)
{
    const struct lineage_ideas *ideas = claims->ideas;
    const struct idea_row *other = &ideas->rows[pair->row];
    if (scope == CLAIM_BASE)
        return false;
    if (pair->verdict > (row->idea.n_changes && !pair->covered ? 1 : LEAST_VERDICT))
        return true;
    if (scope == CLAIM_WHOLE || !row->idea.n_changes)
        return false;
    for (size_t i = 0; i < row->idea.n_changes; i++)
        for (size_t k = 0; k < other->idea.n_changes; k++)
            if (changes_same_knob(ideas, &row->search->keys[i], &other->search->keys[k]) > SURELY_ONE_KNOB &&
                (scope != CLAIM_DIRECTION ||
                 (change_direction(&row->search->changes[i]) &&
                  change_direction(&row->search->changes[i]) == change_direction(&other->search->changes[k]))))
                return true;
    return false;
}

static bool add_claim(struct claims *claims, size_t trial, struct idea_row *row, size_t before, size_t self,
                      const struct tokens *t, size_t i)
{
    size_t n, n_counter = 0, *counter = arena_alloc(claims->arena, COUNTERS_MAX, sizeof *counter);
    /* The index of a search is made for the first claim: most logs of numbers have none. */
    if (!ideas_prepare_search(claims->ideas) || !row_expand(claims->ideas, row))
        return false;
    enum claim_scope scope = scope_of(t, i, row);
    if (!similar_pairs(claims->pairs, &n, PAIRS_MAX, claims->ideas, row, row->is_text ? claims->arena : &claims->ideas->arena,
                       before, self) ||
        !LIST_ROOM(claims->items, claims->n, claims->capacity) || !counter)
        return false;
    for (size_t k = 0; k < n && n_counter < COUNTERS_MAX; k++)
        if (contradicts(claims, row, &claims->pairs[k], scope)) {
            size_t at = n_counter++;
            for (; at > 0 && counter[at - 1] > claims->pairs[k].row; at--)
                counter[at] = counter[at - 1];
            counter[at] = claims->pairs[k].row;
        }
    claims->items[claims->n] = (struct lineage_novelty_claim){
        .trial = trial, .claim = claim_text(claims->arena, t, i), .counter = counter, .n_counter = n_counter};
    return claims->items[claims->n++].claim != NULL;
}

/* Whether the text has a word that may begin a claim, so that most texts need not be taken apart. A word of TRIED begins one only
 * before "only". */
static bool may_claim(const char *text)
{
    for (const char *at = text, *end; *at; at = end) {
        for (end = at; (*end >= 'a' && *end <= 'z') || (*end >= 'A' && *end <= 'Z') || *end == '-'; end++)
            ;
        const char first = (char)(*at | 0x20);
        if (end > at && (first == 'o' || strchr("hwinuzf", first)) &&
            text_in(at, (size_t)(end - at), FIRST_WORDS UNTRIED " only "))
            return true;
        end += end == at;
    }
    return false;
}

static bool read_claims(struct claims *claims, size_t trial, struct idea_row *row, size_t before, size_t self)
{
    const char *texts[] = {row->idea.hypothesis, row_notes(row)};
    bool ok = true;
    for (size_t k = 0; ok && k < 2; k++) {
        if (!may_claim(texts[k]))
            continue;
        struct tokens t;
        size_t found = 0;
        if (!tokens_of_text(&t, texts[k]))
            return false;
        for (size_t i = 0; ok && i < t.n && found < 8; i++)
            if (claims_novelty(&t, i)) {
                ok = add_claim(claims, trial, row, before, self, &t, i);
                found++;
                /* At most one claim per sentence counts. */
                for (uint32_t sentence = t.items[i].sentence; i + 1 < t.n && t.items[i + 1].sentence == sentence;)
                    i++;
            }
        free(t.items);
    }
    return ok;
}

static enum lineage_status finish(struct lineage_novelty_list *list, struct claims *claims, bool ok, struct lineage_error *err)
{
    free(claims->pairs);
    list->items = ok ? arena_copy(claims->arena, claims->items, claims->n, sizeof *list->items) : NULL;
    ok = list->items != NULL;
    free(claims->items);
    list->n = ok ? claims->n : 0;
    list->memory = claims->arena;
    if (ok)
        return LINEAGE_OK;
    lineage_novelty_release(list);
    return store_no_memory(err);
}

static void reverse(struct lineage_novelty_claim *items, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++, n--) {
        const struct lineage_novelty_claim held = items[i];
        items[i] = items[n - 1];
        items[n - 1] = held;
    }
}

enum lineage_status lineage_ideas_claims(struct lineage_novelty_list *list, struct lineage_ideas *ideas, size_t newest,
                                         struct lineage_error *err)
{
    *list = (struct lineage_novelty_list){0};
    struct claims claims = {
        .ideas = ideas, .arena = calloc(1, sizeof *claims.arena), .pairs = calloc(PAIRS_MAX, sizeof *claims.pairs)};
    bool ok = claims.arena && claims.pairs && ideas->settled;
    size_t left = ideas->n;
    while (ok && left && (!newest || claims.n < newest)) {
        const size_t before = claims.n;
        left--;
        ok = read_claims(&claims, left, &ideas->rows[left], left, left);
        reverse(claims.items + before, claims.n - before);
    }
    reverse(claims.items, claims.n); /* from the newest trial first to the order of the log */
    list->unread = left;
    return finish(list, &claims, ok, err);
}

enum lineage_status lineage_ideas_claims_text(struct lineage_novelty_list *list, struct lineage_ideas *ideas, const char *text,
                                              struct lineage_error *err)
{
    *list = (struct lineage_novelty_list){0};
    struct claims claims = {
        .ideas = ideas, .arena = calloc(1, sizeof *claims.arena), .pairs = calloc(PAIRS_MAX, sizeof *claims.pairs)};
    SCOPED_ARENA arena = {0};
    RELEASED_BY(row_release) struct idea_row row = {.idea = {.exp_id = "", .hypothesis = text}, .is_text = true};
    bool ok = claims.arena && claims.pairs && ideas->settled && ideas_prepare_search(ideas) &&
              row_read_query(ideas, &row, &arena) && read_claims(&claims, SIZE_MAX, &row, ideas->n, SIZE_MAX);
    return finish(list, &claims, ok, err);
}

void lineage_novelty_release(struct lineage_novelty_list *list)
{
    if (list->memory)
        arena_release(list->memory);
    free(list->memory);
    *list = (struct lineage_novelty_list){0};
}
