/* judged_attempts.h: what a judge wrote about the steps of attempts, from the store's cache of answers. */
#pragma once

#include <stdio.h>

/*
 * Prints the newest answers of the text [length], a line of JSON each, as such a section without its end; returns their
 * number, and prints nothing if it is 0.
 */
size_t judged_attempts_text(FILE *out, const char *text, size_t length, size_t store);

/*
 * Prints a section with the newest answers in the file judge-cache.jsonl of the directory: each attempt with its steps, their
 * flags and the analysis beside them. Prints nothing if there is no such file, or no answer in it has an analysis. store is
 * the number of the store in the page.
 */
void judged_attempts_print(FILE *out, const char *dir, size_t store);
