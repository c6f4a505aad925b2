/* files.h: scratch directories, whole files and JSON files for tests. Any failure ends the test. */
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * A new empty directory under $TMPDIR; the caller frees the name. remove_dir deletes it with its
 * contents.
 */
char *make_dir(void);
void remove_dir(char *dir);

/* make_dir and remove_dir as setup and teardown of cmocka, with the directory in *state. */
int set_up_dir(void **state);
int tear_down_dir(void **state);

/* "a/b"; free. */
char *join(const char *a, const char *b);

bool file_exists(const char *path);
char *read_file(const char *path, size_t *length); /* NUL-terminated; free */
void write_file(const char *path, const void *data, size_t length);
void copy_file(const char *from, const char *to);

json_t *read_json(const char *path);

/* Names in a directory that begin with prefix, sorted, ended by NULL; NULL if there is no such directory. */
char **list_dir(const char *dir, const char *prefix);
void free_list(char **names);

#endif
