/* json_text.c: parses JSON and distinguishes malformed text from a lack of memory. */
#include "json_text.h"

/* Jansson gives up at the first allocation that fails, usually with the message for a bad token. malloc sets errno
 * (POSIX), and Jansson does not change errno after that. */
enum lineage_status json_text_parse(json_t **root, const char *name, enum lineage_status malformed, const char *text,
                                    size_t length, size_t flags, struct lineage_error *err)
{
    json_error_t error;
    errno = 0;
    *root = json_loadb(text ? text : "", length, flags, &error);
    if (*root)
        return LINEAGE_OK;
    if (errno == ENOMEM)
        return store_no_memory(err);
    return store_fail(err, malformed, "%s:%d:%d: %s", name, error.line, error.column, error.text);
}
