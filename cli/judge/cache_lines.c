#include "judge/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The line begins with a line end, which is only written behind an incomplete line. */
char *cache_line(json_t *object, size_t flags)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | flags) : NULL, *line = NULL;
    if (text && asprintf(&line, "\n%s\n", text) < 0)
        line = NULL;
    json_decref(object);
    free(text);
    return line;
}

bool cache_lock(int fd)
{
    while (flock(fd, LOCK_EX) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

bool cache_line_write(int fd, const char *line, off_t *at, size_t *length)
{
    char last = '\n';
    const off_t end = lseek(fd, 0, SEEK_END);
    const bool torn = end > 0 && (pread(fd, &last, 1, end - 1) != 1 || last != '\n');
    const char *from = line + !torn;
    const size_t n = strlen(from);
    *at = end + torn;
    *length = n - torn;
    return end >= 0 && write(fd, from, n) == (ssize_t)n;
}
