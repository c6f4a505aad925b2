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

/* Bytes that are enough for lineage_number_format, with the terminating NUL. */
#define LINEAGE_NUMBER_MAX 32

/* Writes the shortest decimal that reads back as the same double, laid out as by CPython's repr: "33.21", "12480.0",
 * "1e-05", "-0.0", "nan", "inf". Returns out. */
LINEAGE_API const char *lineage_number_format(char out[LINEAGE_NUMBER_MAX], double value);

/* Like lineage_number_format, for the value of a parameter: a whole number below 2^53 has no ".0", as people and programs
 * write it. */
LINEAGE_API const char *lineage_setting_format(char out[LINEAGE_NUMBER_MAX], double value);

/* Reads a number as CPython's float() does: optional ASCII blanks around it, sign, digits with an optional point,
 * optional exponent, inf/infinity/nan in any case; overflow gives an infinity, underflow zero. The whole of
 * text[0..length) must be the number. Otherwise returns false and leaves *value unchanged. */
LINEAGE_API bool lineage_number_parse(double *value, const char *text, size_t length);

/* Levenshtein distance of two names in bytes, for suggestions: how many bytes to change, insert or remove. SIZE_MAX if b has 64 bytes
 * or more. */
LINEAGE_API size_t lineage_name_distance(const char *a, const char *b);

/* Byte length of the longest prefix of text[0..length) that has at most n code points. Each invalid byte counts as
 * one. Never splits a code point. */
LINEAGE_API size_t lineage_text_prefix(const char *text, size_t length, size_t n);

/* Whether text[0..length) is valid UTF-8 (no surrogates, nothing above U+10FFFF, no overlong forms). */
LINEAGE_API bool lineage_text_is_utf8(const char *text, size_t length);

/*
 * Returns a copy of text[0..length) that is harmless on one line of a terminal, in a Markdown table or a code fence:
 * line ends, control and escape characters, bidirectional controls, pipes and backticks are replaced by visible
 * stand-ins, and invalid bytes by U+FFFD. A text of more than n code points (0 = no limit) is cut to n with a final
 * …, never inside a code point. NUL-terminated; free with lineage_free. NULL if out of memory.
 */
LINEAGE_API char *lineage_text_safe(const char *text, size_t length, size_t n);

/* Like lineage_text_safe, for text that goes where pipes and backticks do no harm, such as a message in a terminal or a
 * value in JSON: they stay. If there is nothing to replace or cut, the copy equals the text. */
LINEAGE_API char *lineage_text_visible(const char *text, size_t length, size_t n);

/* Returns a copy of text that a shell reads as one word with these bytes: in single quotes unless it needs none. NUL-terminated; free with
 * lineage_free. NULL if out of memory. */
LINEAGE_API char *lineage_text_word(const char *text);

#endif
