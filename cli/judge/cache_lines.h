/*
 * cache_lines.h: appends to a file of JSON lines that many processes write, any of which may be killed. A killed writer may leave a
 * line without its line end; the next writer adds the line end first, so only that line is lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <jansson.h>

/* Takes over the reference to the object. Returns its line for cache_line_write (free), or NULL if the object is NULL or memory runs
 * out. flags: those of json_dumps, beside JSON_COMPACT. */
char *cache_line(json_t *object, size_t flags);

/* Locks the file for writing; flock(fd, LOCK_UN) unlocks it. */
bool cache_lock(int fd);

/* Appends the line under the lock. *at and *length are its place in the file, with its line end. A partial write returns false and
 * leaves an incomplete line, just as a killed writer does. */
bool cache_line_write(int fd, const char *line, off_t *at, size_t *length);
