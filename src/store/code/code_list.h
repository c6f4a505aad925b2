/*
 * code_list.h: the list of a trial's code as text.
 *
 *     lineage code 1
 *     file 644 DIGEST train.py       mode in octal; sorted by name
 *     gone old.py                    a file of the sweep that a diff has removed; sorted by name
 *     diff DIGEST                    oldest first
 *
 * Each line ends in LF. Anything else is refused, because anybody may write a file into the store or onto a server.
 */
#pragma once

#include "code_objects.h"

/* Whether a file of a list may have the name: relative, not below `..`, UTF-8 without control characters. */
bool code_name_ok(const char *name);

void code_list_print(struct buf *out, const struct lineage_code *code);

/* Reads the text, which is changed and must live as long as the code. Allocates from the arena. */
enum lineage_status code_list_parse(struct lineage_code *code, struct arena *arena, char *text, struct lineage_error *err);
