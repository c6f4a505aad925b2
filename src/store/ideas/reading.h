/*
 * reading.h: what one trial's texts say, read once and without regard to other trials.
 *
 * A reading depends on the two texts and on the names of the log's columns alone, so it stays valid for ever: lineage.db
 * keeps most of it (ideas_cache.c). What other trials decide, such as the meaning of abbreviations, is found from the readings
 * of all trials when a set is settled.
 */
#pragma once

#include <lineage/ideas.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stated.h"
#include "../format/arena.h"
#include "knob_words.h"
#include "text_table.h"

/* Raise it whenever the same texts may give another reading: after a change of idea_tokens.c, stated*.c, citations.c,
 * quantity.c, reading.c or row_is_metric. A test of lineage_ideas fails if that was forgotten. */
#define READING_VERSION 9

/* A change that the hypothesis states. */
struct read_change {
    struct lineage_change change; /* without its knob */
    bool budget; /* made only to stay within a limit, so not part of the idea */
};

struct reading {
    /* Numbers of words in the book of the set, 0 where a number, a mark or an arrow separates them: first those of the
     * hypothesis, then those of the notes, then those of the names of its changes. */
    const uint32_t *words;
    const uint32_t *cites;             /* [n_cites] mentioned trials as words of the book, first those of the hypothesis */
    const struct read_change *changes; /* [n_changes] */
    uint32_t n_head;                   /* the first words, which are the headline */
    uint32_t n_hypothesis;             /* end of the hypothesis */
    uint32_t n_searched;               /* end of the part of the notes that a search looks at */
    uint32_t n_notes;                  /* end of the notes */
    uint32_t n_words;
    uint32_t n_changes;
    uint32_t n_cites, n_cites_hypothesis;
    bool worded; /* the words are here: lineage.db keeps changes and mentions alone */
    bool again; /* the text says that it repeats a trial: retry, resubmit, fix */
};

/* Scratch memory for reading many texts. A zeroed reader is ready; release it at the end. */
struct reader {
    struct word_book *book;
    stated_is_metric *is_metric; /* see stated.h */
    void *context;
    struct stated *found; /* [STATED_MAX] */
    uint32_t *words, *cites;
    size_t n_words, words_capacity, n_cites;
    bool failed;
};

/* Reads a trial's texts. The arena owns the reading. Returns false when out of memory. */
bool reading_make(struct reading *reading, struct reader *reader, const char *hypothesis, const char *notes, struct arena *arena);
void reader_release(struct reader *reader);

/* ---- the words of a set of ideas, each with a number, and what follows from a word alone.
 *
 * Texts are kept as numbers of words, so that a word is split and looked up once, however many trials use it. Words are
 * told apart by their bytes. Numbers written in a text are words that begin with #, in one spelling ("#0.005"), and
 * mentioned trials are words that begin with ^ ("^588"); no word of a text begins with either.
 */

enum { WORD_TERMS_MAX = 12 };

/* The terms by which a search finds a word. */
struct word_terms {
    uint32_t whole; /* the compound as one term, or TERM_NONE */
    uint16_t n;
    bool compound;
    uint32_t parts[WORD_TERMS_MAX]; /* [n]; the terms of a word of the book have room for n alone */
};

struct word {
    char (*parts)[KNOB_WORD_MAX];   /* [n_parts] as knob_words_split has them; NULL until word_book_split */
    struct word_terms *terms;       /* see idea_row.c; NULL until they are needed */
    uint16_t n_parts;
};

struct word_book {
    struct text_table texts; /* the text of word i is entry i - 1 */
    struct word *words;      /* [n]; words[0] is not used: the number 0 separates words */
    uint32_t n, capacity;
    struct arena arena;
};

/* Returns the number of a word, a new one if it is not in the book; 0 when out of memory. */
uint32_t word_book_number(struct word_book *book, const char *text, size_t length);

/* The text of a word, whose number is not 0. */
const struct text_entry *word_book_text(const struct word_book *book, uint32_t number);

/* Splits a word into its parts, if that was not done before. The result is valid until the next new word; NULL when out
 * of memory. */
struct word *word_book_split(struct word_book *book, uint32_t number);

void word_book_release(struct word_book *book);
