/* shell_word.h: prints words of a command line so that a shell reads them back. */
#pragma once

#include <stdio.h>

/* Prints a blank and the word, quoted if necessary. */
void shell_word_write(FILE *out, const char *word);
