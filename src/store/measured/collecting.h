/* collecting.h: puts together the answer of a measurement. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <lineage/measured.h>

#include "../fail.h"
#include "literals.h"

struct collecting {
    struct arena arena; /* owns everything that the answer points at */
    struct lineage_measured_change *changes;
    size_t n_changes, changes_capacity;
    struct lineage_measured_lines *code;
    size_t n_code, code_capacity;
    bool incomplete, failed; /* failed: out of memory */
};

/* One side of a comparison of files. */
struct file_text {
    const char *text;
    size_t length;
};

/* Adds a change. Texts are copied. */
void collect_change(struct collecting *c, const struct lineage_measured_change *change);

/* Adds the changed lines of a file, with heading NULL, or of one heading in it, behind its file. */
void collect_code(struct collecting *c, const char *file, const char *heading, size_t added, size_t removed,
                  enum lineage_lines_kind kind);

/* Compares two versions of a file that are texts: its literals and its lines. A side that does not exist has NULL as its
 * text; then only lines are counted, because everything in a new file is new. */
void collect_file(struct collecting *c, const char *path, const struct file_text *from, const struct file_text *to);

/* Reports the literals that differ between two sets as changes of a file. */
void collect_literals(struct collecting *c, const char *path, struct literal_set *from, struct literal_set *to);

/* Moves what was collected into the answer. Releases everything and returns LINEAGE_ENOMEM if memory was exhausted. */
enum lineage_status collect_finish(struct collecting *c, struct lineage_measured *measured, struct lineage_error *err);

/* ---- the two sources of files ---- */

/* Reads a regular file of at most `max` bytes to the end of out, following no link. Returns false if there is none. */
bool read_regular(struct buf *out, int dir_fd, const char *name, size_t max);

/* Compares two directories, which stay open. A side that does not exist is -1. */
void collect_trees(struct collecting *c, int from_fd, int to_fd);

/* Reads a unified diff. */
void collect_diff(struct collecting *c, const char *diff, size_t length);

/* Compares two commands, each an array of words. */
void collect_commands(struct collecting *c, const char *const *from, size_t n_from, const char *const *to, size_t n_to);

/* ---- which lines of two texts differ ---- */

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

/* Compares the trial with that position in the log of the last sync. *settled is false if files that its row or
 * an ancestor's row names are not here now, so that the answer may be another one later. */
enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err);
