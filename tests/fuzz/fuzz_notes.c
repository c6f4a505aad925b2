/*
 * fuzz_notes.c: parses arbitrary text as notes. If the parsed notes are composed to text again, that text must parse
 * to the same notes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/render.h>
#include <lineage/text.h>

#include "format/row.h"
#include "fuzz.h"

static void compose_and_compare(const struct lineage_trial *trial)
{
    struct lineage_trial bare = *trial, again = {0};
    struct arena arena = {0};
    struct buf scratch = {0};
    const char *notes;
    bare.notes = "";
    fuzz_assert(row_compose_notes(&notes, &bare, &scratch, &arena, NULL) == LINEAGE_OK);
    fuzz_assert(lineage_notes_parse(&again, notes, NULL) == LINEAGE_OK);
    fuzz_assert(again.n_params == trial->n_params && again.n_turns == trial->n_turns);
    for (size_t i = 0; i < again.n_params; i++) {
        fuzz_assert(strcmp(again.params[i].name, trial->params[i].name) == 0);
        const char *text = trial->params[i].text, *text_again = again.params[i].text;
        fuzz_assert(again.params[i].value == trial->params[i].value || again.params[i].value - again.params[i].value != 0);
        fuzz_assert(text ? text_again && strcmp(text, text_again) == 0 : !text_again);
    }
    lineage_trial_release(&again);
    buf_release(&scratch);
    arena_release(&arena);
}

/*
 * Checks that a parsed link, when written, parses to the same link again, and that a name cannot end its part of the
 * link early.
 */
static void check_link(const char *notes)
{
    struct lineage_night_link link, again;
    char piece[LINEAGE_NIGHT_LINK_MAX], rest[LINEAGE_NIGHT_LINK_MAX + 16];
    lineage_night_link_format(piece, notes, notes, 7);
    fuzz_assert(!strchr(piece, ';') && lineage_night_link_parse(&link, piece) && link.key == 7);
    if (!lineage_night_link_parse(&link, notes))
        return;
    lineage_night_link_format(piece, link.sweep, link.trial, link.key);
    snprintf(rest, sizeof rest, "alpha=1; %s;", piece);
    fuzz_assert(lineage_night_link_parse(&again, rest) && again.key == link.key);
    lineage_night_link_format(rest, again.sweep, again.trial, again.key);
    fuzz_assert(strcmp(piece, rest) == 0);
}

static bool all_finite(const struct lineage_trial *trial)
{
    for (size_t i = 0; i < trial->n_params; i++)
        if (!trial->params[i].text && trial->params[i].value - trial->params[i].value != 0)
            return false;
    for (size_t i = 0; i < trial->n_turns; i++)
        if (trial->turns[i].mean - trial->turns[i].mean != 0 || trial->turns[i].std - trial->turns[i].std != 0)
            return false;
    return true;
}

/* Checks that the output contains no line end, control character, pipe or backtick. */
static void check_safe(const char *text, size_t length)
{
    char *safe = lineage_text_safe(text, length, 40);
    for (const char *c = safe; *c; c++)
        fuzz_assert((unsigned char)*c >= 0x20 && *c != '|' && *c != '`' && *c != 0x7f);
    fuzz_assert(lineage_text_is_utf8(safe, strlen(safe)));
    lineage_free(safe);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lineage_trial trial = {0};
    char *notes = malloc(size + 1);
    memcpy(notes, data, size);
    notes[size] = '\0';
    check_safe(notes, size);
    check_link(notes);
    const size_t runs = lineage_score_runs(notes);
    fuzz_assert(runs >= 1 && runs <= 100000);
    fuzz_assert(lineage_notes_parse(&trial, notes, NULL) == LINEAGE_OK);
    for (size_t i = 0; i < trial.n_params; i++)
        fuzz_assert(lineage_param_name_ok(trial.params[i].name) &&
                    (!trial.params[i].text || lineage_param_text_ok(trial.params[i].text)));
    if (all_finite(&trial))
        compose_and_compare(&trial);
    lineage_trial_release(&trial);
    free(notes);
    return 0;
}
