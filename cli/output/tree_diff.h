/* tree_diff.h: prints the difference between two directories as a unified diff. */
#pragma once

#include <stddef.h>

/*
 * Compares the trees at two directory descriptors, which stay open, and prints to stdout. Text is shown line by line;
 * binary files, and files larger than max_bytes, are only named; a symbolic link is compared by its target and never
 * followed. Nothing in either tree affects the format, and git's configuration is not read. Returns an exit status.
 */
int tree_diff(int from, int to, size_t max_bytes);

/* Prints a diff that was made elsewhere in the same way: unchanged, or on a terminal without control characters. */
void tree_diff_print(const char *text, size_t length);
