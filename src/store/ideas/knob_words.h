/*
 * knob_words.h: names of settings and words of prose in one spelling.
 *
 * "muon_WD-mlp", "MuonWdMlp" and "opt.muon_wd_mlp" are the words muon, wd, mlp; β₂, BETA2 and beta_2 are beta2.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { KNOB_WORDS = 12, KNOB_WORD_MAX = 32, KNOB_TEXT_MAX = KNOB_WORDS * (KNOB_WORD_MAX + 1) };

struct knob_words {
    char words[KNOB_WORDS][KNOB_WORD_MAX];
    size_t n;
};

/*
 * The words of a name in its order: lower case, split at everything that is neither letter nor digit and where case
 * changes, Greek letters spelled out, a lone number joined to the word before it, plural s removed, articles and
 * prepositions left out. Of a dotted name only what follows the last dot counts. Longer names are cut to KNOB_WORDS.
 */
void knob_words_split(struct knob_words *words, const char *name, size_t length);

/* The words of a name in alphabetic order, each once, and joined by blanks in out. Returns the length of that text. */
size_t knob_words_sort(char out[KNOB_TEXT_MAX], struct knob_words *words, const char *name);

/* The stem of a word of prose in lower case: "clipping", "clips" and "clipped" give "clip". out holds KNOB_WORD_MAX. */
void word_stem(char *out, const char *word, size_t length);
