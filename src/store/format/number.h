/* number.h: what the notes grammar needs of numbers beyond lineage/text.h. */
#ifndef FORMAT_NUMBER_H
#define FORMAT_NUMBER_H

#include <stddef.h>

/* Length of the longest prefix of text[0..length) that is a decimal number; 0 if none. */
size_t number_length(const char *text, size_t length);

#endif
