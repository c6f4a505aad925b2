/*
 * lineage/text.h: numbers and cells as text, the way the store writes and shows them.
 *
 * All functions work on UTF-8 and are independent of the process locale.
 */
#ifndef LINEAGE_TEXT_H
#define LINEAGE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <lineage/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that always suffice for lineage_number_format, NUL included. */
#define LINEAGE_NUMBER_MAX 32

/*
 * The shortest decimal that reads back as the same double, laid out as CPython's repr lays it out:
 * "33.21", "12480.0", "1e-05", "-0.0", "nan", "inf". Returns out.
 */
LINEAGE_API const char *lineage_number_format(char out[LINEAGE_NUMBER_MAX], double value);

/*
 * Read a number as CPython's float() does: optional ASCII blanks around, sign, digits with an optional
 * point, optional exponent, inf/infinity/nan in any case; overflow gives an infinity, underflow zero.
 * The whole of text[0..length) must be the number. False if it is not one; *value is then unchanged.
 */
LINEAGE_API bool lineage_number_parse(double *value, const char *text, size_t length);

/*
 * Byte length of the longest prefix of text[0..length) that has at most n code points.
 * Invalid bytes count one each. Never splits a code point.
 */
LINEAGE_API size_t lineage_text_prefix(const char *text, size_t length, size_t n);

/* Whether text[0..length) is valid UTF-8 (no surrogates, nothing above U+10FFFF, no overlong forms). */
LINEAGE_API bool lineage_text_is_utf8(const char *text, size_t length);

/*
 * A copy of text[0..length) that is harmless on one line of a terminal, a Markdown table or a code fence:
 * line ends, control and escape characters, bidirectional controls, pipes and backticks are replaced by
 * visible stand-ins; invalid bytes by U+FFFD. Longer than n code points (0 = no limit) it is cut to n with
 * a final …, never inside a code point. NUL-terminated; free with lineage_free. NULL when out of memory.
 */
LINEAGE_API char *lineage_text_safe(const char *text, size_t length, size_t n);

/*
 * The same for text that is a terminal's alone, such as a message: pipes and backticks stay. What comes back is
 * equal to the text if there was nothing to replace.
 */
LINEAGE_API char *lineage_text_visible(const char *text, size_t length);

#ifdef __cplusplus
}
#endif

#endif
