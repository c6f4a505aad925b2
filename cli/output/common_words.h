/* common_words.h: finds the words that several texts share. */
#pragma once

#include <stddef.h>

/*
 * Removes the words that all texts[n] contain from the texts, in place, and returns them; free the result. Returns NULL
 * if there are none, or if memory runs out, and then changes nothing. Words are separated by blanks outside single
 * quotes.
 */
char *common_words(char *const *texts, size_t n);
