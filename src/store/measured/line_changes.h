/* line_changes.h: which lines of two texts differ. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Sets removed[i] for each line of `from` and added[i] for each line of `to` that has no counterpart; both are new
 * arrays, one entry per line, that the caller frees. A last line without a line end counts as a line.
 * Finds the shortest difference, as diff does, if it has at most about a thousand lines. For a longer one, lines are
 * matched wherever they are. Returns false if memory is exhausted.
 */
struct line_changes {
    bool *removed, *added;
    size_t n_removed, n_added; /* how many are set */
    size_t from_lines, to_lines;
};
bool line_changes_find(struct line_changes *changes, const char *from, size_t from_length, const char *to, size_t to_length);
void line_changes_release(struct line_changes *changes);
