/*
 * idea_terms.h: a dictionary of the words, numbers and names of a log, and texts as weighted sets of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text_table.h"

struct terms {
    struct text_table table; /* the texts of the terms, by their numbers */
    uint32_t n;
    uint32_t *df; /* [n] number of trials that contain the term */
    double *idf;  /* [n_weighed] what terms_idf returns, once terms_weigh was called */
    uint32_t n_weighed;
    size_t capacity;
    size_t n_rows;
};

#define TERM_NONE UINT32_MAX

/* Returns the number of a term. An unknown term gets a new number if `add` is true, else TERM_NONE. Also returns
 * TERM_NONE when out of memory (then terms->n is unchanged although add was true). */
uint32_t terms_find(struct terms *terms, const char *text, size_t length, bool add);
void terms_release(struct terms *terms);

/* The inverse document frequency of BM25: ln(1 + (N - df + 0.5) / (df + 0.5)). Unknown terms count as the rarest. */
double terms_idf(const struct terms *terms, uint32_t term);

/* Remembers the frequencies of all terms. Call it when df and n_rows are final. Returns false when out of memory. */
bool terms_weigh(struct terms *terms);

/* A term of a text with its weight. A text is an array of these, sorted by term, with each term once. */
struct weight {
    uint32_t term;
    float weight;
};
struct weights {
    struct weight *items;
    size_t n, capacity;
    bool failed;
};
void weights_add(struct weights *weights, uint32_t term, float weight); /* ignores TERM_NONE */
void weights_sort(struct weights *weights);                             /* also adds up the weights of equal terms */

/* The share of a's weight, by inverse document frequency, that is in terms which b has too: 0 to 1. */
double weights_share(const struct terms *terms, const struct weights *a, const struct weights *b);

/* The cosine of the two texts, weighted by squared inverse document frequency. */
double weights_cosine(const struct terms *terms, const struct weights *a, const struct weights *b);
