/*
 * ascii.h: letters and digits of ASCII, whatever the locale is.
 *
 * strncasecmp, tolower and isalnum follow the locale of the process, which belongs to the caller: in a Turkish one they tell I from i.
 * What a store says must not depend on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
static inline bool ascii_is_letter(char c)
{
    return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}
static inline bool ascii_is_word(char c)
{
    return ascii_is_letter(c) || (c >= '0' && c <= '9');
}

/* Whether the first `length` bytes of two texts are the same but for the case of letters; a NUL ends a text. */
static inline bool ascii_begins_same(const char *a, const char *b, size_t length)
{
    size_t i = 0;
    while (i < length && a[i] && ascii_lower(a[i]) == ascii_lower(b[i]))
        i++;
    return i == length || (!a[i] && !b[i]);
}

/* Whether two texts are the same but for the case of letters. */
static inline bool ascii_same(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && ascii_begins_same(a, b, strlen(a));
}
