/* quotes.h: JSON in C strings without backslashes. */
#ifndef SUPPORT_QUOTES_H
#define SUPPORT_QUOTES_H

#include <stdlib.h>
#include <string.h>

/* A copy with ' replaced by "; free. */
static inline char *quotes(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at && (at = strchr(at, '\'')); at++)
        *at = '"';
    return copy;
}

#endif
