/* number.h: reading and writing numbers for rows and the notes grammar, beyond lineage/text.h. */
#pragma once

#include <stddef.h>

#include <lineage/text.h>

#include "arena.h"

/* Length of the longest prefix of text[0..length) that is a decimal number; 0 if none. */
size_t number_length(const char *text, size_t length);

/* Like lineage_number_format, but returns the length of the text. */
size_t number_write(char out[LINEAGE_NUMBER_MAX], double value);

static inline void buf_add_number(struct buf *buf, double value)
{
    if (buf_reserve(buf, LINEAGE_NUMBER_MAX))
        buf->length += number_write(buf->data + buf->length, value);
}

/* ---- what a trial was expected to gain ---- */

/* Reads the leading signed number of expected_delta: `-0.0015`, `+0.80 EM`, `≥ +0.5pp EM`. Returns false if the text
 * begins with anything else. */
bool expected_number(double *value, const char *text);
