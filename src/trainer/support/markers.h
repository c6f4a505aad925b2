/* markers.h: the tokens of a recipe's algorithm.episodes.markers, as words of a text of tokens. */
#ifndef TRAINER_MARKERS_H
#define TRAINER_MARKERS_H

#include <trainer/env.h>

/*
 * Every token of a text stands between blanks, so that the S of "S" is not that of "OBS"; words have
 * theirs as well.
 */
enum { MARKERS_MAX = 8, MARKER_WORD = 16 };

struct markers {
    char word[MARKERS_MAX][MARKER_WORD + 2]; /* " S ", " ANS ", .. */
    size_t n;
};

/* Split "S,ANS" at its commas; false with more than MARKERS_MAX words, an empty or a long one. */
bool markers_read(struct markers *markers, const char *text);

/* The first word that is no token of a world, or NULL. */
const char *markers_unknown(const struct markers *markers, const struct trainer_world *world);

#endif
