/* protected_files.h: checks whether files have changed while a trial ran (--protect). */
#ifndef CLI_PROTECTED_FILES_H
#define CLI_PROTECTED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protected_files {
    const char *const *path; /* ended by NULL; borrowed */
    struct protected_digest {
        uint64_t low, high;
        int error; /* errno if the file cannot be read; this must not change either */
    } *digest;     /* one for each path */
};

/* Digests each file; path may be NULL. Returns false when out of memory. */
bool protected_files_read(struct protected_files *files, const char *const *path);

/* The first file that has changed, NULL if none has. */
const char *protected_files_changed(const struct protected_files *files);

void protected_files_release(struct protected_files *files);

#endif
