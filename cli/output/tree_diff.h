/* tree_diff.h: what differs between two directories, as a unified diff on stdout. */
#ifndef TREE_DIFF_H
#define TREE_DIFF_H

#include <stddef.h>

/*
 * Compare the trees at two directory descriptors (left open). Text is shown line by line, binary files are named, a
 * symbolic link is compared by where it points and never followed. A file above max_bytes is named only. Nothing in
 * either tree decides how it is shown, and no configuration of git is read. Returns an exit status.
 */
int tree_diff(int from, int to, size_t max_bytes);

#endif
