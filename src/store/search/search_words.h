/* search_words.h: converts texts and searches to the form that SQLite's FTS5 expects. */
#pragma once

#include "../format/arena.h"
#include "../internal.h"

/*
 * Appends the text in the form in which it is indexed: with blanks around each character of a script that has none
 * between words, and followed by the parts of its camelCase identifiers. Takes time in proportion to the length; any
 * bytes are accepted.
 */
void search_text(struct buf *out, const char *text);

/* The places where a search can look, in the order of the index's columns. */
enum search_place { SEARCH_EXP_ID, SEARCH_SPECIALIST, SEARCH_HYPOTHESIS, SEARCH_NOTES, SEARCH_REMARKS, SEARCH_PLACES };
extern const char *const search_places[SEARCH_PLACES];

/* A word to look for in a text, in lower case and without accents. */
struct search_word {
    char *text;
    bool prefix; /* words that begin so */
};

struct search_words {
    struct buf expression;      /* in the language of FTS5 */
    struct search_word *wanted; /* [n_wanted] words that a match may contain, for highlighting */
    size_t n_wanted;
};

/* Reads a search. Release *words also after a failure. LINEAGE_EINVAL with the position of the mistake. */
enum lineage_status search_words_parse(struct search_words *words, const char *search, struct lineage_error *err);
void search_words_release(struct search_words *words);
