/* markers.h: the words of a recipe's algorithm.episodes.markers, to be searched for in a text of tokens. */
#ifndef TRAINER_MARKERS_H
#define TRAINER_MARKERS_H

#include <trainer/env.h>

/* Every token of a text has a blank on either side, and so has every word: the word "S" must not match in "OBS". */
enum { MARKERS_MAX = 8, MARKER_WORD = 16 };

struct markers {
    char word[MARKERS_MAX][MARKER_WORD + 2]; /* " S ", " ANS ", .. */
    size_t n;
};

/* Splits "S,ANS" at its commas. False for more than MARKERS_MAX words, an empty word or one that is too long. */
bool markers_read(struct markers *markers, const char *text);

/* The first word that is not a token of the world, or NULL. */
const char *markers_unknown(const struct markers *markers, const struct trainer_world *world);

#endif
