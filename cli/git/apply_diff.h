/* apply_diff.h: applies a diff that a planner proposed to the files of a directory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Applies the diff by `git apply`, without any configuration and outside of any repository. Calls is_protected for
 * every old and new path; it returns true for a file that the diff must not change. Returns false, with the reason in
 * why [size], if git refuses the diff, or if the diff changes a protected file or creates a link or a special file.
 */
bool apply_diff(const char *diff, const char *dir, bool (*is_protected)(const void *context, const char *path),
                const void *context, char *why, size_t size);
