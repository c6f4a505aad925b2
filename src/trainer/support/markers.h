/* markers.h: parses the words of a recipe's algorithm.episodes.markers, which are searched for in a text of tokens. */
#pragma once

#include <trainer/env.h>

/* Tokens of a text and marker words have a blank on both sides, so that the word "S" does not match in "OBS". */
enum { MARKERS_MAX = 8, MARKER_WORD = 16 };

struct markers {
    char word[MARKERS_MAX][MARKER_WORD + 2]; /* " S ", " ANS ", .. */
    size_t n;
};

/*
 * Splits "S,ANS" at its commas. Returns false for more than MARKERS_MAX words, an empty word or a word that is too
 * long.
 */
bool markers_read(struct markers *markers, const char *text);

/* Returns the first word that is not a token of the world, or NULL. */
const char *markers_unknown(const struct markers *markers, const struct trainer_world *world);
