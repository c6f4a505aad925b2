/* reading.c: reads a trial's hypothesis and notes. */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idea_tokens.h"

/* ---- numbers the words of a set of ideas and remembers how each is split ---- */

static bool make_room(struct word_book *book)
{
    if (book->n < book->capacity)
        return true;
    uint32_t capacity = book->capacity ? 2 * book->capacity : 1024;
    struct word *words = capacity > book->capacity ? realloc(book->words, capacity * sizeof *words) : NULL;
    if (!words)
        return false;
    if (!book->n)
        words[book->n++] = (struct word){0};
    book->words = words;
    book->capacity = capacity;
    return true;
}

uint32_t word_book_number(struct word_book *book, const char *text, size_t length)
{
    uint32_t number = text_table_find(&book->texts, text, length);
    if (number != TEXT_NONE)
        return number + 1;
    number = make_room(book) ? text_table_add(&book->texts, text, length) : TEXT_NONE;
    if (number == TEXT_NONE)
        return 0;
    book->words[book->n] = (struct word){0};
    return book->n++;
}

const struct text_entry *word_book_text(const struct word_book *book, uint32_t number)
{
    return &book->texts.entries[number - 1];
}

struct word *word_book_split(struct word_book *book, uint32_t number)
{
    struct word *word = &book->words[number];
    static char no_parts[1][KNOB_WORD_MAX];
    struct knob_words words;
    const struct text_entry *text = word_book_text(book, number);
    if (text->text[0] == '#' || text->text[0] == '^')
        word->parts = no_parts;
    if (word->parts)
        return word;
    knob_words_split(&words, text->text, text->length);
    char(*parts)[KNOB_WORD_MAX] = arena_alloc(&book->arena, words.n + 1, sizeof *parts);
    if (!parts)
        return NULL;
    memcpy(parts, words.words, words.n * sizeof *parts);
    word->n_parts = (uint16_t)words.n;
    word->parts = parts;
    return word;
}

void word_book_release(struct word_book *book)
{
    text_table_release(&book->texts);
    free(book->words);
    arena_release(&book->arena);
    *book = (struct word_book){0};
}

enum { NOTES_TOKENS = 160 };

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

static bool again_words(const struct tokens *t)
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

static bool read_changes(struct reading *reading, struct reader *r, const struct tokens *t, struct arena *arena)
{
    const struct stated *chosen[LINEAGE_IDEAS_CHANGES];
    size_t found = stated_candidates(r->found, t, r->is_metric, r->context), n = 0;
    for (size_t i = 0; i < found && n < LINEAGE_IDEAS_CHANGES; i++)
        if (r->found[i].score > 0 && !repeats(r->found, i, t->text))
            chosen[n++] = &r->found[i];
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
    reading->n_changes = (uint32_t)n;
    return ok;
}

static void add_word(struct reader *r, uint32_t number)
{
    if (!number && (!r->n_words || !r->words[r->n_words - 1]))
        return; /* one separator is enough */
    if (!LIST_ROOM(r->words, r->n_words, r->words_capacity)) {
        r->failed = true;
        return;
    }
    r->words[r->n_words++] = number;
}

static void add_text(struct reader *r, const char *text, size_t length)
{
    uint32_t number = word_book_number(r->book, text, length);
    if (number)
        add_word(r, number);
    else
        r->failed = true;
}

static void read_word(struct reader *r, const struct tokens *t, size_t i)
{
    const struct token *token = &t->items[i];
    char text[40];
    if (token->kind == TOKEN_WORD) {
        add_text(r, t->text + token->at, token->length);
        return;
    }
    add_word(r, 0);
    if (token->kind == TOKEN_NUMBER && token->has_value) {
        int length = snprintf(text, sizeof text, "#%.5g", token->value);
        add_text(r, text, (size_t)length);
    }
}

static void read_citation(void *context, const char *id, size_t length)
{
    struct reader *r = context;
    char text[LINEAGE_NAME_MAX + 2] = "^";
    if (length >= LINEAGE_NAME_MAX || r->n_cites == LINEAGE_IDEAS_CITES)
        return;
    memcpy(text + 1, id, length);
    uint32_t number = word_book_number(r->book, text, length + 1);
    r->failed = r->failed || !number;
    r->cites[r->n_cites++] = number;
}

static bool split(struct tokens *t, const char *text)
{
    size_t length = strlen(text);
    return tokens_read(t, text, length < LINEAGE_IDEAS_TEXT ? length : LINEAGE_IDEAS_TEXT);
}

static bool read_hypothesis(struct reading *reading, struct reader *r, const char *hypothesis, struct arena *arena)
{
    struct tokens t;
    if (!split(&t, hypothesis))
        return false;
    bool ok = read_changes(reading, r, &t, arena);
    for (size_t i = 0; i < t.n && !r->failed; i++) {
        read_word(r, &t, i);
        if (t.items[i].clause == 0)
            reading->n_head = (uint32_t)r->n_words;
    }
    reading->n_hypothesis = (uint32_t)r->n_words;
    citations_each(&t, read_citation, r);
    reading->n_cites_hypothesis = (uint32_t)r->n_cites;
    reading->again = again_words(&t);
    free(t.items);
    return ok && !r->failed;
}

static bool read_notes(struct reading *reading, struct reader *r, const char *notes)
{
    struct tokens t;
    if (!split(&t, notes))
        return false;
    reading->n_searched = (uint32_t)r->n_words;
    for (size_t i = 0; i < t.n && !r->failed; i++) {
        read_word(r, &t, i);
        if (i < NOTES_TOKENS)
            reading->n_searched = (uint32_t)r->n_words;
    }
    reading->n_notes = (uint32_t)r->n_words;
    citations_each(&t, read_citation, r);
    free(t.items);
    return !r->failed;
}

static const uint32_t *keep(struct arena *arena, const uint32_t *numbers, size_t n)
{
    uint32_t *kept = arena_alloc(arena, n + 1, sizeof *kept);
    if (kept && n)
        memcpy(kept, numbers, n * sizeof *kept);
    return kept;
}

bool reading_make(struct reading *reading, struct reader *r, const char *hypothesis, const char *notes, struct arena *arena)
{
    *reading = (struct reading){0};
    r->n_words = r->n_cites = 0;
    r->failed = false;
    if (!r->found)
        r->found = malloc(STATED_MAX * sizeof *r->found);
    if (!r->cites)
        r->cites = malloc(LINEAGE_IDEAS_CITES * sizeof *r->cites);
    if (!r->found || !r->cites || !read_hypothesis(reading, r, hypothesis, arena) || !read_notes(reading, r, notes))
        return false;
    reading->words = keep(arena, r->words, r->n_words);
    reading->n_words = (uint32_t)r->n_words;
    reading->cites = keep(arena, r->cites, r->n_cites);
    reading->n_cites = (uint32_t)r->n_cites;
    reading->worded = true;
    return reading->words && reading->cites;
}

void reader_release(struct reader *r)
{
    free(r->found);
    free(r->words);
    free(r->cites);
    *r = (struct reader){0};
}
