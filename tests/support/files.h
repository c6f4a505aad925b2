/* files.h: creates and reads scratch directories, files and JSON files for tests. Any failure ends the test. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Makes a new empty directory under $TMPDIR; the caller frees the name. remove_dir deletes a directory with its
 * contents.
 */
char *make_dir(void);
void remove_dir(char *dir);

/* make_dir and remove_dir as setup and teardown of cmocka; the directory is in *state. */
int set_up_dir(void **state);
int tear_down_dir(void **state);

/* Returns "a/b"; the caller frees it. */
char *join(const char *a, const char *b);

bool file_exists(const char *path);
char *read_file(const char *path, size_t *length); /* NUL-terminated; the caller frees it */
void write_file(const char *path, const void *data, size_t length);
void copy_file(const char *from, const char *to);

json_t *read_json(const char *path);

/*
 * Returns the sorted names in a directory that begin with prefix. A NULL ends the list; the result is NULL if the
 * directory does not exist.
 */
char **list_dir(const char *dir, const char *prefix);
void free_list(char **names);
