/* protected_files.h: whether files are what they were. */
#ifndef CLI_PROTECTED_FILES_H
#define CLI_PROTECTED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protected_files {
    const char *const *path; /* ended by NULL; borrowed */
    struct protected_digest {
        uint64_t low, high;
        int error; /* errno, for a file that cannot be read: that may not change either */
    } *digest;     /* of each */
};

/* Digest each file as it is now; path NULL: none. False when out of memory. */
bool protected_files_read(struct protected_files *files, const char *const *path);

/* The first that is not what it was, NULL if all are. */
const char *protected_files_changed(const struct protected_files *files);

void protected_files_release(struct protected_files *files);

#endif
