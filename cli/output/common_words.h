/* common_words.h: what several texts of words share. */
#ifndef CLI_COMMON_WORDS_H
#define CLI_COMMON_WORDS_H

#include <stddef.h>

/*
 * Take the words that stand in all of texts[n] out of them, in place; returns those words, to be freed, or NULL if there
 * are none or no memory (nothing is changed then). Blanks part words, but within single quotes.
 */
char *common_words(char *const *texts, size_t n);

#endif
