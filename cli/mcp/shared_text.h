/*
 * shared_text.h: what the texts of one column share is sent once. Hypotheses of one night often differ in a number only, and
 * twenty of them would cost an agent more tokens than everything else on a page.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

/*
 * If most texts in a column of rows begin and end with the same words, replaces each of these cells by "…" and the words in
 * between, and returns the shared words with … in the place of the others: "raise lr to … after warmup". Other cells stay.
 * Returns NULL if that saves little, when cells are then cut to max bytes, or if a cell itself begins with ….
 */
json_t *mcp_fold_texts(json_t *rows, size_t column, size_t max);
