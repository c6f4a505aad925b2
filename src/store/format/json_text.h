/* json_text.h: the JSON texts of a store, parsed by Jansson. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "../fail.h"

/* Parses a text with Jansson's flags. The caller owns *root; it is NULL after a failure. Returns `malformed` for bad
 * JSON, with "name:line:column: why", and LINEAGE_ENOMEM if out of memory. (Jansson reports a lack of memory as bad
 * syntax too. The text would then count as missing, and the answer would silently lack it.) */
enum lineage_status json_text_parse(json_t **root, const char *name, enum lineage_status malformed, const char *text,
                                    size_t length, size_t flags, struct lineage_error *err);
