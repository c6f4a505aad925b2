/*
 * word_book.h: the words of a set of ideas, each with a number, and what follows from a word alone.
 *
 * Texts are kept as numbers of words, so that a word is split and looked up once, however many trials use it. Words are
 * told apart by their bytes. Numbers written in a text are words that begin with #, in one spelling ("#0.005"), and
 * mentioned trials are words that begin with ^ ("^588"); no word of a text begins with either.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../format/arena.h"
#include "knob_words.h"
#include "text_table.h"

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
    uint32_t saved;                 /* the word's id in lineage.db, 0 if it has none; see reading_cache.c */
    uint16_t n_parts;
    uint8_t claims;                 /* whether a claim of novelty may begin with it; see novelty.c */
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
