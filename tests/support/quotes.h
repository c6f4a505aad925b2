/* quotes.h: lets tests write JSON in C strings without backslashes, with ' in place of ". */
#pragma once

#include <stdlib.h>
#include <string.h>

/* Returns a copy of the text with every ' replaced by "; the caller frees it. */
static inline char *quotes(const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at && (at = strchr(at, '\'')); at++)
        *at = '"';
    return copy;
}
