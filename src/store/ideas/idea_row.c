/* idea_row.c: a trial of a set: its changes with their knobs, and the terms by which a search finds it. */
#include "ideas_internal.h"

const char *row_notes(const struct idea_row *row)
{
    return row->is_text ? "" : row->idea.hypothesis + strlen(row->idea.hypothesis) + 1;
}

bool row_is_metric(void *context, const char *name, size_t length)
{
    static const char *const names[] = {"core_metric", "val_bpb",  "delta_vs_best", "bpb", "delta",
                                        "Δ",           "score",    "accuracy",      "acc", "loss",
                                        "val_loss",    "mean_acc", "artifact_bytes"};
    const struct lineage_ideas *ideas = context;
    for (size_t i = 0; i < ideas->n_columns; i++)
        if (strlen(ideas->columns[i]) == length && memcmp(ideas->columns[i], name, length) == 0)
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

static int by_word(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Stores the words of a change's name, each once, as one text and as terms. */
bool row_name_knob(struct lineage_ideas *ideas, struct lineage_change *change, struct change_key *key, const char **ruled_by,
                   struct arena *arena, bool add)
{
    struct knob_words words;
    const char *list[CHANGE_WORDS];
    char knob[CHANGE_WORDS * (KNOB_WORD_MAX + 1)] = "", stem[KNOB_WORD_MAX];
    size_t length = 0;
    const char *ruled = knob_rule_name(ideas, change->name, &key->apart), *name = ruled ? ruled : change->name;
    if (ruled_by)
        *ruled_by = ruled;
    knob_words_split(&words, name, strlen(name));
    for (size_t i = 0; i < words.n; i++)
        list[i] = words.words[i];
    qsort(list, words.n, sizeof *list, by_word);
    key->n = 0;
    for (size_t i = 0; i < words.n; i++) {
        if (i && strcmp(list[i], list[i - 1]) == 0)
            continue;
        length += (size_t)snprintf(knob + length, sizeof knob - length, "%s%s", i ? " " : "", list[i]);
        word_stem(stem, list[i], strlen(list[i]));
        uint32_t term =
            add ? text_table_add(&ideas->terms, stem, strlen(stem)) : text_table_find(&ideas->terms, stem, strlen(stem));
        if (term != TEXT_NONE)
            key->words[key->n++] = term;
    }
    change->knob = arena_text(arena, knob, length);
    return change->knob != NULL;
}

bool row_make_reading(struct lineage_ideas *ideas, struct idea_row *row)
{
    struct reading r;
    struct row_change changes[LINEAGE_IDEAS_CHANGES];
    if (row->mentions)
        return true;
    arena_reset(&ideas->scratch);
    bool ok = reading_make(&r, ideas, row->idea.hypothesis, row_notes(row), &ideas->scratch);
    for (size_t i = 0; ok && i < r.n_changes; i++)
        ok = row_change_of(&changes[i], ideas, &r.changes[i].change, r.changes[i].budget);
    return ok && row_keep_mentions(ideas, row, r.mentions, r.n_mentions, r.n_in_hypothesis) &&
           row_keep_stated(ideas, row, changes, r.n_changes);
}

bool row_read_query(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena)
{
    struct reading r;
    struct row_search *search = row->search = calloc(1, sizeof *search);
    if (!search || !reading_make(&r, ideas, row->idea.hypothesis, "", arena))
        return false;
    search->changes = arena_alloc(arena, r.n_changes + 1, sizeof *search->changes);
    search->keys = arena_alloc(arena, r.n_changes + 1, sizeof *search->keys);
    if (!search->changes || !search->keys)
        return false;
    for (size_t i = 0; i < r.n_changes; i++) {
        search->changes[i] = r.changes[i].change;
        search->keys[i].budget = r.changes[i].budget;
        if (!row_name_knob(ideas, &search->changes[i], &search->keys[i], NULL, arena, false))
            return false;
    }
    row->idea.n_changes = r.n_changes;
    return true;
}

bool ideas_name_knob(struct lineage_ideas *ideas, uint32_t name)
{
    struct knob_name *named = &ideas->named[name];
    struct lineage_change change = {.name = ideas->names.entries[name].text};
    if (named->knob)
        return true;
    if (!row_name_knob(ideas, &change, &named->key, &named->ruled, &ideas->scratch, true))
        return false;
    named->number = text_table_add(&ideas->knobs, change.knob, strlen(change.knob));
    named->knob = named->number == TEXT_NONE ? NULL : ideas->knobs.entries[named->number].text;
    return named->knob != NULL;
}

bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row)
{
    bool ok = true;
    for (size_t i = 0; ok && i < row->idea.n_changes; i++)
        ok = ideas_name_knob(ideas, row->own[i].name);
    return ok;
}
