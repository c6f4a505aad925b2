/* reading.c: reads which settings a trial's hypothesis changes, and which trials its texts mention. */
#include "ideas_internal.h"

static const char *text_of(struct arena *arena, const char *text, struct span span)
{
    return span.length ? arena_text(arena, text + span.at, span.length) : NULL;
}

static const char *name_of(struct arena *arena, const char *text, const struct stated *c)
{
    if (!c->prefix.length)
        return text_of(arena, text, c->name);
    char *name = arena_alloc(arena, c->prefix.length + c->name.length + 2, 1);
    if (!name)
        return NULL;
    memcpy(name, text + c->prefix.at, c->prefix.length);
    name[c->prefix.length] = ' ';
    memcpy(name + c->prefix.length + 1, text + c->name.at, c->name.length);
    return name;
}

bool says_again(const struct tokens *t)
{
    for (size_t i = 0; i < t->n && i < 60; i++)
        if (token_in(t, i,
                     " retry retried retrying rerun re-run resubmit resubmitted resubmission re-submit re-submission "
                     "fix fixed fixes fixing v2 v3 again restore restores restored reapply re-apply repeat "
                     "re-test retest crash crashed "))
            return true;
    return false;
}

/* Whether a change was made only to stay within a limit: "to stay within the eval budget" follows it. */
static bool for_budget(const struct tokens *t, size_t behind)
{
    size_t i = 0;
    while (i < t->n && t->items[i].at < behind)
        i++;
    bool purpose = false;
    for (size_t k = i; k < t->n && k < i + 9 && t->items[k].sentence == t->items[i].sentence; k++) {
        if (token_in(t, k, " clear fit stay avoid fix within under save "))
            purpose = true;
        if (purpose && token_in(t, k, " budget overrun limit timeout cap wall "))
            return true;
    }
    return false;
}

/* A value that is stated twice under one name counts as one change. */
static bool repeats(const struct stated *list, size_t i, const char *text)
{
    for (size_t k = 0; k < i; k++)
        if (list[k].score > 0 && list[k].name.length == list[i].name.length &&
            memcmp(text + list[k].name.at, text + list[i].name.at, list[i].name.length) == 0 &&
            list[k].to_value.present == list[i].to_value.present && list[k].to_value.value == list[i].to_value.value &&
            (list[i].to_value.present || list[k].to.length == list[i].to.length))
            return true;
    return false;
}

/* -0 and 0 are one value. */
static struct lineage_number unsigned_zero(struct lineage_number number)
{
    number.value += 0.0;
    return number;
}

/* A value with the unit behind it. *unit receives the unit alone. */
static struct span with_unit(struct span *unit, const struct tokens *t, struct span value)
{
    size_t i = 0;
    *unit = (struct span){value.at + value.length, 0};
    while (i < t->n && t->items[i].at < unit->at)
        i++;
    if (!value.length || !unit_at(t, i))
        return value;
    *unit = (struct span){t->items[i].at, t->items[i].length};
    return (struct span){value.at, unit->at + unit->length - value.at};
}

/* The opposite of a word that is true or false, as it is written; NULL for other values. */
static const char *opposite(const char *value)
{
    static const char *const pairs[][2] = {{"True", "False"}, {"true", "false"}, {"on", "off"}, {"yes", "no"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t k = 0; k < 2; k++)
            if (strcmp(value, pairs[i][k]) == 0)
                return pairs[i][1 - k];
    return NULL;
}

static bool read_changes(struct reading *reading, struct lineage_ideas *ideas, const struct tokens *t, struct arena *arena)
{
    const struct stated *chosen[LINEAGE_IDEAS_CHANGES];
    if (!ideas->candidates && !(ideas->candidates = malloc(STATED_MAX * sizeof *ideas->candidates)))
        return false;
    struct stated *list = ideas->candidates;
    size_t found = stated_candidates(list, t, row_is_metric, ideas), n = 0;
    for (size_t i = 0; i < found && n < LINEAGE_IDEAS_CHANGES; i++)
        if (list[i].score > 0 && !repeats(list, i, t->text))
            chosen[n++] = &list[i];
    struct read_change *changes = n ? arena_alloc(arena, n, sizeof *changes) : NULL;
    bool ok = changes || !n;
    for (size_t i = 0; ok && i < n; i++) {
        const struct stated *c = chosen[i];
        struct span from_unit, to_unit, from = with_unit(&from_unit, t, c->from), to = with_unit(&to_unit, t, c->to);
        double ratio;
        struct lineage_change *change = &changes[i].change;
        changes[i].budget = for_budget(t, c->to.at + c->to.length);
        *change = (struct lineage_change){.name = name_of(arena, t->text, c),
                                          .from = text_of(arena, t->text, from),
                                          .to = text_of(arena, t->text, to),
                                          .from_value = unsigned_zero(c->from_value),
                                          .to_value = unsigned_zero(c->to_value),
                                          .source = LINEAGE_CHANGE_STATED};
        const char *now = c->removed && !c->from.length && change->to ? opposite(change->to) : NULL;
        if (now) {
            change->from = change->to;
            change->to = now;
        }
        /* 512MB → 1GB is a rise: both numbers count in the unit of the new value. */
        if (units_agree(&ratio, t->text + from_unit.at, from_unit.length, t->text + to_unit.at, to_unit.length))
            change->from_value.value *= ratio;
        ok = change->name && change->to && (change->from || !c->from.length);
    }
    reading->changes = changes;
    reading->n_changes = n;
    return ok;
}

struct mentions {
    struct lineage_ideas *ideas;
    uint32_t numbers[LINEAGE_IDEAS_CITES];
    size_t n;
    bool ok;
};

static void add_mention(void *context, const char *id, size_t length)
{
    struct mentions *m = context;
    if (length >= LINEAGE_NAME_MAX || m->n == LINEAGE_IDEAS_CITES)
        return;
    m->numbers[m->n] = text_table_add(&m->ideas->shared, id, length);
    m->ok = m->ok && m->numbers[m->n++] != TEXT_NONE;
}

bool reading_make(struct reading *reading, struct lineage_ideas *ideas, const char *hypothesis, const char *notes,
                  struct arena *arena)
{
    struct mentions m = {.ideas = ideas, .ok = true};
    struct tokens t;
    *reading = (struct reading){0};
    if (!tokens_of_text(&t, hypothesis))
        return false;
    m.ok = read_changes(reading, ideas, &t, arena);
    citations_each(&t, add_mention, &m);
    free(t.items);
    reading->n_in_hypothesis = m.n;
    if (!m.ok || !tokens_of_text(&t, notes))
        return false;
    citations_each(&t, add_mention, &m);
    free(t.items);
    reading->mentions = arena_copy(arena, m.numbers, m.n, sizeof *m.numbers);
    reading->n_mentions = m.n;
    return m.ok && reading->mentions;
}
