/* collecting.h: puts together the answer of a measurement. */
#pragma once

#include <lineage/measured.h>

#include "../fail.h"
#include "../format/arena.h"

struct literal_set;

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

/* Adds the changed lines of a file, with heading NULL, or of one heading in it, behind its file. */
void collect_code(struct collecting *c, const char *file, const char *heading, size_t added, size_t removed,
                  enum lineage_lines_kind kind);

/* Reports the literals that differ between two sets as changes of a file. */
void collect_literals(struct collecting *c, const char *path, struct literal_set *from, struct literal_set *to);

/* Moves what was collected into the answer. Releases everything and returns LINEAGE_ENOMEM if memory was exhausted. */
enum lineage_status collect_finish(struct collecting *c, struct lineage_measured *measured, struct lineage_error *err);

/* ---- what is compared ---- */

/* Puts a mark for each line of two texts in their order: ' ' for one that both have, '-' and '+' for one that only `from` or only
 * `to` has. A last line without a line end counts as a line. Returns false if memory is exhausted. */
bool line_diff(struct buf *marks, const struct file_text *from, const struct file_text *to);

/* Compares two versions of a file: its literals and its lines. A side that does not exist has NULL as its
 * text; then only lines are counted, because everything in a new file is new. */
void collect_file(struct collecting *c, const char *path, const struct file_text *from, const struct file_text *to);

/* Reads a regular file of at most `max` bytes to the end of out, following no link. Returns false if there is none. */
bool read_regular(struct buf *out, int dir_fd, const char *name, size_t max);

/* Compares two directories, which stay open. */
void collect_trees(struct collecting *c, int from_fd, int to_fd);

/* Reads a unified diff. */
void collect_diff(struct collecting *c, const char *diff, size_t length);

/* Compares two commands, each an array of words. */
void collect_commands(struct collecting *c, const char *const *from, size_t n_from, const char *const *to, size_t n_to);

/* Compares the trial with that position in the log of the last sync. *settled is false if files that its row or
 * an ancestor's row names are not here now, so that the answer may be another one later. */
enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err);
