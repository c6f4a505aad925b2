/* store_dir.h: the directory of a store: made, opened, and hidden from the repository around it. */
#pragma once

#include <stdbool.h>

#include <lineage/store.h>

enum lineage_status store_dir_make(const char *dir, struct lineage_error *err);
enum lineage_status store_dir_open(int *fd, const char *dir, struct lineage_error *err);

/* Whether a directory above it, or it itself, is the top of a git repository. */
bool store_dir_in_repository(int dir_fd);

/* A reset, a stash or a checkout must not take rows back, so the repository around a new store ignores it. A directory that holds
 * other files is not ignored as a whole. */
enum lineage_status store_dir_ignore(int dir_fd, bool in_repository, struct lineage_error *err);
