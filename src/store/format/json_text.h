/* json_text.h: the JSON texts of a store, parsed by Jansson. */
#ifndef FORMAT_JSON_TEXT_H
#define FORMAT_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

#include "../fail.h"

/* Parses a text with Jansson's flags. The caller owns *root; it is NULL after a failure. Returns `malformed` for bad
 * JSON, with "name:line:column: why", and LINEAGE_ENOMEM without memory. (Jansson reports the latter as bad syntax
 * too; a text that could not be read would then count as missing, and an answer would be given without it.) */
enum lineage_status json_text_parse(json_t **root, const char *name, enum lineage_status malformed, const char *text,
                                    size_t length, size_t flags, struct lineage_error *err);

#endif
