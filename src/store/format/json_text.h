/* json_text.h: JSON texts of a store, read by Jansson. */
#ifndef FORMAT_JSON_TEXT_H
#define FORMAT_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

#include "../fail.h"

/*
 * Parse a text with flags of Jansson's. *root is the caller's; NULL on failure. A text that is no JSON is `malformed`, with
 * "name:line:column: why"; without memory it is LINEAGE_ENOMEM. (Jansson calls the latter bad syntax too: what it had no memory
 * for would read as not there, and an answer would be made without it.)
 */
enum lineage_status json_text_parse(json_t **root, const char *name, enum lineage_status malformed, const char *text,
                                    size_t length, size_t flags, struct lineage_error *err);

#endif
