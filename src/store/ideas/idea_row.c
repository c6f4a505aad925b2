/* idea_row.c: reads one text: the changes that it states, and the terms by which a search finds it. */
#include "ideas_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEAK_WORDS                                                                                                   \
    " the a an and or of to in on at for with by from as is are be was were it its this that these those which into "  \
    "than then so but not no we our their they can may will would should could has have had do does did only also "    \
    "more most less each per every all any both while where when if because via using use used between under over "   \
    "after before during instead same other such s t "

/* Weights of the parts of a row's text. */
static const float TEXT_WEIGHT = 1, HEAD_WEIGHT = 1, PART_WEIGHT = 0.4f, NOTES_WEIGHT = 0.15f, KNOB_WEIGHT = 1.5f,
                   SETTING_WEIGHT = 2, CITES_WEIGHT = 1;

enum { NOTES_TOKENS = 160 };

static bool is_metric(void *context, const char *name, size_t length)
{
    static const char *const names[] = {"core_metric", "val_bpb", "delta_vs_best", "bpb", "delta", "Δ", "score",
                                        "accuracy", "acc", "loss", "val_loss", "mean_acc", "artifact_bytes"};
    const struct lineage_ideas *ideas = context;
    for (size_t i = 0; i < ideas->n_columns; i++)
        if (strlen(ideas->columns[i]) == length && memcmp(ideas->columns[i], name, length) == 0)
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

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
        if (token_in(t, i, " retry retried retrying rerun re-run resubmit resubmitted resubmission re-submit re-submission "
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

static uint32_t clause_at(const struct tokens *t, size_t at)
{
    uint32_t clause = 0;
    for (size_t i = 0; i < t->n && t->items[i].at <= at; i++)
        clause = t->items[i].clause;
    return clause;
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

bool row_read_changes(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena)
{
    struct tokens t;
    const char *text = row->idea.hypothesis;
    size_t length = strlen(text);
    struct stated *found = malloc(STATED_MAX * sizeof *found);
    if (!found || !tokens_read(&t, text, length < LINEAGE_IDEAS_TEXT ? length : LINEAGE_IDEAS_TEXT)) {
        free(found);
        return false;
    }
    bool ok = true;
    size_t n = stated_candidates(found, &t, is_metric, ideas), kept = 0;
    row->first_change_clause = UINT32_MAX;
    row->changes = arena_alloc(arena, LINEAGE_IDEAS_CHANGES, sizeof *row->changes);
    row->keys = arena_alloc(arena, LINEAGE_IDEAS_CHANGES, sizeof *row->keys);
    ok = row->changes && row->keys;
    for (size_t i = 0; ok && i < n && kept < LINEAGE_IDEAS_CHANGES; i++) {
        const struct stated *c = &found[i];
        if (c->score <= 0 || repeats(found, i, text))
            continue;
        row->changes[kept] = (struct lineage_change){.name = name_of(arena, text, c),
                                                     .from = text_of(arena, text, c->from),
                                                     .to = text_of(arena, text, c->to),
                                                     .from_value = c->from_value,
                                                     .to_value = c->to_value,
                                                     .source = LINEAGE_CHANGE_STATED};
        if (!kept)
            row->first_change_clause = clause_at(&t, c->to.at);
        row->keys[kept].budget = for_budget(&t, c->to.at + c->to.length);
        ok = row->changes[kept].name && row->changes[kept].to;
        kept++;
    }
    row->idea.changes = row->changes;
    row->idea.n_changes = kept;
    row->again = again_words(&t);
    free(found);
    free(t.items);
    return ok;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Stores the words of a change's name, with abbreviations expanded, as one text and as terms. */
static bool name_key(struct lineage_ideas *ideas, struct lineage_change *change, struct change_key *key,
                     struct arena *arena, bool add)
{
    struct knob_words words, longer;
    const char *list[CHANGE_WORDS];
    char copy[CHANGE_WORDS][KNOB_WORD_MAX], knob[CHANGE_WORDS * (KNOB_WORD_MAX + 1)] = "", stem[KNOB_WORD_MAX];
    size_t n = 0, length = 0;
    knob_words_split(&words, change->name, strlen(change->name));
    for (size_t i = 0; i < words.n; i++) {
        const char *meaning = short_word_meaning(ideas, words.words[i]);
        const char *text = meaning ? meaning : words.words[i];
        knob_words_split(&longer, text, strlen(text));
        for (size_t k = 0; k < longer.n && n < CHANGE_WORDS; k++) {
            bool there = false;
            for (size_t j = 0; j < n && !there; j++)
                there = strcmp(copy[j], longer.words[k]) == 0;
            if (!there)
                memcpy(copy[n++], longer.words[k], KNOB_WORD_MAX);
        }
    }
    for (size_t i = 0; i < n; i++)
        list[i] = copy[i];
    qsort(list, n, sizeof *list, by_word);
    key->n = 0;
    for (size_t i = 0; i < n; i++) {
        length += (size_t)snprintf(knob + length, sizeof knob - length, "%s%s", i ? " " : "", list[i]);
        word_stem(stem, list[i], strlen(list[i]));
        uint32_t term = terms_find(&ideas->terms, stem, strlen(stem), add);
        if (term != TERM_NONE)
            key->words[key->n++] = term;
    }
    change->knob = arena_text(arena, knob, length);
    if (change->knob && !add)
        change->knob = knob_merged(ideas, change->knob);
    return change->knob != NULL;
}

struct reading {
    struct lineage_ideas *ideas;
    struct idea_row *row;
    bool add;
    float weight; /* weight of the text that is being read */
    const struct tokens *t;
};

static void term(struct reading *r, struct weights *w, const char *text, size_t length, float weight)
{
    weights_add(w, terms_find(&r->ideas->terms, text, length, r->add), weight);
}

/* The terms by which a search finds a word of prose: its parts, with abbreviations expanded, and an identifier as a
 * whole. Words occur many times, so each is split only once. */
static const struct word_terms *take_apart(struct reading *r, const char *text, size_t length, struct word_terms *spare)
{
    struct lineage_ideas *ideas = r->ideas;
    struct word_terms *found = word_terms_find(ideas, text, length);
    struct knob_words words, longer;
    char stem[KNOB_WORD_MAX], whole[LONGEST_IDENTIFIER];
    if (found)
        return found;
    if (!(found = r->add ? word_terms_add(ideas, text, length) : spare))
        return NULL;
    found->n = 0;
    found->whole = TERM_NONE;
    knob_words_split(&words, text, length);
    for (size_t k = 0; k < words.n; k++) {
        const char *meaning = short_word_meaning(ideas, words.words[k]);
        const char *full = meaning ? meaning : words.words[k];
        knob_words_split(&longer, full, strlen(full));
        for (size_t j = 0; j < longer.n && found->n < WORD_TERMS_MAX; j++) {
            word_stem(stem, longer.words[j], strlen(longer.words[j]));
            found->parts[found->n++] = terms_find(&ideas->terms, stem, strlen(stem), r->add);
        }
    }
    found->compound = words.n > 1;
    if (words.n > 1 && length < sizeof whole) {
        for (size_t k = 0; k < length; k++)
            whole[k] = text[k] >= 'A' && text[k] <= 'Z' ? (char)(text[k] | 0x20) : text[k];
        found->whole = terms_find(&ideas->terms, whole, length, r->add);
    }
    return found;
}

static bool read_word(struct reading *r, size_t i, bool hypothesis, bool head)
{
    const struct token *token = &r->t->items[i];
    float weight = r->weight + (head ? HEAD_WEIGHT : 0);
    struct word_terms spare;
    if (token_in(r->t, i, WEAK_WORDS))
        return true;
    const struct word_terms *word = take_apart(r, r->t->text + token->at, token->length, &spare);
    for (size_t k = 0; word && k < word->n; k++) {
        weights_add(&r->row->terms, word->parts[k], word->compound ? weight * PART_WEIGHT : weight);
        if (hypothesis)
            weights_add(&r->row->text, word->parts[k], 1);
        if (head)
            weights_add(&r->row->head, word->parts[k], 1);
    }
    if (word)
        weights_add(&r->row->terms, word->whole, weight);
    return word != NULL;
}

static void read_number(struct reading *r, size_t i, bool hypothesis, bool head)
{
    const struct token *token = &r->t->items[i];
    char text[40];
    if (!token->has_value)
        return;
    int length = snprintf(text, sizeof text, "#%.5g", token->value);
    term(r, &r->row->terms, text, (size_t)length, r->weight);
    if (hypothesis)
        term(r, &r->row->text, text, (size_t)length, 1);
    if (head) {
        term(r, &r->row->head, text, (size_t)length, 1);
        term(r, &r->row->head_numbers, text, (size_t)length, 1);
    }
}

static void read_citation(void *context, const char *id, size_t length)
{
    struct reading *r = context;
    char text[LINEAGE_NAME_MAX + 2] = "^";
    if (length >= LINEAGE_NAME_MAX)
        return;
    memcpy(text + 1, id, length);
    term(r, &r->row->terms, text, length + 1, CITES_WEIGHT * r->weight);
}

/* The headline is the first clause; a title of few words says little, so the clause after it belongs to the headline as
 * well, unless the title states a change. */
static uint32_t last_head_clause(const struct tokens *t, const struct idea_row *row)
{
    if (!t->n || row->first_change_clause == 0)
        return 0;
    return t->items[t->n > 8 ? 8 : t->n - 1].clause;
}

static bool read_text(struct reading *r, const char *text, float weight, bool hypothesis)
{
    struct tokens t;
    size_t length = strlen(text);
    if (!tokens_read(&t, text, length < LINEAGE_IDEAS_TEXT ? length : LINEAGE_IDEAS_TEXT))
        return false;
    r->t = &t;
    r->weight = weight;
    uint32_t head = hypothesis ? last_head_clause(&t, r->row) : 0;
    bool ok = true;
    for (size_t i = 0; ok && i < t.n && (hypothesis || i < NOTES_TOKENS); i++)
        if (t.items[i].kind == TOKEN_WORD)
            ok = read_word(r, i, hypothesis, hypothesis && t.items[i].clause <= head);
        else if (t.items[i].kind == TOKEN_NUMBER)
            read_number(r, i, hypothesis, hypothesis && t.items[i].clause <= head);
    if (hypothesis)
        citations_each(&t, read_citation, r);
    free(t.items);
    return ok;
}

static void read_changes(struct reading *r)
{
    char text[CHANGE_WORDS * (KNOB_WORD_MAX + 1) + 48];
    for (size_t i = 0; i < r->row->idea.n_changes; i++) {
        const struct lineage_change *c = &r->row->changes[i];
        int length = snprintf(text, sizeof text, "=%s", c->knob);
        term(r, &r->row->terms, text, (size_t)length, KNOB_WEIGHT);
        if (c->to_value.present) {
            length = snprintf(text, sizeof text, "=%s:%.5g", c->knob, c->to_value.value);
            term(r, &r->row->terms, text, (size_t)length, SETTING_WEIGHT);
        }
    }
}

bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena, bool add)
{
    for (size_t i = 0; i < row->idea.n_changes; i++)
        if (!name_key(ideas, &row->changes[i], &row->keys[i], arena, add))
            return false;
    return true;
}

bool row_read_terms(struct lineage_ideas *ideas, struct idea_row *row, bool add)
{
    struct reading r = {.ideas = ideas, .row = row, .add = add};
    if (!read_text(&r, row->idea.hypothesis, TEXT_WEIGHT, true) || !read_text(&r, row->notes, NOTES_WEIGHT, false))
        return false;
    read_changes(&r);
    if (row->idea.exp_id && *row->idea.exp_id) {
        r.weight = 1;
        read_citation(&r, row->idea.exp_id, strlen(row->idea.exp_id));
    }
    weights_sort(&row->terms);
    weights_sort(&row->text);
    weights_sort(&row->head);
    weights_sort(&row->head_numbers);
    row->length = 0;
    for (size_t i = 0; i < row->terms.n; i++)
        row->length += (double)row->terms.items[i].weight;
    return !row->terms.failed && !row->text.failed && !row->head.failed && !row->head_numbers.failed;
}

void row_release(struct idea_row *row)
{
    free(row->terms.items);
    free(row->text.items);
    free(row->head.items);
    free(row->head_numbers.items);
}
